//! The end of a file, where footers lie.

use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use schema::FileEntry;

use crate::error::{Error, Result};
use crate::memory::{self, Reading};
use crate::store::input::Input;

/// What is read at first, in the hope that the footer lies in it.
const SPECULATIVE: u64 = 64 << 10;

/// A file of which the last bytes are read. A pipe is read to its end for them.
pub struct Tail {
    input: Input,
    /// The length of the file in bytes.
    pub len: u64,
    start: u64,
    bytes: Bytes,
    _reading: Reading,
}

impl Tail {
    /// Opens a file and reads its last 64 KiB.
    pub fn open(file: &FileEntry) -> Result<Tail> {
        let path = &file.path;
        let _reading = memory::read(path);
        let input = Input::of(file)?;
        let len = input.len()?;
        let start = len.saturating_sub(SPECULATIVE);
        let bytes = input.read_range(&(start..len))?;
        Ok(Tail { input, len, start, bytes, _reading })
    }

    /// The bytes of a range of the file; an error if it does not lie in the file.
    pub fn bytes(&self, path: &Path, range: Range<u64>) -> Result<Bytes> {
        if range.start > range.end || range.end > self.len {
            return Err(cut_short(self.len).at(path));
        }
        let known = self.start..self.start + self.bytes.len() as u64;
        if known.start <= range.start && range.end <= known.end {
            let from = (range.start - known.start) as usize;
            let to = (range.end - known.start) as usize;
            return Ok(self.bytes.slice(from..to));
        }
        let bytes = self.input.read_range(&range)?;
        if (bytes.len() as u64) < range.end - range.start {
            return Err(cut_short(self.len).at(path));
        }
        Ok(bytes)
    }
}

/// The error of a file whose footer speaks of bytes that it does not have.
pub fn cut_short(len: u64) -> Error {
    Error::data(len, "the file ends too early: it was cut short or is damaged")
}
