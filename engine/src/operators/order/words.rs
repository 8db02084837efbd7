//! Numbers, dates and times as words: unsigned integers of 64 bits that are ordered as the values are.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

/// Decimals of so many digits fit in 64 bits.
const SHORT_DECIMAL: u8 = 18;

/// Does something with the words of a column.
pub trait Visitor {
    /// What it gives.
    type Out;

    /// Takes the column and the function that makes words of its values. The words of NULLs mean nothing.
    fn visit<T: ArrowPrimitiveType>(
        self,
        column: &PrimitiveArray<T>,
        word: impl Fn(T::Native) -> u64,
    ) -> Self::Out;
}

/// Whether the values of a type have words.
pub fn are_of(t: &DataType) -> bool {
    match t {
        DataType::Decimal128(precision, _) => *precision <= SHORT_DECIMAL,
        DataType::Float32 | DataType::Float64 => true,
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => true,
        DataType::Timestamp(..) => true,
        other => other.is_integer(),
    }
}

/// Calls the visitor with the words of a column. `None` if values of its type have none.
pub fn visit<V: Visitor>(column: &ArrayRef, visitor: V) -> Option<V::Out> {
    const SIGN: u64 = 1 << 63;
    let signed = |v: i64| v as u64 ^ SIGN;
    // Equal floats have one word: those of 0 and -0, and those of all NaN.
    let float = |v: f64| {
        let bits = if v.is_nan() { f64::NAN.to_bits() } else { (v + 0.0).to_bits() };
        if bits & SIGN == 0 { bits ^ SIGN } else { !bits }
    };
    macro_rules! with {
        ($t:ty, $word:expr) => {
            Some(visitor.visit(column.as_primitive::<$t>(), $word))
        };
    }
    match column.data_type() {
        DataType::Int8 => with!(Int8Type, |v| signed(v.into())),
        DataType::Int16 => with!(Int16Type, |v| signed(v.into())),
        DataType::Int32 => with!(Int32Type, |v| signed(v.into())),
        DataType::Int64 => with!(Int64Type, signed),
        DataType::UInt8 => with!(UInt8Type, u64::from),
        DataType::UInt16 => with!(UInt16Type, u64::from),
        DataType::UInt32 => with!(UInt32Type, u64::from),
        DataType::UInt64 => with!(UInt64Type, |v| v),
        DataType::Float32 => with!(Float32Type, |v| float(v.into())),
        DataType::Float64 => with!(Float64Type, float),
        DataType::Decimal128(precision, _) if *precision <= SHORT_DECIMAL => {
            with!(Decimal128Type, |v| signed(v as i64))
        }
        DataType::Date32 => with!(Date32Type, |v| signed(v.into())),
        DataType::Date64 => with!(Date64Type, signed),
        DataType::Time32(TimeUnit::Second) => with!(Time32SecondType, |v| signed(v.into())),
        DataType::Time32(TimeUnit::Millisecond) => with!(Time32MillisecondType, |v| signed(v.into())),
        DataType::Time64(TimeUnit::Microsecond) => with!(Time64MicrosecondType, signed),
        DataType::Time64(TimeUnit::Nanosecond) => with!(Time64NanosecondType, signed),
        DataType::Timestamp(TimeUnit::Second, _) => with!(TimestampSecondType, signed),
        DataType::Timestamp(TimeUnit::Millisecond, _) => with!(TimestampMillisecondType, signed),
        DataType::Timestamp(TimeUnit::Microsecond, _) => with!(TimestampMicrosecondType, signed),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => with!(TimestampNanosecondType, signed),
        _ => None,
    }
}

/// The words of a column.
#[cfg(test)]
pub fn of(column: &ArrayRef) -> Vec<u64> {
    struct All;
    impl Visitor for All {
        type Out = Vec<u64>;
        fn visit<T: ArrowPrimitiveType>(
            self,
            column: &PrimitiveArray<T>,
            word: impl Fn(T::Native) -> u64,
        ) -> Vec<u64> {
            column.values().iter().map(|v| word(*v)).collect()
        }
    }
    visit(column, All).expect("a column of numbers")
}
