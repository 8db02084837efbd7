//! Sort keys in a form that is compared quickly.
//!
//! - [`words`]: numbers, dates and times as integers.

pub mod words;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Schema, SchemaRef, SortOptions};
use arrow_select::interleave::interleave;
use queries::plan::SortKey;

use super::evaluate;
use crate::dataflow::batch::batch_of;
use crate::error::{Error, Result};
use crate::state::hash::{comparable, comparable_type};

/// The order of rows by some keys.
pub struct Order {
    keys: Vec<SortKey>,
    converter: RowConverter,
    /// Whether the prefix of a row holds all bytes of its keys.
    exact: bool,
}

/// The keys of a batch's rows. The keys of a row are bytes that compare like the values, and the first of these bytes
/// are also an integer, the prefix.
pub struct Keys {
    prefixes: Vec<u128>,
    /// `None` if the prefixes hold all bytes.
    rows: Option<Rows>,
}

/// The bytes of a row that its prefix holds. They are the upper 12 bytes of the 16, most significant first, with zeros
/// behind a shorter row. The lower four bytes are 0, and [`Sorter`] puts row numbers there.
const PREFIX: usize = 12;

impl Order {
    /// The order by `keys` of rows of `schema`.
    pub fn new(keys: Vec<SortKey>, schema: &Schema) -> Result<Order> {
        let types = keys.iter().map(|k| Ok(k.expr.data_type(schema)?)).collect::<Result<Vec<_>>>()?;
        let fields: Vec<SortField> =
            types.iter().zip(&keys).flat_map(|(t, k)| fields(t, k.options)).collect();
        if !RowConverter::supports_fields(&fields) {
            let names: Vec<String> = types.iter().map(ToString::to_string).collect();
            return Err(Error::Unsupported(format!("ORDER BY a value of type {}", names.join(", "))));
        }
        // A value of fixed width takes one more byte, which says whether it is NULL.
        let width = |t: &DataType| match t {
            DataType::Boolean => Some(2),
            other => other.primitive_width().map(|w| w + 1),
        };
        let exact = types.iter().map(width).sum::<Option<usize>>().is_some_and(|w| w <= PREFIX);
        Ok(Order { keys, converter: RowConverter::new(fields)?, exact })
    }

    /// The types of the columns by which rows of `schema` are sorted. `None` if an expression has none.
    pub fn types(&self, schema: &Schema) -> Option<Vec<DataType>> {
        self.keys.iter().map(|key| key.expr.data_type(schema).ok()).collect()
    }

    /// The columns by which a batch is sorted.
    pub fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.keys.iter().map(|key| evaluate(&key.expr, batch)).collect()
    }

    /// The order of each of these columns.
    pub fn options(&self) -> impl Iterator<Item = SortOptions> {
        self.keys.iter().map(|key| key.options)
    }

    /// The keys of a batch's rows.
    pub fn keys(&self, batch: &RecordBatch) -> Result<Keys> {
        self.keys_of(&self.columns(batch)?)
    }

    /// The keys of rows with these [`columns`](Self::columns).
    pub fn keys_of(&self, columns: &[ArrayRef]) -> Result<Keys> {
        if let [column] = columns
            && let Some(prefixes) = prefixes(column, self.keys[0].options)
        {
            return Ok(Keys { prefixes, rows: None });
        }
        let columns: Vec<ArrayRef> = columns.iter().cloned().flat_map(parts).collect();
        let rows = self.converter.convert_columns(&columns)?;
        let prefixes = rows.iter().map(|row| prefix(row.data())).collect();
        Ok(Keys { prefixes, rows: (!self.exact).then_some(rows) })
    }
}

/// The fields of a key. NULLS FIRST and NULLS LAST apply to whole values only, and a NULL within a value is greater
/// than all else. So a nested value has a field of its own that says whether it is NULL.
fn fields(t: &DataType, options: SortOptions) -> Vec<SortField> {
    let value = |options| SortField::new_with_options(comparable_type(t), options);
    if !t.is_nested() {
        return vec![value(options)];
    }
    let null = SortOptions { descending: options.nulls_first, nulls_first: false };
    let within = SortOptions { nulls_first: options.descending, ..options };
    vec![SortField::new_with_options(DataType::Boolean, null), value(within)]
}

/// The columns of the [`fields`] of a key.
fn parts(column: ArrayRef) -> Vec<ArrayRef> {
    if !column.data_type().is_nested() {
        return vec![comparable(column)];
    }
    let null = match column.nulls() {
        Some(nulls) => BooleanArray::new(!nulls.inner(), None),
        None => BooleanArray::new(BooleanBuffer::new_unset(column.len()), None),
    };
    vec![Arc::new(null), comparable(column)]
}

/// The prefixes of a column of numbers, dates or times. `None` for other types.
fn prefixes(column: &ArrayRef, options: SortOptions) -> Option<Vec<u128>> {
    struct Prefixes(SortOptions);
    impl words::Visitor for Prefixes {
        type Out = Vec<u128>;
        fn visit<T: ArrowPrimitiveType>(
            self,
            column: &PrimitiveArray<T>,
            word: impl Fn(T::Native) -> u64,
        ) -> Vec<u128> {
            let flip = if self.0.descending { u64::MAX } else { 0 };
            let null = if self.0.nulls_first { 0 } else { u128::from(u8::MAX) << 120 };
            let value = |v: T::Native| 1 << 120 | u128::from(word(v) ^ flip) << 56;
            match column.null_count() {
                0 => column.values().iter().map(|v| value(*v)).collect(),
                _ => column.iter().map(|v| v.map_or(null, value)).collect(),
            }
        }
    }
    words::visit(column, Prefixes(options))
}

