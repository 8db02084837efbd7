//! Aggregates of whole partitions: each partition is a group.

use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, UInt32Array};
use arrow_select::take::take;
use datafusion_expr::EmitTo;
use queries::plan::AggregateFunction;

use super::block::Block;
use super::{Evaluator, Inputs};
use crate::dataflow::batch::BATCH_ROWS;
use crate::error::Result;
use crate::operators::aggregate::accumulators::accumulator;

/// An aggregate of all rows of the partition.
pub struct Whole {
    function: AggregateFunction,
    inputs: Inputs,
    /// By the number of the partition in the block.
    results: Option<ArrayRef>,
}

impl Whole {
    /// Of these arguments.
    pub fn new(function: AggregateFunction, inputs: Inputs) -> Whole {
        Whole { function, inputs, results: None }
    }
}

impl Evaluator for Whole {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        let mut accumulator = accumulator(&self.function, false)?;
        let filter = block.filter(&self.inputs).map(|passes| BooleanArray::new(passes, None));
        let (mut groups, mut next) = (Vec::with_capacity(BATCH_ROWS), 0);
        for start in (0..block.rows).step_by(BATCH_ROWS) {
            let count = BATCH_ROWS.min(block.rows - start);
            groups.clear();
            for row in start..start + count {
                next += usize::from(block.partitions.get(next).is_some_and(|first| *first as usize == row));
                groups.push(next - 1);
            }
            let args: Vec<ArrayRef> =
                self.inputs.args.iter().map(|arg| block.inputs[*arg].slice(start, count)).collect();
            let filter = filter.as_ref().map(|filter| filter.slice(start, count));
            accumulator.update_batch(&args, &groups, filter.as_ref(), next)?;
        }
        self.results = Some(accumulator.evaluate(EmitTo::All)?);
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut numbers: Vec<u32> = Vec::with_capacity(rows.len());
        // A block of whole partitions begins with one.
        let first = block.partitions.partition_point(|start| *start as usize <= rows.start) as u32 - 1;
        for (number, (_, rows)) in (first..).zip(block.segments(rows)) {
            numbers.resize(numbers.len() + rows.len(), number);
        }
        let results = self.results.as_ref().expect("a block is prepared before its rows are evaluated");
        Ok(take(results, &UInt32Array::from(numbers), None)?)
    }

    fn release(&mut self) {
        self.results = None;
    }
}
