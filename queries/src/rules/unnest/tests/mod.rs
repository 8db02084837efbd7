//! Tests: shapes, and random statements whose rows are computed as they stand and unnested.

mod bounds;
mod build;
mod generate;
mod interpret;
mod random;
mod shapes;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use schema::{Source, Table};

use crate::algebra::{ColumnId, Columns, Rel, Scan};

/// A table of integers.
fn table(name: &str, columns: &[&str]) -> Arc<Table> {
    let fields: Vec<Field> = columns.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect();
    Arc::new(Table {
        name: name.into(),
        schema: Arc::new(Schema::new(fields)),
        source: Source::Range { start: 0, end: 0, step: 1 },
        rows: None,
        spans: vec![],
        guesses: schema::TableEstimates::default(),
    })
}

/// Reads a table.
fn scan(table: &Arc<Table>, columns: &mut Columns) -> (Rel, Vec<ColumnId>) {
    let fields = table.schema.fields().iter();
    let ids: Vec<ColumnId> = fields.map(|f| columns.add(f.name(), f.data_type().clone())).collect();
    let scan =
        Scan { table: table.clone(), transform: None, columns: ids.clone(), bounds: vec![], fetch: None };
    (Rel::Scan(scan), ids)
}
