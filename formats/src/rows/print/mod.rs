//! Values to text: the one form that csv and JSON lines share, such that `parse` reads every value back.

mod value;

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryViewArray, BooleanArray, RecordBatch, StringViewArray};
use arrow_buffer::{NullBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, IntervalUnit, SchemaRef, TimeUnit};
use schema::text::types::sql_name;

use super::parse::Half;
use crate::error::{Error, Result};
pub use value::{date, hex, timestamp};
use value::{decimal, float32, not_finite, point, time};

/// A column as it is printed, and which rows have no value.
pub struct Printed {
    /// Prints the values.
    pub printer: Printer,
    nulls: Option<NullBuffer>,
}

impl Printed {
    /// The columns of a batch.
    pub fn columns(batch: &RecordBatch) -> Result<Vec<Printed>> {
        let printed =
            |column: &ArrayRef| Ok(Printed { printer: Printer::new(column)?, nulls: column.logical_nulls() });
        batch.columns().iter().map(printed).collect()
    }

    /// Whether this row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// A column as it is printed.
pub enum Printer {
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
    /// Timestamps, their unit, and whether they have a zone.
    Timestamp(ScalarBuffer<i64>, TimeUnit, bool),
    /// Times of day, and their unit.
    Time(ScalarBuffer<i64>, TimeUnit),
    /// Strings.
    Text(StringViewArray),
    /// Bytes.
    Binary(BinaryViewArray),
}

/// What kind of text a value is, which decides about quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Digits, sign, point and exponent.
    Number,
    /// `true` or `false`.
    Bool,
    /// Letters, digits and `+-:.\`.
    Word,
    /// Anything.
    Text,
}

