//! Radix partitions of the final phase: once the groups no longer fit the cache, states are put aside by some bits of
//! the hash of their key and merged at the end, one partition at a time, in a table that does.
//!
//! Without them every state of a query with many groups is a cache miss or two, and the one large table is copied
//! whenever it grows (Manegold, Boncz, Kersten: Optimizing main-memory join on modern hardware, 2002, section 4).

use std::vec::IntoIter;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::super::slices;
use super::scatter::{PARTITIONS, SHARE, Scatter};
use crate::batch::{BATCH_ROWS, batch_bytes, compact};
use crate::error::Result;
use crate::hash::{comparable, hash_columns};
use crate::memory;
use crate::spill::{Spill, Spilled};

/// Rows that are partitioned together where values differ in length: some megabytes, which stay in the cache. Fewer if they
/// take more than one in [`SHARE`] bytes of the memory that may be used.
const CHUNK: usize = 1 << 16;
/// Slices of chunks that are together so long become a batch of their partition.
const WHOLE: usize = 1 << 11;
/// A partition with so many states is worth combining.
const RIPE: usize = 1 << 14;
/// The first partition is combined as soon as it has so many states, to see what combining gives.
const TRIAL: usize = 1 << 11;
/// A partition of fewer bytes is not put on disk: reading it back would be a seek for little.
const WORTH_A_SEEK: usize = 16 << 10;
/// Nor are fewer rows of all partitions.
const WORTH_A_SPLIT: usize = 1 << 14;
/// So many bytes are put on disk at once, if there are as many, so that the worker looks at the flags of the query.
const AT_ONCE: u64 = 16 << 20;

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
    /// What is left of the partition whose states are given: on disk, and in memory.
    taken: (IntoIter<Spilled>, IntoIter<RecordBatch>),
    combines: bool,
    ripe: Vec<usize>,
    disk: Disk,
}

/// What has become of putting partitions on disk.
enum Disk {
    NotNeeded,
    Used(Spill),
    /// It can't be done.
    Refused,
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
    /// Batches that are on disk.
    spilled: Vec<Spilled>,
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
            Part {
                pieces: Vec::new(),
                loose: 0,
                whole: Vec::new(),
                rows: 0,
                combined: 0,
                ripe_at,
                spilled: Vec::new(),
            }
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
            taken: Default::default(),
            combines: true,
            ripe: Vec::new(),
            disk: Disk::NotNeeded,
        }
    }

    /// Whether combining has not failed to halve the states yet.
    pub fn combines(&self) -> bool {
        self.combines
    }

    /// The bytes put aside, about. Slices of a chunk count as the chunk's part that they are.
    pub fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| bytes_of(&part.whole)).sum();
        let loose: usize = self.parts.iter().map(|part| part.loose).sum();
        let whole: usize = self.parts.iter().map(|part| part.rows).sum();
        let scattered = self.scatter.as_ref().map_or(0, Scatter::rows);
        // What is loose is told from the rows, because a slice's memory is that of its whole chunk.
        parts + bytes_of(&self.chunk) + (parts / whole.max(1)).max(16) * (loose + scattered)
    }

    /// Puts a batch aside.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.scatter.is_none() || !Scatter::fits(batch) {
            self.rows += batch.num_rows();
            self.chunk.push(batch.clone());
            let is_whole = self.rows >= CHUNK || bytes_of(&self.chunk) as u64 >= memory::limit() / SHARE;
            return if is_whole { self.split() } else { Ok(()) };
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
        memory::check(bytes_of(&self.chunk), || "aggregate".into())?;
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

    /// Puts the largest partitions on disk, some of them at a time; gives the bytes that were written, 0 where nothing is
    /// worth it or there is no disk. Called again and again while the memory is short.
    pub fn spill(&mut self) -> Result<u64> {
        if matches!(self.disk, Disk::NotNeeded) {
            self.disk = Spill::begin().map_or(Disk::Refused, Disk::Used);
        }
        // To split few rows again and again would make many small batches of them.
        let rows = self.rows + self.parts.iter().map(|part| part.rows + part.loose).sum::<usize>();
        if !matches!(self.disk, Disk::Used(_)) || rows < WORTH_A_SPLIT {
            return Ok(0);
        }
        self.split()?;
        let Disk::Used(spill) = &mut self.disk else { return Ok(0) };
        // The memory of chunks comes free only once no partition has a slice of them.
        let is_loose = self.parts.iter().any(|part| part.loose > 0);
        let (before, at_once) = (spill.bytes(), if is_loose { u64::MAX } else { AT_ONCE });
        while spill.bytes() - before < at_once
            && let Some((number, part)) =
                self.parts.iter_mut().enumerate().max_by_key(|(_, part)| part.rows + part.loose)
        {
            part.gather(&self.schema)?;
            if bytes_of(&part.whole) < WORTH_A_SEEK {
                break;
            }
            part.spilled.extend(spill.write(&part.whole)?);
            part.whole.clear();
            (part.rows, part.combined, part.ripe_at) = (0, 0, RIPE);
            self.ripe.retain(|ripe| *ripe != number);
        }
        if is_loose {
            self.parts.iter_mut().try_for_each(|part| part.gather(&self.schema))?;
        }
        Ok(spill.bytes() - before)
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

    /// The bytes on disk of the partition that comes next.
    pub fn on_disk(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.spilled.iter().map(Spilled::bytes).sum())
    }

    /// Goes on to the states of the next partition, which [`Partitions::batch`] gives; `false` once there is none.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(mut part) = self.parts.pop() else { return Ok(false) };
        part.gather(&self.schema)?;
        self.taken = (part.spilled.into_iter(), part.whole.into_iter());
        Ok(true)
    }

    /// The next states of this partition, in the order in which they came; `None` once all were given.
    pub fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let (spilled, whole) = &mut self.taken;
        match (spilled.next(), &mut self.disk) {
            (Some(spilled), Disk::Used(spill)) => spill.read(&spilled, &self.schema).map(Some),
            _ => Ok(whole.next()),
        }
    }
}

fn bytes_of(batches: &[RecordBatch]) -> usize {
    batches.iter().map(batch_bytes).sum()
}

/// Bits of the hash that neither the exchange (the uppermost ones) nor a table (the lowest) tells keys apart by.
fn partition(hash: u64) -> u8 {
    (hash >> 32) as u8
}

#[cfg(test)]
mod tests;
