//! A checksum of rows in their order. Two tables have the same checksum if they have the same values in the same rows.
//! Tables that differ have the same one by a chance of about 2⁻⁶⁴ for each column and range of rows.
//!
//! Each value is hashed, and then that hash is hashed together with the number of its row. The checksum is the sums of
//! these words, a sum for each column and each range of `STRETCH` rows. The row number is in each word, so that
//! rows that change places change the sum. So any thread can add the words in any order, and it doesn't matter how
//! batches are cut.
//!
//! # Values that differ
//! - NULL, the empty string, and 0. A NULL list, an empty list, and a list of one NULL.
//! - 0.0 and -0.0. All NaNs are the same, because text formats have only one.
//! - Integers, decimals, dates, times and timestamps, by their value in the column's type. Text and bytes, by their
//!   bytes.
//!
//! Both tables must have columns of the same types. Only the layout of text and bytes may differ.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};

use crate::dataflow::batch::list_values;
use crate::error::{Error, Result};
use crate::state::hash::{NULL, hash_bytes, hash_view, hash_word};

/// The number of rows of a range: they have one sum, and an error names a whole range.
const STRETCH: u64 = 1 << 16;

/// An odd factor of row numbers, so that neighbouring rows have hashes far apart (2⁶⁴ over the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of a table, whose rows several threads add.
#[derive(Debug)]
pub struct RowChecksum {
    columns: usize,
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    rows: u64,
    /// For each range of rows, the sums of all columns.
    words: Vec<u64>,
}

impl RowChecksum {
    /// The checksum of a table of this schema without rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if values of a column can't be hashed.
    pub fn new(schema: &Schema) -> Result<RowChecksum> {
        for field in schema.fields() {
            if !is_hashed(field.data_type()) {
                let (name, kind) = (field.name(), field.data_type());
                return Err(Error::Unsupported(format!("to compare column '{name}', which is {kind}")));
            }
        }
        Ok(RowChecksum { columns: schema.fields().len(), sums: Mutex::default() })
    }

    /// Adds rows that follow one another. `first` is the number of the first row in the table. Every row is added once,
    /// and the calls may come in any order.
    pub fn add(&self, first: u64, batches: &[RecordBatch]) -> Result<()> {
        let mut at = first;
        for batch in batches {
            let rows = batch.num_rows();
            debug_assert_eq!(batch.num_columns(), self.columns, "batches have the columns of the table");
            let mut sums: Vec<Vec<u64>> = Vec::with_capacity(self.columns);
            for column in batch.columns() {
                sums.push(sum(at, &hashes(column)?));
            }
            let mut all = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
            all.rows += rows as u64;
            let stretch = (at / STRETCH) as usize;
            let stretches = (at + rows as u64).div_ceil(STRETCH) as usize;
            if all.words.len() < stretches * self.columns {
                all.words.resize(stretches * self.columns, 0);
            }
            for (column, sums) in sums.iter().enumerate() {
                for (i, word) in sums.iter().enumerate() {
                    let place = &mut all.words[(stretch + i) * self.columns + column];
                    *place = place.wrapping_add(*word);
                }
            }
            at += rows as u64;
        }
        Ok(())
    }

    /// How `other` differs, as text that follows its name. `None` if it does not differ. `schema` names the columns.
    pub fn difference(&self, other: &RowChecksum, schema: &Schema) -> Option<String> {
        let ours = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = other.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if ours.rows != theirs.rows {
            return Some(format!("has {} rows, and the source {}", theirs.rows, ours.rows));
        }
        let place = ours.words.iter().zip(&theirs.words).position(|(a, b)| a != b)?;
        let (stretch, column) = (place / self.columns, place % self.columns);
        let differs = |c: usize| {
            let of_column = |sums: &Sums| sums.words.iter().skip(c).step_by(self.columns).copied().collect();
            let (a, b): (Vec<u64>, Vec<u64>) = (of_column(&ours), of_column(&theirs));
            a != b
        };
        let others = (0..self.columns).filter(|&c| c != column && differs(c)).count();
        let others = match others {
            0 => String::new(),
            1 => " and one more".into(),
            n => format!(" and {n} more"),
        };
        let first = stretch as u64 * STRETCH;
        let last = (first + STRETCH).min(ours.rows);
        let (name, first) = (schema.field(column).name(), first + 1);
        Some(format!(
            "has other values than the source in column '{name}'{others}, first in rows {first} to {last}"
        ))
    }
}

/// The sums of each range in which the rows from `first` on lie.
fn sum(first: u64, hashes: &[u64]) -> Vec<u64> {
    let (mut sums, mut row, mut rest) = (Vec::new(), first, hashes);
    while !rest.is_empty() {
        let here = (STRETCH - row % STRETCH).min(rest.len() as u64);
        let (part, behind) = rest.split_at(here as usize);
        let placed =
            |(i, hash): (usize, &u64)| hash_word(hash.wrapping_add((row + i as u64).wrapping_mul(SPREAD)));
        sums.push(part.iter().enumerate().map(placed).fold(0, u64::wrapping_add));
        (row, rest) = (row + here, behind);
    }
    sums
}

/// Whether values of a type can be hashed. All can but unions and list views.
fn is_hashed(kind: &DataType) -> bool {
    match kind {
        DataType::Union(..) | DataType::ListView(_) | DataType::LargeListView(_) => false,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_hashed(item.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_hashed(field.data_type())),
        DataType::Dictionary(_, values) => is_hashed(values),
        DataType::RunEndEncoded(_, values) => is_hashed(values.data_type()),
        _ => true,
    }
}

