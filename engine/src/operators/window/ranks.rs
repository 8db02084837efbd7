//! Numbers of rows: `row_number`, `rank`, `dense_rank`, `percent_rank`, `cume_dist`, `ntile`.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};

use super::block::Block;
use super::{Evaluator, Inputs};
use crate::error::{Error, Result};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Rows.
    Row,
    /// Rows, up to the first peer.
    First,
    /// Groups of peers.
    Dense,
}

/// Numbers that go on from row to row.
pub struct Ranks {
    rank: Rank,
    keys: usize,
    /// The rows of the partition that were numbered.
    rows: i64,
    /// The last number that was given.
    last: i64,
}

impl Ranks {
    /// Counts rows, or groups of peers by so many keys.
    pub fn new(rank: Rank, keys: usize) -> Ranks {
        Ranks { rank, keys, rows: 0, last: 0 }
    }
}

impl Evaluator for Ranks {
    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut numbers = Vec::with_capacity(rows.len());
        for (_, rows) in block.segments(rows) {
            if block.begins(rows.start) {
                (self.rows, self.last) = (0, 0);
            }
            if self.rank == Rank::Row {
                let first = self.rows + 1;
                numbers.extend(first..first + rows.len() as i64);
                self.rows += rows.len() as i64;
                continue;
            }
            let peers = &block.peers[self.keys];
            let mut next = peers.partition_point(|start| (*start as usize) < rows.start);
            for row in rows {
                if peers.get(next).is_some_and(|start| *start as usize == row) {
                    next += 1;
                    self.last = if self.rank == Rank::First { self.rows + 1 } else { self.last + 1 };
                }
                self.rows += 1;
                numbers.push(self.last);
            }
        }
        Ok(Arc::new(Int64Array::from(numbers)))
    }
}

/// Which part of the partition's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Those before the first peer, of all but one.
    Percent,
    /// Those up to the last peer.
    Cumulative,
}

/// Parts of the partition.
pub struct Parts {
    part: Part,
    keys: usize,
}

impl Parts {
    /// By peers of so many keys.
    pub fn new(part: Part, keys: usize) -> Parts {
        Parts { part, keys }
    }
}

impl Evaluator for Parts {
    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut parts = Vec::with_capacity(rows.len());
        for (partition, rows) in block.segments(rows) {
            let (mut group, peers) = block.group(self.keys, rows.start);
            let mut own = block.rows_of(peers, group);
            for row in rows {
                if row >= own.end {
                    group += 1;
                    own = block.rows_of(peers, group);
                }
                parts.push(match self.part {
                    Part::Percent if partition.len() < 2 => 0.0,
                    Part::Percent => (own.start - partition.start) as f64 / (partition.len() - 1) as f64,
                    Part::Cumulative => (own.end - partition.start) as f64 / partition.len() as f64,
                });
            }
        }
        Ok(Arc::new(Float64Array::from(parts)))
    }
}

/// Buckets of about equal numbers of rows; the first ones have one more.
pub struct Ntile {
    inputs: Inputs,
}

impl Ntile {
    /// As many buckets as the argument says.
    pub fn new(inputs: Inputs) -> Ntile {
        Ntile { inputs }
    }
}

impl Evaluator for Ntile {
    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let counts = block.inputs[self.inputs.args[0]].as_primitive::<Int64Type>();
        let mut buckets = Vec::with_capacity(rows.len());
        for (partition, rows) in block.segments(rows) {
            for row in rows {
                if counts.is_null(row) {
                    buckets.push(None);
                    continue;
                }
                let Some(count) = usize::try_from(counts.value(row)).ok().filter(|count| *count > 0) else {
                    let given = counts.value(row);
                    return Err(Error::Compute(format!(
                        "ntile() takes a number above 0, and {given} was given"
                    )));
                };
                let (each, more) = (partition.len() / count, partition.len() % count);
                let at = row - partition.start;
                // The first `more` buckets have a row more than the others.
                let of_larger = more * (each + 1);
                let bucket = match at < of_larger {
                    true => at / (each + 1),
                    false => more + (at - of_larger) / each.max(1),
                };
                buckets.push(Some(bucket as i64 + 1));
            }
        }
        Ok(Arc::new(Int64Array::from(buckets)))
    }
}
