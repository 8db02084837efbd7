//! The source of a scan, which the workers of a process share. It gives them splits in the order of the table.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use formats::format::{Format, Found, Morsel, Part, ScanOptions};
use formats::reader::Driver;
use formats::store::input::Input;
use queries::plan::Scan as Plan;
use schema::bdb::Generator;
use schema::{FileEntry, MemoryRows, Source};
use timely::scheduling::SyncActivator;

use super::super::transform::FileRows;
use super::assignment::{Assigned, Numbered, Wanted};
use super::files::{Files, Taken};
use super::prefetch::{self, FileSplit, Likely, Window};
use super::reading::Column;
use super::static_partition::StaticPartition;
use super::stealing::{self, More};
use crate::context::memory;
use crate::context::query::QueryState;
use crate::dataflow::batch::{BATCH_ROWS, batch_of};
use crate::distributed::processes::Topology;
use crate::error::{Error, Result};

/// Files of at most so many bytes share batches, so that batches are not too small.
pub const SMALL: u64 = 1 << 20;
/// The bytes of a batch, about, where the number of rows of a generated unit is not known.
const BATCH_BYTES: u64 = 1 << 20;
/// Generated rows that a worker takes at once.
const MORSEL_ROWS: u64 = 1 << 17;

/// The splits of one scan.
pub struct ScanSource {
    pub(super) plan: Plan,
    schema: SchemaRef,
    from: From,
    taken: Mutex<Taken>,
    numbered: Mutex<Numbered>,
    window: Window,
    likely: Likely,
    partition: StaticPartition,
}

enum From {
    Files(Box<Files>),
    Range { start: i64, step: i64, rows: u64 },
    Generator(Box<Generator>, u64),
    Memory(MemoryRows),
}

/// A part of a table that one worker scans.
pub enum Split {
    /// A morsel of a file.
    File(FileSplit),
    /// Numbers of rows, generated or in memory.
    Rows(Range<u64>),
}

fn window_over(from: &From, window: Window, memory_limit: u64) -> Window {
    match from {
        From::Files(files) if files.lie_in_store() => window.of_store(memory_limit),
        From::Files(_) | From::Range { .. } | From::Generator(..) | From::Memory(_) => window,
    }
}

impl ScanSource {
    /// The source of a scan whose batches have `schema`.
    pub fn new(plan: &Plan, schema: SchemaRef) -> Result<ScanSource> {
        let from = match &plan.table.source {
            Source::Files(set) => From::Files(Box::new(Files::new(plan, set)?)),
            Source::Range { start, step, .. } => {
                From::Range { start: *start, step: *step, rows: plan.table.rows.unwrap_or(0) }
            }
            Source::Generated(spec) => From::Generator(Box::new(spec.generator()), spec.units()),
            Source::Memory(rows) => From::Memory(rows.clone()),
        };
        let window = window_over(&from, Window::new(prefetch::PARTS), memory::limit());
        let partition = StaticPartition::of(Topology::alone(1), 0);
        Ok(ScanSource {
            plan: plan.clone(),
            schema,
            from,
            taken: Mutex::new(Taken { range: partition.own(), ..Taken::default() }),
            numbered: Mutex::default(),
            window,
            likely: Likely::default(),
            partition,
        })
    }

    /// The same source for one process, which scans this static partition.
    ///
    /// # Errors
    /// Standard input: only one process could read it.
    pub fn with_partition(self, mut partition: StaticPartition) -> Result<ScanSource> {
        let files = match &self.from {
            From::Files(files) => files.list(),
            From::Range { .. } | From::Generator(..) | From::Memory(_) => &[],
        };
        if !partition.is_all() && files.iter().any(|file| file.path.as_os_str() == "-") {
            return Err(Error::Unsupported("standard input read by several processes".into()));
        }
        match &self.from {
            From::Files(from) => {
                partition.total = files.iter().map(|file| self.divided_bytes(from, file)).sum();
                let is_dealt = |file: &FileEntry| from.is_assigned_one_by_one(file);
                if !partition.is_all() && self.plan.transform.is_none() && files.iter().any(is_dealt) {
                    partition = partition.dealing();
                }
            }
            From::Range { rows, .. } => (partition.total, partition.least) = (*rows, MORSEL_ROWS),
            From::Memory(rows) => (partition.total, partition.least) = (rows.rows(), MORSEL_ROWS),
            From::Generator(generator, units) => {
                let least = stealing::LEAST / generator.spec().unit_bytes().max(1);
                (partition.total, partition.least) = (*units, least.min(MORSEL_ROWS));
            }
        }
        let taken = Taken { file: partition.first_file(), range: partition.own(), ..Taken::default() };
        Ok(ScanSource { partition, taken: Mutex::new(taken), ..self })
    }

