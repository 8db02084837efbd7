//! The bytes of a file in order: what to ask for next, and what was given. Bytes whose checksum is known are compared
//! with it.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};

/// What is asked for at once.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// What is asked for at first beyond the end of a morsel, to finish its last record.
const BEYOND_BYTES: u64 = 64 << 10;

/// A block that a manifest lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBlock {
    /// Its bytes in the file.
    pub range: Range<u64>,
    /// How many they are before compression.
    pub raw: usize,
    /// The CRC-32 of the bytes in the file.
    pub crc32: u32,
}

/// Asks for the bytes of a file from some place on, and hands them out in order.
pub struct Source {
    /// The next byte to ask for.
    asked: u64,
    /// The size of the file; `None` for a pipe, which ends when nothing is given.
    size: Option<u64>,
    /// The morsel's end; beyond it less is asked for at first.
    end: u64,
    /// What is asked for at once before it.
    step: u64,
    beyond: u64,
    given: VecDeque<(u64, Bytes)>,
    /// So many of them, from the first one on, are known to have no newline.
    searched: usize,
    ended: bool,
    /// Listed blocks that were not asked for yet, and those that were and have not been popped.
    blocks: VecDeque<ListedBlock>,
    under_way: VecDeque<ListedBlock>,
    /// The checksum of the whole file, and that of what was popped.
    whole: Option<(u32, crc32fast::Hasher)>,
}

/// Bytes of the file.
pub struct Popped {
    /// The offset of the first one in the file.
    pub offset: u64,
    /// The bytes.
    pub bytes: Bytes,
    /// If they are a listed block, how many they are before compression.
    pub raw: Option<usize>,
}

impl Source {
    /// The bytes from `start` on, most of them before `end`.
    pub fn new(start: u64, end: u64, size: Option<u64>) -> Source {
        Source {
            asked: start,
            size,
            end,
            step: BLOCK_BYTES,
            beyond: BEYOND_BYTES,
            given: VecDeque::new(),
            searched: 0,
            ended: false,
            blocks: VecDeque::new(),
            under_way: VecDeque::new(),
            whole: None,
        }
    }

    /// All bytes, these first and then twice as many and so on.
    pub fn growing(first: u64, size: Option<u64>) -> Source {
        Source { beyond: first, ..Source::new(0, 0, size) }
    }

    /// The same bytes, so many at once.
    pub fn in_steps(self, step: u64) -> Source {
        Source { step, ..self }
    }

    /// These blocks and nothing behind them.
    pub fn listed(blocks: Vec<ListedBlock>) -> Source {
        let start = blocks.first().map_or(0, |block| block.range.start);
        let end = blocks.last().map_or(0, |block| block.range.end);
        Source { blocks: blocks.into(), ..Source::new(start, end, Some(end)) }
    }

    /// Compares all bytes of the file, which is read from its beginning, with their CRC-32.
    pub fn check(&mut self, crc32: u32) {
        self.whole = Some((crc32, crc32fast::Hasher::new()));
    }

    /// Where the first byte lies that was not asked for yet.
    pub fn place(&self) -> u64 {
        self.asked
    }

    /// The next piece.
    pub fn pop(&mut self) -> Result<Option<Popped>> {
        let Some((offset, bytes)) = self.given.pop_front() else { return Ok(None) };
        self.searched = self.searched.saturating_sub(1);
        let end = offset + bytes.len() as u64;
        if let Some((expected, hasher)) = &mut self.whole {
            hasher.update(&bytes);
            if Some(end) == self.size && hasher.clone().finalize() != *expected {
                return Err(damaged(0..end));
            }
        }
        let block = self.under_way.pop_front_if(|block| block.range.start == offset);
        if let Some(block) = &block
            && crc32fast::hash(&bytes) != block.crc32
        {
            return Err(damaged(block.range.clone()));
        }
        Ok(Some(Popped { offset, bytes, raw: block.map(|block| block.raw) }))
    }

    /// How many bytes were given and not yet popped.
    pub fn given(&self) -> usize {
        self.given.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Whether a newline is among them.
    pub fn has_newline(&mut self) -> bool {
        let mut others = self.given.iter().skip(self.searched);
        let found = others.any(|(_, bytes)| memchr::memchr(b'\n', bytes).is_some());
        if !found {
            self.searched = self.given.len();
        }
        found
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
        if let Some(block) = self.blocks.pop_front() {
            let range = block.range.clone();
            self.asked = range.end;
            self.under_way.push_back(block);
            return Some(range);
        }
        let step = if self.asked < self.end {
            // Up to a multiple of the step. The system copies from its pages to a block several times slower where the
            // block begins some bytes further into a page than they do, as behind a morsel's first byte less one.
            (self.step - self.asked % self.step).min(self.end - self.asked)
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

    /// As [`Source::need`], about so many bytes, in one piece if the file is no pipe.
    pub fn need_more(&mut self, bytes: usize) -> Option<Range<u64>> {
        let mut range = self.need()?;
        if let Some(size) = self.size
            && self.under_way.is_empty()
        {
            range.end = range.start.saturating_add(bytes as u64).clamp(range.end, size.max(range.end));
            self.asked = range.end;
        }
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
            self.searched = self.searched.min(place);
        }
        Ok(())
    }
}

/// Bytes that are not those that were written.
fn damaged(range: Range<u64>) -> Error {
    let Range { start, end } = range;
    let mut error = Error::corrupt(format!(
        "bytes {start} to {end} of the file are not those that were written: their checksum in the manifest is another"
    ));
    if let Error::Data(e) = &mut error {
        e.help = Some("the file is damaged or was changed; copy or make it again".into());
    }
    error
}
