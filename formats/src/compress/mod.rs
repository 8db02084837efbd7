//! Compressions around whole files: the table of them, decompression of streams, compression of blocks.
//!
//! Decompressors are pushed bytes and do no I/O. Each reads any number of frames or members one after another. It holds
//! a bounded amount of memory whatever the input says, and makes an end that comes too early an error. On the way out
//! each block is compressed on its own, so that any thread can do it; a [`Container`] puts the pieces in order.
//! - `head`: the beginning of a file, decompressed.
//! - [`container`]: what goes around the pieces.
//! - [`gzip`], [`zlib`], [`snappy`], [`lz4`], [`zstd`], [`mod@bzip2`]: one file each.

mod bzip2;
mod container;
mod framed;
mod gzip;
pub(crate) mod head;
mod lz4;
mod snappy;
mod zlib;
mod zstd;

use std::path::Path;
use std::sync::LazyLock;

pub use container::{BlockInfo, CompressedBlock, Container};

use crate::error::{DataError, Error, Result};

/// A compression around files.
pub trait Compression: Send + Sync {
    /// The name in `--compression` and in manifests.
    fn name(&self) -> &'static str;

    /// The suffixes of its files, without the dot, the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether files are written with it, and not only read.
    fn is_written(&self) -> bool {
        true
    }

    /// Whether a file that begins with these bytes (64 are enough) is compressed like this.
    fn begins(&self, head: &[u8]) -> bool;

    /// A decompressor for one file; `None` if the bytes are as they are.
    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>>;

    /// A decompressor for the rest of a file, from where a unit or a block of a manifest begins.
    fn resume(&self) -> Result<Option<Box<dyn Decompressor>>> {
        self.decompressor()
    }

    /// The unit that begins here, as far as headers tell of it. Nothing is decompressed.
    fn unit(&self, _bytes: &[u8]) -> Unit {
        Unit::Unknown
    }

    /// Appends what a run of whole units, or of a manifest's blocks, holds: `raw` bytes, or it is an error. `first`
    /// says that the run begins where the file does. `raw` is what the caller is ready to keep in memory.
    fn expand(&self, packed: &[u8], raw: usize, first: bool, out: &mut Vec<u8>) -> Result<()> {
        let Some(mut decompressor) = (if first { self.decompressor() } else { self.resume() })? else {
            out.extend_from_slice(packed);
            return Ok(());
        };
        let whole = out.len() + raw;
        let mut rest = packed;
        while !rest.is_empty() && out.len() <= whole {
            let len = out.len();
            let used = decompressor.push(rest, out, whole.max(len))?;
            rest = &rest[used..];
            if used == 0 && out.len() == len {
                break;
            }
        }
        decompressor.finish()?;
        sized(self.name(), rest.is_empty() && out.len() == whole)
    }

    /// Compresses a block so that it can be decompressed on its own.
    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock>;

    /// What goes around the pieces of a file.
    fn container(&self) -> Box<dyn Container>;
}

/// A part of a file that can be decompressed without what lies before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// It is whole.
    Whole {
        /// Its size in the file.
        packed: usize,
        /// The size of what it holds.
        raw: usize,
        /// Whether it is known to begin with a record, because palais wrote it.
        aligned: bool,
    },
    /// It goes on behind the bytes at hand, or ends too early.
    Short,
    /// None begins here, or nothing tells where it ends.
    Unknown,
}

/// Decompresses a stream; memory is bounded whatever the input holds.
pub trait Decompressor: Send {
    /// Appends decompressed bytes until the input is consumed or `out` holds at least `most` bytes, and gives the
    /// number of bytes consumed. It may hold more, by a block of the format: 64 KiB of snappy, 4 MiB of lz4. If `out` was
    /// filled, output may be left for which the next call needs no input.
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize>;

    /// The input has ended: an error if it ended too early.
    fn finish(&mut self) -> Result<()>;
}

/// No compression.
struct Plain;

impl Compression for Plain {
    fn name(&self) -> &'static str {
        "none"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    fn begins(&self, _: &[u8]) -> bool {
        false
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(None)
    }

    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock> {
        Ok(CompressedBlock { about: BlockInfo::of(&raw), bytes: raw })
    }

    fn container(&self) -> Box<dyn Container> {
        Box::new(container::Concatenated::new(Vec::new()))
    }
}

/// All compressions. A new one is a file and a line here.
pub fn compressions() -> &'static [&'static dyn Compression] {
    &[&Plain, &gzip::Gzip, &zlib::Zlib, &snappy::Snappy, &lz4::Lz4, &zstd::Zstd, &bzip2::Bzip2]
}

/// The names of the compressions that are written.
pub fn names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> =
        LazyLock::new(|| compressions().iter().filter(|c| c.is_written()).map(|c| c.name()).collect());
    &NAMES
}

/// The compression of this name.
pub fn compression(name: &str) -> Result<&'static dyn Compression> {
    compressions().iter().copied().find(|c| c.name() == name).ok_or_else(|| {
        Error::Unsupported(format!("there is no compression '{name}'; there are {}", names().join(", ")))
    })
}

/// The compression that the last suffix of a path names, without regard to case.
pub fn by_suffix(path: &Path) -> Option<&'static dyn Compression> {
    let suffix = path.extension()?.to_str()?;
    let names = |c: &&dyn Compression| c.extensions().iter().any(|e| e.eq_ignore_ascii_case(suffix));
    compressions().iter().copied().find(names)
}

/// The compression that the first bytes of a file show. zlib has no magic number: it is recognised by its header if
/// the bytes behind it decompress.
pub fn sniff(head: &[u8]) -> Option<&'static dyn Compression> {
    compressions().iter().copied().find(|c| c.begins(head))
}

/// Compressed bytes that are not what they should be.
fn corrupt(compression: &str, message: impl std::fmt::Display) -> Error {
    let message = format!("the {compression} data is damaged: {message}");
    Error::Data(Box::new(DataError { message, ..DataError::default() }))
}

/// An error unless what was decompressed has the size that was said of it.
fn sized(compression: &str, right: bool) -> Result<()> {
    if right { Ok(()) } else { Err(corrupt(compression, "a block does not hold as many bytes as it should")) }
}

/// Four bytes, little endian; `None` beyond the end.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

/// Compressed bytes that end too early.
fn cut_short(compression: &str, place: &str) -> Error {
    Error::Data(Box::new(DataError {
        message: format!("the {compression} data ends in the middle of {place}"),
        help: Some("the file is cut short; copy or make it again".into()),
        ..DataError::default()
    }))
}

/// A block that can't be compressed.
fn refused(compression: &str, error: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!("a block cannot be compressed with {compression}: {error}"))
}
