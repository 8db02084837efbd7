//! The bytes of a file in order: what to ask for next, and what was given.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};

/// What is asked for at once.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// What is asked for at first beyond the end of a morsel, to finish its last record.
const BEYOND_BYTES: u64 = 64 << 10;

/// Asks for the bytes of a file from some place on, and hands them out in order.
pub struct Source {
    /// The next byte to ask for.
    asked: u64,
    /// The size of the file; `None` for a pipe, which ends when nothing is given.
    size: Option<u64>,
    /// The morsel's end; beyond it less is asked for.
    end: u64,
    beyond: u64,
    given: VecDeque<(u64, Bytes)>,
    ended: bool,
}

impl Source {
    /// The bytes from `start` on, most of them before `end`.
    pub fn new(start: u64, end: u64, size: Option<u64>) -> Source {
        Source { asked: start, size, end, beyond: BEYOND_BYTES, given: VecDeque::new(), ended: false }
    }

    /// The next piece and the offset of its first byte.
    pub fn pop(&mut self) -> Option<(u64, Bytes)> {
        self.given.pop_front()
    }

    /// The pieces that were given and not yet popped.
    pub fn pieces(&self) -> impl Iterator<Item = &(u64, Bytes)> {
        self.given.iter()
    }

    /// What to ask for; `None` at the end of the file.
    pub fn need(&mut self) -> Option<Range<u64>> {
        self.ended |= self.size.is_some_and(|size| self.asked >= size);
        if self.ended {
            return None;
        }
        let step = if self.asked < self.end {
            BLOCK_BYTES.min(self.end - self.asked)
        } else {
            let step = self.beyond;
            self.beyond = (step * 2).min(BLOCK_BYTES);
            step
        };
        let size = self.size.unwrap_or(u64::MAX);
        let range = self.asked..self.asked.saturating_add(step).min(size);
        self.asked = range.end;
        Some(range)
    }

    /// Everything up to the morsel's end.
    pub fn need_all(&mut self) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        while self.asked < self.end {
            match self.need() {
                Some(range) => ranges.push(range),
                None => break,
            }
        }
        ranges
    }

    /// Takes the bytes of a range that was asked for.
    pub fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        let found = range.start + bytes.len() as u64;
        match self.size {
            Some(size) if found < range.end => {
                return Err(Error::data(
                    found,
                    format!("the file ends here; it had {size} bytes when the query began"),
                ));
            }
            Some(_) => {}
            None => {
                self.ended |= bytes.is_empty();
                self.asked = found;
            }
        }
        if !bytes.is_empty() {
            let place = self.given.partition_point(|(offset, _)| *offset < range.start);
            self.given.insert(place, (range.start, bytes));
        }
        Ok(())
    }
}
