//! The decompressed bytes of a file, block by block, from which records are decoded.
//!
//! Blocks are decoded where they lie. A record that begins in one block and ends in the next is decoded from a copy of
//! its two ends (the *joint*). Then decoding goes on in the next block in place.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_buffer::Buffer;
use bytes::Bytes;

use super::Input;
use super::source::{BLOCK_BYTES, Popped, Source};
use crate::compress::{Compression, Decompressor};
use crate::error::{Error, Result};

/// How much of the next block is joined to an unfinished record at first; doubled until the record is whole.
const JOINT_BYTES: usize = 4 << 10;

/// The most that is asked for at once of a line whose end was not seen, so that little is read behind it.
const LINE_STEP: usize = 32 << 20;

/// The block at hand, and where the next ones come from.
pub struct Blocks {
    /// What was asked for and given of the file.
    pub source: Source,
    unpacker: Option<Unpacker>,
    listed: Option<&'static dyn Compression>,
    block: Buffer,
    /// The offset of the block's first byte in the decompressed file.
    offset: u64,
    /// Where the next record begins in the block.
    at: usize,
    joint: Option<Joint>,
    /// The block ends the data, or the next one begins with a record.
    last: bool,
    /// Blocks that follow, each of whole records; nothing is asked for behind them.
    pieces: VecDeque<PlacedBuffer>,
    max_record: usize,
    /// The next record ends with its line.
    lines: bool,
    waiting: bool,
}

/// Decompressed bytes, and the offset of the first one in the decompressed file.
pub type PlacedBuffer = (u64, Buffer);

/// How compressed bytes are decompressed.
pub enum Unpacking {
    /// They are not compressed.
    Plain,
    /// In the order of the file.
    Stream(Box<dyn Decompressor>),
    /// Block by block, as a manifest lists them.
    Listed(&'static dyn Compression),
}

/// A block made of the end of one piece and the beginning of the next.
struct Joint {
    /// How many of its bytes are of the first piece.
    tail: usize,
    /// The next piece, and its offset.
    piece: Bytes,
    offset: u64,
}

/// Compressed bytes on their way.
struct Unpacker {
    decompressor: Box<dyn Decompressor>,
    packed: Bytes,
    /// The last output was filled, so there may be more without input.
    filled: bool,
    /// The offset in the file of the next byte to consume.
    at: u64,
}

impl Unpacker {
    /// An error that also tells the place in the compressed file, unless it shows what was found: a decompressor does not
    /// say where in its input it stopped.
    fn at_place(&self, mut error: Error) -> Error {
        if let Error::Data(e) = &mut error
            && e.value.is_none()
        {
            let at = self.at;
            let place = match self.packed.len() as u64 {
                0 => format!("at byte {at}"),
                more => format!("between bytes {at} and {}", at + more),
            };
            e.message.push_str(&format!(" ({place} of the compressed file)"));
        }
        error
    }
}

/// What more bytes there are.
pub enum Refill {
    /// There are more in the block.
    Ready,
    /// These bytes of the file are needed.
    Need(Range<u64>),
    /// None.
    Ended,
    /// A record goes on beyond what a record may have.
    TooLong,
}

impl Blocks {
    /// No bytes yet; the first one has the offset `start` in the decompressed file. A record of more than `max_record`
    /// bytes is an error.
    pub fn new(source: Source, start: u64, unpacking: Unpacking, max_record: usize) -> Blocks {
        let (unpacker, listed) = match unpacking {
            Unpacking::Plain => (None, None),
            Unpacking::Stream(decompressor) => {
                let (packed, at) = (Bytes::new(), source.place());
                (Some(Unpacker { decompressor, packed, filled: false, at }), None)
            }
            Unpacking::Listed(compression) => (None, Some(compression)),
        };
        Blocks {
            source,
            unpacker,
            listed,
            block: Buffer::default(),
            offset: start,
            at: 0,
            joint: None,
            last: false,
            pieces: VecDeque::new(),
            max_record,
            lines: false,
            waiting: false,
        }
    }

    /// These pieces, each of whole records, and nothing behind them.
    pub fn of(mut pieces: VecDeque<PlacedBuffer>, max_record: usize) -> Blocks {
        let (offset, block) = pieces.pop_front().unwrap_or_default();
        let mut blocks = Blocks::new(Source::new(0, 0, Some(0)), offset, Unpacking::Plain, max_record);
        (blocks.block, blocks.pieces, blocks.last) = (block, pieces, true);
        blocks
    }

