//! The compressions of a buffer. A buffer is one piece. It is raw snappy, an LZ4 block, a gzip member, a zlib stream or
//! a Zstandard frame. Its decompressed length stands in the chunk's description.

use std::cell::RefCell;
use std::io::{Read, Write};

use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use zstd::bulk::{Compressor, Decompressor};

use crate::error::{Error, Result};
use crate::memory;

/// The names of all compressions, by their tags.
pub const NAMES: &[&str] = &["none", "snappy", "lz4", "gzip", "zlib", "zstd"];
/// Fast levels: the format is for reading, and what a higher level saves is paid for at every write.
const ZSTD_LEVEL: i32 = 3;
const DEFLATE_LEVEL: u32 = 6;

thread_local! {
    // Making a context of Zstandard takes longer than compressing a small buffer.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// How a buffer is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// Stored as it is.
    None = 0,
    /// Raw snappy.
    Snappy = 1,
    /// An LZ4 block.
    Lz4 = 2,
    /// A gzip member.
    Gzip = 3,
    /// A zlib stream.
    Zlib = 4,
    /// A Zstandard frame.
    Zstd = 5,
}

const ALL: [Codec; 6] = [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Gzip, Codec::Zlib, Codec::Zstd];

impl Codec {
    /// The compression of this name.
    pub fn from_name(name: &str) -> Result<Codec> {
        let tag = NAMES.iter().position(|n| *n == name).ok_or_else(|| {
            Error::Unsupported(format!("buren can't be compressed with '{name}'; use {}", NAMES.join(", ")))
        })?;
        Ok(ALL[tag])
    }

    /// The compression of this tag.
    pub fn from_tag(tag: u8) -> Result<Codec> {
        ALL.get(usize::from(tag)).copied().ok_or_else(|| {
            Error::corrupt(format!("damaged buren footer: there is no compression of number {tag}"))
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The bytes compressed, or `None` if that saves less than 5 %.
    pub fn compress(self, raw: &[u8]) -> Result<Option<Vec<u8>>> {
        let refused =
            |e: &dyn std::fmt::Display| Error::Unsupported(format!("{} compression: {e}", self.name()));
        let level = flate2::Compression::new(DEFLATE_LEVEL);
        let stored = match self {
            Codec::None => return Ok(None),
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(raw).map_err(|e| refused(&e))?,
            Codec::Lz4 => lz4_flex::block::compress(raw),
            Codec::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(raw).and_then(|()| encoder.finish()).map_err(|e| refused(&e))?
            }
            Codec::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(raw).and_then(|()| encoder.finish()).map_err(|e| refused(&e))?
            }
            Codec::Zstd => {
                let compressed = COMPRESSOR.with_borrow_mut(|compressor| match compressor {
                    Some(compressor) => compressor.compress(raw),
                    none => none.insert(Compressor::new(ZSTD_LEVEL)?).compress(raw),
                });
                compressed.map_err(|e| refused(&e))?
            }
        };
        Ok((stored.len() * 20 <= raw.len() * 19).then_some(stored))
    }

    /// The most bytes that one stored byte can stand for, with room to spare. A footer that claims more asks for memory
    /// that no file needs. In 4 bytes Zstandard repeats a byte 2^17 times.
    fn most_times(self) -> usize {
        match self {
            Codec::None => 1,
            Codec::Snappy => 64,
            Codec::Lz4 => 256,
            Codec::Gzip | Codec::Zlib => 1040,
            Codec::Zstd => 1 << 15,
        }
    }

    /// The `raw` bytes that were compressed, neither more nor fewer.
    pub fn decompress(self, stored: &[u8], raw: usize) -> Result<Vec<u8>> {
        let wrong = |e: &dyn std::fmt::Display| Error::corrupt(format!("damaged {} data: {e}", self.name()));
        if raw > stored.len().saturating_mul(self.most_times()) {
            return Err(wrong(&format_args!("{} bytes can't hold {raw}", stored.len())));
        }
        memory::ask(raw as u64, || format!("a block of {} bytes unpacks to {raw}", stored.len()))?;
        let mut out = Vec::new();
        match self {
            Codec::None => out.extend_from_slice(stored),
            Codec::Snappy => {
                // The length is checked before anything is allocated.
                let length = snap::raw::decompress_len(stored).map_err(|e| wrong(&e))?;
                if length == raw {
                    out = snap::raw::Decoder::new().decompress_vec(stored).map_err(|e| wrong(&e))?;
                }
            }
            Codec::Lz4 => {
                out = vec![0; raw];
                let length = lz4_flex::block::decompress_into(stored, &mut out).map_err(|e| wrong(&e))?;
                out.truncate(length);
            }
            Codec::Gzip => read_up_to(GzDecoder::new(stored), raw, &mut out).map_err(|e| wrong(&e))?,
            Codec::Zlib => read_up_to(ZlibDecoder::new(stored), raw, &mut out).map_err(|e| wrong(&e))?,
            Codec::Zstd => {
                let decompressed = DECOMPRESSOR.with_borrow_mut(|decompressor| match decompressor {
                    Some(decompressor) => decompressor.decompress(stored, raw),
                    none => none.insert(Decompressor::new()?).decompress(stored, raw),
                });
                out = decompressed.map_err(|e| wrong(&e))?;
            }
        }
        if out.len() != raw {
            return Err(wrong(&format_args!("expected {raw} bytes when decompressed")));
        }
        Ok(out)
    }
}

/// Reads a stream into a buffer of `raw` bytes, and one more if there is more.
fn read_up_to(stream: impl Read, raw: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    out.reserve_exact(raw + 1);
    stream.take(raw as u64 + 1).read_to_end(out).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_compression_comes_back_and_checks_the_length() {
        let raw: Vec<u8> = (0..20_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for codec in &ALL[1..] {
            let stored = codec.compress(&raw).unwrap().expect("this shrinks");
            assert_eq!(codec.decompress(&stored, raw.len()).unwrap(), raw);
            assert!(codec.decompress(&stored, raw.len() - 1).is_err(), "{codec:?}");
            assert!(codec.decompress(&stored, raw.len() + 1).is_err(), "{codec:?}");
            assert!(codec.decompress(&stored[..stored.len() / 2], raw.len()).is_err(), "{codec:?}");
            assert!(codec.decompress(&[], 5).is_err(), "{codec:?}");
            assert_eq!(Codec::from_name(codec.name()).unwrap(), *codec);
        }
    }

    #[test]
    fn what_compresses_best_is_below_the_bound() {
        for raw in [vec![0; 1 << 24], vec![7; 1 << 17], b"ab".repeat(1 << 20), vec![1; 300]] {
            for codec in &ALL[1..] {
                let stored = codec.compress(&raw).unwrap().expect("this shrinks");
                assert!(codec.decompress(&stored, raw.len()).unwrap() == raw, "{codec:?}");
            }
        }
    }

    #[test]
    fn what_shrinks_by_less_than_five_percent_is_not_compressed() {
        let mut state = 1u64;
        let noise: Vec<u8> = (0..10_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        for codec in ALL {
            assert_eq!(codec.compress(&noise).unwrap(), None, "{codec:?}");
        }
    }
}
