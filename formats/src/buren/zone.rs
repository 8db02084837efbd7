//! The least and the greatest value of a column of a row group.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray, StringViewArray, make_array,
};
use arrow_buffer::{Buffer, ToByteSlice};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// The longest text of which a zone map knows.
pub const ZONE_BYTES: usize = 128;

/// The least and the greatest value, as bytes.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Limits {
    /// The least value, if it is known.
    pub min: Option<Vec<u8>>,
    /// The greatest value, if it is known.
    pub max: Option<Vec<u8>>,
    /// Whether there is a NaN, of which neither of them knows.
    pub nan: bool,
}

/// The limits of a column of fixed width or of booleans; nothing for others.
pub fn limits(array: &ArrayRef) -> Limits {
    match array.data_type() {
        DataType::Boolean => {
            let array = array.as_boolean();
            let has = |wanted| array.iter().flatten().any(|value| value == wanted);
            let (min, max) = (Some(vec![u8::from(!has(false))]), Some(vec![u8::from(has(true))]));
            Limits { min, max, nan: false }
        }
        DataType::Int8 => fixed::<Int8Type>(array),
        DataType::Int16 => fixed::<Int16Type>(array),
        DataType::Int32 => fixed::<Int32Type>(array),
        DataType::Int64 => fixed::<Int64Type>(array),
        DataType::UInt8 => fixed::<UInt8Type>(array),
        DataType::UInt16 => fixed::<UInt16Type>(array),
        DataType::UInt32 => fixed::<UInt32Type>(array),
        DataType::UInt64 => fixed::<UInt64Type>(array),
        DataType::Float32 => fixed::<Float32Type>(array),
        DataType::Float64 => fixed::<Float64Type>(array),
        DataType::Date32 => fixed::<Date32Type>(array),
        DataType::Decimal128(..) => fixed::<Decimal128Type>(array),
        DataType::Timestamp(TimeUnit::Second, _) => fixed::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => fixed::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => fixed::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => fixed::<TimestampNanosecondType>(array),
        DataType::Decimal256(..) => fixed::<Decimal256Type>(array),
        DataType::Float16 => fixed::<Float16Type>(array),
        DataType::Date64 => fixed::<Date64Type>(array),
        DataType::Time32(TimeUnit::Second) => fixed::<Time32SecondType>(array),
        DataType::Time32(_) => fixed::<Time32MillisecondType>(array),
        DataType::Time64(TimeUnit::Nanosecond) => fixed::<Time64NanosecondType>(array),
        DataType::Time64(_) => fixed::<Time64MicrosecondType>(array),
        DataType::Duration(TimeUnit::Second) => fixed::<DurationSecondType>(array),
        DataType::Duration(TimeUnit::Millisecond) => fixed::<DurationMillisecondType>(array),
        DataType::Duration(TimeUnit::Microsecond) => fixed::<DurationMicrosecondType>(array),
        DataType::Duration(TimeUnit::Nanosecond) => fixed::<DurationNanosecondType>(array),
        DataType::Interval(IntervalUnit::YearMonth) => fixed::<IntervalYearMonthType>(array),
        DataType::Interval(IntervalUnit::DayTime) => fixed::<IntervalDayTimeType>(array),
        DataType::Interval(IntervalUnit::MonthDayNano) => fixed::<IntervalMonthDayNanoType>(array),
        _ => Limits::default(),
    }
}

fn fixed<T: ArrowPrimitiveType>(array: &ArrayRef) -> Limits
where
    T::Native: ToByteSlice,
{
    let array = array.as_primitive::<T>();
    let (mut zone, mut nan) = (None::<(T::Native, T::Native)>, false);
    let mut see = |v: T::Native| match &mut zone {
        // Only a NaN is not equal to itself.
        _ if v.partial_cmp(&v).is_none() => nan = true,
        None => zone = Some((v, v)),
        Some((min, _)) if v < *min => *min = v,
        Some((_, max)) if v > *max => *max = v,
        Some(_) => {}
    };
    match array.null_count() {
        0 => array.values().iter().copied().for_each(see),
        _ => array.iter().flatten().for_each(&mut see),
    }
    let (min, max) =
        zone.map(|(min, max)| (min.to_byte_slice().to_vec(), max.to_byte_slice().to_vec())).unzip();
    Limits { min, max, nan }
}

/// The limits of text or bytes; values longer than [`ZONE_BYTES`] are left out.
pub fn limits_of_bytes<'a>(values: impl Iterator<Item = &'a [u8]>) -> Limits {
    let short = |v: &[u8]| (v.len() <= ZONE_BYTES).then(|| v.to_vec());
    let zone = extremes(values);
    let (min, max) = zone.map(|(min, max)| (short(min), short(max))).unwrap_or_default();
    Limits { min, max, nan: false }
}

/// The least and the greatest value.
fn extremes<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
    /// The first bytes as a number, which decides nearly every comparison.
    #[inline(always)]
    fn head(value: &[u8]) -> u64 {
        value.first_chunk::<8>().map_or_else(
            || value.iter().zip((0..8).rev()).map(|(&byte, place)| u64::from(byte) << (8 * place)).sum(),
            |bytes| u64::from_be_bytes(*bytes),
        )
    }
    let mut values = values;
    let first = values.next()?;
    let (mut min, mut max) = ((head(first), first), (head(first), first));
    for value in values {
        let head = head(value);
        if head < min.0 || (head == min.0 && value < min.1) {
            min = (head, value);
        } else if head > max.0 || (head == max.0 && value > max.1) {
            max = (head, value);
        }
    }
    Some((min.1, max.1))
}

/// The bytes of a value in a zone map as an array of one row; `None` if they are no such value.
pub fn zone_array(data_type: &DataType, bytes: &[u8]) -> Option<ArrayRef> {
    Some(match data_type {
        DataType::Boolean => Arc::new(BooleanArray::from(vec![*bytes.first()? != 0])),
        DataType::Utf8View => Arc::new(StringViewArray::from(vec![std::str::from_utf8(bytes).ok()?])),
        DataType::BinaryView | DataType::FixedSizeBinary(_) => Arc::new(BinaryViewArray::from(vec![bytes])),
        fixed => {
            let data = ArrayData::builder(fixed.clone()).len(1).add_buffer(Buffer::from_slice_ref(bytes));
            make_array(data.build().ok()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_those_of_bytes() {
        let values: Vec<&[u8]> =
            vec![b"b", b"abcdefghz", b"", b"\0", b"abcdefgh", b"b\0", b"bbbbbbbbb", b"\xFF", b"\xFE\xFF"];
        for from in 0..values.len() {
            for to in from..=values.len() {
                let some = || values[from..to].iter().copied();
                let expected = some().min().zip(some().max());
                assert_eq!(extremes(some()), expected);
            }
        }
    }
}
