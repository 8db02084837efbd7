//! Row groups encoded in parallel and appended in order.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use schema::FormatOptions;

use super::ALIGNMENT;
use super::bytes::pad;
use super::compress::Codec;
use super::encode::encode;
use super::footer::{Chunk, Footer, Group, head};
use super::types::put_field;
use crate::columns::adapt::column_error;
use crate::columns::types::read_schema;
use crate::error::{Error, Result};
use crate::writer::{Block, FileAssembler, FileEncoder};

/// The rows of a row group: a chunk of text is then about 2 MB, so that it is decompressed and read while it is in
/// the cache.
pub const GROUP_ROWS: usize = 1 << 17;

/// Encodes row groups of one schema.
pub struct Encoder {
    schema: SchemaRef,
    codec: Codec,
}

impl Encoder {
    /// Prepares writing files of this schema.
    pub fn new(schema: &SchemaRef, options: &FormatOptions) -> Result<Encoder> {
        let schema = Arc::new(read_schema(schema));
        schema.fields().iter().try_for_each(|field| put_field(&mut Vec::new(), field))?;
        Ok(Encoder { schema, codec: Codec::from_name(&options.compression)? })
    }

    fn column(&self, batches: &[RecordBatch], column: usize, bytes: &mut Vec<u8>) -> Result<Chunk> {
        let field = self.schema.field(column);
        let wrong = |message| column_error(field.name(), message);
        let pieces: Vec<&dyn Array> = batches.iter().map(|b| b.column(column).as_ref()).collect();
        let mut array = concat(&pieces).map_err(|e| wrong(e.to_string()))?;
        if array.data_type() != field.data_type() {
            array = cast(&array, field.data_type()).map_err(|e| wrong(e.to_string()))?;
        }
        if !field.is_nullable() && array.null_count() > 0 {
            return Err(wrong("NULL in a column that the schema declares NOT NULL".into()));
        }
        let encoded = encode(&array)?;
        let compressed = self.codec.compress(&encoded.raw)?;
        let codec = if compressed.is_some() { self.codec } else { Codec::None };
        let stored = compressed.as_ref().unwrap_or(&encoded.raw);
        pad(bytes, ALIGNMENT);
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(stored);
        Ok(Chunk {
            offset,
            stored: stored.len() as u32,
            raw: encoded.raw.len() as u32,
            checksum: crc32fast::hash(stored),
            nulls: encoded.nulls,
            codec,
            encoding: encoded.encoding,
            min: encoded.min,
            max: encoded.max,
            nan: encoded.nan,
        })
    }
}

impl FileEncoder for Encoder {
    fn block_rows(&self) -> usize {
        GROUP_ROWS
    }

    /// Gives the chunks at offsets from the start of the block.
    fn encode(&self, batches: &[RecordBatch]) -> Result<Block> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let mut bytes = Vec::new();
        let columns = if rows == 0 { 0 } else { self.schema.fields().len() };
        let chunks = (0..columns)
            .map(|column| self.column(batches, column, &mut bytes))
            .collect::<Result<Vec<_>>>()?;
        pad(&mut bytes, ALIGNMENT);
        let rows = u32::try_from(rows).expect("a block has at most GROUP_ROWS rows");
        Ok(Block { rows: rows.into(), bytes, meta: Box::new(Group { rows, chunks }) })
    }

    fn assembler(&self) -> Result<Box<dyn FileAssembler>> {
        Ok(Box::new(Assembler {
            footer: Footer { schema: self.schema.clone(), groups: Vec::new() },
            written: 0,
        }))
    }
}

struct Assembler {
    footer: Footer,
    /// The bytes written; a multiple of [`ALIGNMENT`] between blocks.
    written: u64,
}

impl Assembler {
    fn write(&mut self, bytes: &[u8], out: &mut dyn Write) -> Result<()> {
        out.write_all(bytes).map_err(|e| Error::io("", "write", e))?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

impl FileAssembler for Assembler {
    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        self.write(&head(), out)
    }

    fn append(&mut self, block: Block, out: &mut dyn Write) -> Result<()> {
        let mut group = block
            .meta
            .downcast::<Group>()
            .map_err(|_| Error::Unsupported("a buren file was given a block of another format".into()))?;
        if group.rows > 0 {
            group.chunks.iter_mut().for_each(|chunk| chunk.offset += self.written);
            self.footer.groups.push(*group);
        }
        self.write(&block.bytes, out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        let footer = self.footer.to_bytes()?;
        self.write(&footer, out)
    }
}
