//! The columns of batches by position.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use crate::algebra::{ColumnId, Columns};

/// The columns of a batch by position.
#[derive(Debug, Clone)]
pub struct Layout {
    ids: Vec<ColumnId>,
    positions: BTreeMap<ColumnId, usize>,
    schema: SchemaRef,
}

impl Layout {
    /// Batches with these columns, in this order. A column that stands twice is read where it stands first.
    pub fn new(ids: Vec<ColumnId>, columns: &Columns) -> Layout {
        let field = |id: &ColumnId| {
            let column = columns.get(*id);
            Field::new(&column.name, column.data_type.clone(), true)
        };
        let schema = Arc::new(Schema::new(ids.iter().map(field).collect::<Vec<_>>()));
        let mut positions = BTreeMap::new();
        for (position, id) in ids.iter().enumerate() {
            positions.entry(*id).or_insert(position);
        }
        Layout { ids, positions, schema }
    }

    /// No columns: what constants are computed over.
    pub fn empty() -> Layout {
        Layout { ids: vec![], positions: BTreeMap::new(), schema: Arc::new(Schema::empty()) }
    }

    /// The schema: the names and types of the columns, each of which may hold NULL.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns, in the order of their positions.
    pub fn ids(&self) -> &[ColumnId] {
        &self.ids
    }

    /// Where a column is.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.positions.get(&id).copied()
    }
}
