//! Blocks of rows to bytes: one encoder for all row encodings, around which a compression goes.

use arrow_array::RecordBatch;
use std::io::Write;

use super::reader::BYTE_ORDER_MARK;
use crate::compress::{self, About, Compression, Container, Piece};
use crate::error::{Error, Result};
use crate::writer::{Block, FileAssembler, FileEncoder};

/// The rows of a block: about 1 MiB of text for rows of the common width.
const BLOCK_ROWS: usize = 8192;

/// Writes rows in one encoding.
pub trait RowWriter: Send + Sync {
    /// Whether it writes text, which could begin like a byte order mark.
    fn is_text(&self) -> bool {
        true
    }

    /// What comes before the first row.
    fn head(&self) -> &[u8];

    /// Appends the rows of a batch.
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;
}

/// Encodes blocks with a [`RowWriter`] and compresses each on its own.
pub struct RowEncoder {
    writer: Box<dyn RowWriter>,
    compression: &'static dyn Compression,
}

impl RowEncoder {
    /// An encoder with the compression of this name.
    pub fn new(writer: Box<dyn RowWriter>, compression: &str) -> Result<RowEncoder> {
        Ok(RowEncoder { writer, compression: compress::compression(compression)? })
    }
}

impl FileEncoder for RowEncoder {
    fn block_rows(&self) -> usize {
        BLOCK_ROWS
    }

    fn encode(&self, batches: &[RecordBatch]) -> Result<Block> {
        let mut raw = Vec::new();
        for batch in batches {
            self.writer.write(batch, &mut raw)?;
        }
        let rows = batches.iter().map(|b| b.num_rows() as u64).sum();
        let marked = self.writer.is_text() && raw.starts_with(BYTE_ORDER_MARK);
        let piece = self.compression.compress(raw)?;
        Ok(Block { rows, bytes: piece.bytes, meta: Box::new(Meta { about: piece.about, marked }) })
    }

    fn assembler(&self) -> Result<Box<dyn FileAssembler>> {
        let piece = |bytes: &[u8]| self.compression.compress(bytes.to_vec());
        let head = self.writer.head();
        let head = if head.is_empty() { None } else { Some(piece(head)?) };
        let mark = if head.is_none() { Some(piece(BYTE_ORDER_MARK)?) } else { None };
        Ok(Box::new(RowAssembler { head, mark, container: self.compression.container() }))
    }
}

/// What the assembler must know of a block.
struct Meta {
    about: About,
    /// Whether the text begins like a byte order mark.
    marked: bool,
}

struct RowAssembler {
    head: Option<Piece>,
    /// A byte order mark, for a file whose first row would else be taken to begin with one; `None` behind the first
    /// bytes.
    mark: Option<Piece>,
    container: Box<dyn Container>,
}

fn written(result: std::io::Result<()>) -> Result<()> {
    result.map_err(|e| Error::io("", "write", e))
}

impl FileAssembler for RowAssembler {
    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        written(self.container.begin(out))?;
        match self.head.take() {
            Some(piece) => written(self.container.append(&piece.bytes, &piece.about, out)),
            None => Ok(()),
        }
    }

    fn append(&mut self, block: Block, out: &mut dyn Write) -> Result<()> {
        let meta = block.meta.downcast::<Meta>().map_err(|_| {
            Error::Unsupported("a block of one format was given to the assembler of another".into())
        })?;
        if let Some(mark) = self.mark.take_if(|_| block.rows > 0).filter(|_| meta.marked) {
            written(self.container.append(&mark.bytes, &mark.about, out))?;
        }
        written(self.container.append(&block.bytes, &meta.about, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        written(self.container.finish(out))
    }
}
