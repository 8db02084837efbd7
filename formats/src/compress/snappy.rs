//! snappy in its framing format: chunks of at most 64 KiB, each with a checksum, behind a stream identifier.
//!
//! A chunk is a byte for its type, three for its length (little endian) and that many bytes. There is no mark at the
//! end: a file that was cut between two chunks cannot be told from a whole one.

use std::io::Write;

use super::framed::take;
use super::{
    BlockInfo, CompressedBlock, Compression, Container, Decompressor, Unit, corrupt, cut_short, refused,
    u32_at,
};
use crate::error::Result;

/// The chunk with which a stream begins.
const IDENTIFIER: &[u8; 10] = b"\xff\x06\x00\x00sNaPpY";

/// A chunk of compressed text, one of text as it is, and the types that are passed over.
const COMPRESSED: u8 = 0;
const STORED: u8 = 1;
const SKIPPABLE: std::ops::RangeInclusive<u8> = 0x80..=0xfe;

/// The bytes before a chunk's body.
const HEADER: usize = 4;

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
        Ok(Some(Box::new(Unsnap { part: Vec::new(), pass: 0, begun: false })))
    }

    fn resume(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Unsnap { part: Vec::new(), pass: 0, begun: true })))
    }

    fn unit(&self, bytes: &[u8]) -> Unit {
        let Some(word) = u32_at(bytes, 0) else { return Unit::Short };
        let (kind, len) = (word as u8, (word >> 8) as usize);
        let raw = match kind {
            COMPRESSED | STORED if !(4..=MAX_CHUNK).contains(&len) => return Unit::Unknown,
            _ if bytes.len() < HEADER + len => return Unit::Short,
            COMPRESSED => match snap::raw::decompress_len(&bytes[HEADER + 4..HEADER + len]) {
                Ok(raw) if raw <= CHUNK_BYTES => raw,
                _ => return Unit::Unknown,
            },
            STORED => len - 4,
            _ if kind == IDENTIFIER[0] || SKIPPABLE.contains(&kind) => 0,
            _ => return Unit::Unknown,
        };
        Unit::Whole { packed: HEADER + len, raw, aligned: false }
    }

    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock> {
        let mut encoder = snap::write::FrameEncoder::new(Vec::with_capacity(raw.len() / 2 + 64));
        encoder.write_all(&raw).map_err(|e| refused("snappy", e))?;
        let mut bytes = encoder.into_inner().map_err(|e| refused("snappy", e))?;
        // The container writes the identifier, once.
        if bytes.starts_with(IDENTIFIER) {
            bytes.drain(..IDENTIFIER.len());
        }
        Ok(CompressedBlock { bytes, about: BlockInfo::of(&raw) })
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

    fn append(&mut self, bytes: &[u8], _: &BlockInfo, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(bytes)
    }

    fn finish(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }
}

struct Unsnap {
    /// The chunk so far, unless all of it lay in one input.
    part: Vec<u8>,
    /// Bytes of a skippable chunk that are still to be passed.
    pass: usize,
    /// The stream identifier was read.
    begun: bool,
}

/// Appends the text of a chunk.
fn unpack(kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let Some((sum, packed)) = body.split_first_chunk::<4>() else {
        return Err(corrupt("snappy", "a chunk is shorter than its checksum"));
    };
    let from = out.len();
    match kind {
        COMPRESSED => {
            let raw = snap::raw::decompress_len(packed).map_err(|e| corrupt("snappy", e))?;
            if raw > CHUNK_BYTES {
                return Err(corrupt("snappy", "a chunk holds more than 64 KiB"));
            }
            out.resize(from + raw, 0);
            let unpacked = snap::raw::Decoder::new().decompress(packed, &mut out[from..]);
            unpacked.map_err(|e| corrupt("snappy", e))?;
        }
        STORED if packed.len() <= CHUNK_BYTES => out.extend_from_slice(packed),
        STORED => return Err(corrupt("snappy", "a chunk holds more than 64 KiB")),
        kind => return Err(corrupt("snappy", format!("there are no chunks of type {kind}"))),
    }
    // Checksums of data that looks like checksums would be weak: they are turned and shifted.
    let masked = crc32c::crc32c(&out[from..]).rotate_right(15).wrapping_add(0xa282_ead8);
    match masked == u32::from_le_bytes(*sum) {
        true => Ok(()),
        false => Err(corrupt("snappy", "the checksum of a chunk does not match")),
    }
}

impl Decompressor for Unsnap {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        loop {
            let some = self.pass.min(rest.len());
            rest = &rest[some..];
            self.pass -= some;
            if self.pass > 0 {
                break;
            }
            let Some(header) = take(&mut self.part, HEADER, &mut rest, false) else { break };
            let (kind, len) = (
                header[0],
                usize::from(header[1]) | usize::from(header[2]) << 8 | usize::from(header[3]) << 16,
            );
            if !self.begun && kind != IDENTIFIER[0] {
                let message = "it does not begin with a stream identifier (raw snappy has no frames)";
                return Err(corrupt("snappy", message));
            }
            if SKIPPABLE.contains(&kind) {
                take(&mut self.part, HEADER, &mut rest, true);
                self.part.clear();
                self.pass = len;
                continue;
            }
            if len > MAX_CHUNK {
                return Err(corrupt("snappy", "a chunk is longer than 64 KiB of text can be"));
            }
            let Some(chunk) = take(&mut self.part, HEADER + len, &mut rest, true) else { break };
            if kind == IDENTIFIER[0] {
                if chunk != IDENTIFIER {
                    return Err(corrupt("snappy", "a stream identifier is not one"));
                }
                self.begun = true;
            } else {
                unpack(kind, &chunk[HEADER..], out)?;
            }
            self.part.clear();
            if out.len() >= most {
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
