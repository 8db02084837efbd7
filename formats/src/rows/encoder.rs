//! Blocks of rows to bytes: one encoder for all row encodings, around which a compression goes.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::reader::BYTE_ORDER_MARK;
use crate::compress::{self, BlockInfo, CompressedBlock, Compression, Container};
use crate::error::{Error, Result};
use crate::writer::{Block, FileAssembler, FileEncoder};

/// The rows that are encoded together: about 1 MiB of text for rows of the common width.
const ROWS: usize = 8192;

/// As many where rows are of numbers alone, and short.
const SHORT_ROWS: usize = 65_536;

/// A block ends with the row that fills so many bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// Rows are written to a block so many at a time at most, before its size is looked at.
const STEP: usize = 1024;

/// Writes rows in one encoding.
pub trait RowWriter: Send + Sync {
    /// Whether it writes text, which could begin like a byte order mark.
    fn is_text(&self) -> bool {
        true
    }

    /// What comes before the first row.
    fn head(&self) -> &[u8] {
        b""
    }

    /// Appends the rows of a batch.
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;
}

/// Encodes blocks with a [`RowWriter`] and compresses each on its own.
pub struct RowEncoder {
    writer: Box<dyn RowWriter>,
    compression: &'static dyn Compression,
    rows: usize,
}

impl RowEncoder {
    /// An encoder of rows of this schema with the compression of this name.
    pub fn new(writer: Box<dyn RowWriter>, schema: &Schema, compression: &str) -> Result<RowEncoder> {
        let short = schema.fields().iter().all(|field| field.data_type().primitive_width().is_some());
        let rows = if short && schema.fields().len() <= 16 { SHORT_ROWS } else { ROWS };
        let compression = compress::compression(compression)?;
        if !compression.is_written() {
            let (name, names) = (compression.name(), compress::names().join(", "));
            return Err(Error::Unsupported(format!("{name} is read and not written; these are: {names}")));
        }
        Ok(RowEncoder { writer, compression, rows })
    }

    fn block(&self, raw: Vec<u8>, rows: usize) -> Result<Block> {
        let marked = self.writer.is_text() && raw.starts_with(BYTE_ORDER_MARK);
        let piece = self.compression.compress(raw)?;
        Ok(Block {
            rows: rows as u64,
            bytes: piece.bytes,
            meta: Box::new(Meta { about: piece.about, marked }),
        })
    }
}

impl FileEncoder for RowEncoder {
    fn block_rows(&self) -> usize {
        self.rows
    }

    fn encode(&self, batches: &[RecordBatch]) -> Result<Block> {
        let mut raw = Vec::new();
        for batch in batches {
            self.writer.write(batch, &mut raw)?;
        }
        self.block(raw, batches.iter().map(RecordBatch::num_rows).sum())
    }

    fn encode_all(&self, batches: &[RecordBatch]) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        let mut raw = Vec::new();
        let mut rows = 0;
        for batch in batches {
            let mut at = 0;
            while at < batch.num_rows() {
                // So many rows as a tenth of a block would have if they were like those before.
                let fitting = BLOCK_BYTES / 10 * rows.max(1) / raw.len().max(1);
                let step = if rows == 0 { 1 } else { fitting.clamp(1, STEP) }.min(batch.num_rows() - at);
                self.writer.write(&batch.slice(at, step), &mut raw)?;
                (at, rows) = (at + step, rows + step);
                if raw.len() >= BLOCK_BYTES {
                    blocks.push(self.block(std::mem::take(&mut raw), rows)?);
                    rows = 0;
                }
            }
        }
        if rows > 0 || blocks.is_empty() {
            blocks.push(self.block(raw, rows)?);
        }
        Ok(blocks)
    }

    fn assembler(&self) -> Result<Box<dyn FileAssembler>> {
        let piece = |bytes: &[u8]| self.compression.compress(bytes.to_vec());
        let head = self.writer.head();
        let head = if head.is_empty() { None } else { Some(piece(head)?) };
        let mark = if head.is_none() { Some(piece(BYTE_ORDER_MARK)?) } else { None };
        Ok(Box::new(RowAssembler { head, mark, container: self.compression.container(), raw: 0 }))
    }
}

/// What the assembler must know of a block.
struct Meta {
    about: BlockInfo,
    /// Whether the text begins like a byte order mark.
    marked: bool,
}

struct RowAssembler {
    head: Option<CompressedBlock>,
    /// A byte order mark, for a file whose first row would else be taken to begin with one; `None` behind the first
    /// bytes.
    mark: Option<CompressedBlock>,
    container: Box<dyn Container>,
    raw: u64,
}

impl RowAssembler {
    fn put(&mut self, bytes: &[u8], about: &BlockInfo, out: &mut dyn Write) -> Result<()> {
        self.raw += about.raw;
        written(self.container.append(bytes, about, out))
    }
}

fn written(result: std::io::Result<()>) -> Result<()> {
    result.map_err(|e| Error::io("", "write", e))
}

impl FileAssembler for RowAssembler {
    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        written(self.container.begin(out))?;
        match self.head.take() {
            Some(piece) => self.put(&piece.bytes, &piece.about, out),
            None => Ok(()),
        }
    }

    fn append(&mut self, block: Block, out: &mut dyn Write) -> Result<()> {
        let meta = block.meta.downcast::<Meta>().map_err(|_| {
            Error::Unsupported("a block of one format was given to the assembler of another".into())
        })?;
        if let Some(mark) = self.mark.take_if(|_| block.rows > 0).filter(|_| meta.marked) {
            self.put(&mark.bytes, &mark.about, out)?;
        }
        self.put(&block.bytes, &meta.about, out)
    }

    fn raw(&self) -> u64 {
        self.raw
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        written(self.container.finish(out))
    }
}
