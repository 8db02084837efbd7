//! palais' own count, sum and avg of floats, and the way to the other accumulators.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow_buffer::NullBuffer;
use datafusion_common::Result as DfResult;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use datafusion_physical_expr::GroupsAccumulatorAdapter;
use queries::plan::{AggregateCall, AggregateFunction};

use super::distinct::Distinct;
use super::extreme;
use super::integers::{AvgDecimal, Integers, SumInt, SumInterval};
use crate::error::Result;

/// Makes the accumulator of a function. With `empty` there may be a group without rows. DataFusion's accumulators of
/// many groups give a wrong result for it, so that each group gets an accumulator of its own.
pub fn accumulator(function: &AggregateFunction, empty: bool) -> Result<Box<dyn GroupsAccumulator>> {
    Ok(match function {
        AggregateFunction::Count => Box::new(Count::default()),
        AggregateFunction::SumFloat => Box::new(SumFloat::default()),
        AggregateFunction::SumInt { unsigned } => {
            Box::new(SumInt::new(if *unsigned { Integers::Unsigned } else { Integers::Signed }))
        }
        AggregateFunction::SumDecimal { precision, scale } => {
            Box::new(SumInt::new(Integers::Decimal { precision: *precision, scale: *scale }))
        }
        AggregateFunction::SumInterval => Box::new(SumInterval::default()),
        AggregateFunction::AvgFloat => Box::new(AvgFloat::default()),
        AggregateFunction::AvgDecimal { scale } => Box::new(AvgDecimal::new(*scale)),
        AggregateFunction::Extreme { max, data_type } => extreme::extreme(*max, data_type)?,
        AggregateFunction::Distinct { of, data_type } => {
            Box::new(Distinct::new(of.as_ref().clone(), data_type)?)
        }
        AggregateFunction::General(f) if !empty && f.groups_accumulator_supported() => {
            f.create_groups_accumulator()?
        }
        AggregateFunction::General(f) => {
            let f = f.clone();
            Box::new(GroupsAccumulatorAdapter::new(move || f.create_accumulator()))
        }
    })
}

/// Whether each accumulator can turn rows into states without grouping them.
pub fn all_convert(calls: &[AggregateCall]) -> bool {
    calls.iter().all(|c| !matches!(c.function, AggregateFunction::General(_)))
}

/// The states of rows, as if each row were a group.
pub fn states_of(
    accumulator: &dyn GroupsAccumulator,
    args: &[ArrayRef],
    filter: Option<&BooleanArray>,
    rows: usize,
) -> DfResult<Vec<ArrayRef>> {
    if args.is_empty() {
        // COUNT(*): a row counts one.
        let counts = (0..rows).map(|i| i64::from(passes(filter, i)));
        return Ok(vec![Arc::new(counts.collect::<Int64Array>())]);
    }
    accumulator.convert_to_state(args, filter)
}

pub(super) fn passes(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|f| f.is_valid(row) && f.value(row))
}

/// Calls `each` with the group and the value of every row that is not NULL and passes the filter.
pub(super) fn values<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut each: impl FnMut(usize, T::Native),
) {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 && filter.is_none() {
        for (group, value) in groups.iter().zip(array.values()) {
            each(*group, *value);
        }
        return;
    }
    for (row, group) in groups.iter().enumerate() {
        if array.is_valid(row) && passes(filter, row) {
            each(*group, array.value(row));
        }
    }
}

/// Takes the first values of a vector, or all of them.
pub(super) fn emit<T>(from: &mut Vec<T>, to: EmitTo) -> Vec<T> {
    to.take_needed(from)
}

/// `COUNT`.
#[derive(Default)]
struct Count {
    counts: Vec<i64>,
}

