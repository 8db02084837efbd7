//! Makes a [`Decoder`] a file reader: asks for bytes, decompresses them, and joins records that cross their borders.
//!
//! Blocks are decoded where they lie. A record that begins in one block and ends in the next is decoded from a copy
//! of its two ends (the *joint*); then decoding goes on in the next block in place. A record belongs to the morsel in
//! which it begins, so a reader asks for bytes beyond its end until the last record is complete.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;
use schema::{FormatOptions, OnError};

use super::quotes::{Marks, State, Transition, first_record};
use super::source::{BLOCK_BYTES, Source};
use super::split::{Border, SharedBorders};
use super::{Decoder, Input};
use crate::compress::{self, Decompressor};
use crate::error::{Error, Result};
use crate::format::{Morsel, Part, ScanOptions};
use crate::reader::{FileReader, Next, Skipped};

/// How much of the next block is joined to an unfinished record at first; doubled until the record is whole.
const JOINT_BYTES: usize = 4 << 10;

/// No record is longer than this, whatever the options say, because positions in a block are 32 bits wide.
const MAX_RECORD: usize = 1 << 30;

/// UTF-8's byte order mark, which some programs put in front of text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Makes the decoder of an encoding; the flag says whether the data begins at the file's first byte.
pub type MakeDecoder = fn(&ScanOptions, bool) -> Result<Box<dyn Decoder>>;

/// Reads one morsel of a file of records.
pub struct RowReader {
    /// How another reader of the file is made, for counting.
    again: Option<(MakeDecoder, ScanOptions)>,
    max_record: usize,
    decoder: Box<dyn Decoder>,
    phase: Phase,
    source: Source,
    size: Option<u64>,
    start: u64,
    /// Records that begin here or later belong to other morsels.
    limit: u64,
    marks: Marks,
    unpacker: Option<Unpacker>,
    block: Buffer,
    /// The offset of the block's first byte in the decompressed file.
    offset: u64,
    /// Where the next record begins in the block.
    at: usize,
    joint: Option<Joint>,
    /// The block ends the data.
    last: bool,
}

enum Phase {
    /// All bytes of the morsel are asked for, to find what its quotes do.
    Gather { shared: Arc<SharedBorders>, morsel: usize, asked: bool },
    /// The morsels before have to be looked at first.
    Await { shared: Arc<SharedBorders>, morsel: usize },
    /// The first record is looked for.
    Seek(State),
    /// The first bytes of the file are looked at for a byte order mark.
    Mark,
    /// Records are decoded.
    Read,
    /// An error was found; the records before the morsel are counted to tell its row.
    Locate { error: Option<Error>, counter: Box<RowReader> },
    /// Nothing is left.
    Done,
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
    /// The compressed bytes consumed.
    consumed: u64,
}

impl Unpacker {
    fn new(decompressor: Box<dyn Decompressor>) -> Unpacker {
        Unpacker { decompressor, packed: Bytes::new(), filled: false, consumed: 0 }
    }

    /// An error that also tells the place in the compressed file.
    fn at_place(&self, mut error: Error) -> Error {
        if let Error::Data(e) = &mut error {
            e.message.push_str(&format!(" (at byte {} of the file as it is)", self.consumed));
        }
        error
    }
}

/// What more bytes there are.
enum Refill {
    Ready,
    Need(Range<u64>),
    Ended,
}

impl RowReader {
    /// The reader of a morsel that [`split`](super::split::split) made with the same border.
    pub fn new(make: MakeDecoder, border: Border, morsel: &Morsel, scan: &ScanOptions) -> Result<RowReader> {
        let size = (morsel.file.bytes > 0).then_some(morsel.file.bytes);
        let marks = match border {
            Border::Newline => Marks { delimiter: b'\n', quote: b'\n' },
            Border::Quotes => Marks { delimiter: scan.format.delimiter, quote: scan.format.quote },
        };
        let range = match &morsel.part {
            Part::Whole => 0..u64::MAX,
            Part::Bytes(range) => range.clone(),
            Part::Groups(_) => {
                return Err(Error::Unsupported("records are split by bytes, not by row groups".into()));
            }
        };
        let decoder = make(scan, range.start == 0)?;
        let mut reader = RowReader::over(decoder, &scan.format, range.clone(), size, marks)?;
        reader.again = Some((make, scan.clone()));
        match morsel.shared.clone().downcast::<SharedBorders>() {
            Ok(shared) if border == Border::Quotes && morsel.part != Part::Whole => {
                let morsel = shared.begins.partition_point(|&begin| begin < range.start);
                reader.phase = Phase::Gather { shared, morsel, asked: false };
            }
            _ if range.start > 0 => {
                // A record begins behind a newline, which may be the last byte of the morsel before.
                reader.phase = Phase::Seek(State::Unquoted);
                reader.source = Source::new(range.start - 1, range.end, size);
            }
            _ => {}
        }
        Ok(reader)
    }

