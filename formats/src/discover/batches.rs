//! A table of record batches in memory.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use schema::instants::schema_in_utc;
use schema::{DeferredValidation, FormatOptions, MemoryRows, Source, Table, TableEstimates};

use super::estimates;
use crate::columns::adapt::Adapter;
use crate::columns::types::{check_readable, read_schema};
use crate::error::{Error, Result};
use crate::format::ScanOptions;

/// Makes a table of these batches, all of which must have the columns of `schema`. Their types become the types in
/// which files are read. Columns that have these types already are not copied.
///
/// # Errors
/// A column of a type that no operator knows, and batches of other columns.
pub fn open_batches(name: &str, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Table> {
    check_readable(schema)?;
    let like = |batch: &RecordBatch| {
        let (own, given) = (schema.fields(), batch.schema_ref().fields());
        own.len() == given.len()
            && own.iter().zip(given).all(|(a, b)| a.name() == b.name() && a.data_type() == b.data_type())
    };
    if let Some(number) = batches.iter().position(|batch| !like(batch)) {
        let message = format!("record batch {number} of it has other columns than its schema");
        return Err(Error::Schema { path: name.into(), message });
    }
    let read = schema_in_utc(&Arc::new(read_schema(schema)));
    let adapted = batches.iter().map(|batch| adapted(batch, &read)).collect::<Result<Vec<_>>>()?;
    let rows = MemoryRows::new(adapted.into_iter().filter(|batch| batch.num_rows() > 0).collect());
    let columns = estimates::sample::of_memory(&rows, read.fields().len());
    Ok(Table {
        name: name.to_string(),
        schema: read,
        rows: Some(rows.rows()),
        source: Source::Memory(rows),
        spans: vec![],
        guesses: TableEstimates { rows: None, columns },
    })
}

fn adapted(batch: &RecordBatch, read: &SchemaRef) -> Result<RecordBatch> {
    let file: &Schema = batch.schema_ref();
    let options = ScanOptions {
        schema: read.clone(),
        projection: (0..read.fields().len()).collect(),
        bounds: vec![],
        prefixes: vec![],
        unseen: DeferredValidation::Nothing,
        batch_rows: batch.num_rows(),
        format: FormatOptions::default(),
    };
    let adapter = Adapter::new(file, &options)?;
    let columns: Vec<_> = adapter.read().iter().map(|&column| batch.column(column).clone()).collect();
    adapter.adapt(&columns, batch.num_rows())
}
