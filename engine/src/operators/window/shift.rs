//! The values of other rows: `lag` and `lead`.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use queries::plan::Shift;

use super::block::Block;
use super::frame_rows::valid_rows;
use super::{Evaluator, Inputs};
use crate::error::Result;

/// The value of the row so many rows ahead.
pub struct Shifted {
    by: Shift,
    inputs: Inputs,
    ignore_nulls: bool,
    /// Of IGNORE NULLS, the rows whose value is not NULL.
    valid: Vec<u32>,
}

/// Where the value of a row comes from.
#[derive(Clone, Copy)]
enum From {
    Row(u32),
    Default,
    /// Nothing, not the default either.
    Null,
}

impl Shifted {
    /// The value `by` rows ahead, NULLs counted or not.
    pub fn new(by: Shift, inputs: Inputs, ignore_nulls: bool) -> Shifted {
        Shifted { by, inputs, ignore_nulls, valid: Vec::new() }
    }

    /// The row so many rows ahead of one, in its partition.
    fn row(&self, row: usize, by: i128, partition: &Range<usize>) -> Option<usize> {
        if !self.ignore_nulls || by == 0 {
            let other = usize::try_from(row as i128 + by).ok()?;
            return partition.contains(&other).then_some(other);
        }
        let before = self.valid.partition_point(|other| (*other as usize) < row);
        let after = self.valid.partition_point(|other| *other as usize <= row);
        let place = if by < 0 { before as i128 + by } else { after as i128 + by - 1 };
        let other = *self.valid.get(usize::try_from(place).ok()?)? as usize;
        partition.contains(&other).then_some(other)
    }
}

impl Evaluator for Shifted {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        if self.ignore_nulls {
            self.valid = valid_rows(&block.inputs[self.inputs.args[0]]);
        }
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let values = &block.inputs[self.inputs.args[0]];
        let counts = match self.by {
            Shift::ByRow { .. } => Some(block.inputs[self.inputs.args[1]].as_primitive::<Int64Type>()),
            Shift::Nowhere => return Ok(new_null_array(values.data_type(), rows.len())),
            Shift::Rows(_) => None,
        };
        let begin = rows.start;
        let mut from: Vec<From> = Vec::with_capacity(rows.len());
        for (partition, rows) in block.segments(rows) {
            for row in rows {
                let by = match (self.by, counts) {
                    (Shift::ByRow { .. }, Some(counts)) if counts.is_null(row) => None,
                    (Shift::ByRow { ahead: true }, Some(counts)) => Some(i128::from(counts.value(row))),
                    (Shift::ByRow { ahead: false }, Some(counts)) => Some(-i128::from(counts.value(row))),
                    (Shift::Rows(by), _) => Some(by),
                    _ => None,
                };
                from.push(match by.map(|by| self.row(row, by, &partition)) {
                    Some(Some(other)) => From::Row(other as u32),
                    Some(None) => From::Default,
                    None => From::Null,
                });
            }
        }
        let Some(default) = self.inputs.args.get(2).map(|place| &block.inputs[*place]) else {
            let rows = from.iter().map(|from| if let From::Row(row) = from { Some(*row) } else { None });
            return Ok(take(values, &rows.collect::<UInt32Array>(), None)?);
        };
        let null = new_null_array(values.data_type(), 1);
        let places: Vec<(usize, usize)> = from
            .iter()
            .enumerate()
            .map(|(at, from)| match from {
                From::Row(row) => (0, *row as usize),
                From::Default => (1, begin + at),
                From::Null => (2, 0),
            })
            .collect();
        Ok(interleave(&[values.as_ref(), default.as_ref(), null.as_ref()], &places)?)
    }

    fn release(&mut self) {
        self.valid = Vec::new();
    }
}
