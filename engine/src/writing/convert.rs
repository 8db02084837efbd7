//! Writes any table to files of another format, in the order of its rows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use formats::reader::{Driver, Step as Read};
use formats::store::{remote, roots};
use queries::plan::Scan;
use schema::{FileEntry, Source, Table};

use crate::context::memory;
use crate::context::query::QueryState;
use crate::error::Result;
use crate::operators::scan::prefetch::FileSplit;
use crate::operators::scan::source::{ScanSource, Split};
use crate::writing::dataset::{Destination, Output, Rows, WriteOptions, Written};
use crate::writing::ordered_pipeline::Step;

/// A split of a file, or rows of a table without files.
pub(crate) struct Lane<'a> {
    /// The number of the file.
    file: usize,
    from: From<'a>,
}

enum From<'a> {
    /// A split that is not opened yet.
    Closed(FileSplit),
    File(Box<Driver<&'a QueryState>>),
    Rows(Range<u64>),
}

/// Writes the rows of a table into one file, or into a dataset with a part file for each file of the table. `state`
/// counts the bytes and rows that are read, and what is skipped.
///
/// A table can't replace its own files.
pub fn convert(
    table: &Arc<Table>,
    destination: &Destination,
    options: &WriteOptions,
    state: &QueryState,
) -> Result<Written> {
    let mut output = open(table, destination, options)?;
    let source = all_of(table)?;
    let parts = output.write(rows(&source, files(table), state), state)?;
    output.finish(parts, state)
}

/// Opens a destination for the rows of a table.
pub(crate) fn open(table: &Arc<Table>, destination: &Destination, options: &WriteOptions) -> Result<Output> {
    refuse_own_files(files(table), destination)?;
    Output::open(table_name(&table.name), table.schema.clone(), destination, options)
}

/// The files of a table.
pub(crate) fn files(table: &Table) -> &[FileEntry] {
    match &table.source {
        Source::Files(set) => &set.files,
        Source::Range { .. } | Source::Generated(_) | Source::Memory(_) => &[],
    }
}

/// The source of a scan of all columns of a table.
pub(crate) fn all_of(table: &Arc<Table>) -> Result<ScanSource> {
    let scan = Scan {
        table: table.clone(),
        projection: (0..table.schema.fields().len()).collect(),
        bounds: Vec::new(),
        prefixes: vec![],
        filters: Vec::new(),
        fetch: None,
        in_order: false,
        transform: None,
    };
    ScanSource::new(&scan, table.schema.clone())
}

/// The rows of a table with these files, as lanes in their order.
pub(crate) fn rows<'a>(
    source: &'a ScanSource,
    files: &'a [FileEntry],
    state: &'a QueryState,
) -> Rows<'a, Lane<'a>> {
    let mut file = 0;
    Rows {
        files: files.len().max(1),
        deal: Box::new(move || {
            Ok(source.take()?.map(|piece| match piece {
                Split::Rows(range) => Lane { file: 0, from: From::Rows(range) },
                Split::File(part) => {
                    // Splits come in the order of files, and a file without rows may have none.
                    while files.get(file).is_some_and(|f| f.path != part.morsel.file.path) {
                        file += 1;
                    }
                    Lane { file, from: From::Closed(part) }
                }
            }))
        }),
        read: Box::new(move |lane: &mut Lane<'a>| {
            let step = next(&mut lane.from, source, state)?;
            if let Step::Item(batch) = &step {
                state.rows_read.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            }
            Ok(step.map(|batch| (lane.file, batch)))
        }),
    }
}

/// The name of the table for the manifest. `None` if it is a path.
fn table_name(name: &str) -> Option<String> {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    plain.then(|| name.to_string())
}

/// The next batch.
fn next<'a>(from: &mut From<'a>, source: &ScanSource, state: &'a QueryState) -> Result<Step<RecordBatch>> {
    if let From::Closed(part) = from {
        let (input, morsel) = (part.open()?, &part.morsel);
        let (format, options) = (source.format(), source.options(&morsel.file));
        let (Some(format), Some(options)) = (format, options) else {
            unreachable!("morsels are dealt of files")
        };
        let reader = format.reader(morsel, options).map_err(|e| e.at(&morsel.file.path))?;
        *from = From::File(Box::new(Driver::new(morsel.file.clone(), input, reader, state)));
    }
    let driver = match from {
        From::Closed(_) => unreachable!("it was opened above"),
        From::Rows(range) => return Ok(source.make(range)?.map_or(Step::Done, Step::Item)),
        From::File(driver) => driver,
    };
    if state.stopped() {
        return Ok(Step::Done);
    }
    match driver.step()? {
        Read::Batch(batch) => {
            memory::check(0, || "converting".into())?;
            Ok(Step::Item(source.map_schema(driver.file(), &batch)?))
        }
        Read::Wait => Ok(Step::Wait),
        // The reader follows no second file here, and `step` waits for bytes.
        Read::Done => Ok(Step::Done),
        Read::Followed | Read::Pending => Ok(Step::Wait),
    }
}

/// Fails if a file of the table is the destination or lies in it. The file would be replaced, and lost if anything
/// failed.
fn refuse_own_files(files: &[FileEntry], destination: &Destination) -> Result<()> {
    let path = destination.path();
    let place = |path: &Path| match remote::is_location(path) {
        true => Ok(path.to_path_buf()),
        false => roots::canonicalize(path),
    };
    // A destination that does not exist is no file of the table.
    let Ok(target) = place(path) else { return Ok(()) };
    let lies_there = |file: &Path| place(file).is_ok_and(|file| file.starts_with(&target));
    match files.iter().find(|file| lies_there(&file.path)) {
        None => Ok(()),
        Some(file) => {
            let message = match file.path == path {
                true => "it is read and would be replaced".to_string(),
                false => format!("{} is read and would be replaced", file.path.display()),
            };
            let help = Some("write to another place, and rename it afterwards".to_string());
            Err(formats::Error::location(path.display(), message, help).into())
        }
    }
}
