//! Rows that are evaluated together.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;

use super::Inputs;

/// Rows that are evaluated together: whole partitions, or a part of one with the rows around that are looked at. The first
/// row may belong to a partition that began before.
pub struct Block {
    /// How many rows there are.
    pub rows: usize,
    /// The rows at which partitions begin.
    pub partitions: Vec<u32>,
    /// By the number of keys, the rows at which peers begin.
    pub peers: Vec<Vec<u32>>,
    /// The values that functions read.
    pub inputs: Vec<ArrayRef>,
}

impl Block {
    /// Takes rows apart by partition: the partition, and those of the rows that it has.
    pub fn segments(&self, rows: Range<usize>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
        let mut next = self.partitions.partition_point(|start| *start as usize <= rows.start);
        let mut from = rows.start;
        std::iter::from_fn(move || {
            if from >= rows.end {
                return None;
            }
            let start = next.checked_sub(1).map_or(0, |at| self.partitions[at] as usize);
            let end = self.partitions.get(next).map_or(self.rows, |at| *at as usize);
            let of_rows = from..end.min(rows.end);
            from = of_rows.end;
            next += 1;
            Some((start..end, of_rows))
        })
    }

    /// Whether a partition begins at a row.
    pub fn begins(&self, row: usize) -> bool {
        self.partitions.binary_search(&(row as u32)).is_ok()
    }

    /// The number of the group of peers of a row, and the groups.
    pub fn group(&self, keys: usize, row: usize) -> (usize, &[u32]) {
        let peers = &self.peers[keys];
        (peers.partition_point(|start| *start as usize <= row).saturating_sub(1), peers)
    }

    /// The rows of a group.
    pub fn rows_of(&self, peers: &[u32], group: usize) -> Range<usize> {
        let start = peers.get(group).map_or(0, |start| *start as usize);
        start..peers.get(group + 1).map_or(self.rows, |end| *end as usize)
    }

    /// Which rows an aggregate is given: those that pass its filter, and whose first argument is not NULL. `None`: all.
    pub fn mask(&self, inputs: &Inputs) -> Option<BooleanBuffer> {
        let nulls = inputs.args.first().and_then(|arg| self.inputs[*arg].logical_nulls());
        let valid = nulls.filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.into_inner());
        match (valid, self.filter(inputs)) {
            (Some(valid), Some(passes)) => Some(&valid & &passes),
            (valid, passes) => valid.or(passes),
        }
    }

    /// Which rows pass the filter of a call. `None`: all.
    pub fn filter(&self, inputs: &Inputs) -> Option<BooleanBuffer> {
        let filter = self.inputs[inputs.filter?].as_boolean();
        Some(match filter.nulls() {
            Some(nulls) => filter.values() & nulls.inner(),
            None => filter.values().clone(),
        })
    }
}
