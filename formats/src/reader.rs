//! The file reader: a state machine that names the bytes it needs, is given them and yields batches. It does no I/O.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

use arrow_array::RecordBatch;
pub use bytes::Bytes;

use crate::error::Result;
use crate::format::Morsel;
use crate::memory;
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

    /// Has the reader go on with another whole file of the same columns when this one ends, so that the rows of many
    /// small files fill batches together. False if it can't. Only the bytes of one file are asked for at a time, see
    /// [`FileReader::followed`].
    fn follow(&mut self, _next: &Morsel) -> bool {
        false
    }

    /// How many files that followed were begun: of the last one of them bytes are asked for and errors told.
    fn followed(&self) -> u64 {
        0
    }

    /// What was passed over so far.
    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}

/// Reads the bytes of one range, fewer only at the end of the file.
pub fn read_range(file: &File, range: &Range<u64>) -> std::io::Result<Bytes> {
    let most = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let mut buffer: Vec<u8> = Vec::new();
    buffer.try_reserve_exact(most)?;
    while buffer.len() < most {
        let at = libc::off_t::try_from(range.start + buffer.len() as u64).map_err(std::io::Error::other)?;
        let left = most - buffer.len();
        let room = &mut buffer.spare_capacity_mut()[..left];
        // Zeros that are overwritten at once would cost as much as a copy of the file.
        // SAFETY: `room` is memory of this buffer, of which the call writes at most `room.len()` bytes.
        let read = unsafe { libc::pread(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), at) };
        match usize::try_from(read) {
            Ok(0) => break,
            // SAFETY: `read` bytes behind the length are now written, and there is room for them.
            Ok(read) => unsafe { buffer.set_len(buffer.len() + read) },
            Err(_) => match std::io::Error::last_os_error() {
                e if e.kind() == std::io::ErrorKind::Interrupted => {}
                e => return Err(e),
            },
        }
    }
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
        Ok(BlockingReader { input: Input::of(&morsel.file)?, morsel, reader })
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
        let _reading = memory::read(path);
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
