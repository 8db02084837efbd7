//! What goes around the compressed blocks of a file.

use std::io::Write;

/// A compressed block.
pub struct CompressedBlock {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What the container must know.
    pub about: BlockInfo,
}

/// What a container must know of a block.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockInfo {
    /// The size before compression.
    pub raw: u64,
    /// The Adler-32 checksum of the bytes before compression; only zlib wants it.
    pub adler: u32,
}

impl BlockInfo {
    /// The size of a block.
    pub fn of(raw: &[u8]) -> BlockInfo {
        BlockInfo { raw: raw.len() as u64, adler: 0 }
    }
}

/// Puts the pieces of a file together, in order.
pub trait Container: Send {
    /// What comes before the first piece.
    fn begin(&mut self, out: &mut dyn Write) -> std::io::Result<()>;

    /// The next piece.
    fn append(&mut self, bytes: &[u8], about: &BlockInfo, out: &mut dyn Write) -> std::io::Result<()>;

    /// What comes after the last piece.
    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()>;
}

/// A file that is its pieces one after another.
pub struct Concatenated {
    /// What a file without pieces holds, so that it is not zero bytes, which most tools refuse.
    empty: Option<Vec<u8>>,
}

impl Concatenated {
    /// A file that holds `empty` if there are no pieces.
    pub fn new(empty: Vec<u8>) -> Concatenated {
        Concatenated { empty: Some(empty) }
    }
}

impl Container for Concatenated {
    fn begin(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }

    fn append(&mut self, bytes: &[u8], _: &BlockInfo, out: &mut dyn Write) -> std::io::Result<()> {
        self.empty = None;
        out.write_all(bytes)
    }

    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        self.empty.take().map_or(Ok(()), |empty| out.write_all(&empty))
    }
}
