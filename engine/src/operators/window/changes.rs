//! Where partitions and groups of peers begin.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray, RecordBatch,
    downcast_primitive_array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use queries::plan::Window as Plan;

use crate::error::Result;
use crate::state::hash::comparable;

/// Finds where partitions and peers begin, batch by batch.
pub(super) struct Changes {
    partition: Vec<usize>,
    order: Vec<usize>,
    /// By the number of keys, whether somebody asks for peers.
    wanted: Vec<bool>,
    /// The keys of the last row that came.
    last: Option<Vec<ArrayRef>>,
    /// The number of the row at which the last partition begins.
    pub last_partition: u64,
    /// By the number of keys, the number of the row at which the last peers begin.
    pub last_peer: Vec<u64>,
}

/// Where partitions and peers begin in a batch.
pub(super) struct Found {
    pub partitions: Vec<u32>,
    pub peers: Vec<Vec<u32>>,
}

impl Changes {
    /// Looks for partitions, and for peers by so many keys as are `wanted`.
    pub fn new(plan: &Plan, wanted: Vec<bool>) -> Changes {
        let order: Vec<usize> = plan.order.iter().map(|(column, _)| *column).collect();
        let last_peer = vec![0; wanted.len()];
        Changes { partition: plan.partition.clone(), order, wanted, last: None, last_partition: 0, last_peer }
    }

    /// Where they begin in the next batch, whose first row has the number `first`.
    pub fn find(&mut self, batch: &RecordBatch, first: u64) -> Result<Found> {
        let rows = batch.num_rows();
        let most = self.wanted.iter().rposition(|wanted| *wanted).unwrap_or(0);
        let keys = self.partition.iter().chain(&self.order[..most]);
        let keys: Vec<ArrayRef> = keys.map(|column| comparable(batch.column(*column).clone())).collect();
        let mut differs = vec![false; rows];
        let Some(begin) = differs.first_mut() else {
            return Ok(Found { partitions: vec![], peers: vec![vec![]; self.wanted.len()] });
        };
        *begin = self.last.is_none();
        let last = self.last.take();
        let mut found = Found { partitions: vec![], peers: Vec::with_capacity(self.wanted.len()) };
        for (place, key) in keys.iter().enumerate() {
            if place >= self.partition.len() {
                self.note(place - self.partition.len(), &differs, first, &mut found);
            }
            mark(key, &mut differs)?;
            if let Some(before) = last.as_ref().and_then(|last| last.get(place)) {
                let both = concat(&[before.as_ref(), key.slice(0, 1).as_ref()])?;
                let mut pair = [false; 2];
                mark(&both, &mut pair)?;
                differs[0] |= pair[1];
            }
        }
        for count in keys.len() - self.partition.len()..self.wanted.len() {
            self.note(count, &differs, first, &mut found);
        }
        self.last = Some(keys.iter().map(|key| key.slice(rows - 1, 1)).collect());
        Ok(found)
    }

    /// Notes where groups of so many keys begin.
    fn note(&mut self, keys: usize, differs: &[bool], first: u64, found: &mut Found) {
        let starts = || -> Vec<u32> {
            (0_u32..).zip(differs).filter(|(_, differs)| **differs).map(|(row, _)| row).collect()
        };
        if keys == 0 {
            found.partitions = starts();
            if let Some(last) = found.partitions.last() {
                self.last_partition = first + u64::from(*last);
            }
        }
        let peers = if self.wanted[keys] { starts() } else { vec![] };
        if let Some(last) = peers.last() {
            self.last_peer[keys] = first + u64::from(*last);
        }
        found.peers.push(peers);
    }
}

/// Marks the rows that differ from the row before.
fn mark(column: &ArrayRef, differs: &mut [bool]) -> Result<()> {
    fn primitives<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, differs: &mut [bool]) {
        let values = column.values();
        let pairs = values.windows(2).zip(&mut differs[1..]);
        if column.null_count() == 0 {
            pairs.for_each(|(pair, differs)| *differs |= pair[0].is_ne(pair[1]));
            return;
        }
        for (row, (pair, differs)) in pairs.enumerate() {
            *differs |= match (column.is_valid(row), column.is_valid(row + 1)) {
                (true, true) => pair[0].is_ne(pair[1]),
                (before, now) => before != now,
            };
        }
    }
    if differs.len() < 2 {
        return Ok(());
    }
    downcast_primitive_array!(
        column => primitives(column, differs),
        DataType::Utf8View => {
            let texts = column.as_string_view();
            let views = texts.views();
            for (row, differs) in differs.iter_mut().enumerate().skip(1) {
                let (before, now) = (views[row - 1], views[row]);
                *differs |= match (texts.is_valid(row - 1), texts.is_valid(row)) {
                    // A short text is in its view; of a longer one the length and the first bytes are.
                    (true, true) if now as u32 <= 12 => before != now,
                    (true, true) => before as u64 != now as u64 || texts.value(row - 1) != texts.value(row),
                    (before, now) => before != now,
                };
            }
        }
        _ => {
            let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
            let rows = converter.convert_columns(&[Arc::clone(column)])?;
            for (row, differs) in differs.iter_mut().enumerate().skip(1) {
                *differs |= rows.row(row - 1) != rows.row(row);
            }
        }
    );
    Ok(())
}
