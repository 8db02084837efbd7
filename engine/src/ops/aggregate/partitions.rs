//! Radix partitions of the final phase: once the groups no longer fit the cache, states are put aside by some bits of
//! the hash of their key and merged at the end, one partition at a time, in a table that does.
//!
//! Without them every state of a query with many groups is a cache miss or two, and the one large table is copied
//! whenever it grows (Manegold, Boncz, Kersten: Optimizing main-memory join on modern hardware, 2002, section 4).

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::super::slices;
use super::scatter::{PARTITIONS, Scatter};
use crate::batch::{BATCH_ROWS, batch_bytes, compact};
use crate::error::Result;
use crate::hash::{comparable, hash_columns};
use crate::memory;

/// Rows that are partitioned together where values differ in length: some megabytes, which stay in the cache.
const CHUNK: usize = 1 << 16;
/// Slices of chunks that are together so long become a batch of their partition.
const WHOLE: usize = 1 << 11;
/// A partition with so many states is worth combining.
const RIPE: usize = 1 << 14;
/// The first partition is combined as soon as it has so many states, to see what combining gives.
const TRIAL: usize = 1 << 11;

/// States put aside by the hash of their key.
pub struct Partitions {
    schema: SchemaRef,
    /// The first columns are keys, so many.
    keys: usize,
    /// Rows of fixed width.
    scatter: Option<Scatter>,
    hashes: Vec<u64>,
    numbers: Vec<u8>,
    /// Other rows.
    chunk: Vec<RecordBatch>,
    rows: usize,
    parts: Vec<Part>,
    combines: bool,
    ripe: Vec<usize>,
}

/// The states of one partition.
struct Part {
    /// Slices of chunks, together less than a batch.
    pieces: Vec<RecordBatch>,
    /// The rows of `pieces`.
    loose: usize,
    /// Batches whose memory is this partition's own, so that it is free once the partition is merged.
    whole: Vec<RecordBatch>,
    /// The rows of `whole`.
    rows: usize,
    /// The rows that combining has left of those before.
    combined: usize,
    /// So many rows are worth combining.
    ripe_at: usize,
}

impl Part {
    /// Adds a batch whose memory is its own.
    fn add(&mut self, states: RecordBatch) {
        self.rows += states.num_rows();
        self.whole.push(states);
    }

    /// Whether it has become ripe since it was asked.
    fn take_ripe(&mut self) -> bool {
        let ripe = self.rows >= self.ripe_at;
        if ripe {
            self.ripe_at = usize::MAX;
        }
        ripe
    }

    /// Makes one batch of the pieces.
    fn gather(&mut self, schema: &SchemaRef) -> Result<()> {
        if self.loose > 0 {
            let states = compact(&concat_batches(schema, &self.pieces)?);
            self.pieces.clear();
            self.loose = 0;
            self.add(states);
        }
        Ok(())
    }
}

impl Partitions {
    /// For batches of `schema`, the first `keys` columns of which are the keys.
    pub fn new(schema: SchemaRef, keys: usize) -> Partitions {
        let part = |number| {
            // Not all at once, so that never all of them have many.
            let ripe_at = if number == 0 { TRIAL } else { RIPE / 4 + 3 * RIPE / 4 * number / PARTITIONS };
            Part { pieces: Vec::new(), loose: 0, whole: Vec::new(), rows: 0, combined: 0, ripe_at }
        };
        Partitions {
            scatter: Scatter::new(&schema),
            schema,
            keys,
            hashes: Vec::new(),
            numbers: Vec::new(),
            chunk: Vec::new(),
            rows: 0,
            parts: (0..PARTITIONS).map(part).collect(),
            combines: true,
            ripe: Vec::new(),
        }
    }

    /// Whether combining has not failed to halve the states yet.
    pub fn combines(&self) -> bool {
        self.combines
    }

    /// The bytes put aside, about. Slices of a chunk count as the chunk's part that they are.
    pub fn bytes(&self) -> usize {
        let of = |batches: &[RecordBatch]| batches.iter().map(batch_bytes).sum::<usize>();
        let parts: usize = self.parts.iter().map(|part| of(&part.whole)).sum();
        let loose: usize = self.parts.iter().map(|part| part.loose).sum();
        let whole: usize = self.parts.iter().map(|part| part.rows).sum();
        let scattered = self.scatter.as_ref().map_or(0, Scatter::rows);
        // What is loose is told from the rows, because a slice's memory is that of its whole chunk.
        parts + of(&self.chunk) + (parts / whole.max(1)).max(16) * (loose + scattered)
    }

