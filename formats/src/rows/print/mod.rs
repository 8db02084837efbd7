//! Values to text: the one form that csv and JSON lines share, such that `parse` reads every value back.

mod value;

use std::path::PathBuf;

use arrow_schema::{DataType, SchemaRef};

use super::cells::{Cells, Shown, no_text};
use crate::error::{Error, Result};
pub use value::{date, hex, not_finite, point, timestamp};
use value::{decimal, float32, local, time};

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

impl Cells {
    /// What kind of text the value of this row is.
    pub fn kind(&self, row: usize) -> Kind {
        match self {
            Cells::Bool(_) => Kind::Bool,
            Cells::Float16(v) if !v[row].is_finite() => Kind::Word,
            Cells::Float32(v) if !v[row].is_finite() => Kind::Word,
            Cells::Float64(v) if !v[row].is_finite() => Kind::Word,
            Cells::Date(_) | Cells::Timestamp(..) | Cells::Time(..) | Cells::Binary(_) => Kind::Word,
            Cells::Text(_) => Kind::Text,
            _ => Kind::Number,
        }
    }

    /// Appends the text of the value of this row, which must not be NULL.
    pub fn print(&self, row: usize, out: &mut Vec<u8>) {
        fn integer<I: itoa::Integer>(value: I, out: &mut Vec<u8>) {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        }
        match self {
            Cells::Bool(v) => out.extend_from_slice(if v.value(row) { b"true" } else { b"false" }),
            Cells::Int8(v) => integer(v[row], out),
            Cells::Int16(v) => integer(v[row], out),
            Cells::Int32(v) => integer(v[row], out),
            Cells::Int64(v) => integer(v[row], out),
            Cells::UInt8(v) => integer(v[row], out),
            Cells::UInt16(v) => integer(v[row], out),
            Cells::UInt32(v) => integer(v[row], out),
            Cells::UInt64(v) => integer(v[row], out),
            Cells::Float16(v) => float32(v[row].to_f32(), out),
            Cells::Float32(v) => float32(v[row], out),
            Cells::Float64(v) => match v[row] {
                value if value.is_finite() => {
                    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
                }
                value => out.extend_from_slice(not_finite(value)),
            },
            Cells::Decimal(v, scale) => decimal(v[row], *scale, out),
            Cells::Decimal256(v, scale) => {
                let text = v[row].to_string();
                let digits = text.strip_prefix('-');
                point(digits.is_some(), digits.unwrap_or(&text).as_bytes(), *scale, out);
            }
            Cells::Date(v) => date(i64::from(v[row]), out),
            Cells::Timestamp(v, unit, Shown::In(clocks)) => local(v[row], *unit, *clocks, out),
            Cells::Timestamp(v, unit, shown) => timestamp(v[row], *unit, shown.is_instant(), out),
            Cells::Time(v, unit) => time(v[row], *unit, out),
            Cells::Text(v) => out.extend_from_slice(v.value(row).as_bytes()),
            Cells::Binary(v) => hex(v.value(row), out),
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

/// Whether a type that holds no others has a form as text.
pub fn is_printable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_printable(values),
        DataType::FixedSizeBinary(_) => true,
        other => !other.is_nested() && arrow_cast::can_cast_types(other, &DataType::Utf8View),
    }
}
