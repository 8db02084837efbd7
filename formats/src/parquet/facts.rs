//! What the footers of files tell, as rows. The columns have the names that DuckDB gives them.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::Type;

use schema::FileEntry;

use super::footer::Footer;
use super::{bad, prune};
use crate::columns::bounds::Zone;
use crate::error::Result;
use crate::inspect::shown;

/// Which rows are made of footers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facts {
    /// One for each file.
    Files,
    /// One for each column chunk of each row group.
    Chunks,
    /// One for each node of a file's schema, a node before those below it.
    Nodes,
}

/// The type of a column: text, or an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Text,
    Number,
}
use Is::{Number, Text};

const OF_FILES: &[(&str, Is)] = &[
    ("file_name", Text),
    ("created_by", Text),
    ("num_rows", Number),
    ("num_row_groups", Number),
    ("format_version", Number),
    ("file_size_bytes", Number),
];

const OF_CHUNKS: &[(&str, Is)] = &[
    ("file_name", Text),
    ("row_group_id", Number),
    ("row_group_num_rows", Number),
    ("row_group_num_columns", Number),
    ("row_group_bytes", Number),
    ("column_id", Number),
    ("file_offset", Number),
    ("num_values", Number),
    ("path_in_schema", Text),
    ("type", Text),
    ("stats_min", Text),
    ("stats_max", Text),
    ("stats_null_count", Number),
    ("stats_distinct_count", Number),
    ("stats_min_value", Text),
    ("stats_max_value", Text),
    ("compression", Text),
    ("encodings", Text),
    ("index_page_offset", Number),
    ("dictionary_page_offset", Number),
    ("data_page_offset", Number),
    ("total_compressed_size", Number),
    ("total_uncompressed_size", Number),
    ("bloom_filter_offset", Number),
    ("bloom_filter_length", Number),
    ("row_group_compressed_bytes", Number),
];

const OF_NODES: &[(&str, Is)] = &[
    ("file_name", Text),
    ("name", Text),
    ("type", Text),
    ("type_length", Text),
    ("repetition_type", Text),
    ("num_children", Number),
    ("converted_type", Text),
    ("scale", Number),
    ("precision", Number),
    ("field_id", Number),
    ("logical_type", Text),
    ("column_id", Number),
];

/// A value of a row.
enum Cell {
    Text(Option<String>),
    Number(Option<i64>),
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(Some(text))
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Cell {
        Cell::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Cell {
        Cell::Number(Some(number))
    }
}

impl From<Option<i64>> for Cell {
    fn from(number: Option<i64>) -> Cell {
        Cell::Number(number)
    }
}

impl Facts {
    fn columns(self) -> &'static [(&'static str, Is)] {
        match self {
            Facts::Files => OF_FILES,
            Facts::Chunks => OF_CHUNKS,
            Facts::Nodes => OF_NODES,
        }
    }

    /// The rows of these files, one file after the other. Only footers are read.
    ///
    /// # Errors
    /// A file is no Parquet file, or is damaged.
    pub fn rows(self, files: &[FileEntry]) -> Result<RecordBatch> {
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for file in files {
            let footer = Footer::open(file)?;
            let name = file.path.to_string_lossy();
            match self {
                Facts::Files => rows.push(of_file(&name, &footer)),
                Facts::Chunks => {
                    for group in 0..footer.groups() {
                        let chunks = footer.parquet().row_group(group).columns().len();
                        rows.extend((0..chunks).map(|chunk| of_chunk(&name, &footer, group, chunk)));
                    }
                }
                Facts::Nodes => {
                    let root = footer.file_schema().root_schema();
                    let mut number = 0;
                    of_nodes(&name, root, true, &mut number, &mut rows);
                }
            }
        }
        self.batch(&rows)
    }

    fn batch(self, rows: &[Vec<Cell>]) -> Result<RecordBatch> {
        let fields = self.columns().iter().map(|(name, is)| {
            let data_type = if *is == Text { DataType::Utf8 } else { DataType::Int64 };
            Field::new(*name, data_type, true)
        });
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = self.columns().iter().enumerate().map(|(column, (_, is))| -> ArrayRef {
            let (mut texts, mut numbers) = (StringBuilder::new(), Int64Builder::new());
            for row in rows {
                match &row[column] {
                    Cell::Text(text) => texts.append_option(text.as_deref()),
                    Cell::Number(number) => numbers.append_option(*number),
                }
            }
            if *is == Text { Arc::new(texts.finish()) } else { Arc::new(numbers.finish()) }
        });
        RecordBatch::try_new(schema, columns.collect()).map_err(bad)
    }
}

fn of_file(name: &str, footer: &Footer) -> Vec<Cell> {
    let of = footer.parquet().file_metadata();
    vec![
        name.to_string().into(),
        of.created_by().map(String::from).into(),
        of.num_rows().into(),
        i64::try_from(footer.groups()).ok().into(),
        i64::from(of.version()).into(),
        i64::try_from(footer.len).ok().into(),
    ]
}

