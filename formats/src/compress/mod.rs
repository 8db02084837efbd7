//! Compressions around whole files: the table of them, decompression of a stream, compression of blocks.

use std::io::Write;

use crate::error::{Error, Result};

/// How far beyond its bound a decompressor may fill the output.
pub const OVERSHOOT_BYTES: usize = 0;

/// The names of all compressions, in the order of their numbers.
pub const NAMES: &[&str] = &["none"];

/// A compression around files.
pub trait Compression: Send + Sync {
    /// The name in `--compression` and in manifests.
    fn name(&self) -> &'static str;

    /// The suffixes of its files, without the dot, the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// A decompressor for one file; `None` if the bytes are as they are.
    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>>;

    /// Compresses a block so that it can be decompressed on its own.
    fn compress(&self, raw: Vec<u8>) -> Result<Piece>;

    /// What goes around the pieces of a file.
    fn container(&self) -> Box<dyn Container>;
}

/// Decompresses a stream; memory is bounded whatever the input holds.
pub trait Decompressor: Send {
    /// Appends decompressed bytes until the input is consumed or `out` holds `most` bytes. Gives what it consumed.
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize>;

    /// The input has ended: an error if it ended too early.
    fn finish(&mut self) -> Result<()>;
}

/// A compressed block.
pub struct Piece {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What the container must know.
    pub about: About,
}

/// What a container must know of a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct About {
    /// The size before compression.
    pub raw: u64,
}

/// Puts the pieces of a file together, in order.
pub trait Container: Send {
    /// What comes before the first piece.
    fn begin(&mut self, out: &mut dyn Write) -> std::io::Result<()>;

    /// The next piece.
    fn append(&mut self, bytes: &[u8], about: &About, out: &mut dyn Write) -> std::io::Result<()>;

    /// What comes after the last piece.
    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()>;
}

struct Plain;

impl Compression for Plain {
    fn name(&self) -> &'static str {
        "none"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(None)
    }

    fn compress(&self, raw: Vec<u8>) -> Result<Piece> {
        Ok(Piece { about: About { raw: raw.len() as u64 }, bytes: raw })
    }

    fn container(&self) -> Box<dyn Container> {
        Box::new(OneAfterAnother)
    }
}

/// A file that is its pieces one after another.
struct OneAfterAnother;

impl Container for OneAfterAnother {
    fn begin(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }

    fn append(&mut self, bytes: &[u8], _: &About, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(bytes)
    }

    fn finish(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }
}

/// All compressions.
pub fn compressions() -> &'static [&'static dyn Compression] {
    &[&Plain]
}

/// The compression of this name.
pub fn compression(name: &str) -> Result<&'static dyn Compression> {
    compressions().iter().copied().find(|c| c.name() == name).ok_or_else(|| {
        Error::Unsupported(format!("there is no compression '{name}'; there are {}", NAMES.join(", ")))
    })
}