    /// A reader of a whole file of unknown size with a decoder of one's own.
    pub fn whole(decoder: Box<dyn Decoder>, format: &FormatOptions) -> Result<RowReader> {
        RowReader::over(decoder, format, 0..u64::MAX, None, Marks { delimiter: b'\n', quote: b'\n' })
    }

    fn over(
        decoder: Box<dyn Decoder>,
        format: &FormatOptions,
        range: Range<u64>,
        size: Option<u64>,
        marks: Marks,
    ) -> Result<RowReader> {
        let unpacker = compress::compression(&format.compression)?.decompressor()?.map(Unpacker::new);
        Ok(RowReader {
            again: None,
            max_record: format.max_record.min(MAX_RECORD),
            decoder,
            phase: if range.start == 0 { Phase::Mark } else { Phase::Read },
            source: Source::new(range.start, range.end, size),
            size,
            start: range.start,
            limit: range.end,
            marks,
            unpacker,
            block: Buffer::default(),
            offset: range.start,
            at: 0,
            joint: None,
            last: false,
        })
    }

    /// Looks at the quotes of the whole morsel, for the morsels behind it.
    fn gather(&mut self) -> Option<Next> {
        let Phase::Gather { shared, morsel, asked } = &mut self.phase else { return None };
        if !std::mem::replace(asked, true) {
            return Some(Next::Need(self.source.need_all()));
        }
        let mut transition = Transition::identity();
        for (offset, piece) in self.source.pieces() {
            let skip =
                if *offset == 0 && piece.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            transition.extend(&piece[skip..], self.marks);
        }
        shared.quotes.publish(*morsel, transition);
        self.phase = Phase::Await { shared: shared.clone(), morsel: *morsel };
        None
    }

    /// Waits for the state in which the morsel begins.
    fn wait(&mut self) -> Option<Next> {
        let Phase::Await { shared, morsel } = &self.phase else { return None };
        let Some(state) = shared.quotes.start(*morsel) else { return Some(Next::Wait) };
        self.phase = if self.start == 0 { Phase::Mark } else { Phase::Seek(state) };
        None
    }

    /// Drops what belongs to a record that began earlier.
    fn seek(&mut self, state: State) -> Option<Next> {
        let Some((offset, piece)) = self.source.pop() else {
            match self.source.need() {
                Some(range) if range.start < self.limit => return Some(Next::Need(vec![range])),
                _ => self.phase = Phase::Done,
            }
            return None;
        };
        match first_record(state, &piece, self.marks) {
            Ok(at) => {
                self.phase = if offset + at as u64 >= self.limit { Phase::Done } else { Phase::Read };
                (self.offset, self.at) = (offset, at);
                self.block = Buffer::from(piece);
            }
            Err(state) => self.phase = Phase::Seek(state),
        }
        None
    }

    /// Passes a byte order mark at the beginning of the data.
    fn mark(&mut self) -> Result<Option<Next>> {
        if self.block.len() >= BYTE_ORDER_MARK.len() || self.last {
            if self.block.starts_with(BYTE_ORDER_MARK) {
                self.at = BYTE_ORDER_MARK.len();
            }
            self.phase = Phase::Read;
            return Ok(None);
        }
        match self.refill()? {
            Refill::Need(range) => Ok(Some(Next::Need(vec![range]))),
            Refill::Ready => Ok(None),
            Refill::Ended => {
                self.phase = Phase::Done;
                Ok(None)
            }
        }
    }

    /// Decodes until there is a batch.
    fn read(&mut self) -> Result<Next> {
        loop {
            if !self.decoder.is_full() {
                let limit = usize::try_from(self.limit.saturating_sub(self.offset)).unwrap_or(usize::MAX);
                if self.at < self.block.len() && self.at < limit {
                    let (block, at, last, offset) = (&self.block, self.at, self.last, self.offset);
                    self.at += self.decoder.decode(Input { block, at, limit, last, offset })?;
                }
                if self.at < limit && !self.decoder.is_full() {
                    match self.refill()? {
                        Refill::Ready => continue,
                        Refill::Need(range) => return Ok(Next::Need(vec![range])),
                        Refill::Ended => {}
                    }
                }
            }
            let ended = !self.decoder.is_full();
            match self.decoder.flush()? {
                Some(batch) => return Ok(Next::Batch(batch)),
                None if ended => {
                    self.phase = Phase::Done;
                    return Ok(Next::Done);
                }
                None => {}
            }
        }
    }

