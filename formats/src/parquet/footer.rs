//! The footer of a file: its schema, and where its row groups and column chunks lie.
//!
//! ```text
//! "PAR1" | column chunks of row group 0 | … | FileMetaData (Thrift) | its length: u32 | "PAR1"
//! ```

use std::ops::Range;
use std::slice::Iter;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, SchemaDescPtr, SchemaDescriptor};

use schema::FileEntry;

use super::{bad, depth, interval};
use crate::columns::guard::guarded;
use crate::columns::tail::{Tail, cut_short};
use crate::columns::types::{read_schema, read_type};
use crate::columns::uuid;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8] = b"PARE";
/// The length of the footer and the magic behind it.
const TRAILER: u64 = 8;

/// A parsed footer. All places in it are checked to lie in the file.
pub struct Footer {
    metadata: ArrowReaderMetadata,
    schema: SchemaRef,
    /// As columns are decoded, with the annotation of UUIDs.
    decoded: SchemaRef,
    /// The columns whose intervals are decoded as bytes.
    intervals: Vec<usize>,
    /// The schema as it lies in the file, with its intervals.
    file_schema: SchemaDescPtr,
    /// For each top-level column its only leaf; `None` for nested columns.
    leaves: Vec<Option<usize>>,
    /// The length of the file in bytes.
    pub len: u64,
}

impl Footer {
    /// Reads the footer of a file.
    pub fn open(file: &FileEntry) -> Result<Footer> {
        let path = &file.path;
        let tail = Tail::open(file)?;
        let parse = || {
            let not_parquet =
                || Error::corrupt("not a Parquet file, or one that was cut short: it does not end in 'PAR1'");
            if tail.len < TRAILER {
                return Err(not_parquet());
            }
            let trailer = tail.bytes(path, tail.len - TRAILER..tail.len)?;
            let (length, magic) = trailer.split_at(4);
            if magic == ENCRYPTED_MAGIC {
                return Err(Error::Unsupported(format!(
                    "{}: encrypted Parquet can't be read",
                    path.display()
                )));
            }
            if magic != MAGIC {
                return Err(not_parquet());
            }
            let length = u64::from(length.iter().rev().fold(0u32, |sum, &byte| sum << 8 | u32::from(byte)));
            let end = tail.len - TRAILER;
            let start = end.checked_sub(length).ok_or_else(|| cut_short(tail.len))?;
            let bytes = tail.bytes(path, start..end)?;
            depth::check(&bytes)?;
            let metadata = ParquetMetaDataReader::decode_metadata(&bytes).map_err(bad)?;
            Footer::new(metadata, tail.len)
        };
        guarded(parse).map_err(|e| e.at(path))
    }

    fn new(metadata: ParquetMetaData, len: u64) -> Result<Footer> {
        for group in metadata.row_groups() {
            u64::try_from(group.num_rows()).map_err(bad)?;
            for chunk in group.columns() {
                let (start, length) = chunk.byte_range();
                if start.checked_add(length).is_none_or(|end| end > len) {
                    return Err(cut_short(len));
                }
            }
        }
        let file = metadata.file_metadata().schema_descr_ptr();
        let intervals = interval::columns(metadata.file_metadata());
        let metadata = Arc::new(interval::as_bytes(metadata, &intervals)?);
        // An Arrow schema that lies in the file and can't be read must not stand in the way of the data.
        // Polars writes such a one for integers of 128 bits, which then are what the file itself says: 16 bytes.
        let read = |options| ArrowReaderMetadata::try_new(metadata.clone(), options).map_err(bad);
        let own = guarded(|| read(ArrowReaderOptions::new()))
            .or_else(|_| read(ArrowReaderOptions::new().with_skip_arrow_metadata(true)))?;
        let hinted = Arc::new(hints(&own));
        let mut decoded = with_uuids(&hinted, &file);
        if !intervals.is_empty() {
            decoded = with_intervals(&decoded, &file);
        }
        let (schema, decoded) = (Arc::new(read_schema(&decoded)), Arc::new(decoded));
        let metadata = ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new().with_schema(hinted))
            .map_err(bad)?;
        let leaves = leaves_of(&file);
        Ok(Footer { metadata, schema, decoded, intervals, file_schema: file, leaves, len })
    }

    /// The schema in which the file is read.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The schema in which columns are decoded, before UUIDs become text.
    pub fn decoded(&self) -> &SchemaRef {
        &self.decoded
    }

    /// The columns (positions in [`Footer::schema`]) whose intervals the crate decodes as bytes.
    pub fn intervals(&self) -> &[usize] {
        &self.intervals
    }

    /// The schema as it lies in the file.
    pub fn file_schema(&self) -> &SchemaDescriptor {
        &self.file_schema
    }

    /// What the crate's decoder needs.
    pub fn arrow(&self) -> &ArrowReaderMetadata {
        &self.metadata
    }

    /// The parsed footer.
    pub fn parquet(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// The number of row groups.
    pub fn groups(&self) -> usize {
        self.parquet().num_row_groups()
    }

    /// The number of rows in all row groups.
    pub fn rows(&self) -> u64 {
        // A forged count may be any number.
        self.parquet().row_groups().iter().fold(0, |rows, group| rows.saturating_add(group.num_rows() as u64))
    }

    /// The number of rows of a row group.
    pub fn group_rows(&self, group: usize) -> u64 {
        u64::try_from(self.parquet().row_group(group).num_rows()).unwrap_or(0)
    }

    /// How many different values a column has in a row group, if the writer has said it (DuckDB does).
    pub fn distinct(&self, group: usize, column: usize) -> Option<u64> {
        let leaf = self.leaf(column)?;
        self.parquet().row_group(group).columns().get(leaf)?.statistics()?.distinct_count_opt()
    }

    /// The bytes that these columns (positions in [`Footer::schema`], ascending) take in a row group.
    pub fn bytes(&self, group: usize, columns: &[usize]) -> u64 {
        self.ranges(group, columns).map(|range| range.end - range.start).sum()
    }

    /// Where the chunks of these columns (positions in [`Footer::schema`], ascending) lie in a row group.
    pub fn ranges(&self, group: usize, columns: &[usize]) -> impl Iterator<Item = Range<u64>> {
        let descriptor = self.metadata.parquet_schema();
        let chunks = self.parquet().row_group(group).columns().iter().enumerate();
        chunks
            .filter(|(leaf, _)| columns.binary_search(&descriptor.get_column_root_idx(*leaf)).is_ok())
            .map(|(_, chunk)| chunk.byte_range())
            .map(|(start, length)| start..start + length)
    }

    /// The only leaf of a top-level column; `None` for nested columns.
    pub fn leaf(&self, column: usize) -> Option<usize> {
        *self.leaves.get(column)?
    }
}

