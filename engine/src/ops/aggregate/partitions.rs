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
use crate::hash::{hash_columns, normalise};
use crate::memory;

/// The number of partitions.
const COUNT: usize = 256;
/// Rows that are partitioned together: some megabytes, which stay in the cache.
const CHUNK: usize = 1 << 16;

/// States put aside by the hash of their key.
pub struct Partitions {
    schema: SchemaRef,
    keys: Vec<Expr>,
    chunk: Vec<RecordBatch>,
    rows: usize,
    parts: Vec<Vec<RecordBatch>>,
}

impl Partitions {
    /// For batches of `schema` with these keys.
    pub fn new(schema: SchemaRef, keys: Vec<Expr>) -> Partitions {
        Partitions {
            schema,
            keys,
            chunk: Vec::new(),
            rows: 0,
            parts: (0..COUNT).map(|_| Vec::new()).collect(),
        }
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
        let columns: Vec<ArrayRef> = evaluate_all(&self.keys, &all)?.into_iter().map(normalise).collect();
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
        for (part, bounds) in self.parts.iter_mut().zip(starts.windows(2)) {
            let (from, to) = (bounds[0] as usize, bounds[1] as usize);
            if from < to {
                part.push(sorted.slice(from, to - from));
            }
        }
        Ok(())
    }

    /// No more are added.
    pub fn end(&mut self) -> Result<()> {
        self.split()
    }

    /// The states of the next partition; `None` once all were given.
    pub fn take(&mut self) -> Result<Option<RecordBatch>> {
        let part = self.parts.pop();
        Ok(part.map(|pieces| concat_batches(&self.schema, &pieces)).transpose()?)
    }
}

/// Bits of the hash that neither the exchange (the uppermost ones) nor a table (the lowest) tells keys apart by.
fn partition(hash: u64) -> usize {
    (hash >> 32) as usize % COUNT
}
