//! Where the tables of a session lie, and how their files are read: all that another process needs to open the same.

use std::path::{Path, PathBuf};

use formats::discover::{OpenOptions, SchemaChoice, open};
use schema::Table;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::tables::Tables;

/// Where tables lie, and how files are read. Places are as they were written: whoever opens them looks for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// A directory of which each file and directory is a table.
    pub directory: Option<PathBuf>,
    /// Names, and where their tables lie. They come before those of the directory.
    pub tables: Vec<(String, String)>,
    /// The schemas of some tables, by their names or paths, instead of those that their files tell.
    pub schemas: Vec<(String, SchemaChoice)>,
    /// How files are read.
    pub open: OpenOptions,
}

impl Sources {
    /// The tables. The directory is listed, and nothing is opened.
    ///
    /// # Errors
    /// The directory can't be listed.
    pub fn tables(&self) -> Result<Tables> {
        let mut tables = Tables::default();
        if let Some(directory) = &self.directory {
            tables.add_directory(directory)?;
        }
        self.tables.iter().for_each(|(name, location)| tables.add(name, location));
        self.schemas.iter().for_each(|(name, schema)| tables.set_schema(name, schema.clone()));
        Ok(tables)
    }

    /// Opens one location, whatever it is called, with the schema that is given, if one is.
    ///
    /// # Errors
    /// There is no such file, its files don't go together, and what has a meaning only where tables have names.
    pub fn open_one(&self, location: &str) -> Result<Table> {
        let Sources { directory, tables, schemas, open: options } = self;
        if directory.is_some() || !tables.is_empty() || schemas.len() > 1 {
            let text = "files are read by their path here: no --table, no --data, one --schema";
            return Err(Error::Settings(text.into()));
        }
        let given = schemas.first();
        let name = given.map_or_else(|| name_of(location), |(name, _)| name.to_lowercase());
        let schema = given.map(|(_, choice)| choice.clone());
        Ok(open(location, &name, &OpenOptions { schema, ..options.clone() })?)
    }
}

/// What a table is called: the file or directory up to the first point, or `t` where that is no name (`*.csv`, `-`).
fn name_of(location: &str) -> String {
    let file = Path::new(location).file_name().unwrap_or_default().to_string_lossy();
    let stem = file.split('.').next().unwrap_or_default();
    match stem.is_empty() || stem.contains(|c: char| !c.is_alphanumeric() && c != '_') {
        true => "t".into(),
        false => stem.into(),
    }
}