    /// The same source with another prefetch window, for a query that has so much memory in bytes.
    pub fn with_window(self, window: Window, memory_limit: u64) -> ScanSource {
        ScanSource { window: window_over(&self.from, window, memory_limit), ..self }
    }

    /// Takes what a reader of another process reports of a morsel border.
    pub fn hear(&self, file: usize, found: Found) {
        if let From::Files(files) = &self.from {
            self.partition.hear(files.format, file, found);
        }
    }

    /// Whether there are more splits, once this process has none left. Asks another process for some.
    pub fn more(&self, seen: &mut u64, wake: impl Fn() -> SyncActivator) -> More {
        self.partition.more(seen, wake)
    }

    /// Takes the range that another process gives away.
    pub fn take_over(&self, range: Range<u64>) {
        self.partition.take_over(range, |range| {
            let mut taken = self.taken.lock().expect("a panic with this lock ends the query");
            *taken = Taken { range, given: true, ..Taken::default() };
        });
    }

    /// Gives another process the back half of what is left here, if that is large enough.
    pub fn give(&self, process: usize) {
        self.partition.tell_given(process, self.give_half());
    }

    fn give_half(&self) -> Range<u64> {
        let mut taken = self.taken.lock().expect("a panic with this lock ends the query");
        let next = match &self.from {
            From::Files(_) => taken.parts.at().unwrap_or(taken.before),
            From::Range { .. } | From::Generator(..) | From::Memory(_) => taken.row,
        };
        let next = next.max(taken.range.start);
        let left = taken.range.end.min(self.partition.total).saturating_sub(next);
        if left < self.partition.least.max(2) {
            return 0..0;
        }
        let end = taken.range.end;
        taken.range.end = next + left / 2;
        let cut = taken.range.end;
        taken.parts.cut(cut);
        cut..end
    }

    /// The bytes of a file that count when a table is divided among processes: `transform()` reads each file as a whole.
    fn divided_bytes(&self, files: &Files, file: &FileEntry) -> u64 {
        match file.process {
            None if self.plan.transform.is_some() => file.bytes,
            _ => files.divided_bytes(file),
        }
    }

    /// Asks for the next of the splits that are assigned one by one, for this worker (numbered over all processes).
    ///
    /// # Errors
    /// A file that can't be cut.
    pub fn deal(
        &self,
        worker: usize,
        wanted: Wanted,
        wake: impl Fn() -> SyncActivator,
    ) -> Result<Assigned<FileSplit>> {
        let (From::Files(files), Some(dealing)) = (&self.from, &self.partition.dealing) else {
            return Ok(Assigned::Nothing);
        };
        let number = match dealing.ask(worker, wanted, wake) {
            Assigned::Part(number) => number,
            Assigned::Nothing => return Ok(Assigned::Nothing),
            Assigned::Later => return Ok(Assigned::Later),
        };
        let mut numbered = self.numbered.lock().expect("a panic with this lock ends the query");
        let Some(part) = numbered.part(number, files, &self.partition)? else { return Ok(Assigned::Nothing) };
        let soon = numbered.soon(number, self.window, self.partition.process());
        drop(numbered);
        self.read_ahead(files, &soon);
        Ok(Assigned::Part(part))
    }

    fn read_ahead(&self, files: &Files, parts: &[FileSplit]) {
        for part in parts {
            part.read_ahead(files.format, &files.reading(&part.morsel.file).options, &self.likely);
        }
    }

    /// Answers a worker of another process which split it gets.
    pub fn answer(&self, worker: usize, before: Option<u64>) {
        if let Some(dealing) = &self.partition.dealing {
            dealing.answer(worker, before);
        }
    }

