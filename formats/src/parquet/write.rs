//! Row groups encoded in parallel and appended in order.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, IntervalUnit, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use schema::FormatOptions;

use super::depth::DEEPEST;
use crate::columns::adapt::column_error;
use crate::columns::types::{plain_schema, read_schema};
use crate::error::{Error, Result};
use crate::writer::{Block, FileAssembler, FileEncoder};

/// The rows of a row group. Measured on 2.1 million rows like `uservisits` (`examples/decode_speed.rs`), 2^17 rows
/// against 2^20. Peak memory is 54 MB against 400 MB, and the file 151 MB against 242 MB (126 against 130 with snappy).
/// More columns stay under the 1 MiB at which the crate gives up a dictionary. Both are read equally fast.
const GROUP_ROWS: usize = 1 << 17;
/// How many values of a column are looked at to see whether a dictionary pays.
const SAMPLE: usize = 4096;

/// Encodes row groups of one schema.
pub struct Encoder {
    schema: SchemaRef,
    parquet: TypePtr,
    compression: Compression,
}

impl Encoder {
    /// Prepares writing files of this schema.
    pub fn new(schema: &SchemaRef, options: &FormatOptions) -> Result<Encoder> {
        let compression = match options.compression.as_str() {
            "none" => Compression::UNCOMPRESSED,
            "snappy" => Compression::SNAPPY,
            "gzip" => Compression::GZIP(Default::default()),
            "lz4" => Compression::LZ4_RAW,
            "zstd" => Compression::ZSTD(Default::default()),
            other => {
                return Err(Error::Unsupported(format!(
                    "parquet can't be compressed with '{other}'; use none, snappy, gzip, lz4 or zstd"
                )));
            }
        };
        let schema = Arc::new(written_schema(schema));
        check_writable(&schema)?;
        let parquet = ArrowSchemaConverter::new().convert(&schema).map_err(cannot_write)?;
        let deepest = groups(parquet.root_schema());
        if deepest > DEEPEST {
            return Err(Error::Unsupported(format!(
                "the schema has {deepest} groups within each other, and parquet is read with {DEEPEST} at most"
            )));
        }
        Ok(Encoder { schema, parquet: parquet.root_schema_ptr(), compression })
    }

    fn properties(&self) -> WriterPropertiesBuilder {
        WriterProperties::builder().set_compression(self.compression)
    }
}

/// How many groups a schema has within each other, itself among them.
fn groups(schema: &Type) -> usize {
    match schema.is_group() {
        true => 1 + schema.get_fields().iter().map(|field| groups(field)).max().unwrap_or(0),
        false => 0,
    }
}

impl FileEncoder for Encoder {
    fn block_rows(&self) -> usize {
        GROUP_ROWS
    }

    fn encode(&self, batches: &[RecordBatch]) -> Result<Block> {
        let mut properties = self.properties();
        for (column, field) in self.schema.fields().iter().enumerate() {
            if mostly_distinct(batches, column) {
                properties =
                    properties.set_column_dictionary_enabled(ColumnPath::from(field.name().as_str()), false);
            }
        }
        // The factory takes its properties from a file writer; this one writes nothing.
        let nowhere =
            SerializedFileWriter::new(std::io::sink(), self.parquet.clone(), Arc::new(properties.build()))
                .map_err(cannot_write)?;
        let factory = ArrowRowGroupWriterFactory::new(&nowhere, self.schema.clone());
        let mut writers = factory.create_column_writers(0).map_err(cannot_write)?;
        let mut free = writers.iter_mut();
        for (position, field) in self.schema.fields().iter().enumerate() {
            // Pages end at multiples of the crate's inner batch, counted from the start of what it is given: columns
            // go in whole, so that pages do not depend on how the rows came.
            let pieces: Vec<&dyn Array> = batches.iter().map(|b| b.column(position).as_ref()).collect();
            if pieces.is_empty() {
                break;
            }
            let column = concat(&pieces).map_err(|e| cannot_write(e.into()))?;
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            let column = cast_with_options(&column, field.data_type(), &strict)
                .map_err(|e| column_error(field.name(), e.to_string()))?;
            for leaf in compute_leaves(field, &column).map_err(cannot_write)? {
                let writer = free.next().expect("the factory makes a writer for each leaf of the schema");
                writer.write(&leaf).map_err(cannot_write)?;
            }
        }
        let chunks: Vec<ArrowColumnChunk> =
            writers.into_iter().map(|w| w.close()).collect::<Result<_, _>>().map_err(cannot_write)?;
        let rows = batches.iter().map(|b| b.num_rows() as u64).sum();
        Ok(Block { rows, bytes: Vec::new(), meta: Box::new(chunks) })
    }