    /// Puts more bytes behind those of the block that are not decoded yet.
    fn refill(&mut self) -> Result<Refill> {
        let tail = self.block.len() - self.at;
        if self.last {
            return match tail {
                0 => Ok(Refill::Ended),
                _ => {
                    Err(Error::data(self.offset + self.at as u64, "the record that begins here is not whole"))
                }
            };
        }
        if tail > self.max_record {
            return Err(self.too_long());
        }
        if self.unpacker.is_some() {
            return self.unpack();
        }
        if let Some(joint) = self.joint.take() {
            if self.at >= joint.tail {
                self.at -= joint.tail;
                self.offset = joint.offset;
                self.block = Buffer::from(joint.piece);
                return Ok(Refill::Ready);
            }
            let joined = self.block.len() - joint.tail;
            if joined < joint.piece.len() {
                let more = (joined * 2).min(joint.piece.len());
                self.join(joint.tail - self.at, joint.offset, joint.piece, more);
                return Ok(Refill::Ready);
            }
        }
        match self.source.pop() {
            Some((offset, piece)) if tail == 0 => {
                (self.offset, self.at) = (offset, 0);
                self.block = Buffer::from(piece);
                Ok(Refill::Ready)
            }
            Some((offset, piece)) => {
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

    /// Decompresses about a block behind the bytes that are not decoded yet.
    fn unpack(&mut self) -> Result<Refill> {
        let tail = self.block.len() - self.at;
        let Some(unpacker) = &mut self.unpacker else { return Ok(Refill::Ended) };
        let mut text = Vec::new();
        // Twice the tail, so that a long record is not copied once a block.
        let most = tail + tail.max(BLOCK_BYTES as usize);
        while text.len() < most {
            if unpacker.packed.is_empty() && !unpacker.filled {
                match self.source.pop() {
                    Some((_, piece)) => unpacker.packed = piece,
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
            unpacker.consumed += consumed as u64;
            unpacker.filled = text.len() >= most;
        }
        self.offset += self.at as u64;
        self.at = 0;
        self.block = Buffer::from_vec(text);
        Ok(Refill::Ready)
    }

    fn too_long(&self) -> Error {
        let (records, lines) = self.decoder.position();
        let mut error = Error::data(
            self.offset + self.at as u64,
            format!("the record that begins here is longer than {} bytes", self.max_record),
        );
        if let Error::Data(e) = &mut error {
            (e.row, e.line) = (Some(records + 1), Some(lines + 1));
            e.help = Some("a closing quote may be missing; --max-record allows longer records".into());
        }
        error
    }

    /// Turns to counting the records before the morsel, for an error that names a row of it.
    fn locate(&mut self, error: Error) -> Result<()> {
        let located = matches!(&error, Error::Data(e) if e.row.is_some()) && self.start > 0;
        let Some((make, scan)) = self.again.as_ref().filter(|_| located) else {
            self.phase = Phase::Done;
            return Err(error);
        };
        let mut scan = scan.clone();
        scan.projection.clear();
        scan.format.on_error = OnError::Skip;
        let decoder = make(&scan, true)?;
        let counter = RowReader::over(decoder, &scan.format, 0..self.start, self.size, self.marks)?;
        self.phase = Phase::Locate { error: Some(error), counter: Box::new(counter) };
        Ok(())
    }

    /// Counts on; in the end gives the error.
    fn count(&mut self) -> Result<Next> {
        let Phase::Locate { error, counter } = &mut self.phase else { return Ok(Next::Done) };
        let counted = loop {
            match counter.next() {
                Ok(Next::Batch(_)) => {}
                Ok(next @ (Next::Need(_) | Next::Wait)) => return Ok(next),
                Ok(Next::Done) => break true,
                Err(_) => break false,
            }
        };
        let (records, lines) = counter.decoder.position();
        let mut error = error.take();
        if let Some(Error::Data(e)) = &mut error {
            // Where the records before can't be counted, the offset alone tells the place.
            e.row = e.row.filter(|_| counted).map(|row| row + records);
            e.line = e.line.filter(|_| counted).map(|line| line + lines);
        }
        self.phase = Phase::Done;
        error.map_or(Ok(Next::Done), Err)
    }
}

impl FileReader for RowReader {
    fn next(&mut self) -> Result<Next> {
        loop {
            let next = match &self.phase {
                Phase::Gather { .. } => self.gather(),
                Phase::Await { .. } => self.wait(),
                Phase::Seek(state) => self.seek(*state),
                Phase::Mark => self.mark()?,
                Phase::Read => match self.read() {
                    Ok(next) => Some(next),
                    Err(error) => {
                        self.locate(error)?;
                        None
                    }
                },
                Phase::Locate { .. } => Some(self.count()?),
                Phase::Done => Some(Next::Done),
            };
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        match &mut self.phase {
            Phase::Locate { counter, .. } => counter.give(range, bytes),
            _ => self.source.give(range, bytes),
        }
    }

    fn skipped(&self) -> Skipped {
        self.decoder.skipped()
    }
}
