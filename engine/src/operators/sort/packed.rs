//! The keys of many rows as integers of as few bits as their values take.
//!
//! A key of the values 1,000 to 1,999 takes 10 bits, whatever its type. Of a text the rank among all texts of its column
//! counts. All keys of a row and the row's place stand in one integer of 128 bits, most significant first:
//!
//! ```text
//! zeros │ first key │ second key │ … │ place (32 bits)
//! ```
//!
//! Such integers are ordered as the rows are, and equal rows by their places. So a sort compares integers, and looks at
//! no row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, UInt32Array};
use arrow_cast::cast;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::{DataType, SortOptions};
use queries::plan::KeyLayout;

use crate::error::Result;
use crate::operators::order::words::{self, Visitor};
use crate::state::group_keys::{GroupKeys, group_keys};

/// The bits of a place.
pub const PLACE: u32 = 32;

/// With more different texts in a column than this, to rank them takes too long.
const MOST_TEXTS: usize = 1 << 17;

/// The texts of a column are numbered as long as there are so many rows for each text. Before, so many rows have to
/// come.
const ROWS_A_TEXT: (usize, usize) = (4, 1 << 16);

/// What is known of the keys of the rows that have come.
pub struct Keys {
    keys: Vec<Key>,
    rows: usize,
    groups: Vec<usize>,
}

enum Key {
    Words(Bounds),
    /// Numbers texts, and NULL, as they come.
    Texts(Box<dyn GroupKeys>),
}

impl Keys {
    /// For keys of these types. `None` if they can't be packed.
    pub fn new(types: &[DataType]) -> Option<Keys> {
        let key = |t: &DataType| match t {
            DataType::Utf8View => group_keys(KeyLayout::View, std::slice::from_ref(t)).ok().map(Key::Texts),
            t => (*t == DataType::Boolean || words::are_of(t)).then(|| Key::Words(Bounds::default())),
        };
        let keys = types.iter().map(key).collect::<Option<_>>()?;
        Some(Keys { keys, rows: 0, groups: Vec::new() })
    }

    /// Takes the keys of more rows into account. Gives the columns that are packed later: texts as their numbers.
    /// `None` if there are too many texts.
    ///
    /// # Errors
    /// None for columns of the types that `new` was given.
    pub fn add(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Option<Vec<ArrayRef>>> {
        self.rows += rows;
        let mut packable = Vec::with_capacity(columns.len());
        for (key, column) in self.keys.iter_mut().zip(columns) {
            packable.push(match key {
                Key::Words(bounds) => {
                    let is_truth = *column.data_type() == DataType::Boolean;
                    let column = if is_truth { cast(column, &DataType::UInt8)? } else { column.clone() };
                    bounds.add(&column);
                    column
                }
                Key::Texts(texts) => {
                    texts.intern(std::slice::from_ref(column), rows, &mut self.groups)?;
                    let (each, after) = ROWS_A_TEXT;
                    if texts.len() > MOST_TEXTS || (self.rows > after && texts.len() > self.rows / each) {
                        return Ok(None);
                    }
                    Arc::new(self.groups.iter().map(|group| *group as u32).collect::<UInt32Array>())
                }
            });
        }
        Ok(Some(packable))
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        let of = |key: &Key| if let Key::Texts(texts) = key { texts.bytes() } else { 0 };
        self.keys.iter().map(of).sum()
    }

    /// How the keys are packed in these orders. `None` if they take more bits than there are.
    ///
    /// # Errors
    /// None for the types that `new` was given.
    pub fn packing(self, options: impl Iterator<Item = SortOptions>) -> Result<Option<Packing>> {
        let mut fields = Vec::with_capacity(self.keys.len());
        for (key, options) in self.keys.into_iter().zip(options) {
            fields.push(match key {
                Key::Words(bounds) => Field { bounds, options, ranks: None, shift: 0 },
                Key::Texts(mut texts) => {
                    let texts = texts.take()?.swap_remove(0);
                    let mut ranks = vec![0; texts.len()];
                    let sorted = sort_to_indices(&texts, Some(options), None)?;
                    (0..).zip(sorted.values()).for_each(|(rank, text)| ranks[*text as usize] = rank);
                    let greatest = texts.len().saturating_sub(1) as u64;
                    let bounds = Bounds { least: 0, greatest, has_nulls: false };
                    Field { bounds, options: SortOptions::default(), ranks: Some(ranks), shift: 0 }
                }
            });
        }
        let bits: u32 = fields.iter().map(|field| field.bounds.bits()).sum();
        if bits > u128::BITS - PLACE {
            return Ok(None);
        }
        let mut shift = bits + PLACE;
        for field in &mut fields {
            shift -= field.bounds.bits();
            field.shift = shift;
        }
        Ok(Some(Packing { fields, bits }))
    }
}

/// The least and the greatest word of a key, and whether it has NULLs.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: u64,
    greatest: u64,
    has_nulls: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { least: u64::MAX, greatest: 0, has_nulls: false }
    }
}

