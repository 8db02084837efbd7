//! Hashes of columns. The same value has the same hash in every process and on both sides of a join.
//!
//! The exchange uses the upper bits of a hash, and hash tables use the lower bits. So the keys of one worker still
//! spread over its whole table. Hashes are mixed by folded multiplication (as in wyhash, Wang Yi, 2019).

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DecimalType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, GenericListArray, OffsetSizeTrait, PrimitiveArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, FieldRef, IntervalUnit};
use foldhash::fast::FixedState;
use queries::normal::{interval_length, normal32, normal64};

use crate::dataflow::batch::list_values;
use crate::error::Result;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The hash of NULL.
pub const NULL: u64 = 0x2545_f491_4f6c_dd1d;

/// Folded multiplication: the xor of the two halves of the 128-bit product.
#[inline]
pub fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// The hash of a 64-bit value.
#[inline]
pub fn hash_word(value: u64) -> u64 {
    fold(value ^ SEED, 0xa076_1d64_78bd_642f)
}

/// The hash of a string or of bytes. A value of at most 12 bytes is hashed as the two words of its view.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    if bytes.len() <= 12 {
        let mut words = [0_u8; 16];
        words[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        words[4..4 + bytes.len()].copy_from_slice(bytes);
        return hash_view(u128::from_le_bytes(words));
    }
    let mut hasher = FixedState::with_seed(SEED).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// The hash of a view that holds its value: the length, then at most 12 bytes, with zeros behind them.
#[inline]
pub fn hash_view(view: u128) -> u64 {
    fold((view as u64) ^ SEED, ((view >> 64) as u64) ^ 0xe703_7ed1_a0b4_28db)
}

/// The worker to which a hash belongs, by the upper bits of the hash.
#[inline]
pub fn worker_of(hash: u64, workers: usize) -> usize {
    (((hash >> 32) * workers as u64) >> 32) as usize
}

/// Computes the hashes of rows of several columns. Afterwards `hashes` has one hash a row.
pub fn hash_columns(columns: &[ArrayRef], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
    hashes.clear();
    hashes.resize(rows, 0);
    for (i, column) in columns.iter().enumerate() {
        hash_column(column, i == 0, hashes)?;
    }
    Ok(())
}

fn hash_column(column: &ArrayRef, first: bool, hashes: &mut [u64]) -> Result<()> {
    match column.data_type() {
        DataType::Int8 => words::<Int8Type>(column, first, hashes, |v| v as u64),
        DataType::Int16 => words::<Int16Type>(column, first, hashes, |v| v as u64),
        DataType::Int32 => words::<Int32Type>(column, first, hashes, |v| v as u64),
        DataType::Int64 => words::<Int64Type>(column, first, hashes, |v| v as u64),
        DataType::UInt8 => words::<UInt8Type>(column, first, hashes, u64::from),
        DataType::UInt16 => words::<UInt16Type>(column, first, hashes, u64::from),
        DataType::UInt32 => words::<UInt32Type>(column, first, hashes, u64::from),
        DataType::UInt64 => words::<UInt64Type>(column, first, hashes, |v| v),
        DataType::Date32 => words::<Date32Type>(column, first, hashes, |v| v as u64),
        DataType::Float32 => {
            words::<Float32Type>(column, first, hashes, |v| u64::from(normal32(v).to_bits()))
        }
        DataType::Float64 => words::<Float64Type>(column, first, hashes, |v| normal64(v).to_bits()),
        DataType::Utf8View => {
            let array = column.as_string_view();
            let views = array.views();
            if first
                && array.null_count() == 0
                && views.iter().fold(true, |all, view| all & (*view as u32 <= 12))
            {
                hashes.iter_mut().zip(views.iter()).for_each(|(hash, view)| *hash = hash_view(*view));
                return Ok(());
            }
            for (i, hash) in hashes.iter_mut().enumerate() {
                let value = match views[i] {
                    _ if array.is_null(i) => NULL,
                    view if view as u32 <= 12 => hash_view(view),
                    _ => hash_bytes(array.value(i).as_bytes()),
                };
                *hash = mix(*hash, value, first);
            }
        }
        _ => {
            // A column of any other type is hashed by its comparable row encoding.
            let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
            let rows = converter.convert_columns(std::slice::from_ref(column))?;
            // The logical nulls are taken, because a column of type NULL has no validity bitmap.
            let nulls = column.logical_nulls();
            for (i, hash) in hashes.iter_mut().enumerate() {
                let null = nulls.as_ref().is_some_and(|n| n.is_null(i));
                let value = if null { NULL } else { hash_bytes(rows.row(i).as_ref()) };
                *hash = mix(*hash, value, first);
            }
        }
    }
    Ok(())
}

