//! Scans a table. A worker takes splits from a source that the workers of its process share, and drives their readers.
//!
//! - [`source`]: the splits of one scan, in the order of the table.
//! - `files`: the files of a table, cut into splits.
//! - `reading`: how the files of one layout are read.
//! - `counted`: counts what readers skip.
//! - [`prefetch`]: the system reads ahead for the next splits.
//!
//! Where several processes scan one table:
//! - [`static_partition`]: the splits of a process.
//! - [`stealing`]: a process without splits takes some from another one.
//! - [`assignment`]: splits of csv files, which go one by one to the workers that ask.
//! - [`split_range`]: the splits of a process where rows keep their order.

pub mod assignment;
mod counted;
mod files;
pub mod prefetch;
mod reading;
pub mod source;
pub mod split_range;
pub mod static_partition;
pub mod stealing;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use formats::format::Morsel;
use formats::reader::{FileReader, Next};
use formats::store::input::Input;

use crate::context::query::QueryState;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{BuildBarrier, Operator, Pull, Wake};
use crate::error::Result;
use assignment::{Assigned, Wanted};
use counted::Counted;
use prefetch::FileSplit;
use source::{ScanSource, Split};
use stealing::More;

/// Scans splits on one worker.
pub struct Scan {
    source: Arc<ScanSource>,
    state: Arc<QueryState>,
    barriers: Vec<Rc<BuildBarrier>>,
    wake: Wake,
    /// The number of the worker, over all processes.
    worker: usize,
    /// The split that is read now.
    current: Option<Current>,
    /// A split whose reader waits while the worker reads one before it.
    waiting: Option<Box<Reading>>,
    /// What the worker asks for next of the splits that are assigned one by one, while there may be some.
    wanted: Option<Wanted>,
    /// Whether the worker has asked for a split. It does nothing else until it has the answer, so that it looks at the split
    /// at once.
    asks: bool,
    /// A split that was taken to share batches with the one before it, and could not.
    kept: Option<FileSplit>,
    /// Rows that are still wanted of this worker, if that is limited.
    left: Option<usize>,
    /// The number of the current split, until worker 0 is told that its rows begin.
    begins: Option<u64>,
    /// How many ranges this process had got from others when this worker last looked.
    seen: u64,
}

enum Current {
    File(Box<Reading>),
    Rows(Range<u64>),
}

/// A split of a file that is read, and small files that share its batches.
struct Reading {
    file: Input,
    morsel: Morsel,
    reader: Counted,
    /// Its number among the splits that are assigned one by one, as long as one before it may be left.
    number: Option<u64>,
    /// Its number among the splits that workers of this process have taken.
    piece: u64,
    /// The small file that the reader goes on with.
    next: Option<FileSplit>,
    /// How many small files the reader had gone on with when the scan last looked.
    followed: u64,
}

impl Reading {
    /// Takes the small file behind this one, for the same batches. Gives it back if the reader can't go on with it.
    fn follow(&mut self, source: &ScanSource) -> Result<Option<FileSplit>> {
        let Some(next) = source.take_following(&self.morsel.file, self.piece)? else { return Ok(None) };
        match self.reader.follow(&next.morsel) {
            true => self.next = Some(next),
            // It is read on its own.
            false => return Ok(Some(next)),
        }
        Ok(None)
    }

    /// Whether the reader has gone on with the next file; that one is then read.
    fn turned(&mut self) -> Result<bool> {
        if self.reader.followed() == self.followed {
            return Ok(false);
        }
        self.followed = self.reader.followed();
        if let Some(next) = self.next.take() {
            self.file = next.open()?;
            self.piece = next.piece;
            self.morsel = next.morsel;
        }
        Ok(true)
    }
}

impl Scan {
    /// Takes splits from `source` once all barriers are open: the build sides of the joins above are complete then.
    pub fn new(
        source: Arc<ScanSource>,
        state: Arc<QueryState>,
        barriers: Vec<Rc<BuildBarrier>>,
        wake: Wake,
        worker: usize,
    ) -> Scan {
        let (left, wanted) = (source.plan.fetch, Some(Wanted::Own));
        let (current, waiting, kept) = (None, None, None);
        let (begins, seen) = (None, 0);
        Scan {
            source,
            state,
            barriers,
            wake,
            worker,
            current,
            waiting,
            wanted,
            asks: false,
            kept,
            left,
            begins,
            seen,
        }
    }

    fn open(&mut self, piece: Split) -> Result<Current> {
        let part = match piece {
            Split::Rows(range) => return Ok(Current::Rows(range)),
            Split::File(part) => part,
        };
        let (file, number, piece) = (part.open()?, part.number, part.piece);
        let morsel = part.morsel;
        let path = morsel.file.path.as_path();
        let (format, options) = (self.source.format(), self.source.options(&morsel.file));
        let (Some(format), Some(options)) = (format, options) else {
            unreachable!("files are dealt as files")
        };
        let reader = format.reader(&morsel, options).map_err(|e| e.at(path))?;
        let reader = Counted::new(reader, self.state.clone());
        let mut reading = Reading { file, morsel, reader, number, piece, next: None, followed: 0 };
        self.kept = reading.follow(&self.source)?;
        Ok(Current::File(Box::new(reading)))
    }