    /// Takes so many of the bytes that are not decoded yet.
    pub fn cut(&mut self, bytes: usize) -> PlacedBuffer {
        let piece = (self.place(), self.block.slice_with_length(self.at, bytes));
        self.pass(bytes);
        piece
    }

    /// The bytes that are not decoded yet. Records that begin at `limit` of the file or later don't count. `None` if
    /// there are none before it.
    pub fn input(&self, limit: u64) -> Option<Input<'_>> {
        let limit = self.until(limit);
        (self.at < self.block.len() && self.at < limit).then_some(Input {
            block: &self.block,
            at: self.at,
            limit,
            last: self.last,
            offset: self.offset,
        })
    }

    /// Passes bytes of the block that are decoded.
    pub fn pass(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Whether the next record begins before the offset `limit` of the file.
    pub fn is_before(&self, limit: u64) -> bool {
        self.at < self.until(limit)
    }

    /// An offset of the file as a place in the block.
    fn until(&self, limit: u64) -> usize {
        usize::try_from(limit.saturating_sub(self.offset)).unwrap_or(usize::MAX)
    }

    /// The offset in the decompressed file at which the next record begins.
    pub fn place(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// The bytes that are not decoded yet, and whether they are the last ones.
    pub fn rest(&self) -> (&[u8], bool) {
        (&self.block[self.at..], self.last)
    }

    /// Begins with a piece whose first byte has this offset, and in which the first record begins at `at`.
    pub fn begin(&mut self, offset: u64, piece: Bytes, at: usize) {
        self.place_at(offset, Buffer::from(piece), at);
    }

    /// Begins with a block whose first byte has this offset, and in which the first record begins at `at`.
    pub fn place_at(&mut self, offset: u64, block: Buffer, at: usize) {
        (self.offset, self.block, self.at) = (offset, block, at);
    }

    /// Puts more bytes behind those of the block that are not decoded yet.
    pub fn refill(&mut self) -> Result<Refill> {
        let refill = self.fill()?;
        self.waiting = matches!(refill, Refill::Need(_));
        Ok(refill)
    }

    /// Says whether the next record ends at the next newline, whatever stands in it.
    pub fn expect_line(&mut self, lines: bool) {
        self.lines = lines;
    }

    /// Whether bytes were asked for since there were new ones to decode.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    fn fill(&mut self) -> Result<Refill> {
        let tail = self.block.len() - self.at;
        if tail > self.max_record {
            return Ok(Refill::TooLong);
        }
        if self.last {
            return match tail {
                0 => match self.pieces.pop_front() {
                    None => Ok(Refill::Ended),
                    Some((offset, block)) => {
                        (self.offset, self.block, self.at) = (offset, block, 0);
                        Ok(Refill::Ready)
                    }
                },
                _ => Err(Error::data(self.place(), "the record that begins here is not whole")),
            };
        }
        if self.unpacker.is_some() {
            return self.unpack();
        }
        if let Some(joint) = self.joint.take() {
            if self.at >= joint.tail {
                self.begin(joint.offset, joint.piece, self.at - joint.tail);
                return Ok(Refill::Ready);
            }
            let joined = self.block.len() - joint.tail;
            if joined < joint.piece.len() {
                let more = (joined * 2).min(joint.piece.len());
                self.join(joint.tail - self.at, joint.offset, joint.piece, more);
                return Ok(Refill::Ready);
            }
        }
        if tail > BLOCK_BYTES as usize && self.listed.is_none() {
            return self.gather(tail);
        }
        match self.source.pop()? {
            Some(Popped { bytes, raw: Some(raw), offset }) if self.listed.is_some() => {
                self.expand(offset, &bytes, raw)?;
                Ok(Refill::Ready)
            }
            Some(Popped { offset, bytes: piece, .. }) if tail == 0 => {
                self.begin(offset, piece, 0);
                Ok(Refill::Ready)
            }
            Some(Popped { offset, bytes: piece, .. }) => {
                let some = JOINT_BYTES.max(tail).min(piece.len());
                self.join(tail, offset, piece, some);
                Ok(Refill::Ready)
            }
            None => match self.source.need() {
                Some(range) => Ok(Refill::Need(range)),
                None => Ok(self.end(tail)),
            },
        }
    }

    fn end(&mut self, tail: usize) -> Refill {
        self.last = true;
        if tail == 0 { Refill::Ended } else { Refill::Ready }
    }

    /// Puts about as many bytes behind those of a long record as there are of it. So it is not copied and looked at
    /// again for each piece of the file.
    fn gather(&mut self, tail: usize) -> Result<Refill> {
        let (mut more, given) = (self.more(tail), self.source.given());
        if self.lines && tail + given <= self.max_record && !self.source.has_newline() {
            // The line can't end in what there is. Nothing is copied before it does.
            more = given + self.more(tail + given).min(LINE_STEP);
        }
        if given < more
            && let Some(range) = self.source.need_more(more - given)
        {
            return Ok(Refill::Need(range));
        }
        if given == 0 {
            return Ok(self.end(tail));
        }
        let mut text = Vec::with_capacity(tail + given);
        text.extend_from_slice(&self.block[self.at..]);
        while let Some(Popped { bytes, .. }) = self.source.pop()? {
            text.extend_from_slice(&bytes);
        }
        self.offset += self.at as u64;
        self.at = 0;
        self.block = Buffer::from_vec(text);
        Ok(Refill::Ready)
    }

    /// By how many bytes those of an unfinished record grow: to twice as many, but hardly beyond what a record may have.
    fn more(&self, tail: usize) -> usize {
        let block = BLOCK_BYTES as usize;
        tail.min(self.max_record.saturating_sub(tail)).max(block)
    }

    /// Makes a block of the `tail` bytes at `at` that are not of `piece`, and of the first bytes of `piece`.
    fn join(&mut self, tail: usize, offset: u64, piece: Bytes, some: usize) {
        let mut joined = Vec::with_capacity(tail + some);
        joined.extend_from_slice(&self.block[self.at..self.at + tail]);
        joined.extend_from_slice(&piece[..some]);
        self.offset += self.at as u64;
        self.at = 0;
        self.block = Buffer::from_vec(joined);
        self.joint = Some(Joint { tail, piece, offset });
    }

    /// Decompresses a listed block behind the bytes that are not decoded yet.
    fn expand(&mut self, offset: u64, packed: &[u8], raw: usize) -> Result<()> {
        let Some(compression) = self.listed else { return Ok(()) };
        let mut text = Vec::with_capacity(self.block.len() - self.at + raw);
        text.extend_from_slice(&self.block[self.at..]);
        expand(compression, offset, packed, raw, &mut text)?;
        self.offset += self.at as u64;
        self.at = 0;
        self.block = Buffer::from_vec(text);
        Ok(())
    }

    /// Decompresses about a block behind the bytes that are not decoded yet.
    fn unpack(&mut self) -> Result<Refill> {
        let tail = self.block.len() - self.at;
        let most = tail + self.more(tail);
        let Some(unpacker) = &mut self.unpacker else { return Ok(Refill::Ended) };
        let mut text = Vec::new();
        while text.len() < most {
            if unpacker.packed.is_empty() && !unpacker.filled {
                match self.source.pop()? {
                    Some(popped) => unpacker.packed = popped.bytes,
                    None if text.len() > tail => break,
                    None => match self.source.need() {
                        Some(range) => return Ok(Refill::Need(range)),
                        None => {
                            unpacker.decompressor.finish().map_err(|e| unpacker.at_place(e))?;
                            return Ok(self.end(tail));
                        }
                    },
                }
            }
            if text.capacity() == 0 {
                text.reserve_exact(most);
                text.extend_from_slice(&self.block[self.at..]);
            }
            let pushed = unpacker.decompressor.push(&unpacker.packed, &mut text, most);
            let consumed = pushed.map_err(|e| unpacker.at_place(e))?;
            unpacker.packed = unpacker.packed.slice(consumed..);
            unpacker.at += consumed as u64;
            unpacker.filled = text.len() >= most;
        }
        self.offset += self.at as u64;
        self.at = 0;
        self.block = Buffer::from_vec(text);
        Ok(Refill::Ready)
    }
}

/// Appends what whole blocks hold that lie at `offset` of the file; an error tells that place.
pub fn expand(
    compression: &dyn Compression,
    offset: u64,
    packed: &[u8],
    raw: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    compression.expand(packed, raw, offset == 0, out).map_err(|mut error| {
        if let Error::Data(e) = &mut error {
            let end = offset + packed.len() as u64;
            e.message.push_str(&format!(" (between bytes {offset} and {end} of the compressed file)"));
        }
        error
    })
}
