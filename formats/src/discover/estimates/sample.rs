//! Guesses from a sample: the first records of a few files, or a few runs of rows in memory.
//!
//! A sample at the head of a file tells little where the file is sorted: its values go on behind the sample. So equal
//! values one behind the other count as one. A column has a span only if all parts of the sample have about the same.
//! It also has one if files differ more than the rows of one do.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use hashbrown::HashMap;
use schema::{
    ColumnEstimate, DeferredValidation, FileEntry, FileSet, FormatOptions, MemoryRows, OnError, Table,
    TableEstimates,
};
use twox_hash::XxHash32;

use super::{FILES, columns_in};
use crate::columns::bounds::Value;
use crate::format::{Format, ScanOptions};
use crate::parallel;
use crate::rows::head::Head;
use crate::store::remote;

/// Decompressed bytes that are looked at of all files together.
const BYTES: usize = 256 << 10;

/// Those of a file in a store: so many were read when its encoding was looked for.
const REMOTE_BYTES: usize = 64 << 10;

/// Rows that are looked at of all files together.
const ROWS: usize = 4096;

/// So many times smaller than what it holds is taken to be a compressed file of which nothing was looked at.
const RATIO: f64 = 4.0;

/// The number of values counts as seen if at least so many of those in the sample repeat others.
const REPEATED: u64 = 10;

/// The values of a column go on behind the sample unless each part of it has at least this part of the span of all.
const STEADY: f64 = 0.75;

/// Guesses of a table in files of records.
pub fn of(format: &dyn Format, table: &Table, set: &FileSet, files: &[&FileEntry]) -> TableEstimates {
    let look = |i: usize| Ok(look(format, table, set, files[i], files.len()));
    let heads = parallel::each(files.len(), look).unwrap_or_default();
    let heads: Vec<Looked> = heads.into_iter().flatten().collect();
    let rows = table.rows.or_else(|| rows(set, &heads));
    let mut sample = Sample::new(set.file_columns);
    for looked in &heads {
        if let Some(batch) = &looked.head.batch {
            sample.add(batch, &looked.columns);
        }
    }
    let is_whole = heads.iter().all(|looked| looked.head.is_whole)
        && heads.len() == set.files.iter().filter(|file| file.bytes > 0).count();
    let columns = rows.map(|rows| sample.guesses(rows as f64, is_whole)).unwrap_or_default();
    TableEstimates { rows: rows.filter(|_| table.rows.is_none()), columns }
}

/// Guesses of a table in memory.
pub fn of_memory(rows: &MemoryRows, columns: usize) -> Vec<ColumnEstimate> {
    let (all, part) = (rows.rows(), (ROWS / FILES) as u64);
    let positions: Vec<usize> = (0..columns).collect();
    let mut sample = Sample::new(columns);
    // A batch may end before a part does.
    let mut add = |mut start: u64, end: u64| {
        while let Some(batch) = rows.part(start, end - start).filter(|_| start < end) {
            sample.add(&batch, &positions);
            start += batch.num_rows() as u64;
        }
    };
    let is_whole = all <= ROWS as u64;
    match is_whole {
        true => add(0, all),
        false => (0..FILES as u64).for_each(|i| {
            let start = (all - part) * i / (FILES as u64 - 1);
            add(start, start + part);
        }),
    }
    sample.guesses(all as f64, is_whole)
}

/// The first records of a file.
struct Looked<'a> {
    head: Head,
    /// The column of the table that each column of the batch is.
    columns: Vec<usize>,
    compression: &'a str,
}

