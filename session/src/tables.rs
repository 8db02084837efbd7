//! The tables and views that a session knows by name, and the tables that a statement names by their path.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::context::stack::{self, Deep};
use formats::discover::{OpenOptions, SchemaChoice, open, open_batches, open_data_dir};
use queries::macros::Macro;
use queries::parse::readers::Reader;
use queries::{Catalog, Kind, Macros, View, Views};
use schema::Table;
use schema::names::nearest;

use crate::about_files;
use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::readers;
use crate::sources::Sources;
use crate::system::System;

/// The tables and views that a session knows by name. No table is opened before a statement reads it.
#[derive(Debug, Clone)]
pub struct Tables {
    /// The tables by their name in lower case.
    named: BTreeMap<String, Named>,
    schemas: BTreeMap<String, SchemaChoice>,
    views: Deep<Views>,
    macros: Deep<Macros>,
}

impl Default for Tables {
    fn default() -> Tables {
        let (views, macros) = (Deep::new(Views::default()), Deep::new(Macros::default()));
        Tables { named: BTreeMap::new(), schemas: BTreeMap::new(), views, macros }
    }
}

/// A name, and the places of its table. A name can't be used if a directory has several files of it.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    places: Vec<Place>,
}

#[derive(Debug, Clone)]
enum Place {
    /// A file, a glob, a directory or a dataset.
    Path(String),
    /// Files that a call in the statement reads.
    Reader(Box<Reader>),
    /// Record batches of the caller.
    Memory(Arc<Table>),
    /// Rows that a statement has kept.
    Kept(Arc<Kept>),
}

impl Tables {
    /// Names each file and directory in a directory.
    ///
    /// # Errors
    /// The directory can't be listed.
    pub fn add_directory(&mut self, directory: &Path) -> Result<()> {
        for (name, location) in open_data_dir(directory)? {
            let named = || Named { name: name.clone(), places: Vec::new() };
            let known = self.named.entry(name.to_lowercase()).or_insert_with(named);
            known.places.push(Place::Path(location));
        }
        Ok(())
    }

    /// Names a file, a glob, a directory or a dataset. A table of this name is replaced.
    pub fn add(&mut self, name: &str, location: &str) {
        self.insert(name, Place::Path(location.to_string()));
    }