impl Bounds {
    /// Takes the values of a column into account.
    fn add(&mut self, column: &ArrayRef) {
        struct Widen<'a>(&'a mut Bounds);
        impl Visitor for Widen<'_> {
            type Out = ();
            fn visit<T: ArrowPrimitiveType>(
                self,
                column: &PrimitiveArray<T>,
                word: impl Fn(T::Native) -> u64,
            ) {
                let (mut least, mut greatest) = (self.0.least, self.0.greatest);
                let mut add = |v: T::Native| {
                    let word = word(v);
                    (least, greatest) = (least.min(word), greatest.max(word));
                };
                match column.null_count() {
                    0 => column.values().iter().for_each(|v| add(*v)),
                    _ => column.iter().flatten().for_each(add),
                }
                let has_nulls = self.0.has_nulls || column.null_count() > 0;
                *self.0 = Bounds { least, greatest, has_nulls };
            }
        }
        words::visit(column, Widen(self));
    }

    /// How many values there may be between the bounds, besides NULL, less one.
    fn span(&self) -> u64 {
        self.greatest.saturating_sub(self.least)
    }

    /// The bits that a key takes.
    fn bits(&self) -> u32 {
        let greatest = u128::from(self.span()) + u128::from(self.has_nulls);
        u128::BITS - greatest.leading_zeros()
    }
}

/// How one key is packed.
#[derive(Debug)]
struct Field {
    bounds: Bounds,
    options: SortOptions,
    /// By the number of a text, its rank in the order of the key.
    ranks: Option<Vec<u32>>,
    /// The number of bits behind the key.
    shift: u32,
}

/// How the keys of rows are packed.
#[derive(Debug)]
pub struct Packing {
    fields: Vec<Field>,
    bits: u32,
}

impl Packing {
    /// The bits of all keys, without the place.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Packs rows whose columns [`Keys::add`] gave. `place` is that of the first row; the others follow.
    pub fn pack(&self, columns: &[ArrayRef], place: u32, rows: usize, packed: &mut Vec<u128>) {
        packed.clear();
        packed.extend((u128::from(place)..).take(rows));
        for (field, column) in self.fields.iter().zip(columns) {
            match &field.ranks {
                None => {
                    words::visit(column, Put { field, packed });
                }
                Some(ranks) => {
                    let numbers = column.as_primitive::<UInt32Type>().values();
                    let pairs = packed.iter_mut().zip(numbers);
                    pairs.for_each(|(packed, text)| {
                        *packed |= u128::from(ranks[*text as usize]) << field.shift;
                    });
                }
            }
        }
    }
}

/// Puts a key into the integers of its rows.
struct Put<'a> {
    field: &'a Field,
    packed: &'a mut [u128],
}