/// For each top-level column of a file its only leaf; `None` for nested columns.
fn leaves_of(file: &SchemaDescriptor) -> Vec<Option<usize>> {
    let mut leaves = vec![None; file.root_schema().get_fields().len()];
    for leaf in 0..file.num_columns() {
        let column = file.get_column_root_idx(leaf);
        if file.root_schema().get_fields()[column].is_primitive() {
            leaves[column] = Some(leaf);
        }
    }
    leaves
}

/// A schema with other fields for its leaves, which are in the same order as those of the file's schema.
fn with_leaves(
    schema: &Schema,
    file: &SchemaDescriptor,
    change: impl Fn(&FieldRef, &ColumnDescriptor) -> FieldRef,
) -> Schema {
    type Change<'a> = &'a dyn Fn(&FieldRef, &ColumnDescriptor) -> FieldRef;
    fn changed(field: &FieldRef, leaves: &mut Iter<ColumnDescPtr>, change: Change) -> FieldRef {
        let mut inner = |field: &FieldRef| changed(field, leaves, change);
        let data_type = match field.data_type() {
            DataType::List(item) => DataType::List(inner(item)),
            DataType::LargeList(item) => DataType::LargeList(inner(item)),
            DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
            DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
            DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
            _ => return leaves.next().map_or_else(|| field.clone(), |leaf| change(field, leaf)),
        };
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    }
    let mut leaves = file.columns().iter();
    let fields = schema.fields().iter().map(|field| changed(field, &mut leaves, &change));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// A schema with the annotation of UUIDs at those of its leaves that the file's schema calls so.
fn with_uuids(schema: &Schema, file: &SchemaDescriptor) -> Schema {
    with_leaves(schema, file, |field, leaf| {
        let is_uuid = *field.data_type() == DataType::FixedSizeBinary(16)
            && leaf.logical_type_ref() == Some(&LogicalType::Uuid);
        if is_uuid { Arc::new(uuid::annotated(field)) } else { field.clone() }
    })
}

/// A schema with the type of intervals at those of its leaves that the file's schema calls so.
fn with_intervals(schema: &Schema, file: &SchemaDescriptor) -> Schema {
    with_leaves(schema, file, |field, leaf| match leaf.converted_type() == ConvertedType::INTERVAL {
        true => Arc::new(field.as_ref().clone().with_data_type(interval::TYPE)),
        false => field.clone(),
    })
}

/// The schema that the crate is asked to decode into: views for text and bytes, so that nothing is copied.
/// Timestamps of the old 96-bit kind are read in microseconds, whose range holds every date that they can.
fn hints(own: &ArrowReaderMetadata) -> Schema {
    let schema = with_leaves(own.schema(), own.parquet_schema(), |field, leaf| match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) if leaf.physical_type() == PhysicalType::INT96 => {
            let data_type = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(data_type))
        }
        _ => field.clone(),
    });
    let fields = schema.fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_data_type(read_type(field.data_type())));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}
