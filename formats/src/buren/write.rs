//! Row groups encoded in parallel and appended in order.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::concat::concat;
use schema::FormatOptions;

use super::ALIGNMENT;
use super::bytes::pad;
use super::compress::Codec;
use super::encode::encode;
use super::footer::{Chunk, Footer, Group, head};
use super::nested::written_type;
use super::sketch::Sketch;
use super::types::put_field;
use crate::columns::adapt::column_error;
use crate::error::{Error, Result};
use crate::writer::{Block, FileAssembler, FileEncoder};

/// The rows of a row group. A chunk of text is then about 2 MB, so that it is decompressed and read while it is in the
/// cache.
pub const GROUP_ROWS: usize = 1 << 17;

/// Encodes row groups of one schema.
pub struct Encoder {
    schema: SchemaRef,
    codec: Codec,
}

impl Encoder {
    /// Prepares writing files of this schema.
    pub fn new(schema: &SchemaRef, options: &FormatOptions) -> Result<Encoder> {
        let fields = schema
            .fields()
            .iter()
            .map(|f| Arc::new(Field::new(f.name(), written_type(f.data_type()), f.is_nullable())));
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        schema.fields().iter().try_for_each(|field| put_field(&mut Vec::new(), field))?;
        Ok(Encoder { schema, codec: Codec::from_name(&options.compression)? })
    }

    fn column(&self, batches: &[RecordBatch], column: usize, bytes: &mut Vec<u8>) -> Result<(Chunk, Sketch)> {
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
        let encoded = encode(&array, self.codec)?;
        pad(bytes, ALIGNMENT);
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(&encoded.bytes);
        let chunk = Chunk {
            offset,
            stored: encoded.bytes.len() as u32,
            raw: encoded.raw,
            checksum: crc32fast::hash(&encoded.bytes),
            nulls: encoded.nulls,
            distinct: encoded.sketch.estimate().min((array.len() - array.null_count()) as u64) as u32,
            limits: encoded.limits,
        };
        Ok((chunk, encoded.sketch))
    }
}

/// A row group before it has its place in a file.
struct Encoded {
    group: Group,
    sketches: Vec<Sketch>,
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
        let columns = (0..columns).map(|column| self.column(batches, column, &mut bytes));
        let (chunks, sketches) = columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        pad(&mut bytes, ALIGNMENT);
        let rows = u32::try_from(rows).expect("a block has at most GROUP_ROWS rows");
        Ok(Block {
            rows: rows.into(),
            bytes,
            meta: Box::new(Encoded { group: Group { rows, chunks }, sketches }),
        })
    }

    fn assembler(&self) -> Result<Box<dyn FileAssembler>> {
        Ok(Box::new(Assembler {
            footer: Footer {
                schema: self.schema.clone(),
                groups: Vec::new(),
                sketches: vec![Sketch::default(); self.schema.fields().len()],
            },
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
        let encoded = block
            .meta
            .downcast::<Encoded>()
            .map_err(|_| Error::Unsupported("a buren file was given a block of another format".into()))?;
        let Encoded { mut group, sketches } = *encoded;
        if group.rows > 0 {
            group.chunks.iter_mut().for_each(|chunk| chunk.offset += self.written);
            self.footer.groups.push(group);
            self.footer.sketches.iter_mut().zip(&sketches).for_each(|(all, some)| all.merge(some));
        }
        self.write(&block.bytes, out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        let footer = self.footer.to_bytes()?;
        self.write(&footer, out)
    }
}