fn prefix(row: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    match row.first_chunk::<PREFIX>() {
        Some(first) => bytes[..PREFIX].copy_from_slice(first),
        None => bytes[..row.len()].copy_from_slice(row),
    }
    u128::from_be_bytes(bytes)
}

impl Keys {
    /// The prefix of a row. Of two rows with different prefixes the one with the smaller prefix comes first.
    pub fn prefix(&self, row: usize) -> u128 {
        self.prefixes[row]
    }

    /// The prefixes of all rows.
    pub fn prefixes(&self) -> &[u128] {
        &self.prefixes
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.prefixes.len()
    }

    /// Compares a row with a row of other keys of the same order.
    pub fn compare(&self, row: usize, other: &Keys, other_row: usize) -> Ordering {
        self.prefixes[row].cmp(&other.prefixes[other_row]).then_with(|| match (&self.rows, &other.rows) {
            (Some(a), Some(b)) => a.row(row).cmp(&b.row(other_row)),
            _ => Ordering::Equal,
        })
    }

    /// Finds the first of `rows`, which are sorted, that comes after a row of other keys of the same order. `rows.end`
    /// if there is none.
    pub fn first_above(&self, rows: Range<usize>, other: &Keys, other_row: usize) -> usize {
        let above = |row: usize| self.compare(row, other, other_row).is_gt();
        let (mut from, mut to) = (rows.start, rows.end);
        while from < to {
            let middle = from.midpoint(to);
            (from, to) = if above(middle) { (from, middle) } else { (middle + 1, to) };
        }
        from
    }
}

/// Some rows of a batch.
pub struct Part<'a> {
    /// The keys of the batch's rows.
    pub keys: &'a Keys,
    /// The rows.
    pub rows: Range<usize>,
}

/// Sorts rows of several batches. The sorter uses its memory again.
#[derive(Default)]
pub struct Sorter {
    order: Vec<u128>,
    rows: Vec<(usize, usize)>,
    sorted: Vec<(usize, usize)>,
}

impl Sorter {
    /// Sorts rows of several parts, each of which is sorted. It is fast if the parts are long. Equal rows keep their
    /// places.
    pub fn merge(&mut self, parts: &[Part]) {
        self.number(parts);
        match parts.iter().any(|p| p.keys.rows.is_some()) {
            true => self.order.sort_by(whole(parts, &self.rows)),
            false => self.order.sort(),
        }
        self.finish();
    }

    /// Sorts rows, and keeps the first `fetch`. Equal rows keep their places.
    pub fn sort(&mut self, parts: &[Part], fetch: Option<usize>) {
        self.number(parts);
        if let Some(n) = fetch
            && n < self.order.len()
        {
            self.order.select_nth_unstable_by(n, whole(parts, &self.rows));
            self.order.truncate(n);
        }
        match parts.iter().any(|p| p.keys.rows.is_some()) {
            true => self.order.sort_unstable_by(whole(parts, &self.rows)),
            false => self.order.sort_unstable(),
        }
        self.finish();
    }

    /// The rows in their order, each as the number of its part and the row in its batch.
    pub fn sorted(&self) -> &[(usize, usize)] {
        &self.sorted
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.sorted.clear();
    }

    /// Collects the prefixes of all rows, each with the row's number in its lower 32 bits.
    fn number(&mut self, parts: &[Part]) {
        self.order.clear();
        self.rows.clear();
        for (i, part) in parts.iter().enumerate() {
            let prefixes = part.keys.prefixes[part.rows.clone()].iter();
            self.order
                .extend(prefixes.zip(self.rows.len() as u128..).map(|(prefix, number)| prefix | number));
            self.rows.extend(part.rows.clone().map(|row| (i, row)));
        }
        debug_assert!(self.rows.len() <= u32::MAX as usize, "a number has 32 bits");
    }

    fn finish(&mut self) {
        self.sorted.clear();
        self.sorted.extend(self.order.iter().map(|o| self.rows[*o as u32 as usize]));
    }
}

/// Compares numbered prefixes. Equal prefixes are compared by the whole keys of their rows, and then by their numbers.
fn whole<'a>(parts: &'a [Part], rows: &'a [(usize, usize)]) -> impl Fn(&u128, &u128) -> Ordering + 'a {
    move |x, y| {
        let row = |o: &u128| rows[*o as u32 as usize];
        let prefixes = (x >> 32).cmp(&(y >> 32));
        prefixes
            .then_with(|| {
                let ((a, i), (b, j)) = (row(x), row(y));
                parts[a].keys.compare(i, parts[b].keys, j)
            })
            .then(x.cmp(y))
    }
}

/// Gathers `rows` of `pieces` into one batch. Each row is the number of a piece and a row there.
pub fn gather(schema: &SchemaRef, pieces: &[&RecordBatch], rows: &[(usize, usize)]) -> Result<RecordBatch> {
    let column = |i: usize| {
        let columns: Vec<&dyn Array> = pieces.iter().map(|p| p.column(i).as_ref()).collect();
        Ok(interleave(&columns, rows)?)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_>>()?;
    batch_of(schema, columns, rows.len())
}
