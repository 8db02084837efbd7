//! Column formats: whatever a file claims, each column that is read alone is that of all columns together.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use formats::error::Error;
use formats::format::{Format, ScanOptions};
use formats::reader::Driver;
use formats::registry::format;
use schema::{FileEntry, FormatOptions};

use super::{choice, memory, texts};

/// Rows that are read; a file can claim any number of rows of columns that take no bytes.
const ROWS: usize = 20_000;

/// Columns that are read on their own.
const COLUMNS: usize = 4;

/// Beyond this a column format that asks before it allocates is told that there is no room.
const ROOM: isize = 64 << 20;

thread_local! {
    /// Whether this thread is here. Other targets compare ways to read that keep more or less.
    static IS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Whether more would be too much.
fn excess(more: u64) -> Option<String> {
    let would = memory::kept().saturating_add(isize::try_from(more).unwrap_or(isize::MAX));
    (IS_HERE.get() && would > ROOM).then(|| format!("take the target to {would} bytes"))
}

/// Reads a file of a column format.
pub fn check(encoding: &str, bytes: &[u8]) {
    formats::memory::ask_by(excess);
    IS_HERE.set(true);
    compare(encoding, bytes);
    IS_HERE.set(false);
}

fn compare(encoding: &str, bytes: &[u8]) {
    let encoding = format(encoding).expect("targets are named after encodings");
    texts::with_file("f", bytes, |path| {
        let options = FormatOptions { encoding: encoding.name().into(), ..FormatOptions::default() };
        let file = FileEntry::new(path, bytes.len() as u64, 0);
        let Ok(schema) = encoding.infer(&file, &options, 0) else { return };
        let _ = (encoding.rows(&file, &options), encoding.facts(&file));
        let scan = |projection, batch_rows| ScanOptions {
            schema: schema.clone(),
            projection,
            bounds: Vec::new(),
            prefixes: vec![],
            unseen: schema::DeferredValidation::Nothing,
            batch_rows,
            format: options.clone(),
        };
        let columns = schema.fields().len();
        let Ok(all) = read(encoding, path, bytes.len(), &scan((0..columns).collect(), 1000)) else { return };
        let first = choice(bytes, columns.max(1));
        for column in (0..columns).cycle().skip(first).take(COLUMNS.min(columns)) {
            let alone = match read(encoding, path, bytes.len(), &scan(vec![column], 777)) {
                // All columns are still there.
                Err(Error::Memory { .. }) => continue,
                alone => alone.expect("a column can be read where all columns can"),
            };
            // How rows are cut into batches may differ where only the first ones are read.
            let most = rows(&all).min(rows(&alone));
            let value = |batches: &[RecordBatch], column: usize| {
                let arrays: Vec<_> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
                let whole = (!arrays.is_empty()).then(|| arrow_select::concat::concat(&arrays));
                whole.map(|array| array.expect("a column has one type").slice(0, most))
            };
            assert!(
                value(&all, column) == value(&alone, 0),
                "column {column} is another one when read alone"
            );
        }
    });
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn read(
    encoding: &dyn Format,
    path: &Path,
    len: usize,
    scan: &ScanOptions,
) -> formats::Result<Vec<RecordBatch>> {
    let file = Arc::new(FileEntry::new(path, len as u64, 0));
    let mut batches = Vec::new();
    for morsel in encoding.split(&file, scan, 1 << 20)? {
        let reader = encoding.reader(&morsel, scan)?;
        for batch in Driver::open(&morsel, reader)? {
            let batch = batch?;
            assert!(batch.num_rows() <= scan.batch_rows, "a batch of {} rows", batch.num_rows());
            for column in batch.columns() {
                column.to_data().validate_full().expect("batches are valid");
            }
            batches.push(batch);
            if rows(&batches) >= ROWS {
                return Ok(batches);
            }
        }
    }
    Ok(batches)
}