    /// Puts a batch aside.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.scatter.is_none() || !Scatter::fits(batch) {
            self.rows += batch.num_rows();
            self.chunk.push(batch.clone());
            return if self.rows >= CHUNK { self.split() } else { Ok(()) };
        }
        memory::check(batch_bytes(batch), || "aggregate".into())?;
        self.hash(batch)?;
        self.numbers.clear();
        self.numbers.extend(self.hashes.iter().map(|hash| partition(*hash)));
        let Some(scatter) = &mut self.scatter else { return Ok(()) };
        scatter.add(batch, &self.numbers);
        for number in scatter.full() {
            if let Some(states) = scatter.take(number, false)? {
                self.parts[number].add(states);
                if self.combines && self.parts[number].take_ripe() {
                    self.ripe.push(number);
                }
            }
        }
        Ok(())
    }

    /// Hashes the keys of a batch.
    fn hash(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns: Vec<ArrayRef> = batch.columns()[..self.keys].iter().cloned().map(comparable).collect();
        hash_columns(&columns, batch.num_rows(), &mut self.hashes)
    }

    /// Splits what was added since the last time.
    fn split(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        memory::check(self.chunk.iter().map(batch_bytes).sum(), || "aggregate".into())?;
        let all = concat_batches(&self.schema, &self.chunk)?;
        self.chunk.clear();
        self.rows = 0;
        self.hash(&all)?;
        // A counting sort of the rows by partition.
        let mut starts = [0_u32; PARTITIONS + 1];
        self.hashes.iter().for_each(|h| starts[usize::from(partition(*h)) + 1] += 1);
        for i in 0..PARTITIONS {
            starts[i + 1] += starts[i];
        }
        let mut next = starts;
        let mut order = vec![0_u32; self.hashes.len()];
        for (row, hash) in self.hashes.iter().enumerate() {
            let place = &mut next[usize::from(partition(*hash))];
            order[*place as usize] = row as u32;
            *place += 1;
        }
        let sorted = compact(&take_record_batch(&all, &UInt32Array::from(order))?);
        for (number, (part, bounds)) in self.parts.iter_mut().zip(starts.windows(2)).enumerate() {
            let (from, to) = (bounds[0] as usize, bounds[1] as usize);
            if from == to {
                continue;
            }
            part.pieces.push(sorted.slice(from, to - from));
            part.loose += to - from;
            if part.loose >= WHOLE {
                part.gather(&self.schema)?;
                if self.combines && part.take_ripe() {
                    self.ripe.push(number);
                }
            }
        }
        Ok(())
    }

    /// A partition that is worth combining, with its states so far; what is made of them is put [`Partitions::back`].
    pub fn ripe(&mut self) -> Option<(usize, Vec<RecordBatch>)> {
        let number = self.ripe.pop()?;
        Some((number, std::mem::take(&mut self.parts[number].whole)))
    }

    /// Puts the combined states of a ripe partition back. Where more than half of those that had come since the last
    /// time are left, the keys differ: then none is combined any more before the end.
    pub fn back(&mut self, number: usize, states: RecordBatch) {
        let (part, rows) = (&mut self.parts[number], states.num_rows());
        if (rows - part.combined) > (part.rows - part.combined) / 2 {
            self.combines = false;
            self.ripe.clear();
        }
        part.whole = slices(states, BATCH_ROWS).map(|b| compact(&b)).collect();
        part.rows = rows;
        part.combined = rows;
        part.ripe_at = RIPE.max(2 * rows);
    }

    /// No more are added.
    pub fn end(&mut self) -> Result<()> {
        if let Some(scatter) = &mut self.scatter {
            for (number, part) in self.parts.iter_mut().enumerate() {
                scatter.take(number, true)?.into_iter().for_each(|states| part.add(states));
            }
        }
        self.split()
    }

    /// The states of the next partition; `None` once all were given.
    pub fn take(&mut self) -> Result<Option<Vec<RecordBatch>>> {
        let Some(mut part) = self.parts.pop() else { return Ok(None) };
        part.gather(&self.schema)?;
        Ok(Some(part.whole))
    }
}

/// Bits of the hash that neither the exchange (the uppermost ones) nor a table (the lowest) tells keys apart by.
fn partition(hash: u64) -> u8 {
    (hash >> 32) as u8
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use arrow_array::UInt64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;

    use super::*;

    /// States of 24 bytes.
    fn batch(keys: impl IntoIterator<Item = u64>) -> RecordBatch {
        let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(keys));
        RecordBatch::try_from_iter([("key", keys.clone()), ("sum", keys.clone()), ("count", keys)]).unwrap()
    }

    fn keys(batches: &[RecordBatch]) -> impl Iterator<Item = u64> {
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().iter().copied())
    }

    #[test]
    fn what_is_put_aside_is_combined_on_the_way_and_not_all_at_once() {
        let (groups, rows) = (500 * PARTITIONS as u64, 16_000 * PARTITIONS as u64);
        let all = (0..rows).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) % groups).collect::<Vec<_>>();
        let mut partitions = Partitions::new(batch([]).schema(), 1);
        let mut most = 0;
        for some in all.chunks(BATCH_ROWS) {
            partitions.add(&batch(some.iter().copied())).unwrap();
            most = most.max(partitions.bytes());
            while let Some((part, states)) = partitions.ripe() {
                partitions.back(part, batch(keys(&states).collect::<HashSet<_>>()));
            }
        }
        assert!(partitions.combines());
        assert!(most < all.len() * 24 * 3 / 4, "{most} bytes at most, of {} rows", all.len());
        partitions.end().unwrap();
        let mut found = HashSet::new();
        while let Some(states) = partitions.take().unwrap() {
            found.extend(keys(&states));
        }
        assert_eq!(found, all.into_iter().collect());
    }

    #[test]
    fn combining_is_judged_by_the_states_that_are_new() {
        let mut partitions = Partitions::new(batch([]).schema(), 1);
        let mut come = |rows: usize, left: u64| {
            partitions.parts[7].add(batch(0..rows as u64));
            assert!(partitions.parts[7].take_ripe(), "{rows} more are worth combining");
            partitions.back(7, batch(0..left));
            partitions.combines()
        };
        assert!(come(RIPE, 7800));
        // More than half of what lies there, but not of what came.
        assert!(come(RIPE, 14_000));
        assert!(!come(RIPE, 26_000));
    }
}
