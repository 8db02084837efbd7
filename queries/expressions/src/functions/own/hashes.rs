//! `hash`: a number that is the same for equal values of a type, and the same as DuckDB's (`src/common/types/hash.cpp` there).
//! Integers are mixed as murmur3 does in the end; bytes are taken eight at a time, as little-endian integers. The hashes of
//! several values are combined in their order. NULL has a hash as well.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_buffer::ArrowNativeType;
use arrow_cast::cast;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::{Result, exec_err};
use schema::durations::to_intervals;
use schema::instants::per_second;

use super::arguments::{Call, DAY};
use super::{Own, ResultType, Takes};
use crate::values::normal::{interval_length, normal32, normal64};

const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;
const OF_NULL: u64 = 0xbf58_476d_1ce4_e5b9;

pub(super) const FUNCTIONS: &[Own] = &[Own {
    name: "hash",
    takes: &[&[Takes::Any]],
    more: Some(Takes::Any),
    gives: ResultType::Unsigned,
    total: true,
    compute: hash,
}];

fn hash(call: &Call) -> Result<ArrayRef> {
    let mut hashes = Vec::new();
    for at in 0..call.given() {
        let (array, one) = call.array(at)?;
        let mut of_argument = of_array(&array)?;
        if one {
            of_argument = vec![of_argument[0]; call.rows];
        }
        match at {
            0 => hashes = of_argument,
            _ => hashes.iter_mut().zip(of_argument).for_each(|(hash, next)| *hash = combined(*hash, next)),
        }
    }
    Ok(Arc::new(UInt64Array::from(hashes)))
}

fn of_number(mut x: u64) -> u64 {
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(MULTIPLIER);
    }
    x ^ x >> 32
}

fn of_bytes(bytes: &[u8]) -> u64 {
    let mut hash = 0xe17a_1465 ^ (bytes.len() as u64).wrapping_mul(0xc6a4_a793_5bd1_e995);
    for part in bytes.chunks(8) {
        let mut eight = [0; 8];
        eight[..part.len()].copy_from_slice(part);
        hash = (hash ^ u64::from_le_bytes(eight)).wrapping_mul(MULTIPLIER);
    }
    of_number(hash)
}

fn of_wide(x: i128) -> u64 {
    of_number(x as u64) ^ of_number((x >> 64) as u64)
}

fn combined(mut hash: u64, next: u64) -> u64 {
    hash ^= hash >> 32;
    hash.wrapping_mul(MULTIPLIER) ^ next
}

/// The hash of values one after another.
fn of_several(hashes: &[u64]) -> u64 {
    hashes.iter().copied().reduce(combined).unwrap_or(OF_NULL)
}

/// The months, days and microseconds of an interval, as many of each as there can be. Only the months may be below 0.
fn of_interval(interval: IntervalMonthDayNano) -> u64 {
    let (nanos, day) = (interval_length(interval), i128::from(DAY));
    let (months, rest) = (nanos.div_euclid(30 * day), nanos.rem_euclid(30 * day));
    of_number((rest / day) as u64) ^ of_number(months as u64) ^ of_number((rest % day / 1000) as u64)
}

/// A count of a unit in microseconds, which times mostly are. Equal times have equal ones.
fn micros(count: i64, unit: TimeUnit) -> u64 {
    let per_second = i128::from(per_second(unit));
    let nanos = i128::from(count) * (1_000_000_000 / per_second);
    (if nanos % 1000 == 0 { nanos / 1000 } else { nanos }) as u64
}

