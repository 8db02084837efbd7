//! Values to text: the one form that csv and JSON lines share, such that `parse` reads every value back.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryViewArray, BooleanArray, StringViewArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, IntervalUnit, SchemaRef, TimeUnit};

use super::parse::per_second;
use crate::error::{Error, Result};

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
    Float32(ScalarBuffer<f32>),
    /// 64 bits.
    Float64(ScalarBuffer<f64>),
    /// Decimals and their scale.
    Decimal(ScalarBuffer<i128>, i8),
    /// Days.
    Date(ScalarBuffer<i32>),
    /// Timestamps, their unit, and whether they have a zone.
    Timestamp(ScalarBuffer<i64>, TimeUnit, bool),
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
            DataType::Float32 => Printer::Float32(column.as_primitive::<Float32Type>().values().clone()),
            DataType::Float64 => Printer::Float64(column.as_primitive::<Float64Type>().values().clone()),
            DataType::Decimal128(_, scale) => {
                Printer::Decimal(column.as_primitive::<Decimal128Type>().values().clone(), *scale)
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
            Printer::Float32(v) if !v[row].is_finite() => Kind::Word,
            Printer::Float64(v) if !v[row].is_finite() => Kind::Word,
            Printer::Date(_) | Printer::Timestamp(..) | Printer::Binary(_) => Kind::Word,
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
            Printer::Float32(v) => match f64::from(v[row]) {
                value if value.is_finite() => {
                    out.extend_from_slice(zmij::Buffer::new().format_finite(v[row]).as_bytes());
                }
                value => out.extend_from_slice(not_finite(value)),
            },
            Printer::Float64(v) => match v[row] {
                value if value.is_finite() => {
                    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
                }
                value => out.extend_from_slice(not_finite(value)),
            },
            Printer::Decimal(v, scale) => decimal(v[row], *scale, out),
            Printer::Date(v) => date(i64::from(v[row]), out),
            Printer::Timestamp(v, unit, zoned) => timestamp(v[row], *unit, *zoned, out),
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
            message: format!(
                "column {} of type {} has no form as text; cast it in the query, or write parquet or arrow",
                field.name(),
                field.data_type()
            ),
        }),
    }
}

fn is_printable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_printable(values),
        DataType::FixedSizeBinary(_) => true,
        other => !other.is_nested() && arrow_cast::can_cast_types(other, &DataType::Utf8View),
    }
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(column, to).map_err(|_| {
        Error::Unsupported(format!(
            "a column of type {} has no form as text; cast it in the query, or write parquet or arrow",
            column.data_type()
        ))
    })
}

fn not_finite(value: f64) -> &'static [u8] {
    if value.is_nan() {
        b"NaN"
    } else if value > 0.0 {
        b"Infinity"
    } else {
        b"-Infinity"
    }
}

/// Appends `value` of at least `width` digits, with leading zeros.
fn padded(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(digits.len())));
    out.extend_from_slice(digits);
}

fn two(value: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + value / 10, b'0' + value % 10]);
}

fn decimal(value: i128, scale: i8, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value.unsigned_abs()).as_bytes();
    if scale <= 0 {
        out.extend_from_slice(digits);
        if value != 0 {
            out.extend(std::iter::repeat_n(b'0', usize::from(scale.unsigned_abs())));
        }
        return;
    }
    let scale = usize::from(scale.unsigned_abs());
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
        out.extend_from_slice(digits);
    }
}

/// Appends the day `days` after 1970-01-01 as `YYYY-MM-DD`, with a sign where the year is not of four digits.
pub fn date(days: i64, out: &mut Vec<u8>) {
    // H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days: days since a 1st of March at the
    // beginning of 400 years, which are always the same.
    let shifted = days + 719_468;
    let (era, of_era) = match u32::try_from(shifted) {
        Ok(shifted) => (i64::from(shifted / 146_097), shifted % 146_097),
        Err(_) => (shifted.div_euclid(146_097), shifted.rem_euclid(146_097) as u32),
    };
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * from_march + 2) / 5 + 1) as u8;
    let month = (if from_march < 10 { from_march + 3 } else { from_march - 9 }) as u8;
    let year = era * 400 + i64::from(year_of_era) + i64::from(month <= 2);
    match u16::try_from(year) {
        Ok(year @ 0..=9999) => {
            two((year / 100) as u8, out);
            two((year % 100) as u8, out);
        }
        _ => {
            out.push(if year < 0 { b'-' } else { b'+' });
            padded(year.unsigned_abs(), 4, out);
        }
    }
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(day, out);
}

/// Appends `YYYY-MM-DDTHH:MM:SS`, a fraction of the unit's digits if it is not zero, and `Z` where there is a zone.
pub fn timestamp(value: i64, unit: TimeUnit, zoned: bool, out: &mut Vec<u8>) {
    let per_second = per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    date(seconds.div_euclid(86_400), out);
    let of_day = seconds.rem_euclid(86_400);
    out.push(b'T');
    two((of_day / 3600) as u8, out);
    out.push(b':');
    two((of_day / 60 % 60) as u8, out);
    out.push(b':');
    two((of_day % 60) as u8, out);
    if fraction != 0 {
        out.push(b'.');
        padded(fraction as u64, per_second.ilog10() as usize, out);
    }
    if zoned {
        out.push(b'Z');
    }
}

/// Appends `\x` and two lower-case hexadecimal digits a byte.
pub fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(br"\x");
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn text(print: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        print(&mut out);
        String::from_utf8(out).expect("printed text is ASCII")
    }

    #[test]
    fn dates_read_back() {
        for days in (-800_000..3_000_000).step_by(37).chain([i32::MIN, i32::MAX, -1, 0, 59, 60]) {
            let text = text(|out| date(i64::from(days), out));
            assert_eq!(parse::date(text.as_bytes()), Some(days), "{text}");
        }
        assert_eq!(text(|out| date(11_016, out)), "2000-02-29");
    }

    #[test]
    fn timestamps_read_back() {
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            for value in [0, 1, -1, 999, 1_000_000_007, -62_135_596_800, i64::MAX, i64::MIN] {
                // A year beyond 12 digits is not read; only seconds reach that far.
                for zoned in [false, true] {
                    let text = text(|out| timestamp(value, unit, zoned, out));
                    assert_eq!(parse::timestamp(text.as_bytes(), unit), Some(value), "{text}");
                }
            }
        }
        assert_eq!(text(|out| timestamp(-1, TimeUnit::Millisecond, true, out)), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn decimals_read_back() {
        for (value, scale, printed) in [
            (1250, 2, "12.50"),
            (-1, 2, "-0.01"),
            (0, 2, "0.00"),
            (12, -2, "1200"),
            (0, -2, "0"),
            (7, 0, "7"),
        ] {
            let text = text(|out| decimal(value, scale, out));
            assert_eq!(text, printed);
            assert_eq!(parse::decimal(text.as_bytes(), 38, scale), Some(value));
        }
    }
}
