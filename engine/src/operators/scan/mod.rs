//! Reads a table: takes morsels from a queue that the workers of a process share, and drives their readers.
//!
//! - [`source`]: the queue.
//! - `files`: which parts of files are taken next.
//! - `reading`: what is read of the files of one layout.
//! - `counted`: what readers pass over, counted.
//! - [`static_partition`]: which part of a table is in it, where there are several processes.
//! - [`assignment`]: what processes take in turn of files whose readers wait for each other.
//! - [`stealing`]: what a process takes from others once it has done its own.
//! - [`split_range`]: the same where rows keep their order.
//! - [`prefetch`]: what the system is asked to read ahead of it.

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

/// Reads morsels on one worker.
pub struct Scan {
    work: Arc<ScanSource>,
    state: Arc<QueryState>,
    latches: Vec<Rc<BuildBarrier>>,
    wake: Wake,
    /// Its worker, of those of all processes.
    worker: usize,
    current: Option<Current>,
    /// A part whose reader waits while one before it is read.
    aside: Option<Box<Reading>>,
    /// What it asks for next of the parts that are dealt one by one, while there may be some.
    wanted: Option<Wanted>,
    /// Whether it has asked for one. Until it has the answer it does nothing else, so that it looks at once at the part
    /// that it gets.
    asks: bool,
    /// A piece that was taken too early.
    kept: Option<FileSplit>,
    left: Option<usize>,
    /// The piece at hand, if it is to be told that its rows begin.
    begins: Option<u64>,
    /// How often its process was given more.
    seen: u64,
}

enum Current {
    File(Box<Reading>),
    Rows(Range<u64>),
}

/// A file that is read, and those that follow it in the same batches.
struct Reading {
    file: Input,
    morsel: Morsel,
    reader: Counted,
    /// Its number among the parts that are dealt one by one, as long as one before it may be left.
    number: Option<u64>,
    /// Its number among the parts that workers have taken.
    piece: u64,
    /// The file that the reader goes on with.
    next: Option<FileSplit>,
    /// How many of those that followed are done or at hand.
    followed: u64,
}

impl Reading {
    /// Takes the file that follows, if one does.
    fn follow(&mut self, work: &ScanSource) -> Result<Option<FileSplit>> {
        let Some(next) = work.take_following(&self.morsel.file, self.piece)? else { return Ok(None) };
        match self.reader.follow(&next.morsel) {
            true => self.next = Some(next),
            // It is read on its own.
            false => return Ok(Some(next)),
        }
        Ok(None)
    }

