//! The first rows of a table as many small files.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use formats::registry::format;
use schema::{FormatOptions, Source, Table};

use crate::context::query::QueryState;
use crate::error::Result;
use crate::writing::convert::{all_of, rows};
use crate::writing::dataset::{Destination, Output, Rows, WriteOptions, Written};
use crate::writing::ordered_pipeline::Step;

/// Rows that are encoded to see how large they are.
const SAMPLE_ROWS: usize = 1000;

/// Writes a dataset of so many files of about so many bytes each, before compression; fewer if the table has not enough
/// rows. `state` is told of the rows read.
pub fn write(
    table: &Arc<Table>,
    files: usize,
    bytes: usize,
    directory: &Path,
    options: &WriteOptions,
    state: &QueryState,
) -> Result<Written> {
    let sample = first_rows(table, SAMPLE_ROWS, state)?;
    let each = rows_of(&sample, table, bytes, &options.format)?;
    let mut lane = Some(parts(first_rows(table, files * each, state)?, each));
    let files = lane.as_ref().and_then(|parts| parts.back()).map_or(1, |(file, _)| file + 1);
    let rows = Rows {
        files,
        deal: Box::new(|| Ok(lane.take())),
        read: Box::new(|parts: &mut VecDeque<(usize, RecordBatch)>| {
            Ok(parts.pop_front().map_or(Step::Done, Step::Item))
        }),
    };
    let destination = Destination::Dataset(directory.to_path_buf());
    let mut output = Output::open(None, table.schema.clone(), &destination, options)?;
    let parts = output.write(rows, state)?;
    output.finish(parts, state)
}

/// The first rows of a table, so many of them if there are as many.
fn first_rows(table: &Arc<Table>, wanted: usize, state: &QueryState) -> Result<Vec<RecordBatch>> {
    let files = match &table.source {
        Source::Files(set) => set.files.as_slice(),
        _ => &[],
    };
    let source = all_of(table)?;
    let Rows { mut deal, read, .. } = rows(&source, files, state);
    let (mut batches, mut found) = (Vec::new(), 0);
    while let Some(mut lane) = deal()? {
        loop {
            match read(&mut lane)? {
                Step::Item((_, batch)) => {
                    let taken = batch.num_rows().min(wanted - found);
                    batches.push(batch.slice(0, taken));
                    found += taken;
                    if found == wanted {
                        return Ok(batches);
                    }
                }
                // Lanes are read one after another here, so that what is older is done.
                Step::Wait => std::thread::yield_now(),
                Step::Done => break,
            }
        }
    }
    Ok(batches)
}

/// How many rows take so many bytes, at least one.
fn rows_of(sample: &[RecordBatch], table: &Table, bytes: usize, options: &FormatOptions) -> Result<usize> {
    let Some(batch) = sample.iter().find(|batch| batch.num_rows() > 0) else { return Ok(1) };
    let batch = batch.slice(0, batch.num_rows().min(SAMPLE_ROWS));
    let plain = FormatOptions { compression: "none".into(), ..options.clone() };
    let encoder = format(&plain.encoding)?.encoder(&table.schema, &plain)?;
    let encoded = encoder.encode(std::slice::from_ref(&batch))?.bytes.len();
    Ok((bytes * batch.num_rows() / encoded.max(1)).max(1))
}

/// Rows in parts of so many, each with its number.
fn parts(batches: Vec<RecordBatch>, rows: usize) -> VecDeque<(usize, RecordBatch)> {
    let (mut parts, mut row) = (VecDeque::new(), 0);
    for batch in batches {
        let mut at = 0;
        while at < batch.num_rows() {
            let room = rows - row % rows;
            let taken = room.min(batch.num_rows() - at);
            parts.push_back((row / rows, batch.slice(at, taken)));
            (row, at) = (row + taken, at + taken);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use formats::store::atomic::Overwrite;
    use schema::bdb::{Kind, Sizes};

    use super::*;

    #[test]
    fn files_have_the_size_that_is_asked_for() {
        let home = tempfile::tempdir().unwrap();
        let format = FormatOptions { encoding: "csv".into(), ..FormatOptions::default() };
        let options = WriteOptions {
            format,
            workers: 2,
            overwrite: Overwrite::flag(false),
            part_bytes: None,
            verify: false,
        };
        let (source, state) = (home.path().join("source"), QueryState::default());
        let spec = Sizes { rankings: 100, uservisits: 20_000, documents_bytes: 0 }.table(Kind::UserVisits, 0);
        crate::writing::generate::generate(&spec, 3, &source, &options, &state).unwrap();
        let open = |path: &Path| {
            let options = formats::discover::OpenOptions::default();
            Arc::new(formats::discover::open_path(path, "t", &options).unwrap())
        };
        let out = home.path().join("out");
        let written = write(&open(&source), 50, 10_000, &out, &options, &state).unwrap();
        assert_eq!(written.files, 50);
        let Source::Files(set) = &open(&out).source else { panic!("it has files") };
        let sizes: Vec<u64> = set.files[..49].iter().map(|f| f.bytes).collect();
        // Rows are of any length.
        assert!(sizes.iter().all(|bytes| (5_000..20_000).contains(bytes)), "{sizes:?}");
        assert!((8_000..12_500).contains(&(sizes.iter().sum::<u64>() / 49)), "{sizes:?}");
        assert!(set.files[..49].windows(2).all(|pair| pair[0].rows == pair[1].rows));
        // The whole table is not enough for more.
        let all = write(&open(&source), 5_000, 10_000, &home.path().join("all"), &options, &state).unwrap();
        assert!(all.rows == 20_000 && all.files < 5_000);
    }
}
