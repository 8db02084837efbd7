//! The file reader: a state machine that names the bytes it needs, is given them and yields batches. It does no I/O.
//! [`Driver`] does it.

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::task::{Poll, Waker};

use arrow_array::RecordBatch;
pub use bytes::Bytes;
use schema::FileEntry;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::format::Morsel;
use crate::memory;
use crate::rejects::Rejects;
use crate::store::input::Input;

/// What a reader says when it is asked to go on.
#[derive(Debug)]
pub enum Next {
    /// It needs these bytes of the file. A range may reach beyond the end of the file: what is given is then shorter.
    Need(Vec<Range<u64>>),
    /// Rows.
    Batch(RecordBatch),
    /// Another reader of the same file has to get further first; ask again later.
    Wait,
    /// The morsel is read.
    Done,
}

/// What was passed over, because `--on-error` said so or because no column of the table has it.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Rows left out.
    pub rows: u64,
    /// Values read as NULL.
    pub values: u64,
    /// Sequences of bytes that were not UTF-8 and read as U+FFFD.
    pub replaced: u64,
    /// Values under keys that the records from which the columns were inferred don't have.
    pub unknown: u64,
    /// One of these keys.
    pub unknown_key: Option<String>,
    /// The key of a file's object below which rows were found. What stands beside them is passed over.
    pub rows_below: Option<String>,
    /// Which rows and values were passed over, where they are to be kept.
    pub rejects: Rejects,
}

impl Skipped {
    /// Adds what another reader has passed over.
    pub fn add(&mut self, other: &Skipped) {
        self.rows += other.rows;
        self.values += other.values;
        self.replaced += other.replaced;
        self.unknown += other.unknown;
        // The same one, whichever reader ends first.
        let keys = [self.unknown_key.take(), other.unknown_key.clone()];
        self.unknown_key = keys.into_iter().flatten().min();
        let keys = [self.rows_below.take(), other.rows_below.clone()];
        self.rows_below = keys.into_iter().flatten().min();
        self.rejects.add(&other.rejects);
    }
}

/// Reads one morsel. Bytes are pushed in, batches come out.
pub trait FileReader: Send {
    /// The next batch, or what is needed for it. After [`Next::Need`], all ranges are given before the next call.
    fn next(&mut self) -> Result<Next>;

    /// The bytes of one range that [`Next::Need`] named, fewer only at the end of the file.
    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()>;

    /// Has the reader go on with another whole file of the same columns when this one ends. So the rows of many small
    /// files fill batches together. False if it can't. Only the bytes of one file are asked for at a time, see
    /// [`FileReader::followed`].
    fn follow(&mut self, _next: &Morsel) -> bool {
        false
    }

    /// How many files that followed were begun: of the last one of them bytes are asked for and errors told.
    fn followed(&self) -> u64 {
        0
    }

    /// What was passed over so far, without [`Skipped::rejects`].
    fn skipped(&self) -> Skipped {
        Skipped::default()
    }

    /// Takes the rows and values that were passed over since the last call, in one file.
    fn take_rejects(&mut self) -> Rejects {
        Rejects::default()
    }
}

/// What a [`Driver`] reads for: it takes the figures, and says when to stop.
pub trait ReadFor {
    /// The driver has read so many bytes.
    fn add_bytes_read(&self, bytes: u64);

    /// The reader has passed over these. Said once, when the driver is dropped.
    fn add_skipped(&self, skipped: Skipped);

    /// Whether no more rows are wanted.
    fn is_stopped(&self) -> bool;
}

/// What is read is only looked at: nobody takes the figures.
pub struct Nobody;

impl ReadFor for Nobody {
    fn add_bytes_read(&self, _bytes: u64) {}

    fn add_skipped(&self, _skipped: Skipped) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

impl<P: Deref<Target: ReadFor>> ReadFor for P {
    fn add_bytes_read(&self, bytes: u64) {
        (**self).add_bytes_read(bytes);
    }

    fn add_skipped(&self, skipped: Skipped) {
        (**self).add_skipped(skipped);
    }

    fn is_stopped(&self) -> bool {
        (**self).is_stopped()
    }
}

/// How far a [`Driver`] has come.
#[derive(Debug)]
pub enum Step {
    /// Rows.
    Batch(RecordBatch),
    /// The reader goes on with the file that [`Driver::follow`] named. Ask again, and name the next one before.
    Followed,
    /// Another reader of the same file has to get further first.
    Wait,
    /// Bytes are on their way. The waker is called when they are there.
    Pending,
    /// The morsel is read, or no more rows are wanted.
    Done,
}

type Open = Box<dyn FnOnce() -> Result<Input> + Send>;

/// Reads the bytes that the reader of a morsel asks for. All code that reads files does it by this.
pub struct Driver<F: ReadFor = Nobody> {
    file: Arc<FileEntry>,
    input: Input,
    reader: Box<dyn FileReader>,
    /// What the reader waits for, in order.
    needed: VecDeque<Range<u64>>,
    /// What the reader has said and the caller does not know yet.
    said: Option<Next>,
    /// The file that the reader goes on with.
    next: Option<(Arc<FileEntry>, Open)>,
    /// How many files the reader had gone on with.
    followed: u64,
    /// Those of files that were read to their end.
    rejects: Rejects,
    reads_for: F,
}

impl Driver {
    /// Opens the morsel's file. Nobody takes the figures.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn open(morsel: &Morsel, reader: Box<dyn FileReader>) -> Result<Driver> {
        Ok(Driver::new(morsel.file.clone(), Input::of(&morsel.file)?, reader, Nobody))
    }
}