fn of_array(array: &dyn Array) -> Result<Vec<u64>> {
    /// Each value of a type of fixed width.
    macro_rules! each {
        ($type:ty, $hash:expr) => {{
            let array = array.as_primitive::<$type>();
            #[allow(clippy::redundant_closure_call, reason = "the closure is the macro's argument")]
            array.iter().map(|value| value.map_or(OF_NULL, |value| $hash(value))).collect()
        }};
    }
    fn all<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Vec<u64> {
        values.map(|value| value.map_or(OF_NULL, of_bytes)).collect()
    }
    // Narrow integers are as wide as an `INTEGER`.
    Ok(match array.data_type() {
        DataType::Null => vec![OF_NULL; array.len()],
        DataType::Boolean => {
            let values = array.as_boolean().iter();
            values.map(|value| value.map_or(OF_NULL, |value| of_number(value.into()))).collect()
        }
        DataType::Int8 => each!(Int8Type, |x| of_number(i32::from(x) as u32 as u64)),
        DataType::Int16 => each!(Int16Type, |x| of_number(i32::from(x) as u32 as u64)),
        DataType::Int32 => each!(Int32Type, |x| of_number(x as u32 as u64)),
        DataType::Int64 => each!(Int64Type, |x| of_number(x as u64)),
        DataType::UInt8 => each!(UInt8Type, |x: u8| of_number(x.into())),
        DataType::UInt16 => each!(UInt16Type, |x: u16| of_number(x.into())),
        DataType::UInt32 => each!(UInt32Type, |x: u32| of_number(x.into())),
        DataType::UInt64 => each!(UInt64Type, of_number),
        DataType::Float32 => each!(Float32Type, |x: f32| of_number(normal32(x).to_bits().into())),
        DataType::Float64 => each!(Float64Type, |x: f64| of_number(normal64(x).to_bits())),
        DataType::Decimal128(..=9, _) => each!(Decimal128Type, |x: i128| of_number(x as u32 as u64)),
        DataType::Decimal128(..=18, _) => each!(Decimal128Type, |x: i128| of_number(x as u64)),
        DataType::Decimal128(..) => each!(Decimal128Type, of_wide),
        DataType::Date32 => each!(Date32Type, |x| of_number(x as u32 as u64)),
        DataType::Timestamp(unit, _) => {
            let counts = cast(array, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>().iter();
            counts.map(|count| count.map_or(OF_NULL, |count| of_number(micros(count, *unit)))).collect()
        }
        DataType::Time32(_) | DataType::Time64(TimeUnit::Microsecond) => {
            of_array(&cast(array, &DataType::Time64(TimeUnit::Nanosecond))?)?
        }
        DataType::Time64(_) => {
            each!(Time64NanosecondType, |nanos| of_number(micros(nanos, TimeUnit::Nanosecond)))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => each!(IntervalMonthDayNanoType, of_interval),
        DataType::Duration(_) => of_array(&to_intervals(&array.slice(0, array.len())))?,
        DataType::Utf8View => all(array.as_string_view().iter().map(|text| text.map(str::as_bytes))),
        DataType::BinaryView => all(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => all(array.as_fixed_size_binary().iter()),
        DataType::Utf8 | DataType::LargeUtf8 => of_array(&cast(array, &DataType::Utf8View)?)?,
        DataType::Binary | DataType::LargeBinary => of_array(&cast(array, &DataType::BinaryView)?)?,
        DataType::Dictionary(_, values) => of_array(&cast(array, values)?)?,
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            of_lists(lists, lists.offsets(), lists.values())?
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            of_lists(lists, lists.offsets(), lists.values())?
        }
        DataType::FixedSizeList(item, _) => of_array(&cast(array, &DataType::List(item.clone()))?)?,
        DataType::Map(..) => {
            let maps = array.as_map();
            of_lists(maps, maps.offsets(), maps.entries())?
        }
        DataType::Struct(_) => {
            let structs = array.as_struct();
            let fields: Vec<_> =
                structs.columns().iter().map(|field| of_array(field)).collect::<Result<_>>()?;
            let mut hashes = vec![OF_NULL; array.len()];
            for (row, hash) in hashes.iter_mut().enumerate().filter(|(row, _)| structs.is_valid(*row)) {
                *hash = fields.iter().map(|field| field[row]).reduce(combined).unwrap_or(OF_NULL);
            }
            hashes
        }
        other => return exec_err!("hash() takes no values of the type {other}"),
    })
}

fn of_lists<O: ArrowNativeType>(lists: &dyn Array, offsets: &[O], items: &dyn Array) -> Result<Vec<u64>> {
    let (first, last) = (offsets[0].as_usize(), offsets[lists.len()].as_usize());
    let items = of_array(&items.slice(first, last - first))?;
    let borders = offsets.windows(2).map(|ends| (ends[0].as_usize() - first, ends[1].as_usize() - first));
    Ok(borders
        .enumerate()
        .map(|(row, (start, end))| if lists.is_null(row) { OF_NULL } else { of_several(&items[start..end]) })
        .collect())
}
