//! What lies in a file, for people.

use std::path::Path;

use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, SchemaRef};

use super::bytes::Input as Bytes;
use super::describe::{Description, describe};
use super::footer::{Chunk, Footer};
use super::zone::zone_array;
use crate::error::{DataError, Error, Result};
use crate::input::Input;

/// What lies in a file.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The columns.
    pub schema: SchemaRef,
    /// The number of rows.
    pub rows: u64,
    /// About the number of distinct values of each column.
    pub distinct: Vec<u64>,
    /// The row groups in order.
    pub groups: Vec<GroupInspection>,
}

/// What lies in a row group.
#[derive(Debug, Clone)]
pub struct GroupInspection {
    /// The number of rows.
    pub rows: u64,
    /// A chunk for each column.
    pub chunks: Vec<ChunkInspection>,
}

/// What lies in a column of a row group.
#[derive(Debug, Clone)]
pub struct ChunkInspection {
    /// The column's name.
    pub column: String,
    /// The place in the file.
    pub offset: u64,
    /// How the values are encoded, and the bytes of the buffers.
    pub description: Description,
    /// The bytes of the values: their width times the rows that have one; of text and bytes their lengths.
    pub raw_bytes: u64,
    /// The bytes in the file.
    pub stored_bytes: u64,
    /// The number of NULL rows.
    pub nulls: u64,
    /// About the number of distinct values.
    pub distinct: u64,
    /// The least value, if it is known.
    pub min: Option<String>,
    /// The greatest value, if it is known.
    pub max: Option<String>,
    /// CRC-32 of the stored bytes.
    pub checksum: u32,
}

/// Reads the footer of a file, and the descriptions of its chunks.
pub fn inspect(path: &Path) -> Result<Inspection> {
    let footer = Footer::open(path)?;
    let input = Input::open(path)?;
    let rows = footer.rows();
    let distinct = footer.sketches.iter().map(|sketch| sketch.estimate().min(rows)).collect();
    let mut groups = Vec::with_capacity(footer.groups.len());
    for group in &footer.groups {
        let chunks = group.chunks.iter().zip(footer.schema.fields()).map(|(chunk, field)| {
            let show = |bytes: &Option<Vec<u8>>| show(field.data_type(), bytes.as_ref()?);
            Ok(ChunkInspection {
                column: field.name().clone(),
                offset: chunk.offset,
                description: description(&input, chunk, field.data_type())
                    .map_err(|e| located(e, chunk, field.name()).at(path))?,
                raw_bytes: chunk.raw,
                stored_bytes: chunk.stored.into(),
                nulls: chunk.nulls.into(),
                distinct: chunk.distinct.into(),
                min: show(&chunk.limits.min),
                max: show(&chunk.limits.max),
                checksum: chunk.checksum,
            })
        });
        groups.push(GroupInspection { rows: group.rows.into(), chunks: chunks.collect::<Result<_>>()? });
    }
    Ok(Inspection { schema: footer.schema, rows, distinct, groups })
}

/// Compares every checksum of a file with its bytes; the number of those compared, or the first that does not agree.
pub fn check(path: &Path) -> Result<u64> {
    let footer = Footer::open(path)?;
    let input = Input::open(path)?;
    // The footer's own was compared when it was opened.
    let mut compared = 1;
    for group in &footer.groups {
        for (chunk, field) in group.chunks.iter().zip(footer.schema.fields()) {
            let bytes = input.read_range(&chunk.range())?;
            let found = crc32fast::hash(&bytes);
            if found != chunk.checksum {
                let error = Error::corrupt(format!(
                    "damaged column chunk: its checksum is {found:08x}, and the footer says {:08x}",
                    chunk.checksum
                ));
                return Err(located(error, chunk, field.name()).at(path));
            }
            compared += 1;
        }
    }
    Ok(compared)
}

fn description(input: &Input, chunk: &Chunk, data_type: &DataType) -> Result<Description> {
    let range = chunk.range();
    let head = input.read_range(&(range.start..(range.start + 4).min(range.end)))?;
    let length = Bytes::new(&head, "column chunk").u32()?;
    let start = (range.start + 4).min(range.end);
    let bytes = input.read_range(&(start..(start + u64::from(length)).min(range.end)))?;
    describe(&bytes, data_type)
}

/// Says where a damaged chunk is.
pub(super) fn located(mut error: Error, chunk: &Chunk, column: &str) -> Error {
    if let Error::Data(data) = &mut error {
        let DataError { offset, column: named, .. } = data.as_mut();
        offset.get_or_insert(chunk.offset);
        named.get_or_insert_with(|| column.to_string());
    }
    error
}

fn show(data_type: &DataType, bytes: &[u8]) -> Option<String> {
    array_value_to_string(&zone_array(data_type, bytes)?, 0).ok()
}
