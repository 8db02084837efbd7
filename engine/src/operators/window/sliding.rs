//! Exact sums of frames that move on with the rows: what leaves the frame is taken away from the sum.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::accumulate::Retract;
use super::block::Block;
use super::frames::{Frames, Spec};
use super::running::Results;
use super::{Evaluator, Inputs};
use crate::error::Result;

/// Adds each row once to the frames that have it, and takes it away once.
pub struct Sliding<A> {
    state: A,
    spec: Spec,
    inputs: Inputs,
    data_type: DataType,
    frames: Frames,
    mask: Option<BooleanBuffer>,
    /// The rows in the state.
    rows: Range<usize>,
}

impl<A: Retract> Sliding<A> {
    /// The sums of frames without a gap. `data_type` is that of the result.
    pub fn new(state: A, spec: Spec, inputs: Inputs, data_type: DataType) -> Sliding<A> {
        Sliding { state, spec, inputs, data_type, frames: Frames::default(), mask: None, rows: 0..0 }
    }
}

impl<A: Retract> Evaluator for Sliding<A> {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.frames = Frames::new(&self.spec, &self.inputs, block)?;
        self.mask = block.mask(&self.inputs);
        self.state.clear();
        self.rows = 0..0;
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let values = block.inputs[self.inputs.args[0]].as_primitive::<A::In>().values();
        let mut results = Results::<A::Out>::new(rows.len());
        let Sliding { state, spec, frames, mask, rows: inside, .. } = self;
        let counts = |row: usize| mask.as_ref().is_none_or(|mask| mask.value(row));
        frames.each(spec, block, rows, |_, span| {
            let wanted = &span.rows;
            let goes_on =
                wanted.start >= inside.start && wanted.end >= inside.end && wanted.start < inside.end;
            let from = if goes_on {
                // What leaves goes first, so that the state never has more rows than a frame.
                for row in inside.start..wanted.start {
                    if counts(row) {
                        state.retract(values[row])?;
                    }
                }
                inside.end
            } else {
                state.clear();
                wanted.start
            };
            for row in from..wanted.end {
                if counts(row) {
                    state.add(values[row])?;
                }
            }
            *inside = wanted.clone();
            results.push(state.result()?);
            Ok(())
        })?;
        Ok(results.finish(&self.data_type))
    }

    fn release(&mut self) {
        (self.frames, self.mask) = (Frames::default(), None);
    }
}
