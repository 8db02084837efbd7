//! A column of a row group to bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray};
use arrow_buffer::{BooleanBuffer, ToByteSlice};
use arrow_schema::{DataType, TimeUnit};

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
    let mut zone: Option<(&[u8], &[u8])> = None;
    let (mut total, mut longest) = (0u64, 0);
    for value in array.iter().flatten() {
        total += value.len() as u64;
        longest = longest.max(value.len());
        zone = match zone {
            None => Some((value, value)),
            Some((min, max)) => Some((min.min(value), max.max(value))),
        };
    }
    if let Some((min, max)) = zone {
        let short = |v: &[u8]| (v.len() <= ZONE_BYTES).then(|| v.to_vec());
        (out.min, out.max) = (short(min), short(max));
    }
    let length = length_width(longest);
    let plain = total + array.len() as u64 * u64::from(length);
    if let Some(dictionary) = dictionary::build(array) {
        let entries = dictionary.entries;
        let index = if entries.len() <= 1 << 8 { 1 } else { 2 };
        let data: u64 = entries.iter().map(|v| v.len() as u64 + u64::from(length)).sum();
        // A dictionary must save a quarter: gathering from it costs more than reading in order.
        if (data + array.len() as u64 * u64::from(index)) * 4 <= plain * 3 {
            check_size(out.raw.len() as u64 + data + array.len() as u64 * u64::from(index))?;
            for place in dictionary.indices {
                out.raw.extend_from_slice(&place.to_le_bytes()[..index.into()]);
            }
            put_values(&mut out.raw, length, entries.iter().copied());
            out.encoding = Encoding::Dictionary { length, index, entries: entries.len() as u32 };
            return Ok(());
        }
    }
    check_size(out.raw.len() as u64 + plain)?;
    put_values(&mut out.raw, length, array.iter().map(Option::unwrap_or_default));
    out.encoding = Encoding::Plain { length };
    Ok(())
}

fn check_size(raw: u64) -> Result<()> {
    if raw > MAX_RAW.into() {
        return Err(Error::Unsupported(format!(
            "a row group of a buren file holds at most 2 GiB of a column, and here are {raw} bytes: write parquet"
        )));
    }
    Ok(())
}

/// The lengths of all values, and then their bytes.
fn put_values<'a>(raw: &mut Vec<u8>, length: u8, values: impl Iterator<Item = &'a [u8]> + Clone) {
    for value in values.clone() {
        raw.extend_from_slice(&(value.len() as u32).to_le_bytes()[..length.into()]);
    }
    for value in values {
        raw.extend_from_slice(value);
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
