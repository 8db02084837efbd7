//! Radix partitions of the final phase: once the groups no longer fit the cache, states are put aside by some bits of
//! the hash of their key and merged at the end, one partition at a time, in a table that does.
//!
//! Without them every state of a query with many groups is a cache miss or two, and the one large table is copied
//! whenever it grows (Manegold, Boncz, Kersten: Optimizing main-memory join on modern hardware, 2002, section 4).

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use queries::plan::Expr;

use super::super::evaluate_all;
use crate::batch::{batch_bytes, compact};
use crate::error::Result;
use crate::hash::{comparable, hash_columns};
use crate::memory;

/// The number of partitions.
const COUNT: usize = 256;
/// Rows that are partitioned together: some megabytes, which stay in the cache.
const CHUNK: usize = 1 << 16;
/// Slices of chunks that are together so long become a batch of their partition.
const WHOLE: usize = 1 << 11;
/// A partition with so many states is worth combining.
const RIPE: usize = 1 << 14;

/// States put aside by the hash of their key.
pub struct Partitions {
    schema: SchemaRef,
    keys: Vec<Expr>,
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
    /// So many rows are worth combining.
    ripe_at: usize,
}

impl Part {
    /// Makes one batch of the pieces.
    fn gather(&mut self, schema: &SchemaRef) -> Result<()> {
        if self.loose > 0 {
            self.whole.push(compact(&concat_batches(schema, &self.pieces)?));
            self.pieces.clear();
            self.rows += std::mem::take(&mut self.loose);
        }
        Ok(())
    }
}

impl Partitions {
    /// For batches of `schema` with these keys.
    pub fn new(schema: SchemaRef, keys: Vec<Expr>) -> Partitions {
        let part = || Part { pieces: Vec::new(), loose: 0, whole: Vec::new(), rows: 0, ripe_at: RIPE };
        Partitions {
            schema,
            keys,
            chunk: Vec::new(),
            rows: 0,
            parts: (0..COUNT).map(|_| part()).collect(),
            combines: true,
            ripe: Vec::new(),
        }
    }

    /// The bytes put aside, about. Slices of a chunk count as the chunk's part that they are.
    pub fn bytes(&self) -> usize {
        let of = |batches: &[RecordBatch]| batches.iter().map(batch_bytes).sum::<usize>();
        let parts: usize = self.parts.iter().map(|part| of(&part.whole)).sum();
        let loose: usize = self.parts.iter().map(|part| part.loose).sum();
        let whole: usize = self.parts.iter().map(|part| part.rows).sum();
        // What is loose is told from the rows, because a slice's memory is that of its whole chunk.
        parts + of(&self.chunk) + (parts / whole.max(1)).max(16) * loose
    }

    /// Puts a batch aside.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows();
        self.chunk.push(batch.clone());
        if self.rows >= CHUNK { self.split() } else { Ok(()) }
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
        let columns: Vec<ArrayRef> = evaluate_all(&self.keys, &all)?.into_iter().map(comparable).collect();
        let mut hashes = Vec::new();
        hash_columns(&columns, all.num_rows(), &mut hashes)?;
        // A counting sort of the rows by partition.
        let mut starts = [0_u32; COUNT + 1];
        hashes.iter().for_each(|h| starts[partition(*h) + 1] += 1);
        for i in 0..COUNT {
            starts[i + 1] += starts[i];
        }
        let mut next = starts;
        let mut order = vec![0_u32; hashes.len()];
        for (row, hash) in hashes.iter().enumerate() {
            let place = &mut next[partition(*hash)];
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
                if self.combines && part.rows >= part.ripe_at {
                    part.ripe_at = usize::MAX;
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

    /// Puts the combined states of a ripe partition back. Where combining does not halve them, the keys differ: then
    /// none is combined any more before the end.
    pub fn back(&mut self, number: usize, states: Vec<RecordBatch>) {
        let part = &mut self.parts[number];
        let rows = states.iter().map(RecordBatch::num_rows).sum();
        if rows > part.rows / 2 {
            self.combines = false;
            self.ripe.clear();
        }
        part.whole = states;
        part.rows = rows;
        part.ripe_at = RIPE.max(2 * rows);
    }

    /// No more are added.
    pub fn end(&mut self) -> Result<()> {
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
fn partition(hash: u64) -> usize {
    (hash >> 32) as usize % COUNT
}
