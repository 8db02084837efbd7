//! A column of a row group to bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray};
use arrow_buffer::{BooleanBuffer, ToByteSlice};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::ALIGNMENT;
use super::bytes::pad;
use super::dictionary;
use super::footer::{Encoding, MAX_RAW, ZONE_BYTES};
use crate::error::{Error, Result};

/// A column of a row group as bytes, before compression.
#[derive(Debug)]
pub struct Encoded {
    /// The bytes.
    pub raw: Vec<u8>,
    /// How the values lie in them.
    pub encoding: Encoding,
    /// The number of NULL rows.
    pub nulls: u32,
    /// The least value, as bytes.
    pub min: Option<Vec<u8>>,
    /// The greatest value, as bytes.
    pub max: Option<Vec<u8>>,
    /// Whether there is a NaN.
    pub nan: bool,
}

/// Encodes a column of one of the types of [`super::types`].
pub fn encode(array: &ArrayRef) -> Result<Encoded> {
    let nulls = array.null_count();
    let mut out = Encoded {
        raw: Vec::new(),
        encoding: Encoding::Nothing,
        nulls: nulls as u32,
        min: None,
        max: None,
        nan: false,
    };
    if nulls == array.len() {
        return Ok(out);
    }
    if nulls > 0 {
        bits(&mut out.raw, array.len(), |row| array.is_valid(row));
        pad(&mut out.raw, ALIGNMENT);
    }
    out.encoding = Encoding::Plain { length: 0 };
    match array.data_type() {
        DataType::Boolean => booleans(array, &mut out),
        DataType::Int8 => fixed::<Int8Type>(array, &mut out),
        DataType::Int16 => fixed::<Int16Type>(array, &mut out),
        DataType::Int32 => fixed::<Int32Type>(array, &mut out),
        DataType::Int64 => fixed::<Int64Type>(array, &mut out),
        DataType::UInt8 => fixed::<UInt8Type>(array, &mut out),
        DataType::UInt16 => fixed::<UInt16Type>(array, &mut out),
        DataType::UInt32 => fixed::<UInt32Type>(array, &mut out),
        DataType::UInt64 => fixed::<UInt64Type>(array, &mut out),
        DataType::Float32 => fixed::<Float32Type>(array, &mut out),
        DataType::Float64 => fixed::<Float64Type>(array, &mut out),
        DataType::Date32 => fixed::<Date32Type>(array, &mut out),
        DataType::Decimal128(..) => fixed::<Decimal128Type>(array, &mut out),
        DataType::Timestamp(TimeUnit::Second, _) => fixed::<TimestampSecondType>(array, &mut out),
        DataType::Timestamp(TimeUnit::Millisecond, _) => fixed::<TimestampMillisecondType>(array, &mut out),
        DataType::Timestamp(TimeUnit::Microsecond, _) => fixed::<TimestampMicrosecondType>(array, &mut out),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => fixed::<TimestampNanosecondType>(array, &mut out),
        DataType::Utf8View => bytes(&array.as_string_view().clone().to_binary_view(), &mut out)?,
        DataType::BinaryView => bytes(array.as_binary_view(), &mut out)?,
        DataType::FixedSizeBinary(_) => {
            bytes(&array.as_fixed_size_binary().iter().collect::<BinaryViewArray>(), &mut out)?;
        }
        DataType::Decimal256(..) => fixed::<Decimal256Type>(array, &mut out),
        DataType::Float16 => fixed::<Float16Type>(array, &mut out),
        DataType::Date64 => fixed::<Date64Type>(array, &mut out),
        DataType::Time32(TimeUnit::Second) => fixed::<Time32SecondType>(array, &mut out),
        DataType::Time32(_) => fixed::<Time32MillisecondType>(array, &mut out),
        DataType::Time64(TimeUnit::Nanosecond) => fixed::<Time64NanosecondType>(array, &mut out),
        DataType::Time64(_) => fixed::<Time64MicrosecondType>(array, &mut out),
        DataType::Duration(TimeUnit::Second) => fixed::<DurationSecondType>(array, &mut out),
        DataType::Duration(TimeUnit::Millisecond) => fixed::<DurationMillisecondType>(array, &mut out),
        DataType::Duration(TimeUnit::Microsecond) => fixed::<DurationMicrosecondType>(array, &mut out),
        DataType::Duration(TimeUnit::Nanosecond) => fixed::<DurationNanosecondType>(array, &mut out),
        DataType::Interval(IntervalUnit::YearMonth) => fixed::<IntervalYearMonthType>(array, &mut out),
        DataType::Interval(IntervalUnit::DayTime) => fixed::<IntervalDayTimeType>(array, &mut out),
        DataType::Interval(IntervalUnit::MonthDayNano) => fixed::<IntervalMonthDayNanoType>(array, &mut out),
        other => return Err(Error::Unsupported(format!("buren version 0 can't hold {other}"))),
    }
    Ok(out)
}

/// One bit a row, low bits first.
fn bits(raw: &mut Vec<u8>, rows: usize, bit: impl FnMut(usize) -> bool) {
    let bits = BooleanBuffer::collect_bool(rows, bit);
    raw.extend_from_slice(&bits.inner().as_slice()[..rows.div_ceil(8)]);
}

