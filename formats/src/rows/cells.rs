//! The values of columns by type, as encoders take them row by row.

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryViewArray, BooleanArray, RecordBatch, StringViewArray};
use arrow_buffer::{NullBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use schema::durations::{push_interval, to_intervals};
use schema::text::types::sql_name;
use schema::zones::Clocks;

use super::parse::Half;
use crate::error::{Error, Result};

/// A column as it is written.
pub struct Written {
    /// Its values.
    pub cells: Cells,
    nulls: Option<NullBuffer>,
}

impl Written {
    /// The columns of a batch, whose instants are printed as the clocks of a zone show them.
    pub fn columns_in(batch: &RecordBatch, clocks: Option<Clocks>) -> Result<Vec<Written>> {
        let mut columns = Written::columns(batch)?;
        if clocks.is_some() {
            columns = columns.into_iter().map(|w| Written { cells: w.cells.in_zone(clocks), ..w }).collect();
        }
        Ok(columns)
    }

    /// The columns of a batch.
    pub fn columns(batch: &RecordBatch) -> Result<Vec<Written>> {
        let written =
            |column: &ArrayRef| Ok(Written { cells: Cells::new(column)?, nulls: column.logical_nulls() });
        batch.columns().iter().map(written).collect()
    }

    /// Whether this row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// What is printed of the zone of timestamps.
#[derive(Debug, Clone, Copy)]
pub enum Shown {
    /// They have none.
    Bare,
    /// They are instants, with the time of UTC and a `Z`.
    Utc,
    /// They are instants, with the time and the offset of the clocks of a zone.
    In(Clocks),
}

impl Shown {
    /// Whether they are instants.
    pub fn is_instant(self) -> bool {
        !matches!(self, Shown::Bare)
    }
}

/// The values of a column; those of rows that are NULL mean nothing.
pub enum Cells {
    /// Booleans.
    Bool(BooleanArray),
    /// Signed integers of each width.
    Int8(ScalarBuffer<i8>),
    /// 16 bits.
    Int16(ScalarBuffer<i16>),
    /// 32 bits.
    Int32(ScalarBuffer<i32>),
    /// 64 bits.
    Int64(ScalarBuffer<i64>),
    /// Unsigned integers of each width.
    UInt8(ScalarBuffer<u8>),
    /// 16 bits.
    UInt16(ScalarBuffer<u16>),
    /// 32 bits.
    UInt32(ScalarBuffer<u32>),
    /// 64 bits.
    UInt64(ScalarBuffer<u64>),
    /// Floats, each in the fewest digits that give it back.
    Float16(ScalarBuffer<Half>),
    /// 32 bits.
    Float32(ScalarBuffer<f32>),
    /// 64 bits.
    Float64(ScalarBuffer<f64>),
    /// Decimals and their scale.
    Decimal(ScalarBuffer<i128>, i8),
    /// Those of more than 38 digits.
    Decimal256(ScalarBuffer<i256>, i8),
    /// Days.
    Date(ScalarBuffer<i32>),
    /// Timestamps, their unit, and what is printed of their zone.
    Timestamp(ScalarBuffer<i64>, TimeUnit, Shown),
    /// Times of day, and their unit.
    Time(ScalarBuffer<i64>, TimeUnit),
    /// Strings.
    Text(StringViewArray),
    /// Bytes.
    Binary(BinaryViewArray),
}

impl Cells {
    /// The values of this column; types without an own form are first cast to strings.
    pub fn new(column: &ArrayRef) -> Result<Cells> {
        Ok(match column.data_type() {
            DataType::Boolean => Cells::Bool(column.as_boolean().clone()),
            DataType::Int8 => Cells::Int8(column.as_primitive::<Int8Type>().values().clone()),
            DataType::Int16 => Cells::Int16(column.as_primitive::<Int16Type>().values().clone()),
            DataType::Int32 => Cells::Int32(column.as_primitive::<Int32Type>().values().clone()),
            DataType::Int64 => Cells::Int64(column.as_primitive::<Int64Type>().values().clone()),
            DataType::UInt8 => Cells::UInt8(column.as_primitive::<UInt8Type>().values().clone()),
            DataType::UInt16 => Cells::UInt16(column.as_primitive::<UInt16Type>().values().clone()),
            DataType::UInt32 => Cells::UInt32(column.as_primitive::<UInt32Type>().values().clone()),
            DataType::UInt64 => Cells::UInt64(column.as_primitive::<UInt64Type>().values().clone()),
            DataType::Float16 => Cells::Float16(column.as_primitive::<Float16Type>().values().clone()),
            DataType::Float32 => Cells::Float32(column.as_primitive::<Float32Type>().values().clone()),
            DataType::Float64 => Cells::Float64(column.as_primitive::<Float64Type>().values().clone()),
            DataType::Decimal128(_, scale) => {
                Cells::Decimal(column.as_primitive::<Decimal128Type>().values().clone(), *scale)
            }
            DataType::Decimal256(_, scale) => {
                Cells::Decimal256(column.as_primitive::<Decimal256Type>().values().clone(), *scale)
            }
            DataType::Date32 => Cells::Date(column.as_primitive::<Date32Type>().values().clone()),
            DataType::Timestamp(unit, zone) => {
                let values = match unit {
                    TimeUnit::Second => column.as_primitive::<TimestampSecondType>().values(),
                    TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().values(),
                    TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().values(),
                    TimeUnit::Nanosecond => column.as_primitive::<TimestampNanosecondType>().values(),
                };
                let shown = if zone.is_some() { Shown::Utc } else { Shown::Bare };
                Cells::Timestamp(values.clone(), *unit, shown)
            }
            DataType::Date64 => {
                let values = column.as_primitive::<Date64Type>().values();
                Cells::Timestamp(values.clone(), TimeUnit::Millisecond, Shown::Bare)
            }
            DataType::Time32(unit) => {
                let values = match unit {
                    TimeUnit::Second => column.as_primitive::<Time32SecondType>().values(),
                    _ => column.as_primitive::<Time32MillisecondType>().values(),
                };
                Cells::Time(values.iter().map(|&time| i64::from(time)).collect(), *unit)
            }
            DataType::Time64(unit) => {
                let values = match unit {
                    TimeUnit::Nanosecond => column.as_primitive::<Time64NanosecondType>().values(),
                    _ => column.as_primitive::<Time64MicrosecondType>().values(),
                };
                Cells::Time(values.clone(), *unit)
            }
            DataType::Utf8View => Cells::Text(column.as_string_view().clone()),
            DataType::BinaryView => Cells::Binary(column.as_binary_view().clone()),
            DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                Cells::Binary(cast(column, &DataType::BinaryView)?.as_binary_view().clone())
            }
            DataType::Dictionary(_, values) => return Cells::new(&cast(column, values)?),
            // The difference of two timestamps is an interval, and printed like one.
            DataType::Duration(_) => return Cells::new(&to_intervals(column)),
            DataType::Interval(_) => Cells::Text(intervals(column)?),
            _ => Cells::Text(cast(column, &DataType::Utf8View)?.as_string_view().clone()),
        })
    }
}

impl Cells {
    /// The same; instants are printed as the clocks of a zone show them.
    pub fn in_zone(self, clocks: Option<Clocks>) -> Cells {
        match (self, clocks) {
            (Cells::Timestamp(values, unit, Shown::Utc), Some(clocks)) => {
                Cells::Timestamp(values, unit, Shown::In(clocks))
            }
            (cells, _) => cells,
        }
    }
}

/// The texts of intervals.
fn intervals(column: &ArrayRef) -> Result<StringViewArray> {
    let column = cast(column, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let (mut texts, mut text) = (StringViewBuilder::with_capacity(column.len()), String::new());
    for value in column.as_primitive::<IntervalMonthDayNanoType>() {
        text.clear();
        value.inspect(|value| push_interval(*value, &mut text));
        texts.append_option(value.map(|_| &text));
    }
    Ok(texts.finish())
}

/// Why a type has no values here.
pub fn no_text(data_type: &DataType) -> String {
    let name = sql_name(data_type).unwrap_or_else(|| data_type.to_string());
    format!("{name} has no form as text; {}", instead(data_type))
}

/// What to do about a column of a type that an encoding does not hold.
pub fn instead(data_type: &DataType) -> &'static str {
    match data_type.is_nested() {
        true => "write jsonl, msgpack, cbor, parquet, arrow or buren, which hold nested columns",
        false => "cast it in the query, or write parquet or arrow",
    }
}

/// A column cast to a type that has cells.
pub fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(column, to).map_err(|_| Error::Unsupported(no_text(column.data_type())))
}
