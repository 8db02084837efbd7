//! Reads a table: takes morsels from a queue that the workers of a process share, and drives their readers.

use std::fs::File;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{Schema, SchemaRef};
use formats::format::{Format, Morsel, ScanOptions};
use formats::reader::{FileReader, Next, read_range};
use queries::plan::Scan as Plan;
use schema::{FileEntry, FileSet, Source};

use super::batch_of;
use crate::batch::{BATCH_ROWS, Parcel};
use crate::error::{Error, Result};
use crate::operator::{Latch, Operator, Pull, Wake};
use crate::state::QueryState;

/// Morsels of about this many bytes are dealt.
const MORSEL_BYTES: u64 = 8 << 20;
/// Rows of a made table that are dealt at once.
const MORSEL_ROWS: u64 = 1 << 18;

/// The work of one scan, shared by the workers of a process.
pub struct Work {
    plan: Plan,
    schema: SchemaRef,
    files: Option<Files>,
    rows: u64,
    taken: Mutex<Taken>,
}

struct Files {
    set: FileSet,
    format: &'static dyn Format,
    options: ScanOptions,
    /// For each output column: its place among the columns read, or the number of a constant of the file.
    layout: Vec<Column>,
}

#[derive(Debug, Clone, Copy)]
enum Column {
    Read(usize),
    Constant(usize),
}

#[derive(Default)]
struct Taken {
    file: usize,
    morsels: std::collections::VecDeque<Morsel>,
    row: u64,
}

/// What a worker takes.
enum Piece {
    File(Morsel),
    Rows(Range<u64>),
}

impl Work {
    /// The work of a scan whose batches have `schema`.
    pub fn new(plan: &Plan, schema: SchemaRef) -> Result<Work> {
        let files = match &plan.table.source {
            Source::Files(set) => Some(Files::new(plan, set)?),
            _ => None,
        };
        let rows = plan.table.rows.unwrap_or(0);
        Ok(Work { plan: plan.clone(), schema, files, rows, taken: Mutex::default() })
    }

    /// The next piece, in the order of the table.
    fn take(&self) -> Result<Option<Piece>> {
        let mut taken = self.taken.lock().expect("a panic with this lock ends the process");
        let Some(files) = &self.files else {
            let from = taken.row;
            if from >= self.rows {
                return Ok(None);
            }
            taken.row = (from + MORSEL_ROWS).min(self.rows);
            return Ok(Some(Piece::Rows(from..taken.row)));
        };
        loop {
            if let Some(morsel) = taken.morsels.pop_front() {
                return Ok(Some(Piece::File(morsel)));
            }
            let Some(file) = files.set.files.get(taken.file) else { return Ok(None) };
            taken.file += 1;
            taken.morsels = files.format.split(&Arc::new(file.clone()), &files.options, MORSEL_BYTES)?.into();
        }
    }
}

impl Files {
    fn new(plan: &Plan, set: &FileSet) -> Result<Files> {
        let schema = &plan.table.schema;
        let mut projection = Vec::new();
        let mut layout = Vec::new();
        for column in &plan.projection {
            layout.push(match *column {
                c if c >= set.file_columns => Column::Constant(c - set.file_columns),
                c => {
                    let place = projection.iter().position(|p| *p == c).unwrap_or_else(|| {
                        projection.push(c);
                        projection.len() - 1
                    });
                    Column::Read(place)
                }
            });
        }
        let fields: Vec<_> = schema.fields()[..set.file_columns].to_vec();
        let bounds = plan.bounds.iter().filter(|b| b.column < set.file_columns).cloned().collect();
        let options = ScanOptions {
            schema: Arc::new(Schema::new(fields)),
            projection,
            bounds,
            batch_rows: BATCH_ROWS,
            format: set.format.clone(),
        };
        Ok(Files { format: formats::format::format(&set.format.encoding)?, set: set.clone(), options, layout })
    }
}

/// Reads morsels on one worker.
pub struct Scan {
    work: Arc<Work>,
    state: Arc<QueryState>,
    latches: Vec<Rc<Latch>>,
    wake: Wake,
    current: Option<Reading>,
    left: Option<usize>,
}

enum Reading {
    File { file: File, morsel: Morsel, reader: Box<dyn FileReader> },
    Rows(Range<u64>),
}

impl Scan {
    /// Takes from `work` once all latches are open.
    pub fn new(work: Arc<Work>, state: Arc<QueryState>, latches: Vec<Rc<Latch>>, wake: Wake) -> Scan {
        let left = work.plan.fetch;
        Scan { work, state, latches, wake, current: None, left }
    }

    fn open(&self, piece: Piece) -> Result<Reading> {
        Ok(match (piece, &self.work.files) {
            (Piece::File(morsel), Some(files)) => {
                let path = &morsel.file.path;
                let path = if path.as_os_str() == "-" { std::path::Path::new("/dev/stdin") } else { path.as_path() };
                let file = File::open(path).map_err(|e| formats::Error::io(path, "open", e))?;
                let reader = files.format.reader(&morsel, &files.options).map_err(|e| e.at(path))?;
                Reading::File { file, morsel, reader }
            }
            (Piece::Rows(range), _) => Reading::Rows(range),
            (Piece::File(_), None) => unreachable!("only files are dealt as files"),
        })
    }

    /// The next batch of the current piece; `None` at its end.
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        match self.current.as_mut() {
            None => Ok(None),
            Some(Reading::Rows(range)) => {
                let to = range.end.min(range.start + BATCH_ROWS as u64);
                let part = range.start..to;
                range.start = to;
                if part.is_empty() { Ok(None) } else { Ok(Some(made(&self.work, part)?)) }
            }
            Some(Reading::File { .. }) => self.advance_file(),
        }
    }

    fn advance_file(&mut self) -> Result<Option<RecordBatch>> {
        let Some(Reading::File { file, morsel, reader }) = self.current.as_mut() else { return Ok(None) };
        let path = &morsel.file.path;
        loop {
            match reader.next().map_err(|e| e.at(path))? {
                Next::Batch(batch) => {
                    let files = self.work.files.as_ref().expect("a file is read");
                    return Ok(Some(lay_out(files, &morsel.file, &batch, &self.work.schema)?));
                }
                Next::Done => {
                    self.state.add_skipped(reader.skipped());
                    return Ok(None);
                }
                Next::Wait => {
                    self.wake.local.activate();
                    return Err(Error::Cancelled);
                }
                Next::Need(ranges) => {
                    for range in ranges {
                        let bytes = read_range(file, &range).map_err(|e| formats::Error::io(path, "read", e))?;
                        self.state.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                        reader.give(range, bytes).map_err(|e| e.at(path))?;
                    }
                }
            }
        }
    }
}
