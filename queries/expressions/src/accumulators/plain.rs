//! `COUNT`, and `SUM` and `AVG` of floats.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow_buffer::NullBuffer;
use datafusion_common::Result as DfResult;
use datafusion_expr::{EmitTo, GroupsAccumulator};

use super::{emit, filtered, passes, values};

/// `COUNT`.
#[derive(Default)]
pub(super) struct Count {
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
pub(super) struct SumFloat {
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

/// `AVG` of 64-bit floats. NULL for a group without values.
#[derive(Default)]
pub(super) struct AvgFloat {
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
