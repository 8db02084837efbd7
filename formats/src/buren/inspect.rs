//! What lies in a file, for people, and whether its checksums agree.

use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;

use schema::FileEntry;

use super::bytes::Input as Bytes;
use super::describe::{Description, describe};
use super::footer::{Chunk, Footer};
use super::zone::zone_array;
use crate::error::{DataError, Error, Result};
use crate::inspect::{ChunkInspection, Inspection, PartInspection};
use crate::store::input::Input;

/// Reads the footer of a file, and the descriptions of its chunks.
pub fn inspect(file: &FileEntry) -> Result<Inspection> {
    let path = &file.path;
    let footer = Footer::open(file)?;
    let input = Input::of(file)?;
    let rows = footer.rows();
    let distinct = footer.sketches.iter().map(|sketch| sketch.estimate().min(rows)).collect();
    let mut parts = Vec::with_capacity(footer.groups.len());
    for group in &footer.groups {
        let chunks = group.chunks.iter().zip(footer.schema.fields()).map(|(chunk, field)| {
            let show = |bytes: &Option<Vec<u8>>| show(field.data_type(), bytes.as_ref()?);
            let description = description(&input, chunk, field.data_type())
                .map_err(|e| located(e, chunk, field.name()).at(path))?;
            Ok(ChunkInspection {
                column: field.name().clone(),
                raw_bytes: Some(chunk.raw),
                stored_bytes: chunk.stored.into(),
                nulls: Some(chunk.nulls.into()),
                distinct: Some(chunk.distinct.into()),
                min: show(&chunk.limits.min),
                max: show(&chunk.limits.max),
                compression: description.compression.into(),
                encoding: description.encoding,
            })
        });
        parts.push(PartInspection { rows: group.rows.into(), chunks: chunks.collect::<Result<_>>()? });
    }
    Ok(Inspection {
        schema: footer.schema,
        rows: Some(rows),
        distinct,
        part: "row group",
        names: vec![],
        parts,
    })
}

/// Compares every checksum of a file with its bytes; the number of those compared, or the first that does not agree.
pub fn check(file: &FileEntry) -> Result<u64> {
    let path = &file.path;
    let footer = Footer::open(file)?;
    let input = Input::of(file)?;
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
