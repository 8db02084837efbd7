//! What encodings share that hold values as bytes and not as text.

use std::path::PathBuf;

use arrow_schema::{DataType, Schema, TimeUnit};
use schema::text::types::sql_name;

use super::cells::instead;
use super::parse::{self, Decimal, Float, per_second};
use crate::error::{Error, Result};

/// Checks that every column has a type of which all binary encodings have a form.
pub fn check_flat(schema: &Schema) -> Result<()> {
    let Some(field) = schema.fields().iter().find(|field| !is_flat(field.data_type())) else { return Ok(()) };
    let name = sql_name(field.data_type()).unwrap_or_else(|| field.data_type().to_string());
    Err(Error::Schema {
        path: PathBuf::new(),
        message: format!(
            "column '{}': {name} has no form in this encoding; {}",
            field.name(),
            instead(field.data_type())
        ),
    })
}

/// Whether a type is one of those.
pub fn is_flat(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Dictionary(_, values) => is_flat(values),
        T::Boolean
        | T::Decimal128(..)
        | T::Decimal256(..)
        | T::Date32
        | T::Date64
        | T::Timestamp(..)
        | T::Time32(_)
        | T::Time64(_)
        | T::Utf8
        | T::LargeUtf8
        | T::Utf8View
        | T::Binary
        | T::LargeBinary
        | T::BinaryView
        | T::FixedSizeBinary(_) => true,
        other => other.is_integer() || other.is_floating(),
    }
}

/// A decimal, unless it has more digits than its type.
pub fn within_precision<T: Decimal>(value: T, precision: u8) -> Option<T> {
    let bound = T::usize_as(10).pow_checked(u32::from(precision)).ok()?;
    (value.is_lt(bound) && value.is_gt(bound.neg_checked().ok()?)).then_some(value)
}

/// A float of four or eight bytes, lowest first; of none it is 0.
#[inline(always)]
pub fn float_or_zero<T: Float>(value: &[u8]) -> Option<T> {
    if value.is_empty() { Some(T::from_f64(0.0)) } else { T::read_le(value) }
}

/// A decimal in digits, unless it has more than its type; of no bytes it is 0.
pub fn decimal_or_zero<T: Decimal>(value: &[u8], precision: u8, scale: i8) -> Option<T> {
    let text = if value.is_empty() { b"0" } else { value };
    within_precision(parse::decimal(text, precision, scale)?, precision)
}

/// A time since midnight, unless it is later than a day is long.
pub fn within_day(time: i64, unit: TimeUnit) -> Option<i64> {
    (0..86_400 * per_second(unit)).contains(&time).then_some(time)
}
