//! What lies in a file, for people: all of it stands in the footer.

use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::ColumnChunkMetaData;

use schema::FileEntry;

use super::footer::Footer;
use super::prune;
use crate::columns::bounds::Zone;
use crate::error::Result;
use crate::inspect::{ChunkInspection, Inspection, PartInspection, shown};

/// Reads the footer of a file.
pub fn inspect(file: &FileEntry) -> Result<Inspection> {
    let footer = Footer::open(file)?;
    let columns = 0..footer.schema().fields().len();
    let part = |group: usize| PartInspection {
        rows: footer.parquet().row_group(group).num_rows() as u64,
        chunks: columns.clone().map(|column| chunk(&footer, group, column)).collect(),
    };
    Ok(Inspection {
        schema: footer.schema().clone(),
        rows: Some(footer.rows()),
        distinct: Vec::new(),
        part: "row group",
        names: Vec::new(),
        parts: (0..footer.groups()).map(part).collect(),
    })
}

/// What lies in a column of a row group; the values of one that is nested lie in several chunks of the file.
fn chunk(footer: &Footer, group: usize, column: usize) -> ChunkInspection {
    let field = footer.schema().field(column);
    let descriptor = footer.arrow().parquet_schema();
    let leaves: Vec<&ColumnChunkMetaData> = (footer.parquet().row_group(group).columns().iter().enumerate())
        .filter(|(leaf, _)| descriptor.get_column_root_idx(*leaf) == column)
        .map(|(_, chunk)| chunk)
        .collect();
    let sum = |of: fn(&ColumnChunkMetaData) -> i64| {
        leaves.iter().fold(0_u64, |sum, leaf| sum.saturating_add(u64::try_from(of(leaf)).unwrap_or(0)))
    };
    let zone = prune::zone(footer, group, column, field.data_type()).unwrap_or_default();
    let Zone { min, max } = zone;
    let text = |value: Option<_>| shown(&value?, field.data_type());
    let alone = footer.leaf(column).and_then(|_| leaves.first());
    let mut encodings: Vec<Encoding> = Vec::new();
    for encoding in leaves.iter().flat_map(|leaf| leaf.encodings()) {
        if !encodings.contains(&encoding) {
            encodings.push(encoding);
        }
    }
    ChunkInspection {
        column: field.name().clone(),
        raw_bytes: Some(sum(ColumnChunkMetaData::uncompressed_size)),
        stored_bytes: sum(ColumnChunkMetaData::compressed_size),
        nulls: alone.and_then(|leaf| leaf.statistics()?.null_count_opt()),
        distinct: None,
        min: text(min),
        max: text(max),
        compression: leaves.first().map_or("none", |leaf| name(leaf.compression())).into(),
        encoding: encodings.iter().map(Encoding::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn name(compression: Compression) -> &'static str {
    match compression {
        Compression::UNCOMPRESSED => "none",
        Compression::SNAPPY => "snappy",
        Compression::GZIP(_) => "gzip",
        Compression::LZO => "lzo",
        Compression::BROTLI(_) => "brotli",
        Compression::LZ4 => "lz4 with Hadoop's frames",
        Compression::ZSTD(_) => "zstd",
        Compression::LZ4_RAW => "lz4",
    }
}