    /// Takes the answer for a worker of this process.
    pub fn answered(&self, worker: usize, part: Option<u64>) {
        if let Some(dealing) = &self.partition.dealing {
            dealing.answered(worker, part);
        }
    }

    /// The morsels of a file.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn morsels(&self, file: usize) -> Result<Vec<Morsel>> {
        let From::Files(files) = &self.from else { return Ok(Vec::new()) };
        let Some(entry) = files.list().get(file) else { return Ok(Vec::new()) };
        Ok(files.split(entry)?)
    }

    /// Whether the reader of a morsel of this file needs what the readers before it find.
    pub fn has_borders(&self, file: usize) -> bool {
        let From::Files(files) = &self.from else { return false };
        files.list().get(file).is_some_and(|file| files.is_assigned_one_by_one(file))
    }

    /// The next split, in the order of the table.
    pub fn take(&self) -> Result<Option<Split>> {
        let mut taken = self.taken.lock().expect("a panic with this lock ends the query");
        let rows = match &self.from {
            From::Files(files) => return Ok(self.take_part(files, taken)?.map(Split::File)),
            From::Range { rows, .. } => *rows,
            From::Generator(_, units) => *units,
            From::Memory(rows) => rows.rows(),
        };
        let start = taken.row.max(taken.range.start);
        let end = rows.min(taken.range.end).min(start.saturating_add(MORSEL_ROWS));
        taken.row = end.max(start);
        Ok((start < end).then_some(Split::Rows(start..end)))
    }

    /// The next split of a file. Prefetches the splits that come into the window, once the lock is free again.
    fn take_part(&self, files: &Files, mut taken: MutexGuard<'_, Taken>) -> Result<Option<FileSplit>> {
        let mut part = files.take(&mut taken, self.window, &self.partition)?;
        if let Some(part) = &mut part {
            part.piece = taken.pieces;
            taken.pieces += 1;
        }
        let soon = taken.parts.soon(self.window);
        drop(taken);
        self.read_ahead(files, &soon);
        Ok(part)
    }

    /// The next split, if it is a small file that can share batches with this file, whose split has the number `piece`.
    pub fn take_following(&self, file: &FileEntry, piece: u64) -> Result<Option<FileSplit>> {
        let From::Files(files) = &self.from else { return Ok(None) };
        if self.plan.fetch.is_some() || file.bytes > SMALL || !file.constants.is_empty() {
            return Ok(None);
        }
        let taken = self.taken.lock().expect("a panic with this lock ends the query");
        if self.plan.in_order && taken.pieces != piece + 1 {
            return Ok(None);
        }
        let follows = taken.parts.front().is_some_and(|next| {
            next.part == Part::Whole
                && next.file.bytes <= SMALL
                && next.file.layout == file.layout
                && next.file.constants.is_empty()
        });
        if follows && !files.format.compresses_inside() { self.take_part(files, taken) } else { Ok(None) }
    }

    /// The columns of the scan's batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether workers say which split their rows come from, so that worker 0 can put the rows in order.
    pub fn is_in_order(&self) -> bool {
        self.plan.in_order
    }

    /// The format of the table's files.
    pub fn format(&self) -> Option<&'static dyn Format> {
        match &self.from {
            From::Files(files) => Some(files.format),
            _ => None,
        }
    }

    /// What the readers of a file get.
    pub fn options(&self, file: &FileEntry) -> Option<&ScanOptions> {
        match &self.from {
            From::Files(files) => Some(&files.reading(file).options),
            _ => None,
        }
    }

    /// Reads all splits that are left, on this thread. `state` counts what readers skip.
    pub fn read_all(
        &self,
        state: &Arc<QueryState>,
        each: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        while let Some(piece) = self.take()? {
            match (piece, &self.from) {
                (Split::Rows(mut range), _) => {
                    while let Some(batch) = self.make(&mut range)? {
                        each(batch)?;
                    }
                }
                (Split::File(split), From::Files(files)) => {
                    let file = &split.morsel.file;
                    let reader = files.format.reader(&split.morsel, &files.reading(file).options);
                    let reader = reader.map_err(|e| e.at(&file.path))?;
                    for batch in Driver::new(file.clone(), split.open()?, reader, state.clone()) {
                        each(self.map_schema(file, &batch?)?)?;
                    }
                }
                (Split::File(_), _) => {}
            }
        }
        Ok(())
    }

    /// The rows of the next file, all its columns, for `transform()`.
    pub fn take_file(&self, state: Arc<QueryState>) -> Result<Option<FileRows>> {
        let From::Files(files) = &self.from else { return Ok(None) };
        let mut taken = self.taken.lock().expect("a panic with this lock ends the query");
        let file = loop {
            let Some(file) = files.list().get(taken.file) else { return Ok(None) };
            let is_read = match file.process {
                Some(process) => !taken.given && u64::from(process) == self.partition.process().0,
                None => taken.range.contains(&taken.before),
            };
            taken.file += 1;
            taken.before += self.divided_bytes(files, file);
            if is_read {
                break file;
            }
        };
        drop(taken);
        let mut options = files.reading(file).options.clone();
        options.projection = (0..options.schema.fields().len()).collect();
        options.bounds.clear();
        options.prefixes.clear();
        let morsels = files.format.split(&Arc::new(file.clone()), &options, u64::MAX)?;
        let readers = morsels.into_iter().map(|m| {
            let reader = files.format.reader(&m, &options).map_err(|e| e.at(&m.file.path))?;
            Ok(Driver::new(m.file.clone(), Input::of(&m.file)?, reader, state.clone()))
        });
        let readers = readers.collect::<formats::Result<_>>()?;
        Ok(Some(FileRows { name: file.path.display().to_string(), readers, state }))
    }

    /// Maps a batch of a file's reader to the columns of the scan.
    pub fn map_schema(&self, file: &FileEntry, batch: &RecordBatch) -> Result<RecordBatch> {
        let From::Files(files) = &self.from else { return Ok(batch.clone()) };
        let rows = batch.num_rows();
        let columns = files.reading(file).columns.iter().zip(self.schema.fields()).map(|(column, field)| {
            Ok(match *column {
                Column::Read(i) => batch.column(i).clone(),
                Column::Null => arrow_array::new_null_array(field.data_type(), rows),
                Column::Constant(i) => {
                    let text =
                        arrow_array::StringArray::from(vec![file.constants.get(i).cloned().flatten(); 1]);
                    let value = arrow_cast::cast(&text, field.data_type())?;
                    let repeated = arrow_array::UInt32Array::from(vec![0; rows]);
                    arrow_select::take::take(&value, &repeated, None)?
                }
            })
        });
        batch_of(&self.schema, columns.collect::<Result<Vec<ArrayRef>>>()?, rows)
    }

    /// Generates the rows at the front of `range`, or takes them from memory, at most a batch of them.
    pub fn make(&self, range: &mut Range<u64>) -> Result<Option<RecordBatch>> {
        if let From::Memory(rows) = &self.from {
            let most = (range.end - range.start).min(BATCH_ROWS as u64);
            let Some(part) = rows.part(range.start, most).filter(|_| most > 0) else { return Ok(None) };
            range.start += part.num_rows() as u64;
            let columns = self.plan.projection.iter().map(|&column| part.column(column).clone()).collect();
            return Ok(Some(batch_of(&self.schema, columns, part.num_rows())?));
        }
        // A unit of documents is a page of many rows.
        let units = match &self.from {
            From::Generator(g, _) if g.spec().rows().is_none() => {
                (BATCH_BYTES / g.spec().unit_bytes().max(1)).max(1)
            }
            _ => BATCH_ROWS as u64,
        };
        let part = range.start..range.end.min(range.start + units);
        range.start = part.end;
        if part.is_empty() {
            return Ok(None);
        }
        match &self.from {
            From::Range { start, step, .. } => {
                let value = |i: u64| start.wrapping_add((i as i64).wrapping_mul(*step));
                let rows = (part.end - part.start) as usize;
                let values: ArrayRef = Arc::new(Int64Array::from_iter_values(part.map(value)));
                let columns = self.plan.projection.iter().map(|_| values.clone()).collect();
                Ok(Some(batch_of(&self.schema, columns, rows)?))
            }
            From::Generator(generator, _) => {
                let made = generator.batch(part, &self.plan.projection);
                Ok(Some(batch_of(&self.schema, made.columns().to_vec(), made.num_rows())?))
            }
            From::Files(_) | From::Memory(_) => Ok(None),
        }
    }
}