/// Looks at the first records of a file, one of `files`. `None` if there is nothing to be learned from it.
fn look<'a>(
    format: &dyn Format,
    table: &Table,
    set: &'a FileSet,
    file: &FileEntry,
    files: usize,
) -> Option<Looked<'a>> {
    let layout = set.layout(file);
    let schema = match layout {
        Some(layout) => layout.schema.clone(),
        None => table.schema.project(&(0..set.file_columns).collect::<Vec<_>>()).ok()?.into(),
    };
    let compression = layout.map_or(&set.format.compression, |layout| &layout.compression);
    let is_nested = |position: usize| schema.fields().get(position).is_none_or(|f| f.data_type().is_nested());
    let (columns, projection) =
        columns_in(table, set, file).filter(|(_, position)| !is_nested(*position)).unzip();
    let scan = ScanOptions {
        schema,
        projection,
        bounds: vec![],
        prefixes: vec![],
        unseen: DeferredValidation::Nothing,
        batch_rows: ROWS / files,
        format: FormatOptions {
            compression: compression.clone(),
            on_error: OnError::Skip,
            ..set.format.clone()
        },
    };
    let most = if remote::is_remote(&file.path) { REMOTE_BYTES } else { BYTES };
    let head = format.head(file, &scan, most / files).ok()??;
    (head.records > 0 || head.is_whole).then_some(Looked { head, columns, compression })
}

/// About how many rows the files have: their sizes by the mean length of the records that were looked at.
fn rows(set: &FileSet, heads: &[Looked]) -> Option<u64> {
    let mean = |bytes: f64, records: u64| (records > 0).then(|| bytes / records as f64);
    let records = heads.iter().map(|looked| looked.head.records).sum();
    let raw = mean(heads.iter().map(|looked| looked.head.raw as f64).sum(), records);
    let mut lengths: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for looked in heads {
        let (bytes, records) = lengths.entry(looked.compression).or_default();
        *bytes += looked.head.bytes;
        *records += looked.head.records;
    }
    if records == 0 && !heads.is_empty() {
        return Some(0);
    }
    let mut all = 0.0;
    for file in &set.files {
        let compression = set.layout(file).map_or(&set.format.compression, |layout| &layout.compression);
        let own = lengths.get(compression.as_str()).and_then(|(bytes, records)| mean(*bytes, *records));
        let ratio = if compression == "none" { 1.0 } else { RATIO };
        let length = own.or(raw.map(|raw| raw / ratio));
        all += match file.rows {
            Some(rows) => rows as f64,
            // The size of a pipe is not known.
            None if file.bytes == 0 => return None,
            None => file.bytes as f64 / length.filter(|length| *length > 0.0)?,
        };
    }
    Some(all.round() as u64)
}

/// What a sample says of columns.
struct Sample {
    columns: Vec<ColumnSample>,
    rows: u64,
}

/// What a sample says of a column.
#[derive(Default)]
struct ColumnSample {
    /// How many rows have a value.
    values: u64,
    /// Runs of equal values one behind the other.
    runs: u64,
    last: Option<u32>,
    /// The hash of each value, and whether it has several runs.
    seen: HashMap<u32, bool>,
    /// From which value to which those of both halves of the rows of each file go; nothing of what has no numbers.
    spans: Vec<Vec<(f64, f64)>>,
}

impl Sample {
    /// Of no rows yet.
    fn new(columns: usize) -> Sample {
        Sample { columns: (0..columns).map(|_| ColumnSample::default()).collect(), rows: 0 }
    }

    /// Adds rows of a file that have these columns.
    fn add(&mut self, batch: &RecordBatch, columns: &[usize]) {
        let rows = batch.num_rows();
        self.rows += rows as u64;
        for (array, column) in batch.columns().iter().zip(columns) {
            let Some(sample) = self.columns.get_mut(*column) else { continue };
            hashes(array, &mut |hash| sample.see(hash));
            let halves = [array.slice(0, rows / 2), array.slice(rows / 2, rows - rows / 2)];
            let spans: Vec<(f64, f64)> = halves.iter().filter_map(span).collect();
            if !spans.is_empty() {
                sample.spans.push(spans);
            }
        }
    }

