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
use super::radix_partitioner::{PARTITIONS, RadixPartitioner, SHARE};
use crate::context::memory;
use crate::dataflow::batch::{batch_bytes, compact, copied, to_take_from};
use crate::error::Result;
use crate::state::hash::{comparable, hash_columns};
use crate::state::spill::{Spill, Spilled};

/// Rows that are partitioned together where values differ in length: some megabytes, which stay in the cache. Fewer if they
/// take more than [`Partitions::most`] bytes.
const CHUNK: usize = 1 << 16;
/// Slices of chunks that are together so long become a batch of their partition.
const WHOLE: usize = 1 << 11;
/// A partition with so many states is worth combining.
const RIPE: usize = 1 << 14;
/// The first partition is combined as soon as it has so many states, to see what combining gives.
const TRIAL: usize = 1 << 11;
/// A partition of fewer bytes is not put on disk: reading it back would be a seek for little.
const WORTH_A_SEEK: usize = 16 << 10;
/// Chunks, and what is loose, may take so many bytes, however little memory may be used.
const AT_LEAST: u64 = 1 << 20;
/// So many bytes are put on disk at once, if there are as many, so that the worker looks at the flags of the query.
const AT_ONCE: u64 = 16 << 20;

/// States put aside by the hash of their key.
pub struct Partitions {
    schema: SchemaRef,
    /// The first columns are keys, so many.
    keys: usize,
    /// Rows of fixed width.
    scatter: Option<RadixPartitioner>,
    hashes: Vec<u64>,
    numbers: Vec<u8>,
    /// Other rows, how many, and their bytes.
    chunk: Vec<RecordBatch>,
    rows: usize,
    chunk_bytes: usize,
    /// The bytes that a chunk may take, and where memory is scarce what is loose.
    most: usize,
    parts: Vec<Part>,
    /// No more are added: the last partition comes next.
    ended: bool,
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
    /// The rows of `pieces`, and their bytes.
    loose: usize,
    loose_bytes: usize,
    /// Batches whose memory is this partition's own, so that it is free once the partition is merged.
    whole: Vec<RecordBatch>,
    /// The rows of `whole`, and their bytes.
    rows: usize,
    bytes: usize,
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
        self.bytes += batch_bytes(&states);
        self.whole.push(states);
    }

    /// Takes its batches out.
    fn take(&mut self) -> Vec<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.whole)
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
        let states = match self.pieces.as_slice() {
            [] => return Ok(()),
            // One alone would be its chunk's still.
            [one] => copied(one),
            pieces => compact(&concat_batches(schema, pieces)?),
        };
        self.pieces.clear();
        (self.loose, self.loose_bytes) = (0, 0);
        self.add(states);
        Ok(())
    }
}