    fn assembler(&self) -> Result<Box<dyn FileAssembler>> {
        let mut properties = self.properties().build();
        add_encoded_arrow_schema_to_metadata(&plain_schema(&self.schema), &mut properties);
        let pipe = Pipe::default();
        let writer = SerializedFileWriter::new(pipe.clone(), self.parquet.clone(), Arc::new(properties))
            .map_err(cannot_write)?;
        Ok(Box::new(Assembler { writer, pipe }))
    }
}

/// The schema that is written: Parquet has no seconds and no dates in milliseconds, and other tools would read plain
/// integers.
fn written_schema(schema: &Schema) -> Schema {
    let schema = read_schema(schema);
    let fields = schema.fields().iter().map(|field| {
        let written = match field.data_type() {
            DataType::Timestamp(TimeUnit::Second, zone) => {
                DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
            }
            DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
            DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
            other => other.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(written))
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Whether most values of a sample of a column differ, so that a dictionary would only add to its size.
fn mostly_distinct(batches: &[RecordBatch], column: usize) -> bool {
    let mut seen = HashSet::new();
    let mut left = SAMPLE;
    for batch in batches {
        let array = batch.column(column).slice(0, left.min(batch.num_rows()));
        left -= array.len();
        if !add_values(&array, &mut seen) {
            return false;
        }
    }
    seen.len() > (SAMPLE - left) / 2
}

/// Adds the values of an array to a set; `false` for types whose dictionaries are left to the crate.
fn add_values(array: &ArrayRef, seen: &mut HashSet<Vec<u8>>) -> bool {
    match array.data_type() {
        DataType::Utf8View => {
            seen.extend(array.as_string_view().iter().flatten().map(|v| v.as_bytes().to_vec()));
        }
        DataType::BinaryView => seen.extend(array.as_binary_view().iter().flatten().map(<[u8]>::to_vec)),
        other => {
            let Some(width) = other.primitive_width() else { return false };
            let data = array.to_data();
            let values = &data.buffers()[0][data.offset() * width..(data.offset() + data.len()) * width];
            seen.extend(values.chunks(width).map(<[u8]>::to_vec));
        }
    }
    true
}

/// Refuses columns of types that the format, or the crate, has no form for.
fn check_writable(schema: &Schema) -> Result<()> {
    for field in schema.flattened_fields() {
        let what = match field.data_type() {
            DataType::Interval(IntervalUnit::MonthDayNano) => "is an INTERVAL",
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if *scale < 0 => {
                "is a decimal with a negative scale"
            }
            _ => continue,
        };
        return Err(Error::Unsupported(format!(
            "column '{}' {what}, which is not written as parquet: cast the column, or write arrow",
            field.name()
        )));
    }
    Ok(())
}

/// What the parquet crate says of a schema or of values that it can't write.
fn cannot_write(error: ParquetError) -> Error {
    Error::Unsupported(format!("can't be written as parquet: {error}"))
}

/// A writer whose bytes are taken out at the other end: the crate owns its writer, an assembler borrows one a call.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn drain(&self, out: &mut dyn Write) -> Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(|e| e.into_inner());
        out.write_all(&bytes).map_err(|e| Error::io("", "write", e))?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Assembler {
    writer: SerializedFileWriter<Pipe>,
    pipe: Pipe,
}

impl FileAssembler for Assembler {
    fn begin(&mut self, out: &mut dyn Write) -> Result<()> {
        self.pipe.drain(out)
    }

    fn append(&mut self, block: Block, out: &mut dyn Write) -> Result<()> {
        let chunks = block
            .meta
            .downcast::<Vec<ArrowColumnChunk>>()
            .map_err(|_| Error::Unsupported("a parquet file was given a block of another format".into()))?;
        let mut group = self.writer.next_row_group().map_err(cannot_write)?;
        for chunk in *chunks {
            chunk.append_to_row_group(&mut group).map_err(cannot_write)?;
            self.pipe.drain(out)?;
        }
        group.close().map_err(cannot_write)?;
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.writer.finish().map_err(cannot_write)?;
        self.pipe.drain(out)
    }
}
