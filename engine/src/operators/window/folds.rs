//! Aggregates of any frame whose parts can be combined, in typed loops. They keep a tree of the values of 16 rows, of
//! 256, and so on. A frame needs a few of each height. After Leis, Kundhikanjana, Kemper and Neumann, Efficient
//! Processing of Window Functions in Analytical SQL Queries (VLDB 2015), section 4.4.
//!
//! Floats are summed in this way since what was added can't be taken away exactly; extremes since it can't be at all.

use std::marker::PhantomData;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use queries::accumulators::extreme::Order;
use queries::plan::AggregateFunction;

use super::accumulate::{AvgDecimal, SumDecimal, SumInteger};
use super::block::Block;
use super::counts::Counted;
use super::frames::{Frames, Spec};
use super::running::{Results, extreme, ordered_types};
use super::sliding::Sliding;
use super::tree::Tree;
use super::{Evaluator, Inputs};
use crate::error::Result;

/// How many nodes one node has below it.
const WIDTH: usize = 16;

/// The evaluator of a typed aggregate of any frame. `data_type` is that of its result.
///
/// # Panics
/// It is not typed ([`super::running::is_typed`]), or `COUNT`.
pub fn moving(
    function: &AggregateFunction,
    spec: Spec,
    inputs: Inputs,
    data_type: &DataType,
) -> Box<dyn Evaluator> {
    let data_type = data_type.clone();
    match function {
        AggregateFunction::SumFloat => Box::new(Folds::<Sum>::new(spec, inputs, data_type)),
        AggregateFunction::AvgFloat => Box::new(Folds::<Average>::new(spec, inputs, data_type)),
        // What a frame has a gap in is not taken away from one end.
        f @ (AggregateFunction::SumInt { .. }
        | AggregateFunction::SumDecimal { .. }
        | AggregateFunction::AvgDecimal { .. })
            if !spec.is_whole() =>
        {
            Box::new(Tree::new(f.clone(), spec, inputs))
        }
        AggregateFunction::SumInt { unsigned: false } => {
            Box::new(Sliding::new(SumInteger::<Int64Type>::default(), spec, inputs, data_type))
        }
        AggregateFunction::SumInt { unsigned: true } => {
            Box::new(Sliding::new(SumInteger::<UInt64Type>::default(), spec, inputs, data_type))
        }
        AggregateFunction::SumDecimal { precision, .. } => {
            Box::new(Sliding::new(SumDecimal::new(*precision), spec, inputs, data_type))
        }
        AggregateFunction::AvgDecimal { scale } => {
            Box::new(Sliding::new(AvgDecimal::new(*scale), spec, inputs, data_type))
        }
        other => {
            let (max, of) = extreme(other).expect("the aggregate is typed");
            macro_rules! extreme_of {
                ($t:ty) => {
                    match max {
                        true => Box::new(Folds::<Most<$t, true>>::new(spec, inputs, data_type)),
                        false => Box::new(Folds::<Most<$t, false>>::new(spec, inputs, data_type)),
                    }
                };
            }
            ordered_types!(of, extreme_of, unreachable!("the type is ordered"))
        }
    }
}

/// How values are combined.
trait Fold {
    /// The type of the values and of what they are combined to.
    type Type: ArrowPrimitiveType;

    /// What changes nothing.
    fn nothing() -> Native<Self>;

    /// Two combined.
    fn both(a: Native<Self>, b: Native<Self>) -> Native<Self>;

    /// The result of so many values.
    fn result(folded: Native<Self>, _count: usize) -> Native<Self> {
        folded
    }
}

type Native<F> = <<F as Fold>::Type as ArrowPrimitiveType>::Native;

struct Sum;

impl Fold for Sum {
    type Type = Float64Type;

    fn nothing() -> f64 {
        0.0
    }

    fn both(a: f64, b: f64) -> f64 {
        a + b
    }
}

struct Average;