#[inline]
fn mix(before: u64, value: u64, first: bool) -> u64 {
    // The constants are not the hash of NULL: a factor of 0 would forget the columns before.
    if first { value } else { fold(before ^ SEED, value ^ 0x8ebc_6af0_9c88_c6e3) }
}

fn words<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    first: bool,
    hashes: &mut [u64],
    word: impl Fn(T::Native) -> u64,
) {
    let array = column.as_primitive::<T>();
    for (i, hash) in hashes.iter_mut().enumerate() {
        let value = if array.is_null(i) { NULL } else { hash_word(word(array.value(i))) };
        *hash = mix(*hash, value, first);
    }
}

/// Normalises a column: equal floats become equal bits, within lists and structs too. The type stays.
pub fn normalise(column: ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float64 => {
            Arc::new(column.as_primitive::<Float64Type>().unary(normal64) as PrimitiveArray<Float64Type>)
        }
        DataType::Float32 => {
            Arc::new(column.as_primitive::<Float32Type>().unary(normal32) as PrimitiveArray<Float32Type>)
        }
        DataType::List(field) => normalise_list::<i32>(&column, field),
        DataType::LargeList(field) => normalise_list::<i64>(&column, field),
        DataType::Struct(fields) if !fields.is_empty() => {
            let columns = column.as_struct().columns().iter().cloned().map(normalise).collect();
            Arc::new(StructArray::new(fields.clone(), columns, column.nulls().cloned()))
        }
        _ => column,
    }
}

fn normalise_list<O: OffsetSizeTrait>(column: &ArrayRef, field: &FieldRef) -> ArrayRef {
    let list = column.as_list::<O>();
    let values = normalise(list_values(list));
    let offsets = OffsetBuffer::<O>::from_lengths(list.offsets().lengths());
    Arc::new(GenericListArray::new(field.clone(), offsets, values, list.nulls().cloned()))
}

/// A key column in comparable form: equal values have equal bytes, and different values are ordered as their bytes.
/// Floats are [`normalise`]d, and an interval becomes its length.
pub fn comparable(column: ArrayRef) -> ArrayRef {
    match column.as_primitive_opt::<IntervalMonthDayNanoType>() {
        Some(intervals) => Arc::new(intervals.unary(interval_length) as PrimitiveArray<Decimal128Type>),
        None => normalise(column),
    }
}

/// The type of a [`comparable`] column.
pub fn comparable_type(t: &DataType) -> DataType {
    match t {
        DataType::Interval(IntervalUnit::MonthDayNano) => Decimal128Type::DEFAULT_TYPE,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn keys_of_several_columns_differ_though_some_are_null() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let nulls: ArrayRef = Arc::new(Int64Array::new_null(1000));
        for columns in [[&numbers, &nulls, &nulls], [&nulls, &numbers, &nulls], [&nulls, &nulls, &numbers]] {
            let (columns, mut hashes) = (columns.map(Clone::clone), Vec::new());
            hash_columns(&columns, 1000, &mut hashes).unwrap();
            let of_first = hashes.iter().filter(|hash| worker_of(**hash, 2) == 0).count();
            assert!((400..600).contains(&of_first), "{of_first} of 1000 on one of two workers");
            assert_eq!(hashes.into_iter().collect::<HashSet<_>>().len(), 1000);
        }
    }
}
