//! How files differ from the table that they are a part of.

use std::sync::Arc;

use arrow_schema::Schema;
use schema::FileLayout;

use super::detect::Detected;

/// The layouts of files that differ from their table.
pub struct Layouts<'a> {
    known: Vec<FileLayout>,
    /// That of the table.
    compression: &'a str,
}

impl<'a> Layouts<'a> {
    /// None, beside a table whose files usually have this compression.
    pub fn beside(compression: &'a str) -> Layouts<'a> {
        Layouts { known: Vec::new(), compression }
    }

    /// All of them.
    pub fn all(self) -> Vec<FileLayout> {
        self.known
    }

    /// Where a file differs from its table: the number of its layout, which is added if it is new.
    pub fn of(&mut self, table: &Schema, detected: &Detected, own: Option<&Schema>) -> Option<usize> {
        let place = |schema: &Schema, name: &str| schema.fields().iter().position(|f| f.name() == name);
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
