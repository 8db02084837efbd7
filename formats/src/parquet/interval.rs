//! INTERVAL of Parquet: months, days and milliseconds, three `u32` in little-endian order.
//!
//! The crate reads either the months of it or the rest, as an Arrow schema in the file says, and without one the rest.
//! Columns of a file without one are read as the twelve bytes that they are, and made whole here.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{DataType, IntervalUnit};
use parquet::basic::{ConvertedType, Repetition};
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::bad;
use crate::columns::leaves;
use crate::error::{Error, Result};

/// The key of the Arrow schema in a file's metadata.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// The type in which such columns are read.
pub const TYPE: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// The top-level columns that are INTERVAL or hold such values, of a file without an Arrow schema.
pub fn columns(file: &FileMetaData) -> Vec<usize> {
    if file.key_value_metadata().is_some_and(|pairs| pairs.iter().any(|pair| pair.key == ARROW_SCHEMA)) {
        return Vec::new();
    }
    let descriptor = file.schema_descr();
    let leaves = descriptor.columns().iter().enumerate();
    let leaves = leaves.filter(|(_, leaf)| leaf.converted_type() == ConvertedType::INTERVAL);
    let mut columns: Vec<usize> = leaves.map(|(leaf, _)| descriptor.get_column_root_idx(leaf)).collect();
    columns.dedup();
    columns
}

/// The metadata with the intervals in these columns as bytes of fixed length.
pub fn as_bytes(metadata: ParquetMetaData, columns: &[usize]) -> Result<ParquetMetaData> {
    if columns.is_empty() {
        return Ok(metadata);
    }
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let fields = root.get_fields().iter().enumerate();
    let fields = fields.map(|(column, field)| match columns.contains(&column) {
        true => plain(field),
        false => Ok(field.clone()),
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let root = Type::group_type_builder(root.name()).with_fields(fields).build().map_err(bad)?;
    let plain = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_string),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    Ok(ParquetMetaData::new(plain, metadata.row_groups().to_vec()))
}

/// A field of a file's schema without the annotation, in all that it holds.
fn plain(field: &Arc<Type>) -> Result<Arc<Type>> {
    let info = field.get_basic_info();
    let repetition = if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED };
    if field.is_group() {
        let fields = field.get_fields().iter().map(plain).collect::<Result<Vec<_>>>()?;
        let group = Type::group_type_builder(field.name()).with_fields(fields).with_repetition(repetition);
        let group = group
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned());
        let group = group.with_id(info.has_id().then(|| info.id()));
        return group.build().map(Arc::new).map_err(bad);
    }
    if info.converted_type() != ConvertedType::INTERVAL {
        return Ok(field.clone());
    }
    let bytes = Type::primitive_type_builder(field.name(), field.get_physical_type());
    let bytes = bytes.with_length(12).with_repetition(repetition).with_id(info.has_id().then(|| info.id()));
    bytes.build().map(Arc::new).map_err(bad)
}

/// A column in the type in which it is read, its intervals made of twelve bytes each.
pub fn of_bytes(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    leaves::changed(column, to, &|leaf, to| match *to == TYPE {
        true => intervals(leaf),
        false => Ok(leaf.clone()),
    })
}

/// A column of twelve bytes as intervals.
fn intervals(column: &ArrayRef) -> Result<ArrayRef> {
    let bytes = column.as_fixed_size_binary();
    let value = |row: usize| -> Result<Option<IntervalMonthDayNano>> {
        if bytes.is_null(row) {
            return Ok(None);
        }
        let value = bytes.value(row);
        let part = |at: usize| value[at..at + 4].iter().rev().fold(0u32, |sum, &b| sum << 8 | u32::from(b));
        let small = |part: u32| {
            i32::try_from(part).map_err(|_| Error::corrupt("an INTERVAL of more than 2^31 months or days"))
        };
        let nanoseconds = i64::from(part(8)) * 1_000_000;
        Ok(Some(IntervalMonthDayNano::new(small(part(0))?, small(part(4))?, nanoseconds)))
    };
    let values = (0..bytes.len()).map(value).collect::<Result<PrimitiveArray<IntervalMonthDayNanoType>>>()?;
    Ok(Arc::new(values))
}