impl Partitions {
    /// For batches of `schema`, the first `keys` columns of which are the keys; on one of so many workers.
    pub fn new(schema: SchemaRef, keys: usize, peers: usize) -> Partitions {
        let part = |number| {
            // Not all at once, so that never all of them have many.
            let ripe_at = if number == 0 { TRIAL } else { RIPE / 4 + 3 * RIPE / 4 * number / PARTITIONS };
            Part {
                pieces: Vec::new(),
                loose: 0,
                loose_bytes: 0,
                whole: Vec::new(),
                rows: 0,
                bytes: 0,
                combined: 0,
                ripe_at,
                spilled: Vec::new(),
            }
        };
        Partitions {
            scatter: RadixPartitioner::new(&schema),
            schema,
            keys,
            hashes: Vec::new(),
            numbers: Vec::new(),
            chunk: Vec::new(),
            rows: 0,
            chunk_bytes: 0,
            most: most(peers),
            parts: (0..PARTITIONS).map(part).collect(),
            ended: false,
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
        let sum = |of: fn(&Part) -> usize| self.parts.iter().map(of).sum::<usize>();
        let (whole, loose) = (sum(|part| part.bytes), sum(|part| part.loose_bytes));
        let scattered = self.scatter.as_ref().map_or(0, RadixPartitioner::rows);
        // Of rows of one width, like those before.
        whole + loose + self.chunk_bytes + (whole / sum(|part| part.rows).max(1)).max(16) * scattered
    }

    /// Puts a batch aside.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.scatter.is_none() || !RadixPartitioner::fits(batch) {
            self.rows += batch.num_rows();
            self.chunk_bytes += batch_bytes(batch);
            self.chunk.push(batch.clone());
            let is_whole = self.rows >= CHUNK || self.chunk_bytes >= self.most;
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
        memory::check(self.chunk_bytes, || "aggregate".into())?;
        let all = concat_batches(&self.schema, &self.chunk)?;
        self.chunk.clear();
        (self.rows, self.chunk_bytes) = (0, 0);
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
        let sorted = compact(&take_record_batch(&to_take_from(&all), &UInt32Array::from(order))?);
        drop(all);
        for (part, bounds) in self.parts.iter_mut().zip(starts.windows(2)) {
            let (from, to) = (bounds[0] as usize, bounds[1] as usize);
            if from < to {
                let piece = sorted.slice(from, to - from);
                part.loose += to - from;
                part.loose_bytes += batch_bytes(&piece);
                part.pieces.push(piece);
            }
        }
        drop(sorted);
        // The memory of chunks comes free only once no partition has a slice of them.
        let loose: usize = self.parts.iter().map(|part| part.loose_bytes).sum();
        let enough = if loose >= self.most && memory::is_scarce() { 1 } else { WHOLE };
        for (number, part) in self.parts.iter_mut().enumerate().filter(|(_, part)| part.loose >= enough) {
            part.gather(&self.schema)?;
            if self.combines && part.take_ripe() {
                self.ripe.push(number);
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
        part.take();
        slices(states, self.most).for_each(|states| part.add(compact(&states)));
        part.combined = rows;
        part.ripe_at = RIPE.max(2 * rows);
    }

    /// Puts the largest partitions on disk, some of them at a time; gives the bytes that were written, 0 where nothing is
    /// worth it or there is no disk. Called again and again while the memory is short.
    ///
    /// Chunks and what is loose stay, so that few rows are not made many small batches: [`Partitions::most`] bounds them.
    pub fn spill(&mut self) -> Result<u64> {
        let mut written = 0;
        // What comes next would be read back at once.
        let last = self.parts.len().saturating_sub(self.ended.into());
        while written < AT_ONCE
            && let Some((number, part)) =
                self.parts[..last].iter_mut().enumerate().max_by_key(|(_, part)| part.bytes)
            && part.bytes >= WORTH_A_SEEK
        {
            if matches!(self.disk, Disk::NotNeeded) {
                self.disk = Spill::begin().map_or(Disk::Refused, Disk::Used);
            }
            let Disk::Used(spill) = &mut self.disk else { break };
            let before = spill.bytes();
            let states = part.take();
            part.spilled.extend(spill.write(&states)?);
            (part.combined, part.ripe_at) = (0, RIPE);
            self.ripe.retain(|ripe| *ripe != number);
            written += spill.bytes() - before;
        }
        Ok(written)
    }

    /// No more are added.
    pub fn end(&mut self) -> Result<()> {
        if let Some(scatter) = &mut self.scatter {
            for (number, part) in self.parts.iter_mut().enumerate() {
                scatter.take(number, true)?.into_iter().for_each(|states| part.add(states));
            }
        }
        self.ended = true;
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

/// The bytes of states that one of so many workers has together, before each is its own partition's.
pub fn most(peers: usize) -> usize {
    (memory::limit() / (SHARE / 2) / peers as u64).max(AT_LEAST) as usize
}

/// Bits of the hash that neither the exchange (the uppermost ones) nor a table (the lowest) tells keys apart by.
fn partition(hash: u64) -> u8 {
    (hash >> 32) as u8
}

#[cfg(test)]
mod tests;
