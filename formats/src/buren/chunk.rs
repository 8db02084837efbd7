//! The bytes of a chunk: a head that says how the column is encoded, and the buffers that it names.
//!
//! ```text
//! chunk  = length of the description: u32  description  buffer*     each buffer begins at a multiple of 8, zeros between
//! buffer named in the description = compression: u8  raw: u32  stored: u32
//! ```
//!
//! A description is a tree of encodings in prefix order. A node's numbers come first. Then come the buffers and nodes
//! below it in the order in which its page of the specification lists them. Buffers lie in the order in which they are
//! named.

use arrow_buffer::Buffer;

use super::bytes::{Input, pad};
use super::compress::Codec;
use super::footer::MAX_RAW;
use crate::error::{Error, Result};

/// Buffers begin at multiples of this in a chunk.
const ALIGNMENT: usize = 8;
/// The most nodes from the column down to a leaf.
const DEEPEST: usize = 12;
/// What a chunk's description is called in messages.
const WHAT: &str = "column chunk";

/// Collects the description and the buffers of a chunk.
pub struct Sink {
    description: Vec<u8>,
    body: Vec<u8>,
    codec: Codec,
}

impl Sink {
    /// Begins a chunk whose buffers are compressed in this way, where that pays.
    pub fn new(codec: Codec) -> Sink {
        Sink { description: Vec::new(), body: Vec::new(), codec }
    }

    /// The compression that is tried on buffers.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Adds bytes to the description: tags and parameters.
    pub fn put(&mut self, bytes: &[u8]) {
        self.description.extend_from_slice(bytes);
    }

    /// Adds a count to the description.
    pub fn count(&mut self, count: usize) -> Result<()> {
        let count = u32::try_from(count).map_err(|_| too_large(count as u64))?;
        self.put(&count.to_le_bytes());
        Ok(())
    }

    /// Adds a buffer.
    pub fn buffer(&mut self, raw: &[u8]) -> Result<()> {
        let whole = self.body.len() as u64 + raw.len() as u64;
        if whole + (ALIGNMENT as u64) > MAX_RAW.into() {
            return Err(too_large(whole));
        }
        let compressed = self.codec.compress(raw)?;
        let codec = if compressed.is_some() { self.codec } else { Codec::None };
        let stored = compressed.as_deref().unwrap_or(raw);
        self.put(&[codec as u8]);
        self.put(&(raw.len() as u32).to_le_bytes());
        self.put(&(stored.len() as u32).to_le_bytes());
        pad(&mut self.body, ALIGNMENT);
        self.body.extend_from_slice(stored);
        Ok(())
    }

    /// The bytes of the chunk.
    pub fn finish(self) -> Vec<u8> {
        let mut out = (self.description.len() as u32).to_le_bytes().to_vec();
        out.extend(self.description);
        pad(&mut out, ALIGNMENT);
        out.extend(self.body);
        out
    }
}

fn too_large(bytes: u64) -> Error {
    Error::Unsupported(format!(
        "a row group of a buren file holds at most 2 GiB of a column, and here are {bytes} bytes: write parquet"
    ))
}

/// Reads the description of a chunk, and its buffers as they are named.
pub struct Source<'a> {
    description: Input<'a>,
    chunk: &'a Buffer,
    /// Where the next buffer begins.
    at: usize,
    /// The bytes that its buffers may still take when decompressed.
    room: usize,
    depth: usize,
}

impl<'a> Source<'a> {
    /// Begins to read a chunk.
    pub fn new(chunk: &'a Buffer) -> Result<Source<'a>> {
        let mut all = Input::new(chunk, WHAT);
        let length = all.count(1)?;
        let description = Input::new(all.take(length)?, WHAT);
        let at = (4 + length).next_multiple_of(ALIGNMENT);
        Ok(Source { description, chunk, at, room: MAX_RAW as usize, depth: 0 })
    }

    /// The description that is left.
    pub fn input(&mut self) -> &mut Input<'a> {
        &mut self.description
    }

    /// The error of a chunk that can't be right.
    pub fn damaged(&self, why: impl std::fmt::Display) -> Error {
        self.description.damaged(why)
    }

    /// The tag of the next node. Nodes below it are read by `below`.
    pub fn tag(&mut self) -> Result<u8> {
        self.description.u8()
    }

    /// The tag of the next node, which is not read yet.
    pub fn peek(&self) -> Result<u8> {
        self.description.peek().ok_or_else(|| self.damaged("it ends inside an entry"))
    }

    /// A count that is at most `most`.
    pub fn count(&mut self, most: usize) -> Result<usize> {
        let count = self.description.u32()? as usize;
        if count > most {
            return Err(self.damaged(format_args!("{count} entries where there are {most} at most")));
        }
        Ok(count)
    }

    /// Reads what lies below a node.
    pub fn below<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(self.damaged("its encodings are nested too deep"));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// The next buffer, decompressed.
    pub fn buffer(&mut self) -> Result<Buffer> {
        let codec = Codec::from_tag(self.description.u8()?)?;
        let (raw, stored) = (self.description.u32()? as usize, self.description.u32()? as usize);
        let end = self.at.checked_add(stored).filter(|end| *end <= self.chunk.len());
        let (Some(end), Some(room)) = (end, self.room.checked_sub(raw)) else {
            return Err(self.damaged("a buffer does not lie in it"));
        };
        let bytes = self.chunk.slice_with_length(self.at, stored);
        (self.at, self.room) = (end.next_multiple_of(ALIGNMENT), room);
        match codec {
            Codec::None if raw == stored => Ok(bytes),
            Codec::None => Err(self.damaged("a buffer has two lengths")),
            codec => Ok(Buffer::from_vec(codec.decompress(&bytes, raw)?)),
        }
    }

    /// The next buffer, which must have this length.
    pub fn exactly(&mut self, length: usize) -> Result<Buffer> {
        let buffer = self.buffer()?;
        if buffer.len() != length {
            return Err(self.damaged(format_args!("a buffer of {} bytes instead of {length}", buffer.len())));
        }
        Ok(buffer)
    }

    /// Whether the whole description was read.
    pub fn finish(&self) -> Result<()> {
        if self.description.is_empty() {
            Ok(())
        } else {
            Err(self.damaged("its description goes on too long"))
        }
    }
}
