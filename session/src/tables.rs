//! The tables that a session knows by name, and those that a statement names by their path.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use formats::open::{OpenOptions, SchemaChoice, nearest, open, open_batches, open_data_dir};
use queries::Catalog;
use schema::Table;

use crate::error::{Error, Result};

/// The tables that a session knows by name. None is opened before a statement reads it.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// By name in lower case.
    named: BTreeMap<String, Named>,
    schemas: BTreeMap<String, SchemaChoice>,
}

/// A name, and where its table lies. One of which a directory has several can't be used.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    places: Vec<Place>,
}

#[derive(Debug, Clone)]
enum Place {
    /// A file, a glob, a directory or a dataset.
    Path(String),
    /// In memory.
    Memory(Arc<Table>),
}

impl Tables {
    /// Names what lies in a directory: each file and directory by its name.
    ///
    /// # Errors
    /// It can't be listed.
    pub fn add_directory(&mut self, directory: &Path) -> Result<()> {
        for (name, location) in open_data_dir(directory)? {
            let named = || Named { name: name.clone(), places: Vec::new() };
            let known = self.named.entry(name.to_lowercase()).or_insert_with(named);
            known.places.push(Place::Path(location));
        }
        Ok(())
    }

    /// Names a location: a file, a glob, a directory or a dataset. A table of this name is replaced.
    pub fn add(&mut self, name: &str, location: &str) {
        self.insert(name, Place::Path(location.to_string()));
    }

    /// Names record batches, all of which have the columns of `schema`. A table of this name is replaced.
    ///
    /// # Errors
    /// A column of a type that no operator knows, and batches of other columns.
    pub fn add_batches(&mut self, name: &str, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<()> {
        self.insert(name, Place::Memory(Arc::new(open_batches(name, schema, batches)?)));
        Ok(())
    }

    fn insert(&mut self, name: &str, place: Place) {
        let named = Named { name: name.to_string(), places: vec![place] };
        self.named.insert(name.to_lowercase(), named);
    }

    /// Forgets the table of this name; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.schemas.remove(&name.to_lowercase());
        self.named.remove(&name.to_lowercase()).is_some()
    }

    /// Gives the table of this name, or at this path, a schema instead of the one that its files tell. False if it has
    /// been given one before.
    pub fn set_schema(&mut self, name: &str, schema: SchemaChoice) -> bool {
        self.schemas.insert(name.to_lowercase(), schema).is_none()
    }

    /// The names of the tables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.values().map(|named| named.name.as_str())
    }

    /// Opens these tables. A name that is not known is a path. With `late`, not all of many small files are looked at, see
    /// [`OpenOptions::late`].
    ///
    /// # Errors
    /// There is no such table, or its files don't go together.
    pub fn catalog(&self, names: &[String], late: bool, options: &OpenOptions) -> Result<Catalog> {
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
        let mut catalog = Catalog::default();
        for name in names {
            let (name, place) = self.place(name)?;
            let schema = self.schemas.get(&name.to_lowercase()).cloned();
            let mut table = match place {
                Place::Path(location) => {
                    let options = OpenOptions { schema, late, ..options.clone() };
                    open(&location, name, &options)?
                }
                Place::Memory(table) => Table::clone(&table),
            };
            name.clone_into(&mut table.name);
            catalog.add(table);
        }
        Ok(catalog)
    }

    /// The name of a table however a statement spells it, and where it lies.
    fn place<'a>(&'a self, name: &'a str) -> Result<(&'a str, Place)> {
        let wrong = |message, help| Err(queries::Error::Name { message, help: Some(help) }.into());
        match self.named.get(&name.to_lowercase()) {
            Some(known) => match known.places.as_slice() {
                [place] => Ok((&known.name, place.clone())),
                several => {
                    let paths = several.iter().filter_map(|place| match place {
                        Place::Path(path) => Some(path.as_str()),
                        Place::Memory(_) => None,
                    });
                    wrong(
                        format!("'{name}' could be {}", paths.collect::<Vec<_>>().join(" or ")),
                        format!("name one of them with --table {name}=PATH, or read it by its path"),
                    )
                }
            },
            None if is_location(name) => Ok((name, Place::Path(name.to_string()))),
            None => {
                let near = nearest(name, self.names());
                let help = match near.as_slice() {
                    [] => "there is no file or directory of this name either; --table NAME=PATH and --data DIR name tables".to_string(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                wrong(format!("there is no table '{name}'"), help)
            }
        }
    }
}

/// Whether a name that no table has may be a path.
fn is_location(name: &str) -> bool {
    name == "-" || name.contains(['/', '.', '*', '?', '[']) || formats::roots::exists(Path::new(name))
}
