//! Rows that a statement keeps for later statements: those of temporary tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use engine::dataflow::batch::batch_of;
use engine::dataflow::batch::{batch_bytes, compact};
use engine::writing::dataset::{Destination, Output, Rows, WriteOptions};
use engine::writing::ordered_pipeline::Step;
use formats::discover::{OpenOptions, open, open_batches};
use formats::store::atomic::{AtomicWrite, Overwrite, temporary_directory};
use schema::{FormatOptions, Table};

use crate::error::Result;
use crate::results::Results;

/// About how many bytes a part of the dataset has.
const PART_BYTES: u64 = 256_000_000;

/// Rows in memory, or in a dataset that is removed with this value.
#[derive(Debug)]
pub(crate) enum Kept {
    Memory(Box<Table>),
    Disk(AtomicWrite),
}

impl Kept {
    /// Takes all rows of a result. Keeps them in memory as long as they take at most `memory` bytes there. More rows
    /// are written to disk by `workers` threads.
    ///
    /// # Errors
    /// Errors of the query and of the disk, and types that no column of a table has.
    pub fn of(results: &mut Results, columns: &[String], memory: u64, workers: usize) -> Result<Kept> {
        let schema = columns_of(results.schema(), columns);
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = results.take() {
            let batch = compact(&named(&schema, &batch?)?);
            bytes += batch_bytes(&batch) as u64;
            batches.push(batch);
            if bytes > memory || engine::context::memory::is_scarce() {
                return Ok(Kept::Disk(on_disk(&schema, batches, results, workers)?));
            }
        }
        Ok(Kept::Memory(Box::new(open_batches("", &schema, &batches)?)))
    }

    /// The rows as a table.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn table(&self, name: &str) -> Result<Table> {
        match self {
            Kept::Memory(table) => Ok(Table::clone(table)),
            Kept::Disk(place) => {
                Ok(open(&dataset(place).display().to_string(), name, &OpenOptions::default())?)
            }
        }
    }
}

fn dataset(place: &AtomicWrite) -> PathBuf {
    place.path().join("rows")
}

/// Writes these rows, and then all of a result, into a directory that never gets its name. So the directory is removed
/// with the value, or with the process.
fn on_disk(
    schema: &SchemaRef,
    first: Vec<RecordBatch>,
    rest: &mut Results,
    workers: usize,
) -> Result<AtomicWrite> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!("palais-table-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let place = AtomicWrite::directory(&temporary_directory().join(name), Overwrite::Yes)?;
    let options = WriteOptions {
        format: FormatOptions { encoding: "buren".into(), ..FormatOptions::default() },
        workers,
        overwrite: Overwrite::Yes,
        part_bytes: Some(PART_BYTES),
        verify: false,
    };
    let mut output = Output::open(None, schema.clone(), &Destination::Dataset(dataset(&place)), &options)?;
    let state = rest.state().cloned().unwrap_or_default();
    let others = std::iter::from_fn(|| rest.take()).map(|batch| named(schema, &batch?));
    let mut lane = Some(first.into_iter().map(Ok).chain(others));
    let rows = Rows {
        files: 1,
        deal: Box::new(|| Ok(lane.take())),
        read: Box::new(|rows| {
            Ok(rows.next().transpose()?.map_or(Step::Done, |batch| Step::Item((0, batch))))
        }),
    };
    let parts = match output.write(rows, &state) {
        // The end of the query stops the writing; the query tells why.
        Err(engine::Error::Cancelled) => {
            let why = std::iter::from_fn(|| rest.take()).find_map(Result::err);
            return Err(why.unwrap_or(engine::Error::Cancelled).into());
        }
        written => written?,
    };
    output.finish(parts, &state)?;
    Ok(place)
}

/// The columns of a table: those of the result. The first ones get the names in `columns`, and all names are made to
/// differ.
fn columns_of(schema: &SchemaRef, columns: &[String]) -> SchemaRef {
    let own = schema.fields().iter().map(|field| field.name());
    let names: Vec<&str> = columns.iter().chain(own.skip(columns.len())).map(String::as_str).collect();
    let names = schema::names::distinct(names.iter().copied())
        .unwrap_or_else(|| names.iter().map(|name| name.to_string()).collect());
    let fields = schema.fields().iter().zip(names);
    Arc::new(Schema::new(
        fields.map(|(field, name)| field.as_ref().clone().with_name(name)).collect::<Vec<_>>(),
    ))
}

/// A batch with the names of a table's columns.
fn named(schema: &SchemaRef, batch: &RecordBatch) -> engine::Result<RecordBatch> {
    batch_of(schema, batch.columns().to_vec(), batch.num_rows())
}