impl Fold for Average {
    type Type = Float64Type;

    fn nothing() -> f64 {
        0.0
    }

    fn both(a: f64, b: f64) -> f64 {
        a + b
    }

    fn result(folded: f64, count: usize) -> f64 {
        folded / count as f64
    }
}

/// The greatest value, or the least.
struct Most<T, const MAX: bool>(PhantomData<T>);

impl<T: ArrowPrimitiveType<Native: Order>, const MAX: bool> Fold for Most<T, MAX> {
    type Type = T;

    fn nothing() -> T::Native {
        if MAX { T::Native::LEAST } else { T::Native::GREATEST }
    }

    fn both(a: T::Native, b: T::Native) -> T::Native {
        let takes_b = if MAX { a.before(b) } else { b.before(a) };
        if takes_b { b } else { a }
    }
}

/// An aggregate of any frame.
struct Folds<F: Fold> {
    spec: Spec,
    inputs: Inputs,
    data_type: DataType,
    frames: Frames,
    counted: Counted,
    /// The rows' own values first, then what they are combined to.
    levels: Vec<Vec<Native<F>>>,
}

impl<F: Fold> Folds<F> {
    fn new(spec: Spec, inputs: Inputs, data_type: DataType) -> Folds<F> {
        let (frames, counted) = (Frames::default(), Counted::default());
        Folds { spec, inputs, data_type, frames, counted, levels: Vec::new() }
    }
}

fn fold<F: Fold>(values: &[Native<F>], into: Native<F>) -> Native<F> {
    values.iter().fold(into, |folded, value| F::both(folded, *value))
}

/// The values of a range of rows combined.
fn of_range<F: Fold>(levels: &[Vec<Native<F>>], rows: Range<usize>, into: Native<F>) -> Native<F> {
    let (mut folded, Range { mut start, mut end }) = (into, rows);
    for (height, level) in levels.iter().enumerate() {
        let (above_start, above_end) = (start.div_ceil(WIDTH), end / WIDTH);
        if height + 1 == levels.len() || above_start >= above_end {
            return fold::<F>(&level[start..end], folded);
        }
        folded = fold::<F>(&level[start..above_start * WIDTH], folded);
        folded = fold::<F>(&level[above_end * WIDTH..end], folded);
        (start, end) = (above_start, above_end);
    }
    folded
}

impl<F: Fold> Evaluator for Folds<F> {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.frames = Frames::new(&self.spec, &self.inputs, block)?;
        let mask = block.mask(&self.inputs);
        self.counted = Counted::new(mask.as_ref());
        let values = block.inputs[self.inputs.args[0]].as_primitive::<F::Type>().values();
        let rows: Vec<Native<F>> = match mask {
            Some(mask) => {
                let masked = values.iter().zip(mask.iter());
                masked.map(|(value, counts)| if counts { *value } else { F::nothing() }).collect()
            }
            None => values.to_vec(),
        };
        self.levels = vec![rows];
        while let Some(below) = self.levels.last().filter(|below| below.len() > WIDTH) {
            let above = below.chunks(WIDTH).map(|nodes| fold::<F>(nodes, F::nothing())).collect();
            self.levels.push(above);
        }
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut results = Results::<F::Type>::new(rows.len());
        let (levels, counted) = (&self.levels, &self.counted);
        self.frames.each(&self.spec, block, rows, |_, span| {
            let count = counted.span(span);
            if count == 0 {
                results.push(None);
                return Ok(());
            }
            let parts = span.parts().into_iter().filter(|part| !part.is_empty());
            let folded = parts.fold(F::nothing(), |folded, part| of_range::<F>(levels, part, folded));
            results.push(Some(F::result(folded, count)));
            Ok(())
        })?;
        Ok(results.finish(&self.data_type))
    }

    fn release(&mut self) {
        (self.frames, self.counted) = (Frames::default(), Counted::default());
        self.levels = Vec::new();
    }
}
