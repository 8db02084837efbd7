//! zlib (RFC 1950), also under the suffix `deflate`: one stream with one checksum at its end.
//!
//! Ordinary tools read one stream only, so the blocks of a file share one. Each comes from a fresh compressor, refers
//! to nothing before it and ends on a byte with a sync flush. The container combines the checksums and ends the stream
//! with an empty block:
//!
//! ```text
//! 78 9c  block…  block…  03 00  adler32:u32, big endian
//! ```
//!
//! Files of several streams one behind the other are read to their end. A file of raw deflate (RFC 1951), as some tools
//! write it under the same suffix, is read as well. It has no header and no checksum.

use std::io::Write;

use flate2::{Decompress, FlushCompress, FlushDecompress, Status};

use super::gzip::{NO_DEFLATE, deflate, inflate_whole};
use super::{BlockInfo, CompressedBlock, Compression, Container, Decompressor, corrupt, cut_short, refused};
use crate::error::Result;

/// Deflate with a window of 32 KiB, at the usual level.
const HEADER: [u8; 2] = [0x78, 0x9c];

/// The lower half of a stream's first byte. Of raw deflate these bits would be a block that is stored, with padding
/// that is not zero: nobody writes that.
const METHOD: u8 = 8;

/// A last block, with nothing in it.
const LAST_BLOCK: [u8; 2] = [0x03, 0x00];

/// The modulus of Adler-32: the largest prime below 2^16.
const MODULUS: u32 = 65_521;

/// zlib.
pub struct Zlib;

impl Compression for Zlib {
    fn name(&self) -> &'static str {
        "zlib"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zz", "zlib", "deflate"]
    }

    fn begins(&self, head: &[u8]) -> bool {
        // The method and a window of 32 KiB, and a check that makes the two bytes a multiple of 31. `x^` is such a
        // header and text as well, so what follows must decompress.
        let [0x78, flags, _, ..] = head else { return false };
        let mut out = Vec::with_capacity(4096);
        (0x7800 + u32::from(*flags)).is_multiple_of(31)
            && flags & 0x20 == 0
            && Decompress::new(true).decompress_vec(head, &mut out, FlushDecompress::None).is_ok()
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Inflate {
            inflate: Decompress::new(true),
            state: State::Fresh,
            streams: 0,
            raw: false,
        })))
    }

    /// A block refers to nothing before it, so it is whole once a last block stands behind it.
    fn expand(&self, packed: &[u8], raw: usize, first: bool, out: &mut Vec<u8>) -> Result<()> {
        let blocks = packed.get(if first { HEADER.len() } else { 0 }..).unwrap_or_default();
        inflate_whole(&[blocks, &LAST_BLOCK].concat(), raw, out).ok_or_else(|| corrupt("zlib", NO_DEFLATE))
    }

    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock> {
        let mut bytes = Vec::with_capacity(raw.len() / 2 + 64);
        deflate(&raw, &mut bytes, FlushCompress::Sync).map_err(|e| refused("zlib", e))?;
        Ok(CompressedBlock { bytes, about: BlockInfo { raw: raw.len() as u64, adler: adler32(&raw) } })
    }

    fn container(&self) -> Box<dyn Container> {
        Box::new(OneStream { adler: 1 })
    }
}

/// The Adler-32 checksum of bytes.
fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    // The most bytes after which neither sum can have overflowed (as in zlib's NMAX).
    for run in bytes.chunks(5552) {
        for &byte in run {
            a += u32::from(byte);
            b += a;
        }
        a %= MODULUS;
        b %= MODULUS;
    }
    b << 16 | a
}

/// The checksum of two runs of bytes from theirs and the length of the second (zlib's adler32_combine).
fn combine(first: u32, second: u32, second_len: u64) -> u32 {
    let modulus = u64::from(MODULUS);
    let (a1, b1) = (u64::from(first & 0xffff), u64::from(first >> 16));
    let (a2, b2) = (u64::from(second & 0xffff), u64::from(second >> 16));
    // The second run was summed from 1 instead of from a1, which its second sum counts once a byte.
    let before = (a1 + modulus - 1) % modulus;
    let a = (a2 + before) % modulus;
    let b = (b1 + b2 + before * (second_len % modulus)) % modulus;
    (b << 16 | a) as u32
}

/// One stream around all pieces.
struct OneStream {
    adler: u32,
}

impl Container for OneStream {
    fn begin(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(&HEADER)
    }

    fn append(&mut self, bytes: &[u8], about: &BlockInfo, out: &mut dyn Write) -> std::io::Result<()> {
        self.adler = combine(self.adler, about.adler, about.raw);
        out.write_all(bytes)
    }

    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(&LAST_BLOCK)?;
        out.write_all(&self.adler.to_be_bytes())
    }
}

#[derive(PartialEq)]
enum State {
    /// A stream may begin.
    Fresh,
    /// Within a stream.
    Stream,
}

struct Inflate {
    inflate: Decompress,
    state: State,
    streams: u64,
    /// It is raw deflate.
    raw: bool,
}

impl Decompressor for Inflate {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        while self.state == State::Stream || !rest.is_empty() {
            if self.state == State::Fresh {
                if self.raw {
                    return Err(corrupt("deflate", "something follows the end of the stream"));
                }
                if self.streams == 0 && rest.first().is_some_and(|byte| byte & 15 != METHOD) {
                    self.raw = true;
                    self.inflate.reset(false);
                }
            }
            self.state = State::Stream;
            out.reserve(most.saturating_sub(out.len()));
            let before = self.inflate.total_in();
            let status = self.inflate.decompress_vec(rest, out, FlushDecompress::None).map_err(|_| {
                let behind = if self.streams > 0 { ", behind the first of several streams" } else { "" };
                corrupt("zlib", format!("{NO_DEFLATE}{behind}"))
            })?;
            rest = &rest[(self.inflate.total_in() - before) as usize..];
            if status == Status::StreamEnd {
                self.inflate.reset(true);
                self.state = State::Fresh;
                self.streams += 1;
            } else if rest.is_empty() {
                break;
            }
            if out.len() >= most {
                break;
            }
        }
        Ok(input.len() - rest.len())
    }

    fn finish(&mut self) -> Result<()> {
        match self.state {
            State::Fresh if self.streams > 0 => Ok(()),
            _ => Err(cut_short("zlib", "a stream")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_combine() {
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        let bytes: Vec<u8> = (0..100_000u64).map(|i| ((i * i) >> 7) as u8).collect();
        for cut in [0, 1, 5552, 65_521, 99_999, 100_000] {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(combine(adler32(first), adler32(second), second.len() as u64), adler32(&bytes));
        }
    }
}