    /// The next batch of the current split: `Empty` at its end, `Blocked` while its reader waits for others.
    fn advance(&mut self) -> Result<Pull> {
        let reading = match &mut self.current {
            None => return Ok(Pull::Empty),
            Some(Current::Rows(range)) => {
                let made = self.source.make(range)?;
                return Ok(made.map_or(Pull::Empty, |b| Pull::Batch(ExchangeBatch::from(b))));
            }
            Some(Current::File(reading)) => reading,
        };
        let _reading = formats::memory::read(&reading.morsel.file.path);
        loop {
            let next = reading.reader.next();
            if reading.turned()? {
                self.kept = reading.follow(&self.source)?;
            }
            match next.map_err(|e| e.at(&reading.morsel.file.path))? {
                Next::Batch(batch) => {
                    return Ok(Pull::Batch(ExchangeBatch::from(
                        self.source.map_schema(&reading.morsel.file, &batch)?,
                    )));
                }
                Next::Done => return Ok(Pull::Empty),
                Next::Wait => return Ok(Pull::Blocked),
                Next::Need(ranges) => {
                    for range in ranges {
                        let bytes = reading.file.read_range(&range)?;
                        self.state.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                        let given = reading.reader.give(range, bytes);
                        given.map_err(|e| e.at(&reading.morsel.file.path))?;
                    }
                    if self.state.stopped() {
                        return Ok(Pull::Empty);
                    }
                }
            }
        }
    }

    /// Takes the next split of this process, if there is one.
    fn take(&mut self) -> Result<bool> {
        let piece = match self.kept.take() {
            Some(part) => Some(Split::File(part)),
            None => self.source.take()?,
        };
        if self.source.is_in_order() {
            self.begins = piece.as_ref().map(|piece| match piece {
                Split::File(part) => part.piece,
                Split::Rows(range) => range.start,
            });
        }
        self.current = piece.map(|piece| self.open(piece)).transpose()?;
        Ok(self.current.is_some())
    }

    /// The number of the current split, if one before it may be left, which could be read meanwhile.
    fn before(&self) -> Option<u64> {
        match &self.current {
            Some(Current::File(reading)) if self.waiting.is_none() => reading.number,
            _ => None,
        }
    }

    /// Asks for a split of those that are assigned one by one: for one before the current split, if it waits, else for the next.
    fn ask(&mut self) -> Result<Assigned<FileSplit>> {
        let before = self.before().map(Wanted::Before);
        let Some(wanted) = before.or(self.wanted) else { return Ok(Assigned::Nothing) };
        let dealt = self.source.deal(self.worker, wanted, || self.wake.sync())?;
        self.asks = matches!(dealt, Assigned::Later);
        match (&dealt, &mut self.current, wanted) {
            (Assigned::Nothing, Some(Current::File(reading)), _) => reading.number = None,
            // There may be splits of other processes' turns.
            (Assigned::Nothing, _, Wanted::Own) => self.wanted = Some(Wanted::Before(u64::MAX)),
            (Assigned::Nothing, _, Wanted::Before(_)) => self.wanted = None,
            (Assigned::Part(_) | Assigned::Later, ..) => {}
        }
        Ok(dealt)
    }
}

impl Operator for Scan {
    fn push(&mut self, _port: usize, _given: ExchangeBatch) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        if self.left == Some(0) {
            // What was passed over until now is counted when the readers are dropped.
            (self.current, self.waiting) = (None, None);
            return Ok(Pull::Empty);
        }
        while let Some(barrier) = self.barriers.last() {
            if !barrier.wait(&self.wake.local) {
                return Ok(Pull::Blocked);
            }
            self.barriers.pop();
        }
        loop {
            if let Some(piece) = self.begins.take() {
                let batch = RecordBatch::new_empty(self.source.schema().clone());
                return Ok(Pull::Batch(ExchangeBatch { begins: Some(piece), ..ExchangeBatch::from(batch) }));
            }
            if !self.asks {
                match self.advance()? {
                    Pull::Batch(given) => {
                        let rows = given.batch.as_ref().map_or(0, |b| b.num_rows());
                        self.state.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
                        if let Some(left) = &mut self.left {
                            *left = left.saturating_sub(rows);
                        }
                        return Ok(Pull::Batch(given));
                    }
                    Pull::Blocked if self.before().is_none() => {
                        self.wake.local.activate();
                        return Ok(Pull::Blocked);
                    }
                    Pull::Blocked => {}
                    Pull::Empty => {
                        self.current = self.waiting.take().map(Current::File);
                        if self.current.is_some() || self.take()? {
                            continue;
                        }
                    }
                }
            }
            match self.ask()? {
                Assigned::Part(part) => {
                    if let Some(Current::File(reading)) = self.current.take() {
                        self.waiting = Some(reading);
                    }
                    self.current = Some(self.open(Split::File(part))?);
                }
                Assigned::Later => return Ok(Pull::Blocked),
                Assigned::Nothing if self.current.is_some() || self.wanted.is_some() => {}
                Assigned::Nothing => match self.source.more(&mut self.seen, || self.wake.sync()) {
                    More::Now => {}
                    More::Later => return Ok(Pull::Blocked),
                    More::Nothing => return Ok(Pull::Empty),
                },
            }
        }
    }
}