    /// The guesses for a table of so many rows. `is_whole` says that there are no others than those of the sample.
    fn guesses(&self, rows: f64, is_whole: bool) -> Vec<ColumnEstimate> {
        let guess = |column: &ColumnSample| {
            // A column without values, or of a kind that is not looked at.
            if column.values == 0 {
                return ColumnEstimate::default();
            }
            let values = rows * column.values as f64 / (self.rows as f64).max(1.0);
            let (values, is_counted) = match is_whole {
                true => (Some(column.seen.len() as f64), true),
                false => column.distinct(values),
            };
            ColumnEstimate {
                values: values.map(|values| values.round() as u64),
                is_counted,
                span: column.span(is_whole),
            }
        };
        let guesses: Vec<ColumnEstimate> = self.columns.iter().map(guess).collect();
        let is_known = guesses.iter().any(|guess| guess.values.is_some() || guess.span.is_some());
        if is_known { guesses } else { vec![] }
    }
}

impl ColumnSample {
    fn see(&mut self, hash: u32) {
        self.values += 1;
        if self.last == Some(hash) {
            return;
        }
        self.last = Some(hash);
        self.runs += 1;
        self.seen.entry(hash).and_modify(|repeats| *repeats = true).or_insert(false);
    }

    /// About how many different values so many rows have, and whether that is more than a bound.
    ///
    /// This is Duj1 of Haas and Stokes 1998. Of n rows of N that have d values, f of them once, it makes n d / (n − f +
    /// f n / N). It is right for rows by chance. Rows that lie sorted come in runs, and so do those of a file that was
    /// written group by group. Runs are taken for its rows.
    fn distinct(&self, rows: f64) -> (Option<f64>, bool) {
        let (seen, runs) = (self.seen.len() as f64, self.runs as f64);
        // A column of one value so far may be sorted.
        if self.seen.len() < 2 {
            return (None, false);
        }
        let all_runs = (rows * runs / self.values as f64).max(runs);
        let once = self.seen.values().filter(|repeats| !**repeats).count() as f64;
        let values = runs * seen / (runs - once + once * runs / all_runs);
        (Some(values.clamp(seen, rows.max(seen))), self.runs - self.seen.len() as u64 >= REPEATED)
    }

    /// About from which value to which they go.
    fn span(&self, is_whole: bool) -> Option<(f64, f64)> {
        let length = |(from, to): (f64, f64)| to - from;
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        let of_files = self.spans.iter().filter_map(|halves| halves.iter().copied().reduce(both));
        let all = of_files.clone().reduce(both)?;
        let steady = STEADY * length(all);
        let is_steady =
            self.seen.len() > 1 && self.spans.iter().flatten().all(|half| length(*half) >= steady);
        let longest = of_files.map(length).fold(0.0, f64::max);
        let is_divided = self.spans.len() > 1 && longest * 2.0 < length(all);
        (is_whole || is_steady || is_divided).then_some(all)
    }
}

/// The least and the greatest value of a column of numbers or times; `None` of other columns, and where all are NULL.
fn span(array: &ArrayRef) -> Option<(f64, f64)> {
    let t = array.data_type();
    if !(t.is_numeric() || matches!(t, DataType::Date32 | DataType::Timestamp(..))) {
        return None;
    }
    let number = |row| match Value::of(array, row)? {
        Value::Int(v) => Some(v as f64),
        Value::Float(v) => Some(v),
        Value::Bytes(_) => None,
    };
    let numbers = (0..array.len()).filter_map(number).filter(|v| v.is_finite());
    numbers.map(|v| (v, v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Calls `see` with the hash of each value that is not NULL, in their order. Of nested values it sees none.
fn hashes(array: &ArrayRef, see: &mut impl FnMut(u32)) {
    let mut bytes = |value: &[u8]| see(XxHash32::oneshot(0, value));
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().iter().flatten().for_each(|text| bytes(text.as_bytes())),
        DataType::BinaryView => array.as_binary_view().iter().flatten().for_each(bytes),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().flatten().for_each(bytes),
        DataType::Boolean => array.as_boolean().iter().flatten().for_each(|value| bytes(&[value.into()])),
        t => {
            let Some(width) = t.primitive_width() else { return };
            let data = array.to_data();
            let Some(values) = data.buffers().first() else { return };
            let valid = (0..data.len()).filter(|row| data.is_valid(*row));
            let value = |row: usize| values.get((data.offset() + row) * width..)?.get(..width);
            valid.filter_map(value).for_each(bytes);
        }
    }
}