/// The hash of each value.
fn hashes(array: &ArrayRef) -> Result<Vec<u64>> {
    let mut out: Vec<u64> = match array.data_type() {
        DataType::Null => vec![NULL; array.len()],
        DataType::Boolean => {
            array.as_boolean().values().iter().map(|value| hash_word(u64::from(value))).collect()
        }
        DataType::Float16 => {
            let is_nan = |bits: u16| bits & 0x7fff > 0x7c00;
            of::<u16>(&array.to_data(), |&v| u64::from(if is_nan(v) { 0x7e00 } else { v }))
        }
        DataType::Float32 => {
            let bits = |v: &f32| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() };
            words(array.as_primitive::<Float32Type>().values(), |v| u64::from(bits(v)))
        }
        DataType::Float64 => {
            let bits = |v: &f64| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() };
            words(array.as_primitive::<Float64Type>().values(), bits)
        }
        DataType::Utf8View => {
            let array = array.as_string_view();
            views(array.views(), |i| array.value(i).as_bytes())
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            views(array.views(), |i| array.value(i))
        }
        DataType::Utf8 => array.as_string::<i32>().iter().map(|v| of_bytes(v.map(str::as_bytes))).collect(),
        DataType::LargeUtf8 => {
            array.as_string::<i64>().iter().map(|v| of_bytes(v.map(str::as_bytes))).collect()
        }
        DataType::Binary => array.as_binary::<i32>().iter().map(of_bytes).collect(),
        DataType::LargeBinary => array.as_binary::<i64>().iter().map(of_bytes).collect(),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().map(of_bytes).collect(),
        DataType::List(_) => list(array.as_list::<i32>())?,
        DataType::LargeList(_) => list(array.as_list::<i64>())?,
        DataType::FixedSizeList(_, size) => {
            let (array, size) = (array.as_fixed_size_list(), *size as usize);
            let items = hashes(array.values())?;
            (0..array.len()).map(|i| run(&items[i * size..(i + 1) * size])).collect()
        }
        DataType::Map(..) => {
            let array = array.as_map();
            let ends = array.value_offsets();
            let (first, last) = (ends[0] as usize, ends[array.len()] as usize);
            let entries: ArrayRef = Arc::new(array.entries().slice(first, last - first));
            runs(ends, &hashes(&entries)?)
        }
        DataType::Struct(_) => {
            let fields = array.as_struct().columns().iter().map(hashes).collect::<Result<Vec<_>>>()?;
            (0..array.len()).map(|i| fields.iter().fold(SPREAD, |all, field| joined(all, field[i]))).collect()
        }
        DataType::Dictionary(_, values) => hashes(&arrow_cast::cast(array, values)?)?,
        DataType::RunEndEncoded(_, values) => hashes(&arrow_cast::cast(array, values.data_type())?)?,
        _ => fixed(array)?,
    };
    // The buffer may hold any value under a NULL.
    if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        for (hash, valid) in out.iter_mut().zip(nulls.iter()) {
            if !valid {
                *hash = NULL;
            }
        }
    }
    Ok(out)
}

fn words<T>(values: &[T], word: impl Fn(&T) -> u64) -> Vec<u64> {
    values.iter().map(|value| hash_word(word(value))).collect()
}

fn of<T: ArrowNativeType>(data: &ArrayData, word: impl Fn(&T) -> u64) -> Vec<u64> {
    words(&data.buffer::<T>(0)[..data.len()], word)
}

/// Hashes integers, and types that are stored as integers, by their bits.
fn fixed(array: &ArrayRef) -> Result<Vec<u64>> {
    let data = array.to_data();
    match array.data_type().primitive_width() {
        Some(1) => Ok(of::<u8>(&data, |&v| u64::from(v))),
        Some(2) => Ok(of::<u16>(&data, |&v| u64::from(v))),
        Some(4) => Ok(of::<u32>(&data, |&v| u64::from(v))),
        Some(8) => Ok(of::<u64>(&data, |&v| v)),
        // Decimals and intervals are hashed by their bytes, because alignment differs.
        Some(width) => {
            let bytes = &data.buffers()[0].as_slice()[data.offset() * width..];
            Ok(bytes.chunks_exact(width).take(data.len()).map(hash_bytes).collect())
        }
        None => Err(Error::Unsupported(format!("to compare values of {}", array.data_type()))),
    }
}

fn views<'a>(views: &[u128], value: impl Fn(usize) -> &'a [u8]) -> Vec<u64> {
    let hash = |(i, &view): (usize, &u128)| match view as u32 {
        ..=12 => hash_view(view),
        _ => hash_bytes(value(i)),
    };
    views.iter().enumerate().map(hash).collect()
}

fn of_bytes(value: Option<&[u8]>) -> u64 {
    value.map_or(NULL, hash_bytes)
}

fn list<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Result<Vec<u64>> {
    Ok(runs(list.value_offsets(), &hashes(&list_values(list))?))
}

/// The hashes of lists with these offsets. `items` begins with the hashes of the first list.
fn runs<O: OffsetSizeTrait>(offsets: &[O], items: &[u64]) -> Vec<u64> {
    let place = |offset: O| offset.as_usize() - offsets[0].as_usize();
    offsets.windows(2).map(|ends| run(&items[place(ends[0])..place(ends[1])])).collect()
}

/// The hash of values one after another, and of their number.
fn run(items: &[u64]) -> u64 {
    items.iter().fold(hash_word(items.len() as u64), |all, &item| joined(all, item))
}

fn joined(before: u64, item: u64) -> u64 {
    hash_word(before.rotate_left(23).wrapping_add(item))
}

#[cfg(test)]
mod tests;