    /// Names record batches. All of them must have the columns of `schema`. A table of this name is replaced.
    ///
    /// # Errors
    /// A column has a type that no operator knows, or batches have other columns.
    pub fn add_batches(&mut self, name: &str, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<()> {
        self.insert(name, Place::Memory(Arc::new(open_batches(name, schema, batches)?)));
        Ok(())
    }

    /// Names rows in memory. A table of this name is replaced.
    pub(crate) fn add_table(&mut self, name: &str, table: Table) {
        self.insert(name, Place::Memory(Arc::new(table)));
    }

    /// Names rows that a statement has kept. A table of this name is replaced.
    pub(crate) fn add_kept(&mut self, name: &str, kept: Kept) {
        self.insert(name, Place::Kept(Arc::new(kept)));
    }

    /// Adds a view, or replaces the one of this name.
    ///
    /// # Errors
    /// The view would read itself.
    pub(crate) fn add_view(&mut self, view: View) -> Result<()> {
        let mut views = Views::clone(&self.views);
        let inserted = stack::deep(|| {
            views.insert(view)?;
            Ok::<_, Error>(views)
        });
        self.views = Deep::new(inserted??);
        Ok(())
    }

    /// Removes the view of this name; false if there is none.
    pub fn remove_view(&mut self, name: &str) -> bool {
        let mut views = Views::clone(&self.views);
        let removed = views.remove(name);
        self.views = Deep::new(views);
        removed
    }

    /// The views.
    pub(crate) fn views(&self) -> &Deep<Views> {
        &self.views
    }

    /// Adds a macro, or replaces the one of this name.
    ///
    /// # Errors
    /// The macro would call itself, or a parameter is wrong.
    pub(crate) fn add_macro(&mut self, one: Macro) -> Result<()> {
        let mut macros = Macros::clone(&self.macros);
        let inserted = stack::deep(|| {
            macros.insert(one)?;
            Ok::<_, Error>(macros)
        });
        self.macros = Deep::new(inserted??);
        Ok(())
    }

    /// Removes the macro of this name; false if there is none.
    pub(crate) fn remove_macro(&mut self, name: &str, is_table: bool) -> bool {
        let mut macros = Macros::clone(&self.macros);
        let removed = macros.remove(name, is_table);
        self.macros = Deep::new(macros);
        removed
    }

    /// The macros.
    pub(crate) fn macros(&self) -> &Deep<Macros> {
        &self.macros
    }

    /// What this name stands for, if it is defined.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        match self.views.get(name) {
            Some(_) => Some(Kind::View),
            None => self.named.contains_key(&name.to_lowercase()).then_some(Kind::Table),
        }
    }

    /// Whether the rows of the table of this name end with the session.
    pub(crate) fn is_kept(&self, name: &str) -> bool {
        let named = self.named.get(&name.to_lowercase());
        named.is_some_and(|named| matches!(named.places.as_slice(), [Place::Kept(_) | Place::Memory(_)]))
    }

    fn insert(&mut self, name: &str, place: Place) {
        let named = Named { name: name.to_string(), places: vec![place] };
        self.named.insert(name.to_lowercase(), named);
    }

    /// Removes the table of this name; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.schemas.remove(&name.to_lowercase());
        self.named.remove(&name.to_lowercase()).is_some()
    }

    /// Gives the table of this name, or at this path, a schema in place of the one that its files have.
    pub fn set_schema(&mut self, name: &str, schema: SchemaChoice) {
        self.schemas.insert(name.to_lowercase(), schema);
    }

    /// The names of the tables and views, sorted.
    pub fn names(&self) -> Vec<&str> {
        let tables = self.named.values().map(|named| named.name.as_str());
        let mut names: Vec<&str> = tables.chain(self.views.names()).collect();
        names.sort_by_key(|name| name.to_lowercase());
        names
    }

    /// The paths of these tables and of all others that have one path, for another process.
    ///
    /// # Errors
    /// A table of `names` lies in the memory of this process, or its name could mean several files.
    pub(crate) fn sources(&self, names: &[String], open: &OpenOptions) -> Result<Sources> {
        for name in names.iter().filter(|name| self.named.contains_key(&name.to_lowercase())) {
            if let (name, Place::Memory(_) | Place::Kept(_)) = self.place(name)? {
                let what = format!("'{name}', which is in memory, where other processes run the queries");
                return Err(queries::Error::Unsupported(what).into());
            }
        }
        let tables = self.named.values().filter_map(|named| match named.places.as_slice() {
            [Place::Path(path)] => Some((named.name.clone(), path.clone())),
            _ => None,
        });
        let schemas = self.schemas.iter().map(|(name, schema)| (name.clone(), schema.clone()));
        Ok(Sources {
            directory: None,
            tables: tables.collect(),
            schemas: schemas.collect(),
            open: open.clone(),
        })
    }

    /// Opens these tables. A name that is not defined is a path. With `late`, not all of many small files are looked
    /// at, see [`OpenOptions::late`].
    ///
    /// # Errors
    /// A table does not exist, or its files don't go together.
    pub fn catalog(&self, names: &[String], late: bool, options: &OpenOptions) -> Result<Catalog> {
        Ok(self.open(names, late, options)?.catalog)
    }

    /// As [`Tables::catalog`], with the kept rows that must stay as long as the tables are read.
    pub(crate) fn open(&self, names: &[String], late: bool, options: &OpenOptions) -> Result<Opened> {
        let is_read = |schema: &str| names.iter().any(|name| name.to_lowercase() == schema);
        let mut schemas = self.schemas.keys();
        if let Some(name) = schemas.find(|name| !self.named.contains_key(*name) && !is_read(name)) {
            let read: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
            return Err(Error::Settings(format!(
                "--schema {name}=…: there is no table '{name}'; the query reads {}\n  \
                 help: give the table this name with --table {name}=PATH",
                if read.is_empty() { "none".to_string() } else { read.join(", ") }
            )));
        }
        let mut opened = Opened::default();
        for name in names {
            let (name, place) = self.place(name)?;
            let schema = self.schemas.get(&name.to_lowercase()).cloned();
            let mut table = match place {
                Place::Path(location) => {
                    let options = OpenOptions { schema, late, ..options.clone() };
                    open(&location, name, &options)?
                }
                Place::Reader(reader) if reader.is_about_files() => {
                    about_files::table(&reader, name, options)?
                }
                Place::Reader(reader) => {
                    readers::table(&reader, name, &OpenOptions { schema, late, ..options.clone() })?
                }
                Place::Memory(table) => Table::clone(&table),
                Place::Kept(kept) => {
                    let table = kept.table(name)?;
                    opened.kept.push(kept);
                    table
                }
            };
            name.clone_into(&mut table.name);
            opened.catalog.add(table);
        }
        Ok(opened)
    }

    /// The name of a table as it was defined, and its place. A statement may spell the name in another way.
    fn place<'a>(&'a self, name: &'a str) -> Result<(&'a str, Place)> {
        let wrong = |message, help| {
            let error = queries::Error::Name { message, help: Some(help) };
            Err(error.at_word(name).into())
        };
        match self.named.get(&name.to_lowercase()) {
            Some(known) => match known.places.as_slice() {
                [place] => Ok((&known.name, place.clone())),
                several => {
                    let paths = several.iter().filter_map(|place| match place {
                        Place::Path(path) => Some(path.as_str()),
                        Place::Reader(_) | Place::Memory(_) | Place::Kept(_) => None,
                    });
                    wrong(
                        format!("'{name}' could be {}", paths.collect::<Vec<_>>().join(" or ")),
                        format!("name one of them with --table {name}=PATH, or read it by its path"),
                    )
                }
            },
            None if let Some(near) = unlike_system(name) => {
                wrong(format!("there is no table '{name}'"), near.to_string())
            }
            None if self.views.get(name).is_some() => wrong(
                format!("'{name}' is a view, and has no files"),
                "CREATE TEMP TABLE name AS query makes a table of its rows".to_string(),
            ),
            None if let Some(reader) = Reader::of_name(name) => Ok((name, Place::Reader(Box::new(reader)))),
            None if is_location(name) => Ok((name, Place::Path(name.to_string()))),
            None => {
                let near = nearest(name, self.names());
                let help = match near.as_slice() {
                    [] if name.eq_ignore_ascii_case("dual") => "a SELECT needs no table: leave FROM out".to_string(),
                    [] => "there is no file or directory of this name either; --table NAME=PATH and --data DIR name tables".to_string(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                wrong(format!("there is no table '{name}'"), help)
            }
        }
    }
}

/// The tables of a statement, and the kept rows that must stay as long as it runs.
#[derive(Debug, Clone, Default)]
pub struct Opened {
    pub(crate) catalog: Catalog,
    pub(crate) kept: Vec<Arc<Kept>>,
}

impl From<Catalog> for Opened {
    fn from(catalog: Catalog) -> Opened {
        Opened { catalog, kept: Vec::new() }
    }
}

/// What there is in place of another table of `information_schema`.
fn unlike_system(name: &str) -> Option<&'static str> {
    let is_one = name.to_lowercase().starts_with("information_schema.") && System::of(name).is_none();
    is_one.then_some("there are information_schema.tables and information_schema.columns")
}

/// Whether a name that no table has may be a path.
fn is_location(name: &str) -> bool {
    name == "-"
        || name.contains(['/', '.', '*', '?', '[', '{'])
        || formats::store::roots::exists(Path::new(name))
}
