//! Where the tables of a session are, and how their files are read: all that another process needs to open them.

use std::path::{Path, PathBuf};

use formats::discover::{OpenOptions, SchemaChoice, open, stem};
use schema::Table;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::tables::Tables;

/// Where tables are, and how files are read. Paths are kept as the user wrote them, and the process that opens them
/// resolves them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// A directory of which each file and directory is a table.
    pub directory: Option<PathBuf>,
    /// Names of tables, and their paths. They come before the tables of the directory.
    pub tables: Vec<(String, String)>,
    /// The schemas of some tables, by name or path, in place of those that their files have.
    pub schemas: Vec<(String, SchemaChoice)>,
    /// How files are read.
    pub open: OpenOptions,
}

impl Sources {
    /// The tables. Lists the directory, and opens nothing.
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

    /// Opens one path, with the given schema if there is one.
    ///
    /// # Errors
    /// The file does not exist, its files don't go together, or these sources have settings that only tables with names
    /// can use.
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

/// The name of a table: its file or directory up to the first point. It is `t` where that is no name (`*.csv`, `-`).
fn name_of(location: &str) -> String {
    let stem = stem(Path::new(location));
    match stem.is_empty() || stem.contains(|c: char| !c.is_alphanumeric() && c != '_') {
        true => "t".into(),
        false => stem,
    }
}