fn booleans(array: &ArrayRef, out: &mut Encoded) {
    let array = array.as_boolean();
    bits(&mut out.raw, array.len(), |row| array.is_valid(row) && array.value(row));
    let mut seen = [false; 2];
    array.iter().flatten().for_each(|v| seen[usize::from(v)] = true);
    out.min = Some(vec![u8::from(!seen[0])]);
    out.max = Some(vec![u8::from(seen[1])]);
}

fn fixed<T: ArrowPrimitiveType>(array: &ArrayRef, out: &mut Encoded)
where
    T::Native: ToByteSlice,
{
    let array = array.as_primitive::<T>();
    let mut zone: Option<(T::Native, T::Native)> = None;
    let mut see = |v: T::Native| match &mut zone {
        // Only a NaN is not equal to itself.
        _ if v.partial_cmp(&v).is_none() => out.nan = true,
        None => zone = Some((v, v)),
        Some((min, _)) if v < *min => *min = v,
        Some((_, max)) if v > *max => *max = v,
        Some(_) => {}
    };
    if array.null_count() == 0 {
        array.values().iter().copied().for_each(see);
        out.raw.extend_from_slice(array.values().as_ref().to_byte_slice());
    } else {
        array.iter().flatten().for_each(&mut see);
        // What lies under NULL must not reach the file.
        let values: Vec<T::Native> = array.iter().map(Option::unwrap_or_default).collect();
        out.raw.extend_from_slice(values.to_byte_slice());
    }
    if let Some((min, max)) = zone {
        out.min = Some(min.to_byte_slice().to_vec());
        out.max = Some(max.to_byte_slice().to_vec());
    }
}

fn bytes(array: &BinaryViewArray, out: &mut Encoded) -> Result<()> {
    let dictionary = dictionary::build(array);
    let zone = match &dictionary {
        Some(dictionary) => extremes(dictionary.entries.iter().copied()),
        None => extremes(array.iter().flatten()),
    };
    if let Some((min, max)) = zone {
        let short = |v: &[u8]| (v.len() <= ZONE_BYTES).then(|| v.to_vec());
        (out.min, out.max) = (short(min), short(max));
    }
    let lengths = array.iter().map(|v| v.map_or(0, <[u8]>::len));
    let length = length_width(lengths.clone().max().unwrap_or(0));
    let plain = lengths.map(|l| l as u64).sum::<u64>() + array.len() as u64 * u64::from(length);
    if let Some(dictionary) = dictionary {
        let entries = dictionary.entries;
        let index = if entries.len() <= 1 << 8 { 1 } else { 2 };
        let data: u64 = entries.iter().map(|v| v.len() as u64 + u64::from(length)).sum();
        let whole = data + array.len() as u64 * u64::from(index);
        // A dictionary must save a quarter: gathering from it costs more than reading in order.
        if whole * 4 <= plain * 3 {
            reserve(&mut out.raw, whole)?;
            put_numbers(&mut out.raw, index, dictionary.indices.iter().map(|&i| i.into()));
            put_values(&mut out.raw, length, entries.iter().copied());
            out.encoding = Encoding::Dictionary { length, index, entries: entries.len() as u32 };
            return Ok(());
        }
    }
    reserve(&mut out.raw, plain)?;
    put_values(&mut out.raw, length, array.iter().map(Option::unwrap_or_default));
    out.encoding = Encoding::Plain { length };
    Ok(())
}

/// The least and the greatest value.
fn extremes<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
    /// The first bytes as a number, which decides nearly every comparison.
    fn head(value: &[u8]) -> u64 {
        value.first_chunk::<8>().map_or_else(
            || value.iter().zip((0..8).rev()).map(|(&byte, place)| u64::from(byte) << (8 * place)).sum(),
            |bytes| u64::from_be_bytes(*bytes),
        )
    }
    let mut zone: Option<[(u64, &[u8]); 2]> = None;
    for value in values {
        let value = (head(value), value);
        match &mut zone {
            None => zone = Some([value, value]),
            Some([min, _]) if value < *min => *min = value,
            Some([_, max]) if value > *max => *max = value,
            Some(_) => {}
        }
    }
    zone.map(|[min, max]| (min.1, max.1))
}

/// Makes room for so many bytes, if a chunk may grow by them.
fn reserve(raw: &mut Vec<u8>, bytes: u64) -> Result<()> {
    let whole = raw.len() as u64 + bytes;
    if whole > MAX_RAW.into() {
        return Err(Error::Unsupported(format!(
            "a row group of a buren file holds at most 2 GiB of a column, and here are {whole} bytes: write parquet"
        )));
    }
    raw.reserve_exact(bytes as usize);
    Ok(())
}

/// The lengths of all values, and then their bytes.
fn put_values<'a>(raw: &mut Vec<u8>, length: u8, values: impl Iterator<Item = &'a [u8]> + Clone) {
    put_numbers(raw, length, values.clone().map(|v| v.len() as u32));
    values.for_each(|value| raw.extend_from_slice(value));
}

/// Numbers of `width` bytes each.
fn put_numbers(raw: &mut Vec<u8>, width: u8, numbers: impl Iterator<Item = u32>) {
    match width {
        1 => raw.extend(numbers.map(|n| n as u8)),
        2 => numbers.for_each(|n| raw.extend_from_slice(&(n as u16).to_le_bytes())),
        _ => numbers.for_each(|n| raw.extend_from_slice(&n.to_le_bytes())),
    }
}

/// The bytes that a length takes.
fn length_width(longest: usize) -> u8 {
    match longest {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        _ => 4,
    }
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