fn of_chunk(name: &str, footer: &Footer, group: usize, leaf: usize) -> Vec<Cell> {
    let of: &RowGroupMetaData = footer.parquet().row_group(group);
    let chunk = of.column(leaf);
    let statistics = chunk.statistics();
    // Bounds are told of columns that are neither nested nor within others.
    let column = footer.arrow().parquet_schema().get_column_root_idx(leaf);
    let data_type = footer.schema().field(column).data_type();
    let alone = footer.leaf(column) == Some(leaf);
    let zone = alone.then(|| prune::zone(footer, group, column, data_type)).flatten();
    let Zone { min, max } = zone.unwrap_or_default();
    let text = |value: Option<_>| shown(&value?, data_type);
    let (min, max) = (text(min), text(max));
    let encodings: Vec<String> = chunk.encodings().map(|encoding| encoding.to_string()).collect();
    let count = |number: Option<u64>| Cell::Number(number.and_then(|number| i64::try_from(number).ok()));
    let size = |number: usize| Cell::Number(i64::try_from(number).ok());
    vec![
        name.to_string().into(),
        size(group),
        of.num_rows().into(),
        size(of.num_columns()),
        of.total_byte_size().into(),
        size(leaf),
        chunk.file_offset().into(),
        chunk.num_values().into(),
        chunk.column_path().parts().join(", ").into(),
        chunk.column_type().to_string().into(),
        min.clone().into(),
        max.clone().into(),
        count(statistics.and_then(|statistics| statistics.null_count_opt())),
        count(statistics.and_then(|statistics| statistics.distinct_count_opt())),
        min.into(),
        max.into(),
        codec(chunk.compression()).to_string().into(),
        encodings.join(", ").into(),
        chunk.index_page_offset().into(),
        chunk.dictionary_page_offset().into(),
        chunk.data_page_offset().into(),
        chunk.compressed_size().into(),
        chunk.uncompressed_size().into(),
        chunk.bloom_filter_offset().into(),
        chunk.bloom_filter_length().map(i64::from).into(),
        of.compressed_size().into(),
    ]
}

/// Adds rows of a node and of those below it. How deep they lie was checked when the footer was read.
fn of_nodes(name: &str, node: &Type, is_root: bool, number: &mut i64, rows: &mut Vec<Vec<Cell>>) {
    let of = node.get_basic_info();
    let (physical, length) = match node {
        Type::PrimitiveType { physical_type, type_length, .. } => (
            Some(physical_type.to_string()),
            (*physical_type == PhysicalType::FIXED_LEN_BYTE_ARRAY).then(|| type_length.to_string()),
        ),
        Type::GroupType { .. } => (None, None),
    };
    let is_decimal = of.converted_type() == ConvertedType::DECIMAL
        || matches!(of.logical_type_ref(), Some(LogicalType::Decimal { .. }));
    let digits = node.is_primitive() && is_decimal;
    let children = node.is_group().then(|| i64::try_from(node.get_fields().len()).ok()).flatten();
    rows.push(vec![
        name.to_string().into(),
        of.name().to_string().into(),
        physical.into(),
        length.into(),
        (!is_root && of.has_repetition()).then(|| of.repetition().to_string()).into(),
        children.into(),
        (of.converted_type() != ConvertedType::NONE).then(|| of.converted_type().to_string()).into(),
        digits.then(|| i64::from(node.get_scale())).into(),
        digits.then(|| i64::from(node.get_precision())).into(),
        of.has_id().then(|| i64::from(of.id())).into(),
        of.logical_type_ref().map(logical).into(),
        (*number).into(),
    ]);
    *number += 1;
    if node.is_group() {
        node.get_fields().iter().for_each(|field| of_nodes(name, field, false, number, rows));
    }
}

/// `StringType()`, `DecimalType(scale=2, precision=5)`.
fn logical(logical: &LogicalType) -> String {
    let time = |name: &str, is_utc: bool, unit: TimeUnit| {
        let of = |this: TimeUnit, name: &str| match this == unit {
            true => format!("{name}Seconds()"),
            false => "<null>".into(),
        };
        let [millis, micros, nanos] =
            [(TimeUnit::MILLIS, "Milli"), (TimeUnit::MICROS, "Micro"), (TimeUnit::NANOS, "Nano")]
                .map(|(unit, name)| of(unit, name));
        let utc = u8::from(is_utc);
        format!(
            "{name}Type(isAdjustedToUTC={utc}, unit=TimeUnit(MILLIS={millis}, MICROS={micros}, NANOS={nanos}))"
        )
    };
    match logical {
        LogicalType::Decimal(of) => format!("DecimalType(scale={}, precision={})", of.scale, of.precision),
        LogicalType::Time(of) => time("Time", of.is_adjusted_to_u_t_c, of.unit),
        LogicalType::Timestamp(of) => time("Timestamp", of.is_adjusted_to_u_t_c, of.unit),
        LogicalType::Integer(of) => {
            format!("IntType(bitWidth={}, isSigned={})", of.bit_width, u8::from(of.is_signed))
        }
        LogicalType::Uuid => "UUIDType()".into(),
        LogicalType::Unknown => "NullType()".into(),
        other => {
            // The name alone: what else may stand there has no text of DuckDB's.
            let name = format!("{other:?}");
            let name =
                name.split_once(|c: char| !c.is_alphanumeric()).map_or(name.as_str(), |(name, _)| name);
            format!("{name}Type()")
        }
    }
}

fn codec(compression: Compression) -> &'static str {
    match compression {
        Compression::UNCOMPRESSED => "UNCOMPRESSED",
        Compression::SNAPPY => "SNAPPY",
        Compression::GZIP(_) => "GZIP",
        Compression::LZO => "LZO",
        Compression::BROTLI(_) => "BROTLI",
        Compression::LZ4 => "LZ4",
        Compression::ZSTD(_) => "ZSTD",
        Compression::LZ4_RAW => "LZ4_RAW",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_have_their_text() {
        // DuckDB has the width as the character of this number.
        assert_eq!(logical(&LogicalType::integer(8, false)), "IntType(bitWidth=8, isSigned=0)");
        assert_eq!(logical(&LogicalType::variant(Some(1))), "VariantType()");
        assert_eq!(logical(&LogicalType::Unknown), "NullType()");
    }
}
