//! A file in the order of its bytes, of which pieces of whole records are cut: the second kind of
//! [turns](super::sequential_splits).

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use schema::{FormatOptions, OnError};

use super::Decoder;
use super::blocks::{Blocks, PlacedBuffer, Refill};
use super::quotes::last_record;
use super::reader::{BYTE_ORDER_MARK, MakeDecoder};
use super::split::Border;
use crate::error::Result;
use crate::format::ScanOptions;

/// A decoder that finds where records end and decodes no column.
pub fn walker(make: MakeDecoder, scan: &ScanOptions) -> Result<Box<dyn Decoder>> {
    let format = FormatOptions { on_error: OnError::Skip, ..scan.format.clone() };
    make(&ScanOptions { projection: Vec::new(), format, ..scan.clone() }, true)
}

/// A file in the order of its bytes, of which pieces are cut.
pub struct Stream {
    blocks: Blocks,
    /// Finds the ends of records that nothing marks.
    walker: Option<Box<dyn Decoder>>,
    /// What is cut and not handed out yet.
    pieces: VecDeque<PlacedBuffer>,
    bytes: usize,
}

/// What is found in a stream.
pub enum Find {
    /// These bytes are needed.
    Need(Range<u64>),
    /// Pieces of whole records, and whether they are the last ones.
    Records(VecDeque<PlacedBuffer>, bool),
    /// The rest is for one reader.
    Rest,
}

impl Stream {
    /// Nothing is cut yet.
    pub fn new(blocks: Blocks, walker: Option<Box<dyn Decoder>>) -> Stream {
        Stream { blocks, walker, pieces: VecDeque::new(), bytes: 0 }
    }

    /// The next pieces, together of at most about `most` bytes.
    pub fn next(&mut self, border: Border, format: &FormatOptions, most: usize) -> Result<Find> {
        loop {
            let (rest, last) = self.blocks.rest();
            let len = rest.len();
            if last && len <= most {
                self.pieces.push_back(self.blocks.cut(len));
                return Ok(self.records(true));
            }
            let mut within = len.min(most);
            let mut end = Ok(None);
            if !self.blocks.is_waiting() {
                end = self.end(border, format, within);
                while within < len && end == Ok(None) {
                    within = len.min(within * 2);
                    end = self.end(border, format, within);
                }
            }
            match end {
                Err(()) => return Ok(self.rest()),
                Ok(Some(end)) => {
                    self.pieces.push_back(self.blocks.cut(end));
                    self.bytes += end;
                }
                Ok(None) if last => {
                    self.pieces.push_back(self.blocks.cut(len));
                    return Ok(self.records(true));
                }
                Ok(None) => {}
            }
            if self.bytes >= most / 4 && !self.pieces.is_empty() {
                return Ok(self.records(false));
            }
            if matches!(end, Ok(Some(_))) && self.blocks.rest().0.len() >= most {
                continue;
            }
            match self.blocks.refill()? {
                Refill::Ready | Refill::Ended => {}
                Refill::Need(range) => return Ok(Find::Need(range)),
                Refill::TooLong => return Ok(self.rest()),
            }
        }
    }

    /// Where the last record ends that ends in the next `most` bytes; `Err` if no record can be found any more.
    fn end(&mut self, border: Border, format: &FormatOptions, most: usize) -> Result<Option<usize>, ()> {
        if let Some(walker) = &mut self.walker {
            return walk(walker.as_mut(), &self.blocks, most);
        }
        let (rest, _) = self.blocks.rest();
        let text = &rest[..most];
        if border != Border::Quotes {
            return Ok(memchr::memrchr(b'\n', text).map(|newline| newline + 1));
        }
        let marked = self.blocks.place() == 0 && text.starts_with(BYTE_ORDER_MARK);
        let skip = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        Ok(last_record(&text[skip..], border.marks(format)).map(|end| end + skip))
    }

    /// Takes bytes that were needed.
    pub fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        self.blocks.source.give(range, bytes)
    }

    /// The offset in the decompressed file of the first byte that is not cut.
    pub fn place(&self) -> u64 {
        self.blocks.place()
    }

    /// What is not cut.
    pub fn into_blocks(self) -> Blocks {
        self.blocks
    }

    fn records(&mut self, last: bool) -> Find {
        self.bytes = 0;
        Find::Records(std::mem::take(&mut self.pieces), last)
    }

    /// What is cut comes first.
    fn rest(&mut self) -> Find {
        if self.pieces.is_empty() { Find::Rest } else { self.records(false) }
    }
}

/// Where the last whole record that begins in the next `most` bytes ends; `Err` if no record can be found any more.
fn walk(walker: &mut dyn Decoder, blocks: &Blocks, most: usize) -> Result<Option<usize>, ()> {
    let Some(mut input) = blocks.input(blocks.place() + most as u64) else { return Ok(None) };
    let start = input.at;
    loop {
        input.at += walker.decode(input).map_err(drop)?;
        let full = walker.is_full();
        walker.flush().map_err(drop)?;
        if !full || input.at >= input.limit.min(input.block.len()) {
            return Ok((input.at > start).then_some(input.at - start));
        }
    }
}
