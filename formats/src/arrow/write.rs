//! Record batches encoded in parallel and appended in order, as an IPC file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_cast::cast;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{Block as Place, CompressionType, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use arrow_select::concat::concat;
use schema::FormatOptions;

use super::MAGIC;
use crate::columns::types::{depth, read_schema};
use crate::error::{Error, Result};
use crate::writer::{Block, FileAssembler, FileEncoder};

/// The compressions that the format knows.
pub const COMPRESSIONS: &[&str] = &["none", "lz4", "zstd"];
/// The rows of a record batch. A batch is read whole, whatever columns are wanted.
const BATCH_ROWS: usize = 1 << 16;
/// The most lists, structs and maps within one another: readers look less than 64 tables deep into a schema, of which
/// some stand around its fields.
const DEEPEST: usize = 60;
/// What ends the messages of a file.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Encodes record batches of one schema.
pub struct Encoder {
    schema: SchemaRef,
    options: IpcWriteOptions,
}

impl Encoder {
    /// Prepares writing files of this schema.
    pub fn new(schema: &SchemaRef, options: &FormatOptions) -> Result<Encoder> {
        let compression = match options.compression.as_str() {
            "none" => None,
            "lz4" => Some(CompressionType::LZ4_FRAME),
            "zstd" => Some(CompressionType::ZSTD),
            other => {
                return Err(Error::Unsupported(format!(
                    "arrow can't be compressed with '{other}'; use {}",
                    COMPRESSIONS.join(", ")
                )));
            }
        };
        let schema = Arc::new(read_schema(schema));
        // Dictionaries inside of nested types would have to be numbered over all blocks of a file.
        if schema.flattened_fields().iter().any(|f| matches!(f.data_type(), DataType::Dictionary(..))) {
            return Err(Error::Unsupported(
                "arrow files are not written with dictionaries in nested columns".into(),
            ));
        }
        if let Some(deep) = schema.fields().iter().find(|field| depth(field.data_type()) > DEEPEST) {
            return Err(Error::Unsupported(format!(
                "column '{}' has more than {DEEPEST} types within one another, which arrow can't hold: write parquet",
                deep.name()
            )));
        }
        let options = IpcWriteOptions::default().try_with_compression(compression).map_err(cannot_write)?;
        Ok(Encoder { schema, options })
    }

    fn column(&self, batches: &[RecordBatch], column: usize) -> Result<ArrayRef, ArrowError> {
        let pieces: Vec<&dyn Array> = batches.iter().map(|b| b.column(column).as_ref()).collect();
        let array = cast(&concat(&pieces)?, self.schema.field(column).data_type())?;
        compact(array)
    }
}

/// A column whose views, also those in lists and structs, point to nothing but their own bytes. Views keep whole
/// buffers alive, and those would be written.
fn compact(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        nested if nested.is_nested() => {
            let data = array.to_data();
            let within = data.child_data().iter().map(|d| Ok(compact(make_array(d.clone()))?.to_data()));
            let within = within.collect::<Result<_, ArrowError>>()?;
            make_array(data.into_builder().child_data(within).build()?)
        }
        _ => array,
    })
}

impl FileEncoder for Encoder {
    fn block_rows(&self) -> usize {
        BATCH_ROWS
    }

    fn encode(&self, batches: &[RecordBatch]) -> Result<Block> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows == 0 {
            return Ok(Block { rows: 0, bytes: Vec::new(), meta: Box::new(Place::default()) });
        }
        let columns = (0..self.schema.fields().len()).map(|column| self.column(batches, column));
        let columns = columns.collect::<Result<_, _>>().map_err(cannot_write)?;
        let count = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(self.schema.clone(), columns, &count).map_err(cannot_write)?;
        let mut tracker = DictionaryTracker::new(true);
        let (_, message) = IpcDataGenerator::default()
            .encode(&batch, &mut tracker, &self.options, &mut IpcWriteContext::default())
            .map_err(cannot_write)?;
        let mut bytes = Vec::with_capacity(message.ipc_message.len() + message.arrow_data.len() + 128);
        let (metadata, body) = write_message(&mut bytes, message, &self.options).map_err(cannot_write)?;
        let metadata = i32::try_from(metadata).expect("the metadata of a batch is small");
        Ok(Block { rows: rows as u64, bytes, meta: Box::new(Place::new(0, metadata, body as i64)) })
    }

    fn assembler(&self) -> Result<Box<dyn FileAssembler>> {
        Ok(Box::new(Assembler {
            schema: self.schema.clone(),
            options: self.options.clone(),
            batches: Vec::new(),
            written: 0,
        }))
    }
}

struct Assembler {
    schema: SchemaRef,
    options: IpcWriteOptions,
    batches: Vec<Place>,
    written: i64,
}

impl Assembler {
    fn write(&mut self, bytes: &[u8], out: &mut dyn Write) -> Result<()> {
        out.write_all(bytes).map_err(|e| Error::io("", "write", e))?;
        self.written += bytes.len() as i64;
        Ok(())
    }
}

impl FileAssembler for Assembler {
    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        let mut head = MAGIC.to_vec();
        head.extend([0; 2]);
        let mut tracker = DictionaryTracker::new(true);
        let schema = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
            &self.schema,
            &mut tracker,
            &self.options,
        );
        write_message(&mut head, schema, &self.options).map_err(cannot_write)?;
        self.write(&head, out)
    }

    fn append(&mut self, block: Block, out: &mut dyn Write) -> Result<()> {
        let place = block
            .meta
            .downcast::<Place>()
            .map_err(|_| Error::Unsupported("an arrow file was given a block of another format".into()))?;
        if block.rows > 0 {
            self.batches.push(Place::new(self.written, place.metaDataLength(), place.bodyLength()));
        }
        self.write(&block.bytes, out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.write(&END, out)?;
        let footer = footer(&self.schema, &self.batches);
        self.write(&footer, out)?;
        let length = i32::try_from(footer.len()).map_err(|_| {
            Error::Unsupported("too many batches for one arrow file: write more parts".into())
        })?;
        self.write(&length.to_le_bytes(), out)?;
        self.write(MAGIC, out)
    }
}

/// The footer as a flatbuffer.
fn footer(schema: &Schema, batches: &[Place]) -> Vec<u8> {
    // The crate gives a builder of flatbuffers out, which is reset here before it is used for something else.
    let mut builder = IpcSchemaEncoder::new().schema_to_fb(schema);
    builder.reset();
    let dictionaries = builder.create_vector::<Place>(&[]);
    let batches = builder.create_vector(batches);
    let schema = IpcSchemaEncoder::new().schema_to_fb_offset(&mut builder, schema);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let root = footer.finish();
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

/// What the arrow crates say of a schema or of values that they can't write.
fn cannot_write(error: ArrowError) -> Error {
    Error::Unsupported(format!("can't be written as arrow: {error}"))
}