impl<F: ReadFor> Driver<F> {
    /// Drives a reader of this file, which is open.
    pub fn new(file: Arc<FileEntry>, input: Input, reader: Box<dyn FileReader>, reads_for: F) -> Driver<F> {
        let (needed, rejects) = (VecDeque::new(), Rejects::default());
        Driver { file, input, reader, needed, said: None, next: None, followed: 0, rejects, reads_for }
    }

    /// The file that is read now.
    pub fn file(&self) -> &Arc<FileEntry> {
        &self.file
    }

    /// Has the reader go on with a small file when this one ends, see [`FileReader::follow`]. False if it can't.
    pub fn follow(&mut self, next: &Morsel, open: impl FnOnce() -> Result<Input> + Send + 'static) -> bool {
        let follows = self.reader.follow(next);
        if follows {
            self.next = Some((next.file.clone(), Box::new(open)));
        }
        follows
    }

    /// Goes on without waiting for bytes that come from afar.
    ///
    /// # Errors
    /// The file can't be read, or holds what the reader can't.
    pub fn poll(&mut self, waker: &Waker) -> Result<Step> {
        self.go_on(Some(waker))
    }

    /// Goes on, and waits for bytes: never [`Step::Pending`].
    ///
    /// # Errors
    /// As of [`Driver::poll`].
    pub fn step(&mut self) -> Result<Step> {
        self.go_on(None)
    }

    fn go_on(&mut self, waker: Option<&Waker>) -> Result<Step> {
        let _reading = memory::read(&self.file.path);
        loop {
            if self.reads_for.is_stopped() {
                return Ok(Step::Done);
            }
            if self.give(waker)?.is_pending() {
                return Ok(Step::Pending);
            }
            let next = match self.said.take() {
                Some(said) => said,
                None => {
                    let next = self.reader.next();
                    let followed = self.turn()?;
                    let next = next.map_err(|e| self.error(e))?;
                    if followed {
                        self.said = Some(next);
                        return Ok(Step::Followed);
                    }
                    next
                }
            };
            match next {
                Next::Batch(batch) => return Ok(Step::Batch(batch)),
                Next::Wait => return Ok(Step::Wait),
                Next::Done => return Ok(Step::Done),
                Next::Need(ranges) => {
                    self.input.begin(&ranges);
                    self.needed.extend(ranges);
                }
            }
        }
    }

    /// Gives the reader what it waits for, as far as it is there.
    fn give(&mut self, waker: Option<&Waker>) -> Result<Poll<()>> {
        while let Some(range) = self.needed.front() {
            let bytes = match waker {
                None => self.input.read_range(range)?,
                Some(waker) => match self.input.poll_range(range, waker) {
                    Poll::Ready(bytes) => bytes?,
                    Poll::Pending => return Ok(Poll::Pending),
                },
            };
            self.reads_for.add_bytes_read(bytes.len() as u64);
            if let Some(range) = self.needed.pop_front() {
                let given = self.reader.give(range, bytes);
                given.map_err(|e| self.error(e))?;
            }
        }
        Ok(Poll::Ready(()))
    }

    /// Whether the reader has gone on with the next file; that one is then read.
    fn turn(&mut self) -> Result<bool> {
        if self.reader.followed() == self.followed {
            return Ok(false);
        }
        self.followed = self.reader.followed();
        self.take_rejects();
        if let Some((file, open)) = self.next.take() {
            self.input = open()?;
            self.file = file;
        }
        Ok(true)
    }

    /// Takes what the reader has passed over in the file that it reads, or has read last.
    fn take_rejects(&mut self) {
        let mut rejects = self.reader.take_rejects();
        rejects.fill_in(&self.file.path);
        self.rejects.add(&rejects);
    }

    fn error(&self, e: Error) -> Error {
        e.at(&self.file.path)
    }
}

impl<F: ReadFor> Drop for Driver<F> {
    fn drop(&mut self) {
        self.take_rejects();
        let rejects = std::mem::take(&mut self.rejects);
        self.reads_for.add_skipped(Skipped { rejects, ..self.reader.skipped() });
    }
}

/// Waits for bytes, and for other readers of the same file.
impl<F: ReadFor> Iterator for Driver<F> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(Step::Batch(batch)) => return Some(Ok(batch)),
                Ok(Step::Done) => return None,
                Ok(Step::Wait) => std::thread::yield_now(),
                // A step waits.
                Ok(Step::Followed | Step::Pending) => {}
                Err(e) => return Some(Err(e)),
            }
        }
    }
}
