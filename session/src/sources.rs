//! Where the tables of a session lie, and how their files are read: all that another process needs to open the same.

use std::path::PathBuf;

use formats::discover::{OpenOptions, SchemaChoice};
use serde::{Deserialize, Serialize};

use crate::error::Result;
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
}
