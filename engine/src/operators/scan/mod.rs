//! Scans a table. A worker takes splits from a source that the workers of its process share, and drives their readers.
//!
//! - [`source`]: the splits of one scan, in the order of the table.
//! - `files`: the files of a table, cut into splits.
//! - `reading`: how the files of one layout are read.
//! - [`prefetch`]: the system reads ahead for the next splits.
//!
//! Where several processes scan one table:
//! - [`static_partition`]: the splits of a process.
//! - [`stealing`]: a process without splits takes some from another one.
//! - [`assignment`]: splits of csv files, which go one by one to the workers that ask.
//! - [`split_range`]: the splits of a process where rows keep their order.

pub mod assignment;
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
use std::task::Waker;

use arrow_array::RecordBatch;
use formats::reader::{Driver, Step};

use crate::context::query::QueryState;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{BuildBarrier, Operator, Pull, Wake};
use crate::error::Result;
use assignment::{Assigned, Wanted};
use prefetch::FileSplit;
use source::{ScanSource, Split};
use stealing::More;

/// Scans splits on one worker.
pub struct Scan {
    source: Arc<ScanSource>,
    state: Arc<QueryState>,
    barriers: Vec<Rc<BuildBarrier>>,
    wake: Wake,
    /// Wakes the scan when bytes that come from afar are there.
    waker: Waker,
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

/// How far a scan has come with its current split.
enum Advance {
    Batch(RecordBatch),
    /// Readers of other splits have to get further first.
    Waits,
    /// Bytes are on their way, and wake the scan.
    Pending,
    Ended,
}

enum Current {
    File(Box<Reading>),
    Rows(Range<u64>),
}

/// A split of a file that is read, and small files that share its batches.
struct Reading {
    driver: Driver<Arc<QueryState>>,
    /// Its number among the splits that are assigned one by one, as long as one before it may be left.
    number: Option<u64>,
    /// Its number among the splits that workers of this process have taken.
    piece: u64,
    /// The number of the small file that the reader goes on with.
    next: Option<u64>,
}

impl Reading {
    /// Takes the small file behind this one, for the same batches. Gives it back if the reader can't go on with it.
    fn follow(&mut self, source: &ScanSource) -> Result<Option<FileSplit>> {
        let Some(next) = source.take_following(self.driver.file(), self.piece)? else { return Ok(None) };
        let open = next.clone();
        match self.driver.follow(&next.morsel, move || open.open()) {
            true => self.next = Some(next.piece),
            // It is read on its own.
            false => return Ok(Some(next)),
        }
        Ok(None)
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
        let waker = wake.waker();
        Scan {
            source,
            state,
            barriers,
            wake,
            waker,
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
        let driver = Driver::new(morsel.file.clone(), file, reader, self.state.clone());
        let mut reading = Reading { driver, number, piece, next: None };
        self.kept = reading.follow(&self.source)?;
        Ok(Current::File(Box::new(reading)))
    }

    /// The next batch of the current split: `Empty` at its end.
    fn advance(&mut self) -> Result<Advance> {
        let reading = match &mut self.current {
            None => return Ok(Advance::Ended),
            Some(Current::Rows(range)) => {
                return Ok(self.source.make(range)?.map_or(Advance::Ended, Advance::Batch));
            }
            Some(Current::File(reading)) => reading,
        };
        loop {
            match reading.driver.poll(&self.waker)? {
                Step::Batch(batch) => {
                    return Ok(Advance::Batch(self.source.map_schema(reading.driver.file(), &batch)?));
                }
                Step::Followed => {
                    reading.piece = reading.next.take().unwrap_or(reading.piece);
                    self.kept = reading.follow(&self.source)?;
                }
                Step::Wait => return Ok(Advance::Waits),
                Step::Pending => return Ok(Advance::Pending),
                Step::Done => return Ok(Advance::Ended),
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
            if self.state.stopped() {
                return Ok(Pull::Empty);
            }
            if let Some(piece) = self.begins.take() {
                let batch = RecordBatch::new_empty(self.source.schema().clone());
                return Ok(Pull::Batch(ExchangeBatch { begins: Some(piece), ..ExchangeBatch::from(batch) }));
            }
            if !self.asks {
                match self.advance()? {
                    Advance::Batch(batch) => {
                        let rows = batch.num_rows();
                        self.state.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
                        if let Some(left) = &mut self.left {
                            *left = left.saturating_sub(rows);
                        }
                        return Ok(Pull::Batch(ExchangeBatch::from(batch)));
                    }
                    Advance::Pending => return Ok(Pull::Blocked),
                    Advance::Waits if self.before().is_none() => {
                        self.wake.local.activate();
                        return Ok(Pull::Blocked);
                    }
                    Advance::Waits => {}
                    Advance::Ended => {
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
