//! The layouts of files whose columns or compression differ from their table's.

use std::sync::Arc;

use arrow_schema::{FieldRef, Schema};
use schema::FileLayout;

use super::detect::Detected;

/// The layouts of files that differ from their table.
pub struct Layouts<'a> {
    known: Vec<FileLayout>,
    /// The compression of the table.
    compression: &'a str,
}

impl<'a> Layouts<'a> {
    /// No layouts yet, for a table whose files usually have this compression.
    pub fn beside(compression: &'a str) -> Layouts<'a> {
        Layouts { known: Vec::new(), compression }
    }

    /// All layouts.
    pub fn all(self) -> Vec<FileLayout> {
        self.known
    }

    /// The number of a file's layout, which is added if it is new. `None` if the file does not differ from its table.
    pub fn of(&mut self, table: &Schema, detected: &Detected, own: Option<&Schema>) -> Option<usize> {
        let place = |table: &Schema, name: &str| {
            let fields = table.fields();
            let is_alike = |f: &FieldRef| f.name().eq_ignore_ascii_case(name);
            fields.iter().position(|f| f.name() == name).or_else(|| fields.iter().position(is_alike))
        };
        if own.is_none() && detected.compression == self.compression {
            return None;
        }
        let fields = match own {
            Some(own) => own.fields().iter().map(|f| place(table, f.name()).unwrap_or_default()).collect(),
            None => (0..table.fields().len()).collect::<Vec<_>>(),
        };
        let same = fields.iter().copied().eq(0..table.fields().len());
        if same && detected.compression == self.compression {
            return None;
        }
        let columns =
            (0..table.fields().len()).map(|column| fields.iter().position(|f| *f == column)).collect();
        let schema = Schema::new(fields.iter().map(|f| table.fields()[*f].clone()).collect::<Vec<_>>());
        let layout =
            FileLayout { compression: detected.compression.into(), schema: Arc::new(schema), columns };
        let known = self.known.iter().position(|l| *l == layout);
        Some(known.unwrap_or_else(|| {
            self.known.push(layout);
            self.known.len() - 1
        }))
    }
}
