//! The values of rows of the frame: `first_value`, `last_value`, `nth_value`.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::take::take;

use super::block::Block;
use super::frames::{Frames, Span, Spec};
use super::{Evaluator, Inputs};
use crate::error::Result;

/// Which row of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameRow {
    /// The first one.
    First,
    /// The last one.
    Last,
    /// That of the number that is the second argument, from 1.
    Nth,
}

/// The value of a row of the frame.
pub struct ValueOfRow {
    place: FrameRow,
    spec: Spec,
    inputs: Inputs,
    ignore_nulls: bool,
    frames: Frames,
    /// Of IGNORE NULLS, the rows whose value is not NULL.
    valid: Vec<u32>,
}

impl ValueOfRow {
    /// The value of that row, NULLs counted or not.
    pub fn new(place: FrameRow, spec: Spec, inputs: Inputs, ignore_nulls: bool) -> ValueOfRow {
        ValueOfRow { place, spec, inputs, ignore_nulls, frames: Frames::default(), valid: Vec::new() }
    }
}

impl Evaluator for ValueOfRow {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.frames = Frames::new(&self.spec, &self.inputs, block)?;
        if self.ignore_nulls {
            self.valid = valid_rows(&block.inputs[self.inputs.args[0]]);
        }
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let numbers = match self.place {
            FrameRow::Nth => Some(block.inputs[self.inputs.args[1]].as_primitive::<Int64Type>()),
            FrameRow::First | FrameRow::Last => None,
        };
        let mut places: Vec<Option<u32>> = Vec::with_capacity(rows.len());
        let (place, valid) = (self.place, self.ignore_nulls.then_some(self.valid.as_slice()));
        self.frames.each(&self.spec, block, rows, |row, span| {
            let found = match (place, numbers) {
                (FrameRow::Nth, Some(numbers)) => {
                    let number = if numbers.is_null(row) { 0 } else { numbers.value(row) };
                    number
                        .checked_sub(1)
                        .and_then(|n| usize::try_from(n).ok())
                        .and_then(|n| nth(span, n, valid))
                }
                (FrameRow::Last, _) => last(span, valid),
                _ => nth(span, 0, valid),
            };
            places.push(found.map(|row| row as u32));
            Ok(())
        })?;
        Ok(take(&block.inputs[self.inputs.args[0]], &UInt32Array::from(places), None)?)
    }

    fn release(&mut self) {
        self.frames = Frames::default();
        self.valid = Vec::new();
    }
}

/// The rows whose value is not NULL.
pub fn valid_rows(column: &ArrayRef) -> Vec<u32> {
    match column.logical_nulls() {
        Some(nulls) => nulls.valid_indices().map(|row| row as u32).collect(),
        None => (0..column.len() as u32).collect(),
    }
}

/// The places among `valid` of those that a range has.
fn within(valid: &[u32], rows: &Range<usize>) -> Range<usize> {
    let place = |row: usize| valid.partition_point(|other| (*other as usize) < row);
    place(rows.start)..place(rows.end)
}

/// The row of a number, from 0, of a frame; of those that are `valid`, if some are not.
fn nth(span: &Span, mut n: usize, valid: Option<&[u32]>) -> Option<usize> {
    for part in span.parts() {
        let places = valid.map(|valid| within(valid, &part));
        let count = places.as_ref().map_or(part.len(), Range::len);
        if n < count {
            return match (valid, places) {
                (Some(valid), Some(places)) => valid.get(places.start + n).map(|row| *row as usize),
                _ => Some(part.start + n),
            };
        }
        n -= count;
    }
    None
}

/// The last row of a frame.
fn last(span: &Span, valid: Option<&[u32]>) -> Option<usize> {
    span.parts().into_iter().rev().find_map(|part| match valid {
        Some(valid) => {
            let places = within(valid, &part);
            places.end.checked_sub(1).filter(|last| places.contains(last)).map(|last| valid[last] as usize)
        }
        None => part.end.checked_sub(1).filter(|last| part.contains(last)),
    })
}
