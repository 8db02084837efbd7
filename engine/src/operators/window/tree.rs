//! Any aggregate of any frame, by its states: a tree of the states of 32 rows, of 1024, and so on. A frame merges a few
//! of each height in the order of their rows. The final phase of a GROUP BY merges those of the partial one in the same
//! way.
//!
//! States of `DISTINCT`, of `median` or `array_agg` hold values, so that a frame takes a time that grows with its rows.

use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use queries::plan::AggregateFunction;

use super::block::Block;
use super::frames::{Frames, Span, Spec};
use super::{Evaluator, Inputs};
use crate::error::Result;
use crate::operators::aggregate::accumulators::accumulator;

/// How many states one state is merged of.
const WIDTH: usize = 32;

/// An aggregate of any frame.
pub struct Tree {
    function: AggregateFunction,
    spec: Spec,
    inputs: Inputs,
    frames: Frames,
    filter: Option<BooleanArray>,
    /// The columns of the states of each height, the lowest one first.
    levels: Vec<Vec<ArrayRef>>,
    /// The last frame, and its result.
    last: Option<(Span, ArrayRef)>,
}

impl Tree {
    /// Of these arguments.
    pub fn new(function: AggregateFunction, spec: Spec, inputs: Inputs) -> Tree {
        let frames = Frames::default();
        Tree { function, spec, inputs, frames, filter: None, levels: Vec::new(), last: None }
    }
}

fn args(block: &Block, inputs: &Inputs, rows: &Range<usize>) -> Vec<ArrayRef> {
    inputs.args.iter().map(|arg| block.inputs[*arg].slice(rows.start, rows.len())).collect()
}

/// Adds the rows of a range to an accumulator of one group: states of whole nodes where they fit, and rows.
fn add(
    into: &mut dyn GroupsAccumulator,
    tree: (&[Vec<ArrayRef>], Option<&BooleanArray>),
    block: &Block,
    inputs: &Inputs,
    rows: Range<usize>,
    height: usize,
) -> Result<()> {
    let (levels, filter) = tree;
    if rows.is_empty() {
        return Ok(());
    }
    let nodes = rows.start.div_ceil(WIDTH)..rows.end / WIDTH;
    let own = |into: &mut dyn GroupsAccumulator, rows: Range<usize>| -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let groups = vec![0; rows.len()];
        match height.checked_sub(1) {
            Some(level) => {
                let states: Vec<ArrayRef> =
                    levels[level].iter().map(|column| column.slice(rows.start, rows.len())).collect();
                into.merge_batch(&states, &groups, 1)?;
            }
            None => {
                let filter = filter.map(|filter| filter.slice(rows.start, rows.len()));
                into.update_batch(&args(block, inputs, &rows), &groups, filter.as_ref(), 1)?;
            }
        }
        Ok(())
    };
    if height == levels.len() || nodes.is_empty() {
        return own(into, rows);
    }
    own(into, rows.start..nodes.start * WIDTH)?;
    add(into, tree, block, inputs, nodes.clone(), height + 1)?;
    own(into, nodes.end * WIDTH..rows.end)
}

impl Evaluator for Tree {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.frames = Frames::new(&self.spec, &self.inputs, block)?;
        self.filter = block.filter(&self.inputs).map(|passes| BooleanArray::new(passes, None));
        self.last = None;
        self.levels.clear();
        let mut count = block.rows;
        while count > WIDTH {
            let mut made = accumulator(&self.function, true)?;
            let total = count.div_ceil(WIDTH);
            // What is added at once has so many rows that they end with a node.
            for start in (0..count).step_by(WIDTH * WIDTH) {
                let rows = start..count.min(start + WIDTH * WIDTH);
                let groups: Vec<usize> = rows.clone().map(|row| row / WIDTH).collect();
                let so_far = rows.end.div_ceil(WIDTH);
                match self.levels.last() {
                    Some(below) => {
                        let states: Vec<ArrayRef> =
                            below.iter().map(|column| column.slice(rows.start, rows.len())).collect();
                        made.merge_batch(&states, &groups, so_far)?;
                    }
                    None => {
                        let filter = self.filter.as_ref().map(|filter| filter.slice(rows.start, rows.len()));
                        made.update_batch(
                            &args(block, &self.inputs, &rows),
                            &groups,
                            filter.as_ref(),
                            so_far,
                        )?;
                    }
                }
            }
            self.levels.push(made.state(EmitTo::All)?);
            count = total;
        }
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut results: Vec<ArrayRef> = Vec::new();
        let mut places: Vec<u32> = Vec::with_capacity(rows.len());
        let Tree { function, spec, inputs, frames, filter, levels, last } = self;
        frames.each(spec, block, rows, |_, span| {
            let result = match last.as_ref().filter(|(known, _)| known == span) {
                Some(_) if !results.is_empty() => {
                    places.push(results.len() as u32 - 1);
                    return Ok(());
                }
                Some((_, result)) => result.clone(),
                None => {
                    let mut made = accumulator(function, true)?;
                    if span.len() == 0 {
                        // The group without rows.
                        let none = args(block, inputs, &(0..0));
                        made.update_batch(&none, &[], None, 1)?;
                    }
                    for part in span.parts() {
                        add(made.as_mut(), (levels, filter.as_ref()), block, inputs, part, 0)?;
                    }
                    made.evaluate(EmitTo::All)?
                }
            };
            *last = Some((span.clone(), result.clone()));
            places.push(results.len() as u32);
            results.push(result);
            Ok(())
        })?;
        let all = concat(&results.iter().map(|result| result.as_ref()).collect::<Vec<_>>())?;
        Ok(take(&all, &UInt32Array::from(places), None)?)
    }

    fn release(&mut self) {
        (self.frames, self.filter, self.last) = (Frames::default(), None, None);
        self.levels = Vec::new();
    }
}