impl Visitor for Put<'_> {
    type Out = ();

    fn visit<T: ArrowPrimitiveType>(self, column: &PrimitiveArray<T>, word: impl Fn(T::Native) -> u64) {
        let Field { bounds, options, shift, .. } = *self.field;
        // NULL is below all values, or above them.
        let (first, null) = match bounds.has_nulls {
            true if options.nulls_first => (1_u128, 0_u128),
            _ => (0, u128::from(bounds.span()) + 1),
        };
        let value = |v: T::Native| {
            let word = word(v);
            let above = if options.descending { bounds.greatest - word } else { word - bounds.least };
            (u128::from(above) + first) << shift
        };
        match column.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => {
                let pairs = self.packed.iter_mut().zip(column.values());
                pairs.for_each(|(packed, v)| *packed |= value(*v));
            }
            Some(_) => {
                let pairs = self.packed.iter_mut().zip(column.iter());
                pairs.for_each(|(packed, v)| *packed |= v.map_or(null << shift, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, Float64Array, Int64Array, StringViewArray, UInt64Array};

    use super::*;

    fn packing(columns: &[ArrayRef], options: &[SortOptions]) -> (Option<Packing>, Vec<ArrayRef>) {
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let mut keys = Keys::new(&types).expect("the types can be packed");
        let packable = keys.add(columns, columns[0].len()).unwrap().expect("there are few texts");
        (keys.packing(options.iter().copied()).unwrap(), packable)
    }

    /// The places of rows in their order.
    fn places(columns: &[ArrayRef], options: &[SortOptions]) -> Vec<u32> {
        let (packing, columns) = packing(columns, options);
        let mut packed = Vec::new();
        packing.expect("they fit").pack(&columns, 0, columns[0].len(), &mut packed);
        packed.sort_unstable();
        packed.iter().map(|row| *row as u32).collect()
    }

    #[test]
    fn integers_are_ordered_as_the_rows_are() {
        let truths = [Some(true), None, Some(false), Some(true), None, Some(false)];
        let texts = truths.map(|truth| truth.map(|truth| if truth { "a text that is longer" } else { "a" }));
        let truths: ArrayRef = Arc::new(BooleanArray::from_iter(truths));
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter(texts));
        let numbers: ArrayRef =
            Arc::new(Int64Array::from(vec![None, Some(3), Some(-9), Some(1), None, Some(4)]));
        let options = |descending, nulls_first| SortOptions { descending, nulls_first };
        for first in [truths, texts] {
            let both = [first, numbers.clone()];
            for (options, expected) in [
                (options(false, false), [2, 5, 3, 0, 1, 4]),
                (options(false, true), [4, 1, 2, 5, 0, 3]),
                (options(true, false), [3, 0, 5, 2, 1, 4]),
                (options(true, true), [4, 1, 0, 3, 5, 2]),
            ] {
                assert_eq!(places(&both, &[options; 2]), expected, "{options:?}");
            }
        }
    }

    #[test]
    fn floats_are_ordered_by_value() {
        let floats = [f64::NAN, 1.5, -0.0, f64::NEG_INFINITY, 0.0, -2.0, f64::INFINITY, -f64::NAN];
        let column: ArrayRef = Arc::new(Float64Array::from(floats.to_vec()));
        assert_eq!(places(&[column], &[SortOptions::default()]), [3, 5, 2, 4, 1, 6, 0, 7]);
    }

    #[test]
    fn a_key_takes_the_bits_of_its_values() {
        let column = |values: Vec<Option<u64>>| -> ArrayRef { Arc::new(UInt64Array::from(values)) };
        let bits = |columns: &[ArrayRef]| {
            packing(columns, &vec![SortOptions::default(); columns.len()]).0.map(|packing| packing.bits())
        };
        let far = column(vec![Some(0), Some(u64::MAX)]);
        assert_eq!(bits(&[column(vec![Some(1000), Some(1999)])]), Some(10));
        assert_eq!(bits(&[column(vec![Some(7)])]), Some(0));
        assert_eq!(bits(&[column(vec![Some(7), None])]), Some(1));
        assert_eq!(bits(&[column(vec![None])]), Some(1));
        assert_eq!(bits(&[column(vec![Some(0), Some(255), None])]), Some(9));
        assert_eq!(bits(&[far.clone(), column(vec![Some(0), Some(u64::from(u32::MAX))])]), Some(96));
        assert_eq!(bits(&[far.clone(), far]), None);
        let texts = (0..300).map(|i| (i > 0).then(|| (i % 5).to_string()));
        assert_eq!(bits(&[Arc::new(texts.collect::<StringViewArray>())]), Some(3));
    }

    #[test]
    fn texts_that_hardly_repeat_are_left() {
        let mut keys = Keys::new(&[DataType::Utf8View]).unwrap();
        let mut add = |from: usize, rows: usize, different: usize| {
            let texts = (from..from + rows).map(|i| Some((i % different).to_string()));
            let texts: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
            keys.add(&[texts], rows).unwrap().is_some()
        };
        assert!(add(0, 60_000, usize::MAX), "too few rows have come to tell");
        assert!(!add(60_000, 60_000, usize::MAX));
    }
}
