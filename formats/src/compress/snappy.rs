//! snappy in its framing format: chunks of at most 64 KiB, each with a checksum, behind a stream identifier.
//!
//! A chunk is a byte for its type, three for its length (little endian) and that many bytes. There is no mark at the
//! end: a file that was cut between two chunks cannot be told from a whole one.

use std::io::{Read, Write};

use super::framed::{Parts, collect};
use super::{About, Compression, Container, Decompressor, Piece, corrupt, cut_short, refused};
use crate::error::Result;

/// The chunk with which a stream begins.
const IDENTIFIER: &[u8; 10] = b"\xff\x06\x00\x00sNaPpY";

/// The most bytes of text in a chunk.
const CHUNK_BYTES: usize = 64 << 10;

/// The most bytes of a data chunk behind its header: what 64 KiB can grow to, and the checksum.
const MAX_CHUNK: usize = 32 + CHUNK_BYTES + CHUNK_BYTES / 6 + 4;

/// snappy.
pub struct Snappy;

impl Compression for Snappy {
    fn name(&self) -> &'static str {
        "snappy"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["sz", "snappy"]
    }

    fn begins(&self, head: &[u8]) -> bool {
        head.starts_with(IDENTIFIER)
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        let inner = snap::read::FrameDecoder::new(Parts::default());
        Ok(Some(Box::new(Unsnap { inner, part: Vec::new(), pass: 0, begun: false, full: false })))
    }

    fn compress(&self, raw: Vec<u8>) -> Result<Piece> {
        let mut encoder = snap::write::FrameEncoder::new(Vec::with_capacity(raw.len() / 2 + 64));
        encoder.write_all(&raw).map_err(|e| refused("snappy", e))?;
        let mut bytes = encoder.into_inner().map_err(|e| refused("snappy", e))?;
        // The container writes the identifier, once.
        if bytes.starts_with(IDENTIFIER) {
            bytes.drain(..IDENTIFIER.len());
        }
        Ok(Piece { bytes, about: About::of(&raw) })
    }

    fn container(&self) -> Box<dyn Container> {
        Box::new(Identified)
    }
}

/// Chunks behind one stream identifier.
struct Identified;

impl Container for Identified {
    fn begin(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(IDENTIFIER)
    }

    fn append(&mut self, bytes: &[u8], _: &About, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(bytes)
    }

    fn finish(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }
}

struct Unsnap {
    inner: snap::read::FrameDecoder<Parts>,
    /// The chunk so far.
    part: Vec<u8>,
    /// Bytes of a skippable chunk that are still to be passed.
    pass: usize,
    /// The stream identifier was read.
    begun: bool,
    /// The decoder may hold text of the last chunk.
    full: bool,
}

impl Unsnap {
    /// Takes text from the decoder; false if `out` is full and there may be more.
    fn drain(&mut self, out: &mut Vec<u8>, most: usize) -> Result<bool> {
        loop {
            let from = out.len();
            let room = CHUNK_BYTES.min(most.saturating_sub(from));
            if room == 0 {
                self.full = true;
                return Ok(false);
            }
            out.resize(from + room, 0);
            let read = self.inner.read(&mut out[from..]);
            let len = *read.as_ref().unwrap_or(&0);
            out.truncate(from + len);
            read.map_err(|e| corrupt("snappy", e))?;
            if len == 0 {
                self.full = false;
                return Ok(true);
            }
        }
    }
}

impl Decompressor for Unsnap {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        if self.full && !self.drain(out, most)? {
            return Ok(0);
        }
        loop {
            if self.pass > 0 {
                let some = self.pass.min(rest.len());
                rest = &rest[some..];
                self.pass -= some;
                if self.pass > 0 {
                    break;
                }
            }
            if !collect(&mut self.part, 4, &mut rest) {
                break;
            }
            let kind = self.part[0];
            let len =
                usize::from(self.part[1]) | usize::from(self.part[2]) << 8 | usize::from(self.part[3]) << 16;
            if !self.begun && kind != IDENTIFIER[0] {
                return Err(corrupt(
                    "snappy",
                    "it does not begin with a stream identifier (raw snappy has no frames)",
                ));
            }
            if (0x80..=0xfe).contains(&kind) {
                self.part.clear();
                self.pass = len;
                continue;
            }
            if len > MAX_CHUNK {
                return Err(corrupt("snappy", "a chunk is longer than 64 KiB of text can be"));
            }
            if !collect(&mut self.part, 4 + len, &mut rest) {
                break;
            }
            self.inner.get_mut().set(&self.part);
            self.part.clear();
            self.begun = true;
            if !self.drain(out, most)? {
                break;
            }
        }
        Ok(input.len() - rest.len())
    }

    fn finish(&mut self) -> Result<()> {
        if !self.begun {
            Err(cut_short("snappy", "the stream identifier"))
        } else if !self.part.is_empty() || self.pass > 0 {
            Err(cut_short("snappy", "a chunk"))
        } else {
            Ok(())
        }
    }
}
