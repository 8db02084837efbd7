//! The type that holds the values of two types, for columns of many files.
//!
//! - `nested`: lists, structs and maps.

pub(crate) mod nested;

use arrow_schema::{DataType, TimeUnit};
use schema::instants::{UTC, same_instants};

use super::infer::Digits;

/// What the types of a column in two files may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widening {
    /// The types were inferred: what is text in the first file is text.
    pub guessed: bool,
    /// They may widen, if no value is lost.
    pub widens: bool,
    /// Types that were inferred become text where nothing else holds both: any value of JSON is text.
    pub to_text: bool,
}

impl Widening {
    /// What inferred types may become.
    pub const GUESSED: Widening = Widening { guessed: true, widens: true, to_text: false };
}

/// The type of a column that has type `a` in one file and `b` in another. `None` if there is none.
pub fn combined(a: &DataType, b: &DataType, how: Widening) -> Option<DataType> {
    let both = match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        // The column is text, and its values in some records look like numbers.
        (DataType::Utf8View, _) if how.guessed => Some(DataType::Utf8View),
        (a, b) if how.guessed && a.is_nested() && b.is_nested() => nested::combined(a, b, how),
        (a, b) if how.widens || same_instants(a, b) => wider(a, b),
        _ => None,
    };
    both.or(how.to_text.then_some(DataType::Utf8View))
}

/// The narrowest type that holds the values of both types. `None` if there is none. Integers become floats only beside
/// floats.
pub fn wider(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    if a == b {
        return Some(a.clone());
    }
    let signed = |t: &T| match t {
        T::Int8 | T::UInt8 => Some(8),
        T::Int16 | T::UInt16 => Some(16),
        T::Int32 | T::UInt32 => Some(32),
        T::Int64 | T::UInt64 => Some(64),
        _ => None,
    };
    if let (Some(x), Some(y)) = (signed(a), signed(b)) {
        let bits =
            |t: &T, bits: i32, mixed: bool| if mixed && t.is_unsigned_integer() { bits * 2 } else { bits };
        let mixed = a.is_signed_integer() != b.is_signed_integer();
        let unsigned = a.is_unsigned_integer() && b.is_unsigned_integer();
        return match (bits(a, x, mixed).max(bits(b, y, mixed)), unsigned) {
            (16, false) => Some(T::Int16),
            (32, false) => Some(T::Int32),
            (64, false) => Some(T::Int64),
            (128, false) => Some(T::Decimal128(20, 0)),
            (16, true) => Some(T::UInt16),
            (32, true) => Some(T::UInt32),
            _ => Some(T::UInt64),
        };
    }
    if let (Some(x), Some(y)) = (decimal_digits(a), decimal_digits(b)) {
        let digits = x.most(y);
        let wide = matches!(a, T::Decimal256(..)) || matches!(b, T::Decimal256(..));
        return match digits.whole + digits.scale {
            most @ ..=38 if !wide => Some(T::Decimal128(most as u8, digits.scale as i8)),
            most @ ..=76 => Some(T::Decimal256(most as u8, digits.scale as i8)),
            _ => None,
        };
    }
    match (a, b) {
        (T::Null, other) | (other, T::Null) => Some(other.clone()),
        (x, y) if x.is_floating() && y.is_floating() => {
            let widest = [x, y].into_iter().find(|t| **t == T::Float64);
            Some(widest.cloned().unwrap_or(T::Float32))
        }
        (int, float) | (float, int) if int.is_integer() && float.is_floating() => {
            let small = matches!(int, T::Int8 | T::UInt8 | T::Int16 | T::UInt16) && *float != T::Float64;
            Some(if small { T::Float32 } else { T::Float64 })
        }
        (T::Date32, T::Timestamp(unit, None)) | (T::Timestamp(unit, None), T::Date32) => {
            Some(T::Timestamp(*unit, None))
        }
        (T::Timestamp(x, zone), T::Timestamp(y, other)) if zone == other => {
            Some(T::Timestamp(finer(*x, *y), zone.clone()))
        }
        (T::Timestamp(x, Some(_)), T::Timestamp(y, Some(_))) => {
            Some(T::Timestamp(finer(*x, *y), Some(UTC.into())))
        }
        _ => None,
    }
}

/// The digits of a decimal or integer type.
fn decimal_digits(data_type: &DataType) -> Option<Digits> {
    use DataType as T;
    let (whole, scale) = match data_type {
        T::Decimal128(precision, scale @ 0..) | T::Decimal256(precision, scale @ 0..) => {
            (precision.checked_sub(*scale as u8)?, *scale as u32)
        }
        T::Int8 | T::UInt8 => (3, 0),
        T::Int16 | T::UInt16 => (5, 0),
        T::Int32 | T::UInt32 => (10, 0),
        T::Int64 => (19, 0),
        T::UInt64 => (20, 0),
        _ => return None,
    };
    Some(Digits { whole: whole.into(), scale })
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let digits = |unit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    if digits(a) >= digits(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType as T;

    #[test]
    fn wider_types_hold_both() {
        for (a, b, both) in [
            (T::Int8, T::Int64, Some(T::Int64)),
            (T::UInt8, T::Int8, Some(T::Int16)),
            (T::UInt32, T::Int8, Some(T::Int64)),
            (T::UInt64, T::Int8, Some(T::Decimal128(20, 0))),
            (T::Decimal128(10, 2), T::Decimal128(6, 4), Some(T::Decimal128(12, 4))),
            (T::Decimal128(38, 2), T::Decimal128(38, 10), Some(T::Decimal256(46, 10))),
            (T::Decimal128(10, 2), T::Int64, Some(T::Decimal128(21, 2))),
            (T::Decimal256(76, 2), T::Decimal256(76, 10), None),
            (T::UInt16, T::UInt32, Some(T::UInt32)),
            (T::Int16, T::Float32, Some(T::Float32)),
            (T::Int32, T::Float32, Some(T::Float64)),
            (T::Float16, T::Float64, Some(T::Float64)),
            (T::Utf8View, T::Int64, None),
            (T::Boolean, T::Int64, None),
            (
                T::Timestamp(TimeUnit::Second, None),
                T::Timestamp(TimeUnit::Millisecond, None),
                Some(T::Timestamp(TimeUnit::Millisecond, None)),
            ),
            (T::Timestamp(TimeUnit::Second, None), T::Timestamp(TimeUnit::Second, Some("UTC".into())), None),
        ] {
            assert_eq!(wider(&a, &b), both, "{a} and {b}");
            assert_eq!(wider(&b, &a), both, "{b} and {a}");
        }
    }
}