impl Printer {
    /// A printer of this column; types without an own form are first cast to strings.
    pub fn new(column: &ArrayRef) -> Result<Printer> {
        Ok(match column.data_type() {
            DataType::Boolean => Printer::Bool(column.as_boolean().clone()),
            DataType::Int8 => Printer::Int8(column.as_primitive::<Int8Type>().values().clone()),
            DataType::Int16 => Printer::Int16(column.as_primitive::<Int16Type>().values().clone()),
            DataType::Int32 => Printer::Int32(column.as_primitive::<Int32Type>().values().clone()),
            DataType::Int64 => Printer::Int64(column.as_primitive::<Int64Type>().values().clone()),
            DataType::UInt8 => Printer::UInt8(column.as_primitive::<UInt8Type>().values().clone()),
            DataType::UInt16 => Printer::UInt16(column.as_primitive::<UInt16Type>().values().clone()),
            DataType::UInt32 => Printer::UInt32(column.as_primitive::<UInt32Type>().values().clone()),
            DataType::UInt64 => Printer::UInt64(column.as_primitive::<UInt64Type>().values().clone()),
            DataType::Float16 => Printer::Float16(column.as_primitive::<Float16Type>().values().clone()),
            DataType::Float32 => Printer::Float32(column.as_primitive::<Float32Type>().values().clone()),
            DataType::Float64 => Printer::Float64(column.as_primitive::<Float64Type>().values().clone()),
            DataType::Decimal128(_, scale) => {
                Printer::Decimal(column.as_primitive::<Decimal128Type>().values().clone(), *scale)
            }
            DataType::Decimal256(_, scale) => {
                Printer::Decimal256(column.as_primitive::<Decimal256Type>().values().clone(), *scale)
            }
            DataType::Date32 => Printer::Date(column.as_primitive::<Date32Type>().values().clone()),
            DataType::Timestamp(unit, zone) => {
                let values = match unit {
                    TimeUnit::Second => column.as_primitive::<TimestampSecondType>().values(),
                    TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().values(),
                    TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().values(),
                    TimeUnit::Nanosecond => column.as_primitive::<TimestampNanosecondType>().values(),
                };
                Printer::Timestamp(values.clone(), *unit, zone.is_some())
            }
            DataType::Date64 => {
                let values = column.as_primitive::<Date64Type>().values();
                Printer::Timestamp(values.clone(), TimeUnit::Millisecond, false)
            }
            DataType::Time32(unit) => {
                let values = match unit {
                    TimeUnit::Second => column.as_primitive::<Time32SecondType>().values(),
                    _ => column.as_primitive::<Time32MillisecondType>().values(),
                };
                Printer::Time(values.iter().map(|&time| i64::from(time)).collect(), *unit)
            }
            DataType::Time64(unit) => {
                let values = match unit {
                    TimeUnit::Nanosecond => column.as_primitive::<Time64NanosecondType>().values(),
                    _ => column.as_primitive::<Time64MicrosecondType>().values(),
                };
                Printer::Time(values.clone(), *unit)
            }
            DataType::Utf8View => Printer::Text(column.as_string_view().clone()),
            DataType::BinaryView => Printer::Binary(column.as_binary_view().clone()),
            DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                Printer::Binary(cast(column, &DataType::BinaryView)?.as_binary_view().clone())
            }
            DataType::Dictionary(_, values) => return Printer::new(&cast(column, values)?),
            // The difference of two timestamps is an interval, and printed like one.
            DataType::Duration(_) => {
                return Printer::new(&cast(column, &DataType::Interval(IntervalUnit::MonthDayNano))?);
            }
            _ => Printer::Text(cast(column, &DataType::Utf8View)?.as_string_view().clone()),
        })
    }

    /// What kind of text the value of this row is.
    pub fn kind(&self, row: usize) -> Kind {
        match self {
            Printer::Bool(_) => Kind::Bool,
            Printer::Float16(v) if !v[row].is_finite() => Kind::Word,
            Printer::Float32(v) if !v[row].is_finite() => Kind::Word,
            Printer::Float64(v) if !v[row].is_finite() => Kind::Word,
            Printer::Date(_) | Printer::Timestamp(..) | Printer::Time(..) | Printer::Binary(_) => Kind::Word,
            Printer::Text(_) => Kind::Text,
            _ => Kind::Number,
        }
    }

    /// Appends the text of the value of this row, which must not be NULL.
    pub fn print(&self, row: usize, out: &mut Vec<u8>) {
        fn integer<I: itoa::Integer>(value: I, out: &mut Vec<u8>) {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        }
        match self {
            Printer::Bool(v) => out.extend_from_slice(if v.value(row) { b"true" } else { b"false" }),
            Printer::Int8(v) => integer(v[row], out),
            Printer::Int16(v) => integer(v[row], out),
            Printer::Int32(v) => integer(v[row], out),
            Printer::Int64(v) => integer(v[row], out),
            Printer::UInt8(v) => integer(v[row], out),
            Printer::UInt16(v) => integer(v[row], out),
            Printer::UInt32(v) => integer(v[row], out),
            Printer::UInt64(v) => integer(v[row], out),
            Printer::Float16(v) => float32(v[row].to_f32(), out),
            Printer::Float32(v) => float32(v[row], out),
            Printer::Float64(v) => match v[row] {
                value if value.is_finite() => {
                    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
                }
                value => out.extend_from_slice(not_finite(value)),
            },
            Printer::Decimal(v, scale) => decimal(v[row], *scale, out),
            Printer::Decimal256(v, scale) => {
                let text = v[row].to_string();
                let digits = text.strip_prefix('-');
                point(digits.is_some(), digits.unwrap_or(&text).as_bytes(), *scale, out);
            }
            Printer::Date(v) => date(i64::from(v[row]), out),
            Printer::Timestamp(v, unit, zoned) => timestamp(v[row], *unit, *zoned, out),
            Printer::Time(v, unit) => time(v[row], *unit, out),
            Printer::Text(v) => out.extend_from_slice(v.value(row).as_bytes()),
            Printer::Binary(v) => hex(v.value(row), out),
        }
    }
}

/// Checks that every column of a schema has a form as text.
pub fn check_printable(schema: &SchemaRef) -> Result<()> {
    match schema.fields().iter().find(|field| !is_printable(field.data_type())) {
        None => Ok(()),
        Some(field) => Err(Error::Schema {
            path: PathBuf::new(),
            message: format!("column '{}': {}", field.name(), no_text(field.data_type())),
        }),
    }
}

fn no_text(data_type: &DataType) -> String {
    let name = sql_name(data_type).unwrap_or_else(|| data_type.to_string());
    format!("{name} has no form as text; cast it in the query, or write parquet or arrow")
}

fn is_printable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_printable(values),
        DataType::FixedSizeBinary(_) => true,
        other => !other.is_nested() && arrow_cast::can_cast_types(other, &DataType::Utf8View),
    }
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(column, to).map_err(|_| Error::Unsupported(no_text(column.data_type())))
}
