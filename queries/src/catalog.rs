//! The tables of one query, resolved before planning.

use std::collections::BTreeMap;
use std::sync::Arc;

use schema::instants::schema_in_utc;
use schema::names::nearest;
use schema::{Source, Table};

use crate::error::{Error, Result};

/// Tables by name; names match without regard to case, but for two that differ by case alone (paths of files).
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    tables: BTreeMap<String, Arc<Table>>,
}

impl Catalog {
    /// Adds a table under its name. Its instants lose the time zones that its files label them with.
    pub fn add(&mut self, mut table: Table) {
        table.schema = schema_in_utc(&table.schema);
        if let Source::Files(set) = &mut table.source {
            set.layouts.iter_mut().for_each(|layout| layout.schema = schema_in_utc(&layout.schema));
        }
        self.tables.insert(table.name.clone(), Arc::new(table));
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Result<&Arc<Table>> {
        let lower = name.to_lowercase();
        let found = self.tables.get(name).or_else(|| {
            self.tables.iter().find(|(known, _)| known.to_lowercase() == lower).map(|(_, table)| table)
        });
        found.ok_or_else(|| {
            let near = nearest(name, self.tables.keys().map(String::as_str));
            let help = match near.as_slice() {
                [] => "give a path in quotes, or name it with --table NAME=PATH or --data DIR".into(),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            Error::Name { message: format!("there is no table '{name}'"), help: Some(help) }
        })
    }

    /// All tables in the order of their names.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }
}
