//! What lies in a file, for people.

use std::path::Path;

use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, SchemaRef};

use super::footer::{Encoding, Footer, zone_array};
use crate::error::Result;

/// What lies in a file.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The columns.
    pub schema: SchemaRef,
    /// The number of rows.
    pub rows: u64,
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
    /// The encoding: `nothing`, `plain` or `dictionary` with the number of its entries.
    pub encoding: String,
    /// The compression that the chunk is stored with, `none` if it did not pay.
    pub compression: &'static str,
    /// The bytes when decompressed.
    pub raw_bytes: u64,
    /// The bytes in the file.
    pub stored_bytes: u64,
    /// The number of NULL rows.
    pub nulls: u64,
    /// The least value, if it is known.
    pub min: Option<String>,
    /// The greatest value, if it is known.
    pub max: Option<String>,
    /// CRC-32 of the stored bytes.
    pub checksum: u32,
}

/// Reads the footer of a file.
pub fn inspect(path: &Path) -> Result<Inspection> {
    let footer = Footer::open(path)?;
    let rows = footer.rows();
    let groups = footer
        .groups
        .iter()
        .map(|group| GroupInspection {
            rows: group.rows.into(),
            chunks: group
                .chunks
                .iter()
                .zip(footer.schema.fields())
                .map(|(chunk, field)| ChunkInspection {
                    column: field.name().clone(),
                    offset: chunk.offset,
                    encoding: match chunk.encoding {
                        Encoding::Nothing => "nothing".into(),
                        Encoding::Plain { .. } => "plain".into(),
                        Encoding::Dictionary { entries, .. } => format!("dictionary of {entries}"),
                    },
                    compression: chunk.codec.name(),
                    raw_bytes: chunk.raw.into(),
                    stored_bytes: chunk.stored.into(),
                    nulls: chunk.nulls.into(),
                    min: show(field.data_type(), &chunk.min),
                    max: show(field.data_type(), &chunk.max),
                    checksum: chunk.checksum,
                })
                .collect(),
        })
        .collect();
    Ok(Inspection { schema: footer.schema, rows, groups })
}

fn show(data_type: &DataType, bytes: &Option<Vec<u8>>) -> Option<String> {
    array_value_to_string(&zone_array(data_type, bytes.as_ref()?)?, 0).ok()
}
