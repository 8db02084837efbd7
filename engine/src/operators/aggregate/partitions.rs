//! Radix partitions of a phase whose groups no longer fit the cache. States go into partitions by some bits of the hash
//! of their key. At the end they are merged one partition at a time, in a table that fits the cache.
//!
//! Without partitions every state of a query with many groups is a cache miss or two. The one large table is copied
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

/// The rows of a chunk, which are partitioned together if values differ in length. They are some megabytes, which stay
/// in the cache. A chunk has fewer rows if they take more than [`most`] bytes.
const CHUNK: usize = 1 << 16;
/// Slices of chunks become a batch of their partition when they have so many rows together.
const WHOLE: usize = 1 << 11;
/// The states at which a partition is worth combining.
const RIPE: usize = 1 << 14;
/// The states at which the first partition is combined, to see how much combining reduces them.
const TRIAL: usize = 1 << 11;
/// A partition of fewer bytes is not spilled: to read it back would be a seek for little.
const WORTH_A_SEEK: usize = 16 << 10;
/// Chunks, and slices of them, may take so many bytes, however low the memory limit is.
const AT_LEAST: u64 = 1 << 20;
/// About the most bytes that are spilled at once, so that the worker looks at the flags of the query in between.
const AT_ONCE: u64 = 16 << 20;

/// States in partitions, by the hash of their key.
pub struct Partitions {
    schema: SchemaRef,
    /// The number of keys. They are the first columns.
    keys: usize,
    /// Partitions the rows of fixed width.
    partitioner: Option<RadixPartitioner>,
    hashes: Vec<u64>,
    numbers: Vec<u8>,
    /// The other rows, their number, and their bytes.
    chunk: Vec<RecordBatch>,
    rows: usize,
    chunk_bytes: usize,
    /// The bytes that a chunk may take, and that all slices may take if memory is scarce.
    most: usize,
    parts: Vec<Part>,
    /// Whether no more states are added. Then the last partition is merged next.
    ended: bool,
    /// The states that are left of the partition that is being merged: on disk, and in memory.
    taken: (IntoIter<Spilled>, IntoIter<RecordBatch>),
    combines: bool,
    ripe: Vec<usize>,
    disk: Disk,
}

/// The state of spilling.
enum Disk {
    NotNeeded,
    Used(Spill),
    /// The system can't make a file.
    Refused,
}

/// The states of one partition.
struct Part {
    /// Slices of chunks, which are together less than a batch.
    pieces: Vec<RecordBatch>,
    /// The number of rows of `pieces`, and their bytes.
    loose: usize,
    loose_bytes: usize,
    /// Batches whose memory is this partition's own, so that it is free once the partition is merged.
    whole: Vec<RecordBatch>,
    /// The number of rows of `whole`, and their bytes.
    rows: usize,
    bytes: usize,
    /// The number of rows that the last combining has left.
    combined: usize,
    /// The number of rows at which the partition is ripe: worth combining.
    ripe_at: usize,
    /// The batches on disk.
    spilled: Vec<Spilled>,
}

impl Part {
    /// Adds a batch that shares no memory with other batches.
    fn add(&mut self, states: RecordBatch) {
        self.rows += states.num_rows();
        self.bytes += batch_bytes(&states);
        self.whole.push(states);
    }

    /// Takes the batches in memory out.
    fn take(&mut self) -> Vec<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.whole)
    }

    /// Whether the partition has become ripe. True only once, until `ripe_at` is set again.
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
            // A single slice would still share the memory of its chunk.
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
    /// Partitions for batches of `schema`, whose first `keys` columns are the keys. `peers` is the number of workers.
    pub fn new(schema: SchemaRef, keys: usize, peers: usize) -> Partitions {
        let part = |number| {
            // The partitions become ripe at different times, so that never all of them have many states.
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
            partitioner: RadixPartitioner::new(&schema),
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

    /// Whether partitions are still combined before the end: combining has always halved their states so far.
    pub fn combines(&self) -> bool {
        self.combines
    }

    /// The bytes of all states in memory, about. A slice counts as its part of its chunk.
    pub fn bytes(&self) -> usize {
        let sum = |of: fn(&Part) -> usize| self.parts.iter().map(of).sum::<usize>();
        let (whole, loose) = (sum(|part| part.bytes), sum(|part| part.loose_bytes));
        let scattered = self.partitioner.as_ref().map_or(0, RadixPartitioner::rows);
        // The rows in the partitioner have about the width of the rows before them.
        whole + loose + self.chunk_bytes + (whole / sum(|part| part.rows).max(1)).max(16) * scattered
    }

    /// Adds a batch of states.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.partitioner.is_none() || !RadixPartitioner::fits(batch) {
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
        let Some(partitioner) = &mut self.partitioner else { return Ok(()) };
        partitioner.add(batch, &self.numbers);
        for number in partitioner.full() {
            if let Some(states) = partitioner.take(number, false)? {
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

    /// Splits the chunk by partition.
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
        // The memory of a chunk is freed only once no partition has a slice of it.
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

    /// Takes the states of a ripe partition out. The caller combines them, and gives them [`Partitions::back`].
    pub fn ripe(&mut self) -> Option<(usize, Vec<RecordBatch>)> {
        let number = self.ripe.pop()?;
        Some((number, std::mem::take(&mut self.parts[number].whole)))
    }

    /// Puts the combined states of a ripe partition back. If combining has left more than half of the states that had
    /// come since the last time, most keys differ. Then no partition is combined any more before the end.
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

    /// Spills the largest partitions, some of them at a time. Gives the bytes that were written: 0 if no partition is
    /// large enough, or if the system can't make a file. The caller calls it again while memory is short.
    ///
    /// Chunks and slices stay in memory, so that few rows do not become many small batches. [`most`] bounds
    /// them.
    pub fn spill(&mut self) -> Result<u64> {
        let mut written = 0;
        // The partition that is merged next would be read back at once.
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

    /// Notes that no more states are added.
    pub fn end(&mut self) -> Result<()> {
        if let Some(partitioner) = &mut self.partitioner {
            for (number, part) in self.parts.iter_mut().enumerate() {
                partitioner.take(number, true)?.into_iter().for_each(|states| part.add(states));
            }
        }
        self.ended = true;
        self.split()
    }

    /// The bytes on disk of the partition that is merged next.
    pub fn on_disk(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.spilled.iter().map(Spilled::bytes).sum())
    }

    /// Goes on to the next partition, whose states [`Partitions::batch`] gives. False if there is none.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(mut part) = self.parts.pop() else { return Ok(false) };
        part.gather(&self.schema)?;
        self.taken = (part.spilled.into_iter(), part.whole.into_iter());
        Ok(true)
    }

    /// The next states of the current partition, in the order in which they came. `None` once all were given.
    pub fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let (spilled, whole) = &mut self.taken;
        match (spilled.next(), &mut self.disk) {
            (Some(spilled), Disk::Used(spill)) => spill.read(&spilled, &self.schema).map(Some),
            _ => Ok(whole.next()),
        }
    }
}

/// The bytes of states that one of `peers` workers may have together in a chunk, before each partition has its own.
pub fn most(peers: usize) -> usize {
    (memory::limit() / (SHARE / 2) / peers as u64).max(AT_LEAST) as usize
}

/// The partition of a hash. It takes bits that neither the exchange (the uppermost) nor a hash table (the lowest) uses.
fn partition(hash: u64) -> u8 {
    (hash >> 32) as u8
}

#[cfg(test)]
mod tests;