    /// Whether the reader has gone on with the next file, which is then the one at hand.
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
    /// Takes from `work` once all latches are open (the build sides of the joins that it streams past are complete).
    pub fn new(
        work: Arc<ScanSource>,
        state: Arc<QueryState>,
        latches: Vec<Rc<BuildBarrier>>,
        wake: Wake,
        worker: usize,
    ) -> Scan {
        let (left, wanted) = (work.plan.fetch, Some(Wanted::Own));
        let (current, aside, kept) = (None, None, None);
        let (begins, seen) = (None, 0);
        Scan {
            work,
            state,
            latches,
            wake,
            worker,
            current,
            aside,
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
        let (format, options) = (self.work.format(), self.work.options(&morsel.file));
        let (Some(format), Some(options)) = (format, options) else {
            unreachable!("files are dealt as files")
        };
        let reader = format.reader(&morsel, options).map_err(|e| e.at(path))?;
        let reader = Counted::new(reader, self.state.clone());
        let mut reading = Reading { file, morsel, reader, number, piece, next: None, followed: 0 };
        self.kept = reading.follow(&self.work)?;
        Ok(Current::File(Box::new(reading)))
    }

    /// The next batch of the current piece; `Empty` at its end, `Blocked` while its reader waits for others.
    fn advance(&mut self) -> Result<Pull> {
        let reading = match &mut self.current {
            None => return Ok(Pull::Empty),
            Some(Current::Rows(range)) => {
                let made = self.work.make(range)?;
                return Ok(made.map_or(Pull::Empty, |b| Pull::Batch(ExchangeBatch::from(b))));
            }
            Some(Current::File(reading)) => reading,
        };
        let _reading = formats::memory::read(&reading.morsel.file.path);
        loop {
            let next = reading.reader.next();
            if reading.turned()? {
                self.kept = reading.follow(&self.work)?;
            }
            match next.map_err(|e| e.at(&reading.morsel.file.path))? {
                Next::Batch(batch) => {
                    return Ok(Pull::Batch(ExchangeBatch::from(
                        self.work.map_schema(&reading.morsel.file, &batch)?,
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

    /// Takes the next piece of those that the process has, if there is one.
    fn take(&mut self) -> Result<bool> {
        let piece = match self.kept.take() {
            Some(part) => Some(Split::File(part)),
            None => self.work.take()?,
        };
        if self.work.is_in_order() {
            self.begins = piece.as_ref().map(|piece| match piece {
                Split::File(part) => part.piece,
                Split::Rows(range) => range.start,
            });
        }
        self.current = piece.map(|piece| self.open(piece)).transpose()?;
        Ok(self.current.is_some())
    }

    /// The number of the part at hand, if one before it may be left and be read meanwhile.
    fn before(&self) -> Option<u64> {
        match &self.current {
            Some(Current::File(reading)) if self.aside.is_none() => reading.number,
            _ => None,
        }
    }

    /// Asks for a part of those that are dealt one by one: one before that at hand, if there is one, else the next one.
    fn ask(&mut self) -> Result<Assigned<FileSplit>> {
        let before = self.before().map(Wanted::Before);
        let Some(wanted) = before.or(self.wanted) else { return Ok(Assigned::Nothing) };
        let dealt = self.work.deal(self.worker, wanted, || self.wake.sync())?;
        self.asks = matches!(dealt, Assigned::Later);
        match (&dealt, &mut self.current, wanted) {
            (Assigned::Nothing, Some(Current::File(reading)), _) => reading.number = None,
            // There may be some of other processes' turns.
            (Assigned::Nothing, _, Wanted::Own) => self.wanted = Some(Wanted::Before(u64::MAX)),
            (Assigned::Nothing, _, Wanted::Before(_)) => self.wanted = None,
            (Assigned::Part(_) | Assigned::Later, ..) => {}
        }
        Ok(dealt)
    }
}

impl Operator for Scan {
    fn push(&mut self, _port: usize, _parcel: ExchangeBatch) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        if self.left == Some(0) {
            // What was passed over until now is counted when the readers are dropped.
            (self.current, self.aside) = (None, None);
            return Ok(Pull::Empty);
        }
        while let Some(latch) = self.latches.last() {
            if !latch.wait(&self.wake.local) {
                return Ok(Pull::Blocked);
            }
            self.latches.pop();
        }
        loop {
            if let Some(piece) = self.begins.take() {
                let batch = RecordBatch::new_empty(self.work.schema().clone());
                return Ok(Pull::Batch(ExchangeBatch { begins: Some(piece), ..ExchangeBatch::from(batch) }));
            }
            if !self.asks {
                match self.advance()? {
                    Pull::Batch(parcel) => {
                        let rows = parcel.batch.as_ref().map_or(0, |b| b.num_rows());
                        self.state.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
                        if let Some(left) = &mut self.left {
                            *left = left.saturating_sub(rows);
                        }
                        return Ok(Pull::Batch(parcel));
                    }
                    Pull::Blocked if self.before().is_none() => {
                        self.wake.local.activate();
                        return Ok(Pull::Blocked);
                    }
                    Pull::Blocked => {}
                    Pull::Empty => {
                        self.current = self.aside.take().map(Current::File);
                        if self.current.is_some() || self.take()? {
                            continue;
                        }
                    }
                }
            }
            match self.ask()? {
                Assigned::Part(part) => {
                    if let Some(Current::File(reading)) = self.current.take() {
                        self.aside = Some(reading);
                    }
                    self.current = Some(self.open(Split::File(part))?);
                }
                Assigned::Later => return Ok(Pull::Blocked),
                Assigned::Nothing if self.current.is_some() || self.wanted.is_some() => {}
                Assigned::Nothing => match self.work.more(&mut self.seen, || self.wake.sync()) {
                    More::Now => {}
                    More::Later => return Ok(Pull::Blocked),
                    More::Nothing => return Ok(Pull::Empty),
                },
            }
        }
    }
}
