//! Where the blocks of a file lie. Only what stands between the data of two blocks is read: a marker, and how many rows
//! and bytes the next one has.

use std::ops::Range;

use ::schema::FileEntry;
use bytes::Bytes;

use super::header::{Header, SYNC};
use super::long;
use crate::columns::tail::cut_short;
use crate::error::{Error, Result};
use crate::memory;
use crate::store::input::Input;

/// The most bytes before the data of a block: two longs.
const HEAD: u64 = 20;
/// What is read at once of a file. Blocks of most writers have 16 to 64 KiB.
const NEAR: u64 = 4 << 10;
/// What is read at once of a store, where a request takes longer than the bytes.
const FAR: u64 = 1 << 20;
/// The most rows of a block whose rows take no bytes.
const MOST_EMPTY: u64 = i32::MAX as u64;
/// After so many blocks memory is asked for as many again.
const ASKED: usize = 1 << 16;

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Where its data lie.
    pub data: Range<u64>,
    /// How many rows it has: one or more.
    pub rows: u64,
    /// How many rows the blocks before it have.
    pub before: u64,
}

/// A file: its header, and its blocks that have rows.
#[derive(Debug)]
pub struct Container {
    /// The header.
    pub header: Header,
    /// The blocks.
    pub blocks: Vec<Block>,
}

impl Container {
    /// Finds the blocks of a file. A pipe is read to its end for them.
    ///
    /// # Errors
    /// The header can't be read, a block can't be as its numbers say, or a sync marker is another one.
    pub fn open(file: &FileEntry) -> Result<Container> {
        let path = &file.path;
        let _reading = memory::read(path);
        let input = Input::of(file)?;
        let header = Header::read(&input, path)?;
        let blocks = find(&input, &header).map_err(|e| e.at(path))?;
        Ok(Container { header, blocks })
    }

    /// The number of rows of the file.
    pub fn rows(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.before + last.rows)
    }
}

fn find(input: &Input, header: &Header) -> Result<Vec<Block>> {
    let len = input.len()?;
    let mut window = Window {
        input,
        len,
        most: if input.holds_descriptor() { NEAR } else { FAR },
        start: 0,
        bytes: Bytes::new(),
    };
    let least = header.least_bytes();
    let (mut blocks, mut at, mut before) = (Vec::new(), header.len, 0_u64);
    while at < len {
        let head = window.bytes(at, HEAD.min(len - at))?;
        let mut length = 0;
        let numbers = long(&head, &mut length).zip(long(&head, &mut length));
        let (rows, size) = numbers.ok_or_else(|| match head.len() as u64 {
            HEAD => Error::data(at, "a block without a number of rows and of bytes: the file is damaged"),
            _ => cut_short(len),
        })?;
        let start = at + length as u64;
        let impossible = |what: String| Error::data(at, format!("a block {what}: the file is damaged"));
        let rows = u64::try_from(rows).map_err(|_| impossible(format!("of {rows} rows")))?;
        let size = u64::try_from(size).map_err(|_| impossible(format!("of {size} bytes")))?;
        let left = len.saturating_sub(start).saturating_sub(SYNC as u64);
        if size > left {
            let message = format!(
                "a block of {size} bytes, and {left} are left in the file: it was cut short or is damaged"
            );
            return Err(Error::data(at, message));
        }
        let most = match least {
            0 => MOST_EMPTY,
            least => header.codec.most(size) / least,
        };
        let is_empty = size <= header.codec.of_nothing();
        if rows > most || (!is_empty && (rows == 0 || least == 0)) {
            return Err(impossible(format!("of {rows} rows in {size} bytes")));
        }
        let end = start + size;
        if *window.bytes(end, SYNC as u64)? != header.sync {
            return Err(Error::data(
                end,
                "the marker behind a block is not that of the file: the file is damaged",
            ));
        }
        if rows > 0 {
            if blocks.len() % ASKED == 0 {
                let bytes = 2 * (blocks.len() + ASKED) * size_of::<Block>();
                memory::ask(bytes as u64, || format!("the places of {} blocks or more", blocks.len()))?;
            }
            blocks.push(Block { data: start..end, rows, before });
            before = before.checked_add(rows).ok_or_else(|| impossible(format!("of {rows} rows")))?;
        }
        at = end + SYNC as u64;
    }
    Ok(blocks)
}

/// The bytes of a file from a place on, of which more are read than are asked for.
struct Window<'a> {
    input: &'a Input,
    len: u64,
    most: u64,
    start: u64,
    bytes: Bytes,
}

impl Window<'_> {
    fn bytes(&mut self, at: u64, count: u64) -> Result<Bytes> {
        let is_there = at >= self.start && at + count <= self.start + self.bytes.len() as u64;
        if !is_there {
            let end = at.saturating_add(self.most.max(count)).min(self.len);
            self.bytes = self.input.read_range(&(at..end))?;
            self.start = at;
            if (self.bytes.len() as u64) < count {
                return Err(cut_short(at + self.bytes.len() as u64));
            }
        }
        let from = (at - self.start) as usize;
        Ok(self.bytes.slice(from..from + count as usize))
    }
}
