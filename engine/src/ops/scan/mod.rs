//! Reads a table: takes morsels from a queue that the workers of a process share, and drives their readers.
//!
//! - [`work`]: the queue.

pub mod work;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use formats::format::Morsel;
use formats::input::Input;
use formats::reader::{FileReader, Next};

use crate::batch::Parcel;
use crate::error::Result;
use crate::operator::{Latch, Operator, Pull, Wake};
use crate::state::QueryState;
use work::{Piece, Work};

/// Reads morsels on one worker.
pub struct Scan {
    work: Arc<Work>,
    state: Arc<QueryState>,
    latches: Vec<Rc<Latch>>,
    wake: Wake,
    current: Option<Current>,
    left: Option<usize>,
}

enum Current {
    File { file: Input, morsel: Morsel, reader: Box<dyn FileReader> },
    Rows(Range<u64>),
}

impl Scan {
    /// Takes from `work` once all latches are open (the build sides of the joins that it streams past are complete).
    pub fn new(work: Arc<Work>, state: Arc<QueryState>, latches: Vec<Rc<Latch>>, wake: Wake) -> Scan {
        let left = work.plan.fetch;
        Scan { work, state, latches, wake, current: None, left }
    }

    fn open(&self, piece: Piece) -> Result<Current> {
        let morsel = match piece {
            Piece::Rows(range) => return Ok(Current::Rows(range)),
            Piece::File(morsel) => morsel,
        };
        let path = morsel.file.path.as_path();
        let file = Input::open(path)?;
        let (format, options) = (self.work.format(), self.work.options(&morsel.file));
        let (Some(format), Some(options)) = (format, options) else {
            unreachable!("files are dealt as files")
        };
        let reader = format.reader(&morsel, options).map_err(|e| e.at(path))?;
        Ok(Current::File { file, morsel, reader })
    }

    /// The next batch of the current piece; `Empty` at its end.
    fn advance(&mut self) -> Result<Pull> {
        let (file, morsel, reader) = match &mut self.current {
            None => return Ok(Pull::Empty),
            Some(Current::Rows(range)) => {
                let made = self.work.make(range)?;
                return Ok(made.map_or(Pull::Empty, |b| Pull::Batch(Parcel::from(b))));
            }
            Some(Current::File { file, morsel, reader }) => (file, morsel, reader),
        };
        let path = &morsel.file.path;
        loop {
            match reader.next().map_err(|e| e.at(path))? {
                Next::Batch(batch) => {
                    return Ok(Pull::Batch(Parcel::from(self.work.lay_out(&morsel.file, &batch)?)));
                }
                Next::Done => {
                    self.state.add_skipped(reader.skipped());
                    return Ok(Pull::Empty);
                }
                Next::Wait => {
                    self.wake.local.activate();
                    return Ok(Pull::Blocked);
                }
                Next::Need(ranges) => {
                    for range in ranges {
                        let bytes = file.read_range(&range)?;
                        self.state.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                        reader.give(range, bytes).map_err(|e| e.at(path))?;
                    }
                    if self.state.stopped() {
                        return Ok(Pull::Empty);
                    }
                }
            }
        }
    }
}

impl Operator for Scan {
    fn push(&mut self, _port: usize, _parcel: Parcel) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        if self.left == Some(0) {
            return Ok(Pull::Empty);
        }
        while let Some(latch) = self.latches.last() {
            if !latch.wait(&self.wake.local) {
                return Ok(Pull::Blocked);
            }
            self.latches.pop();
        }
        loop {
            match self.advance()? {
                Pull::Batch(parcel) => {
                    let rows = parcel.batch.as_ref().map_or(0, |b| b.num_rows());
                    self.state.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
                    if let Some(left) = &mut self.left {
                        *left = left.saturating_sub(rows);
                    }
                    return Ok(Pull::Batch(parcel));
                }
                Pull::Blocked => return Ok(Pull::Blocked),
                Pull::Empty => {}
            }
            self.current = match self.work.take()? {
                Some(piece) => Some(self.open(piece)?),
                None => return Ok(Pull::Empty),
            };
        }
    }
}