impl GroupsAccumulator for Count {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.counts.resize(total, 0);
        match args.first().filter(|a| a.logical_null_count() > 0) {
            None if filter.is_none() && total == 1 => self.counts[0] += groups.len() as i64,
            None if filter.is_none() => groups.iter().for_each(|g| self.counts[*g] += 1),
            array => {
                // The logical nulls are taken, because a column of type NULL has no validity bitmap.
                let nulls = array.and_then(|a| a.logical_nulls());
                for (row, group) in groups.iter().enumerate() {
                    let valid = nulls.as_ref().is_none_or(|n| n.is_valid(row));
                    self.counts[*group] += i64::from(valid && passes(filter, row));
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        Ok(Arc::new(Int64Array::from(emit(&mut self.counts, to))))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(to)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.counts.resize(total, 0);
        values::<Int64Type>(&states[0], groups, None, |g, v| self.counts[g] += v);
        Ok(())
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        let nulls = args[0].logical_nulls();
        let counts = (0..args[0].len())
            .map(|i| i64::from(nulls.as_ref().is_none_or(|n| n.is_valid(i)) && passes(filter, i)));
        Ok(vec![Arc::new(counts.collect::<Int64Array>())])
    }

    fn size(&self) -> usize {
        self.counts.capacity() * 8
    }
}

/// `SUM` of 64-bit floats. NULL for a group without values.
#[derive(Default)]
struct SumFloat {
    sums: Vec<f64>,
    /// Whether each group has had a value. `None` while all have.
    seen: Option<Vec<bool>>,
}

impl SumFloat {
    fn add(&mut self, array: &ArrayRef, groups: &[usize], filter: Option<&BooleanArray>, total: usize) {
        let before = self.sums.len();
        self.sums.resize(total, 0.0);
        // A new group has a row in this batch. The only exception is the group without rows, which comes with an empty
        // batch.
        let all = array.null_count() == 0 && filter.is_none() && (total == before || !groups.is_empty());
        if all && self.seen.is_none() {
            values::<Float64Type>(array, groups, filter, |g, v| self.sums[g] += v);
            return;
        }
        let seen = self.seen.get_or_insert_with(|| vec![true; before]);
        seen.resize(total, false);
        values::<Float64Type>(array, groups, filter, |g, v| {
            self.sums[g] += v;
            seen[g] = true;
        });
    }
}

impl GroupsAccumulator for SumFloat {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.add(&args[0], groups, filter, total);
        Ok(())
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let sums = emit(&mut self.sums, to);
        let seen = self.seen.as_mut().map(|seen| emit(seen, to));
        Ok(Arc::new(Float64Array::new(sums.into(), seen.map(NullBuffer::from))))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(to)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.add(&states[0], groups, None, total);
        Ok(())
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![filtered(&args[0], filter)?])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * 8 + self.seen.as_ref().map_or(0, Vec::capacity)
    }
}

/// The values, with NULL for the rows that the filter leaves out.
pub(super) fn filtered(array: &ArrayRef, filter: Option<&BooleanArray>) -> DfResult<ArrayRef> {
    let Some(filter) = filter else { return Ok(array.clone()) };
    let out: BooleanArray = (0..filter.len()).map(|i| Some(!passes(Some(filter), i))).collect();
    Ok(arrow_select::nullif::nullif(array, &out)?)
}

/// `AVG` of 64-bit floats. NULL for a group without values.
#[derive(Default)]
struct AvgFloat {
    sums: Vec<f64>,
    counts: Vec<i64>,
}

impl GroupsAccumulator for AvgFloat {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.sums.resize(total, 0.0);
        self.counts.resize(total, 0);
        values::<Float64Type>(&args[0], groups, filter, |g, v| {
            self.sums[g] += v;
            self.counts[g] += 1;
        });
        Ok(())
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let sums = emit(&mut self.sums, to);
        let counts = emit(&mut self.counts, to);
        let averages = sums.iter().zip(&counts).map(|(s, c)| (*c > 0).then(|| s / *c as f64));
        Ok(Arc::new(averages.collect::<Float64Array>()))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        let sums = emit(&mut self.sums, to);
        let counts = emit(&mut self.counts, to);
        Ok(vec![Arc::new(Float64Array::from(sums)), Arc::new(Int64Array::from(counts))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.sums.resize(total, 0.0);
        self.counts.resize(total, 0);
        values::<Float64Type>(&states[0], groups, None, |g, v| self.sums[g] += v);
        values::<Int64Type>(&states[1], groups, None, |g, v| self.counts[g] += v);
        Ok(())
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        let array = filtered(&args[0], filter)?;
        let array = array.as_primitive::<Float64Type>();
        let sums = Float64Array::from_iter_values(array.iter().map(|v| v.unwrap_or(0.0)));
        let counts = Int64Array::from_iter_values(array.iter().map(|v| i64::from(v.is_some())));
        Ok(vec![Arc::new(sums), Arc::new(counts)])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * 8 + self.counts.capacity() * 8
    }
}
