//! Sorts many rows at once, by their packed keys.
//!
//! The rows stay where they are. An integer a row, its [packed](super::packed) key and place, is put in order. A first
//! pass counts rows by the upper bits of their keys. A second pass writes each integer to the range of its upper bits
//! (a radix sort from the most significant digit). A range is sorted when its first row is given.
//!
//! That takes a pass over the rows less than a merge sort of runs, and random reads of memory where the runs would be
//! read and written in order. 16 bytes a row are needed beside the rows.

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};

use super::columns::{Columns, first_place};
use super::packed::{PLACE, Packing};
use crate::dataflow::batch::BATCH_ROWS;
use crate::error::Result;

/// A range of at most so many rows is sorted by comparing them: it lies in the processor's cache.
const SMALL: usize = 1 << 16;

/// The ranges of the first pass have about so many rows.
const RANGE: usize = 1 << 13;

/// Rows are told apart by at most so many bits in one pass. With more ranges, writes to them would miss the cache of
/// addresses.
const DIGIT: u32 = 10;

/// The batches that are counted, or placed, in one step: half a million rows.
const STEP: usize = 64;

/// The key columns of a batch, and its number of rows.
type KeyColumns = (Vec<ArrayRef>, usize);

/// Many rows that are sorted at once.
pub struct PackedRun {
    columns: Columns,
    /// By batch; empty once all rows are placed.
    keys: Vec<KeyColumns>,
    packing: Packing,
    step: Step,
    /// The number of rows by the upper bits of their keys, then the place of the next one in `order`.
    counts: Vec<usize>,
    /// The bits of an integer below the upper ones.
    shift: u32,
    /// The integers of the rows.
    order: Vec<u128>,
    /// Ranges that are not sorted yet, the last one first.
    unsorted: Vec<Range<usize>>,
    /// How many of the integers are in order.
    sorted: usize,
    given: usize,
    /// The rows that are wanted.
    wanted: usize,
    buffer: Vec<u128>,
}

/// What is done next.
enum Step {
    /// The rows from this batch on are counted.
    Count(usize),
    /// The rows from this batch on are placed.
    Place(usize),
    Give,
}

impl PackedRun {
    /// Sorts batches with these key columns, and gives the first `fetch` rows.
    pub fn new(
        batches: Vec<RecordBatch>,
        keys: Vec<Vec<ArrayRef>>,
        packing: Packing,
        fetch: Option<usize>,
    ) -> Self {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let digit = (rows / RANGE).max(1).ilog2().min(DIGIT).min(packing.bits());
        let shift = PLACE + packing.bits() - digit;
        let schema = batches[0].schema();
        let keys = keys.into_iter().zip(&batches).map(|(keys, batch)| (keys, batch.num_rows())).collect();
        PackedRun {
            columns: Columns::new(schema, &batches),
            keys,
            packing,
            step: Step::Count(0),
            counts: vec![0; 1 << digit],
            shift,
            order: Vec::new(),
            unsorted: Vec::new(),
            sorted: 0,
            given: 0,
            wanted: fetch.unwrap_or(rows).min(rows),
            buffer: Vec::new(),
        }
    }

    /// The bytes that its integers take.
    pub fn bytes(&self) -> usize {
        (self.order.capacity() + self.buffer.capacity()) * size_of::<u128>()
    }

    /// Whether all wanted rows were given.
    pub fn is_done(&self) -> bool {
        matches!(self.step, Step::Give) && self.given == self.wanted
    }

    /// Does the next step. Gives rows if it was one that gives some.
    ///
    /// # Errors
    /// Texts of more bytes together than a column can have.
    pub fn step(&mut self) -> Result<Option<RecordBatch>> {
        match self.step {
            Step::Count(from) => {
                let batches = from..self.keys.len().min(from + STEP);
                self.each_batch(batches.clone(), |run, packed| {
                    packed.iter().for_each(|row| run.counts[upper(*row, run.shift)] += 1);
                });
                self.step = match batches.end == self.keys.len() {
                    true => {
                        self.lay_out();
                        Step::Place(0)
                    }
                    false => Step::Count(batches.end),
                };
                Ok(None)
            }
            Step::Place(from) => {
                let batches = from..self.keys.len().min(from + STEP);
                self.each_batch(batches.clone(), |run, packed| {
                    for row in packed {
                        let next = &mut run.counts[upper(*row, run.shift)];
                        run.order[*next] = *row;
                        *next += 1;
                    }
                });
                self.step = Step::Place(batches.end);
                if batches.end == self.keys.len() {
                    self.keys = Vec::new();
                    self.step = Step::Give;
                }
                Ok(None)
            }
            Step::Give => self.give().map(Some),
        }
    }

    /// Calls `with` with the integers of each of these batches.
    fn each_batch(&mut self, batches: Range<usize>, with: impl Fn(&mut Self, &[u128])) {
        let mut packed = std::mem::take(&mut self.buffer);
        for batch in batches {
            let (columns, rows) = &self.keys[batch];
            self.packing.pack(columns, first_place(batch), *rows, &mut packed);
            with(self, &packed);
        }
        self.buffer = packed;
    }

    /// Makes a range for each value of the upper bits.
    fn lay_out(&mut self) {
        let mut end = 0;
        for count in &mut self.counts {
            let start = end;
            end += *count;
            *count = start;
            if start < end {
                self.unsorted.push(start..end);
            }
        }
        self.unsorted.reverse();
        self.order = vec![0; end];
    }

    /// The next rows.
    fn give(&mut self) -> Result<RecordBatch> {
        let until = self.wanted.min(self.given + BATCH_ROWS);
        while self.sorted < until
            && let Some(range) = self.unsorted.pop()
        {
            match range.len() <= SMALL {
                true => {
                    self.order[range.clone()].sort_unstable();
                    self.sorted = range.end;
                }
                false => self.divide(range),
            }
        }
        let places: Vec<u32> = self.order[self.given..until].iter().map(|row| *row as u32).collect();
        self.given = until;
        self.columns.take(&places)
    }

