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
use crate::error::{Error, Result};

/// The key of the Arrow schema in a file's metadata.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// The type in which such columns are read.
pub const TYPE: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// The columns that are INTERVAL, at the top level of a file without an Arrow schema.
pub fn columns(metadata: &ParquetMetaData) -> Vec<usize> {
    let file = metadata.file_metadata();
    if file.key_value_metadata().is_some_and(|pairs| pairs.iter().any(|pair| pair.key == ARROW_SCHEMA)) {
        return Vec::new();
    }
    let fields = file.schema_descr().root_schema().get_fields().iter().enumerate();
    fields
        .filter(|(_, field)| {
            field.is_primitive() && field.get_basic_info().converted_type() == ConvertedType::INTERVAL
        })
        .map(|(column, _)| column)
        .collect()
}

/// The metadata with these columns as bytes of fixed length.
pub fn as_bytes(metadata: ParquetMetaData, columns: &[usize]) -> Result<ParquetMetaData> {
    if columns.is_empty() {
        return Ok(metadata);
    }
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let plain = |(column, field): (usize, &Arc<Type>)| match columns.contains(&column) {
        false => Ok(field.clone()),
        true => {
            let info = field.get_basic_info();
            let repetition = if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED };
            let bytes = Type::primitive_type_builder(field.name(), field.get_physical_type())
                .with_length(12)
                .with_repetition(repetition);
            bytes.build().map(Arc::new).map_err(bad)
        }
    };
    let fields = root.get_fields().iter().enumerate().map(plain).collect::<Result<Vec<_>>>()?;
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

/// A column of twelve bytes as intervals.
pub fn of_bytes(column: &ArrayRef) -> Result<ArrayRef> {
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
