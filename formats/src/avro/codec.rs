//! The compressions of blocks. What a block unpacks to is bounded, and asked for as it grows.

use std::io::Read;

use bytes::Bytes;
use flate2::read::DeflateDecoder;

use crate::compress::compression;
use crate::error::{Error, Result};
use crate::memory;

/// The most bytes that a block may unpack to: the offsets of texts in a column have 31 bits.
const MOST: usize = i32::MAX as usize;
/// The room that is made at first.
const FIRST: usize = 64 << 10;
/// How many times its size compressed data may hold. Zstandard stores a block of 128 KiB of one byte in four bytes.
const MOST_TIMES: u64 = 1 << 15;

/// The codec of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// `null`: the data as they are.
    None,
    /// `deflate`, without the header of zlib.
    Deflate,
    /// `snappy`: a block, and behind it the CRC-32 of what it unpacks to, big endian.
    Snappy,
    /// `zstandard`.
    Zstd,
    /// `bzip2`.
    Bzip2,
}

impl Codec {
    /// The codec that the metadata name; none if they name none.
    pub fn named(name: Option<&[u8]>) -> Result<Codec> {
        match name {
            None | Some(b"null" | b"") => Ok(Codec::None),
            Some(b"deflate") => Ok(Codec::Deflate),
            Some(b"snappy") => Ok(Codec::Snappy),
            Some(b"zstandard") => Ok(Codec::Zstd),
            Some(b"bzip2") => Ok(Codec::Bzip2),
            Some(other) => Err(Error::Unsupported(format!(
                "Avro files are not read with the codec '{}'; read are null, deflate, snappy, zstandard and bzip2",
                String::from_utf8_lossy(other).chars().take(40).collect::<String>()
            ))),
        }
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Deflate => "deflate",
            Codec::Snappy => "snappy",
            Codec::Zstd => "zstd",
            Codec::Bzip2 => "bzip2",
        }
    }

    /// The most bytes that data of this size may hold.
    pub fn most(self, bytes: u64) -> u64 {
        match self {
            Codec::None => bytes,
            _ => bytes.saturating_mul(MOST_TIMES).min(MOST as u64),
        }
    }

    /// The most bytes that no bytes take.
    pub fn of_nothing(self) -> u64 {
        match self {
            Codec::None => 0,
            _ => 16,
        }
    }

    /// The data of a block, unpacked.
    pub fn unpack(self, data: &Bytes) -> Result<Bytes> {
        match self {
            Codec::None => Ok(data.clone()),
            Codec::Deflate => inflate(data),
            Codec::Snappy => unsnap(data),
            Codec::Zstd => push(data, "zstd"),
            Codec::Bzip2 => push(data, "bzip2"),
        }
    }
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("a block that can't be unpacked: {what}"))
}

/// Asks for room for this many bytes unpacked.
fn ask(packed: usize, bytes: usize) -> Result<()> {
    if bytes > MOST {
        return Err(corrupt(format_args!("it has more than {MOST} bytes")));
    }
    memory::ask(bytes as u64, || format!("a block of {packed} bytes unpacks to {bytes} or more"))
}

fn inflate(data: &[u8]) -> Result<Bytes> {
    let mut decoder = DeflateDecoder::new(data);
    let (mut out, mut room) = (Vec::new(), FIRST);
    loop {
        ask(data.len(), out.len().saturating_add(room))?;
        let read = decoder.by_ref().take(room as u64).read_to_end(&mut out).map_err(corrupt)?;
        if read < room {
            return Ok(out.into());
        }
        room = out.len().min(MOST - out.len()).max(1);
    }
}

fn unsnap(data: &[u8]) -> Result<Bytes> {
    let (packed, checksum) = data.split_last_chunk::<4>().ok_or_else(|| corrupt("it has no checksum"))?;
    let bytes = snap::raw::decompress_len(packed).map_err(corrupt)?;
    if bytes as u64 > Codec::Snappy.most(packed.len() as u64) {
        return Err(corrupt(format_args!("{} bytes claim to hold {bytes}", packed.len())));
    }
    ask(data.len(), bytes)?;
    let out = snap::raw::Decoder::new().decompress_vec(packed).map_err(corrupt)?;
    if crc32fast::hash(&out) != u32::from_be_bytes(*checksum) {
        return Err(corrupt("its checksum is not that of its bytes"));
    }
    Ok(out.into())
}

/// By the push decompressor of this name, which asks for the memory of its own.
fn push(data: &[u8], name: &str) -> Result<Bytes> {
    let mut decompressor =
        compression(name)?.decompressor()?.ok_or_else(|| corrupt(format_args!("there is no {name}")))?;
    let (mut out, mut consumed, mut most) = (Vec::new(), 0, FIRST);
    loop {
        ask(data.len(), most)?;
        consumed += decompressor.push(&data[consumed..], &mut out, most)?;
        if out.len() < most {
            break;
        }
        most = most.saturating_mul(2).max(out.len().saturating_add(1));
    }
    decompressor.finish()?;
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn blocks_of_each_codec_come_back() {
        let plain: Vec<u8> = (0..300_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(&plain).unwrap();
        let mut snappy = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
        snappy.extend(crc32fast::hash(&plain).to_be_bytes());
        for (codec, packed) in [
            (Codec::None, plain.clone()),
            (Codec::Deflate, deflate.finish().unwrap()),
            (Codec::Snappy, snappy.clone()),
            (Codec::Zstd, zstd::bulk::compress(&plain, 1).unwrap()),
        ] {
            assert!(codec.unpack(&packed.into()).unwrap() == plain, "{codec:?}");
        }
        snappy[20] ^= 1;
        assert!(Codec::Snappy.unpack(&snappy.into()).is_err());
        assert!(Codec::Snappy.unpack(&Bytes::from_static(b"abc")).is_err());
    }
}
