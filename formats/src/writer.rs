//! Blocks of rows to bytes. A block is encoded on its own, in parallel with others; an assembler puts the blocks of a
//! file in order. The bytes of a file follow from its rows alone, whoever encoded which block.

use std::any::Any;
use std::io::Write;

use arrow_array::RecordBatch;

use crate::error::Result;

/// An encoded run of rows (a compressed frame of records, a row group).
pub struct Block {
    /// The rows in it.
    pub rows: u64,
    /// Its bytes as they go into the file.
    pub bytes: Vec<u8>,
    /// What the assembler must know of it for the footer; the format's own type.
    pub meta: Box<dyn Any + Send>,
}

/// Encodes blocks of one schema; shared by all threads.
pub trait FileEncoder: Send + Sync {
    /// The rows that are encoded together. Every run of them in a file but the last has exactly this many.
    fn block_rows(&self) -> usize;

    /// Encodes one block, given as batches that together have its rows.
    fn encode(&self, batches: &[RecordBatch]) -> Result<Block>;

    /// Encodes one block as [`FileEncoder::encode`] does, or as several that follow one another. It does the latter
    /// where blocks can be of any number of rows and one would be large.
    fn encode_all(&self, batches: &[RecordBatch]) -> Result<Vec<Block>> {
        Ok(vec![self.encode(batches)?])
    }

    /// Begins a file.
    fn assembler(&self) -> Result<Box<dyn FileAssembler>>;
}

/// Puts the blocks of one file in order.
pub trait FileAssembler: Send {
    /// What comes before the first block (magic, header row).
    fn begin(&mut self, out: &mut dyn Write) -> Result<()>;

    /// The next block.
    fn append(&mut self, block: Block, out: &mut dyn Write) -> Result<()>;

    /// The bytes of records so far, before compression; 0 for column formats.
    fn raw(&self) -> u64 {
        0
    }

    /// What comes after the last block (footer, index).
    fn finish(&mut self, out: &mut dyn Write) -> Result<()>;
}