    /// Makes smaller ranges of a large one, by the uppermost bits in which its keys differ.
    fn divide(&mut self, range: Range<usize>) {
        let rows = &mut self.order[range.clone()];
        let first = rows.first().copied().unwrap_or_default();
        let differing = rows.iter().fold(0, |bits, row| bits | (row ^ first)) >> PLACE;
        if differing == 0 {
            // Equal keys are in the order of their places: that is how they were written.
            self.sorted = range.end;
            return;
        }
        let top = u128::BITS - differing.leading_zeros();
        let digit = top.min(DIGIT);
        let shift = PLACE + top - digit;
        let mask = (1 << digit) - 1;
        let mut nexts = vec![0; 1 << digit];
        rows.iter().for_each(|row| nexts[upper(*row, shift) & mask] += 1);
        let mut end = 0;
        let above = self.unsorted.len();
        for next in &mut nexts {
            let start = end;
            end += *next;
            *next = start;
            if start < end {
                self.unsorted.push(range.start + start..range.start + end);
            }
        }
        self.unsorted[above..].reverse();
        self.buffer.clear();
        self.buffer.resize(rows.len(), 0);
        for row in &*rows {
            let next = &mut nexts[upper(*row, shift) & mask];
            self.buffer[*next] = *row;
            *next += 1;
        }
        rows.copy_from_slice(&self.buffer);
    }
}

/// The bits of an integer above `shift`.
fn upper(row: u128, shift: u32) -> usize {
    // No bits are left where the keys take all of them, and there is one range.
    row.checked_shr(shift).unwrap_or_default() as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, UInt64Type};
    use arrow_array::{Int64Array, StringViewArray, UInt64Array};
    use arrow_schema::{DataType, SortOptions};

    use super::super::packed::Keys;
    use super::*;

    /// Sorts rows by two keys. A row is its keys, and its text has its number.
    fn sorted(
        rows: &[(Option<i64>, u64)],
        batch: usize,
        options: [SortOptions; 2],
        fetch: Option<usize>,
    ) -> Vec<usize> {
        let mut known = Keys::new(&[DataType::Int64, DataType::UInt64]).unwrap();
        let (mut batches, mut keys) = (Vec::new(), Vec::new());
        for (number, rows) in rows.chunks(batch).enumerate() {
            let first: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
            let second: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<UInt64Array>());
            let texts =
                (0..rows.len()).map(|row| format!("the row with the number {}", number * batch + row));
            let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
            let key = known.add(&[first.clone(), second.clone()], rows.len()).unwrap();
            let columns = [("a", first, true), ("b", second, true), ("t", texts, true)];
            batches.push(RecordBatch::try_from_iter_with_nullable(columns).unwrap());
            keys.push(key.expect("there are no texts"));
        }
        let packing = known.packing(options.into_iter()).unwrap().expect("they fit");
        let mut run = PackedRun::new(batches, keys, packing, fetch);
        let mut numbers = Vec::new();
        while !run.is_done() {
            let Some(given) = run.step().unwrap() else { continue };
            assert!((1..=BATCH_ROWS).contains(&given.num_rows()));
            let (first, second) =
                (given.column(0).as_primitive::<Int64Type>(), given.column(1).as_primitive::<UInt64Type>());
            for (row, text) in given.column(2).as_string_view().iter().flatten().enumerate() {
                let number: usize = text.rsplit(' ').next().unwrap().parse().unwrap();
                assert_eq!((first.iter().nth(row).unwrap(), second.value(row)), rows[number]);
                numbers.push(number);
            }
        }
        numbers
    }

    #[test]
    fn rows_come_in_their_order_and_equal_ones_as_they_came() {
        let mut next = 1_u64;
        let mut random = move |values: u64| {
            next = next * 48_271 % 2_147_483_647;
            next % values
        };
        for (count, first, second) in
            [(1, 1, 1), (3000, 10, 5), (200_000, 3, 1 << 30), (200_000, 1, 2), (90_000, 1, 1)]
        {
            let rows: Vec<(Option<i64>, u64)> = (0..count)
                .map(|_| (Some(random(first) as i64 - 5).filter(|v| *v > -5 || first < 3), random(second)))
                .collect();
            for (descending, nulls_first, fetch) in
                [(false, false, None), (true, true, Some(500)), (false, true, None)]
            {
                let options = SortOptions { descending, nulls_first };
                let mut expected: Vec<usize> = (0..count).collect();
                let key = |row: &usize| {
                    let (a, b) = rows[*row];
                    let sign = if descending { -1 } else { 1 };
                    let null = if nulls_first { i64::MIN } else { i64::MAX };
                    (a.map_or(null, |a| a * sign), sign * b as i64)
                };
                expected.sort_by_key(key);
                expected.truncate(fetch.unwrap_or(count));
                let found = sorted(&rows, 700, [options; 2], fetch);
                assert_eq!(found, expected, "{count} rows of {first} and {second} values, {options:?}");
            }
        }
    }

    #[test]
    fn far_values_leave_no_range_too_large() {
        // All but one row have the same upper bits.
        let mut rows: Vec<(Option<i64>, u64)> = (0..150_000).map(|i| (Some(i * 7919 % 150_000), 0)).collect();
        rows[77].0 = Some(i64::MAX);
        let found = sorted(&rows, BATCH_ROWS, [SortOptions::default(); 2], None);
        let keys: Vec<_> = found.iter().map(|number| rows[*number].0).collect();
        assert!(keys.is_sorted() && found.len() == rows.len());
    }
}
