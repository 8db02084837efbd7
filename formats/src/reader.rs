//! The file reader: a state machine that names the bytes it needs, is given them and yields batches. It does no I/O.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use arrow_array::RecordBatch;
use bytes::Bytes;

use crate::error::Result;
use crate::format::Morsel;
use crate::input::Input;

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

/// Counts of what was passed over because `--on-error` said so.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// Rows left out.
    pub rows: u64,
    /// Values read as NULL.
    pub values: u64,
    /// Sequences of bytes that were not UTF-8 and read as U+FFFD.
    pub replaced: u64,
}

/// Reads one morsel. Bytes are pushed in, batches come out.
pub trait FileReader: Send {
    /// The next batch, or what is needed for it. After [`Next::Need`], all ranges are given before the next call.
    fn next(&mut self) -> Result<Next>;

    /// The bytes of one range that [`Next::Need`] named, fewer only at the end of the file.
    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()>;

    /// What was passed over so far.
    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}

/// Reads the bytes of one range, fewer only at the end of the file.
pub fn read_range(file: &File, range: &Range<u64>) -> std::io::Result<Bytes> {
    let mut buffer = vec![0; (range.end - range.start) as usize];
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], range.start + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    buffer.truncate(filled);
    Ok(Bytes::from(buffer))
}

/// Drives a reader with blocking reads; for tools and tests, and wherever one thread reads one file or pipe.
pub struct BlockingReader {
    input: Input,
    morsel: Morsel,
    reader: Box<dyn FileReader>,
}

impl BlockingReader {
    /// Opens the morsel's file.
    pub fn open(morsel: Morsel, reader: Box<dyn FileReader>) -> Result<BlockingReader> {
        Ok(BlockingReader { input: Input::open(&morsel.file.path)?, morsel, reader })
    }

    /// What was passed over so far.
    pub fn skipped(&self) -> Skipped {
        self.reader.skipped()
    }
}

impl Iterator for BlockingReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = &self.morsel.file.path;
        loop {
            match self.reader.next() {
                Ok(Next::Batch(batch)) => return Some(Ok(batch)),
                Ok(Next::Done) => return None,
                Ok(Next::Wait) => std::thread::yield_now(),
                Ok(Next::Need(ranges)) => {
                    for range in ranges {
                        let given =
                            self.input.read_range(&range).and_then(|bytes| self.reader.give(range, bytes));
                        if let Err(e) = given {
                            return Some(Err(e.at(path)));
                        }
                    }
                }
                Err(e) => return Some(Err(e.at(path))),
            }
        }
    }
}
