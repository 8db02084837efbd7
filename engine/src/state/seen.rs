//! The rows that a recursion has given: each is given once.
//!
//! The rows lie in parts by their hash, so that the workers of a process add rows side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Schema};
use arrow_select::take::{take, take_record_batch};
use queries::plan::KeyLayout;

use super::group_keys::{GroupKeys, group_keys};
use super::hash::{comparable, hash_columns, normalise, worker_of};
use crate::context::memory::{self, Holder};
use crate::dataflow::batch::to_take_from;
use crate::error::Result;

/// The help of an error: how less is kept.
const FEWER_ROWS: &str = "have the recursion give fewer rows or columns: UNION keeps each row that was given";

/// So many parts for each worker, so that two of them seldom want the same one.
const PARTS: usize = 4;

/// Knows rows. Several threads may ask at once.
pub struct Seen {
    parts: Vec<Mutex<Part>>,
    label: String,
    holder: Arc<Holder>,
    bytes: AtomicUsize,
}

struct Part {
    keys: Box<dyn GroupKeys>,
    groups: Vec<usize>,
    bytes: usize,
}

impl Seen {
    /// Knows no rows of `schema` yet. `label` names it in errors.
    ///
    /// # Errors
    /// Rows of such columns can't be compared.
    pub fn new(layout: KeyLayout, schema: &Schema, workers: usize, label: String) -> Result<Seen> {
        let types: Vec<DataType> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let part = |_| {
            let keys = group_keys(layout, &types)?;
            Ok(Mutex::new(Part { keys, groups: Vec::new(), bytes: 0 }))
        };
        let count = if workers > 1 { workers * PARTS } else { 1 };
        let parts = (0..count).map(part).collect::<Result<_>>()?;
        let holder = Holder::new(label.clone(), FEWER_ROWS);
        Ok(Seen { parts, label, holder, bytes: AtomicUsize::new(0) })
    }

    /// The rows of a batch that are not known yet, in their order; from now on they are.
    ///
    /// # Errors
    /// The memory limit is reached.
    pub fn new_rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = batch.columns().iter().cloned().map(normalise).collect();
        let (rows, mut new) = (batch.num_rows(), Vec::new());
        if self.parts.len() == 1 {
            self.add(0, &columns, rows, |row| new.push(row as u32))?;
        } else {
            for (part, places) in self.scatter(&columns, rows)?.into_iter().enumerate() {
                if places.is_empty() {
                    continue;
                }
                let of_part = UInt32Array::from(places.clone());
                let columns: Vec<ArrayRef> =
                    columns.iter().map(|column| take(column, &of_part, None)).collect::<Result<_, _>>()?;
                self.add(part, &columns, places.len(), |row| new.push(places[row]))?;
            }
            new.sort_unstable();
        }
        if new.len() == rows {
            return Ok(batch.clone());
        }
        Ok(take_record_batch(&to_take_from(batch), &UInt32Array::from(new))?)
    }

    /// The rows of each part.
    fn scatter(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<Vec<u32>>> {
        let (mut places, mut hashes) = (vec![Vec::new(); self.parts.len()], Vec::new());
        let columns: Vec<ArrayRef> = columns.iter().cloned().map(comparable).collect();
        hash_columns(&columns, rows, &mut hashes)?;
        for (row, hash) in hashes.iter().enumerate() {
            places[worker_of(*hash, self.parts.len())].push(row as u32);
        }
        Ok(places)
    }

    /// Adds rows to a part. Gives the places of those that are new to `each`.
    fn add(&self, part: usize, columns: &[ArrayRef], rows: usize, mut each: impl FnMut(usize)) -> Result<()> {
        let mut part = self.parts[part].lock().expect("a panic with this lock ends the query");
        let Part { keys, groups, bytes } = &mut *part;
        memory::check(keys.growth(rows), || self.label.clone())?;
        let mut next = keys.len();
        keys.intern(columns, rows, groups)?;
        // A new row has the next number.
        for (row, group) in groups.iter().enumerate().take(rows) {
            if *group == next {
                next += 1;
                each(row);
            }
        }
        let now = keys.bytes();
        // A table of rows only grows.
        let more = now.saturating_sub(*bytes);
        *bytes = now;
        self.holder.keeps(self.bytes.fetch_add(more, Ordering::Relaxed) + more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn each_row_is_new_once() {
        let numbers: ArrayRef =
            Arc::new(Int64Array::from_iter((0..5000).map(|i| (i % 7 > 0).then_some(i % 1000))));
        let texts: ArrayRef =
            Arc::new(StringViewArray::from_iter((0..5000).map(|i| (i % 3 > 0).then_some("text"))));
        let floats: ArrayRef =
            Arc::new(Float64Array::from_iter_values((0..5000).map(|i| if i % 2 > 0 { 0.0 } else { -0.0 })));
        let all = RecordBatch::try_from_iter([("n", numbers), ("t", texts), ("f", floats)]).unwrap();
        let one = all.project(&[0]).unwrap();
        for workers in [1, 3] {
            for (batch, layout) in [(&all, KeyLayout::Rows), (&one, KeyLayout::Word)] {
                let seen = Seen::new(layout, &batch.schema(), workers, "rows".into()).unwrap();
                let first = seen.new_rows(&batch.slice(0, 2000)).unwrap().num_rows();
                let second = seen.new_rows(&batch.slice(1000, 4000)).unwrap().num_rows();

                assert_eq!(first + second, distinct_rows(batch));
                assert_eq!(seen.new_rows(batch).unwrap().num_rows(), 0);
                assert!(first > 900 && seen.bytes.load(Ordering::Relaxed) > 0);
            }
        }
    }

    /// How many different rows there are, by their text; zeros are equal whatever their sign.
    fn distinct_rows(batch: &RecordBatch) -> usize {
        let text = |row: usize| {
            let cell = |column: &ArrayRef| arrow_cast::display::array_value_to_string(column, row).unwrap();
            batch.columns().iter().map(cell).collect::<Vec<_>>().join(",").replace("-0.0", "0.0")
        };
        (0..batch.num_rows()).map(text).collect::<std::collections::BTreeSet<_>>().len()
    }
}
