//! Aggregates of the distinct values of a group.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter;
use arrow_select::take::take;
use datafusion_common::{DataFusionError, Result as DfResult};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use queries::accumulators::passes;
use queries::plan::{AggregateFunction, KeyLayout};

use super::accumulators::accumulator;
use crate::dataflow::batch::list_values;
use crate::error::Result;
use crate::state::group_keys::{GroupKeys, group_keys};

/// Keeps each distinct value of a group once, and gives the values to another accumulator at the end.
pub struct Distinct {
    of: AggregateFunction,
    data_type: DataType,
    /// The distinct pairs of a group and a value.
    pairs: Box<dyn GroupKeys>,
    numbers: Vec<usize>,
    groups: usize,
}

impl Distinct {
    /// Aggregates distinct values of a type by `of`.
    pub fn new(of: AggregateFunction, data_type: &DataType) -> Result<Distinct> {
        let pairs = group_keys(KeyLayout::Rows, &[DataType::UInt64, data_type.clone()])?;
        Ok(Distinct { of, data_type: data_type.clone(), pairs, numbers: Vec::new(), groups: 0 })
    }

    fn add(&mut self, values: ArrayRef, groups: UInt64Array, total: usize) -> DfResult<()> {
        self.groups = total;
        let rows = groups.len();
        self.pairs.intern(&[Arc::new(groups), values], rows, &mut self.numbers).map_err(external)
    }

    fn lists(&self, lengths: impl IntoIterator<Item = usize>, values: ArrayRef) -> ArrayRef {
        let field = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, None))
    }

    /// Takes the groups and the values of all pairs out.
    fn take(&mut self, to: EmitTo) -> DfResult<(UInt64Array, ArrayRef)> {
        assert!(matches!(to, EmitTo::All), "groups are given all at once");
        let mut columns = self.pairs.take().map_err(external)?;
        let values = columns.pop().expect("a pair has two columns");
        Ok((columns[0].as_primitive::<UInt64Type>().clone(), values))
    }
}

/// The mask of the values that are not NULL and for which the condition is true.
fn counted(values: &ArrayRef, condition: Option<&BooleanArray>) -> BooleanArray {
    let nulls = values.logical_nulls();
    let counts = |row: usize| nulls.as_ref().is_none_or(|n| n.is_valid(row)) && passes(condition, row);
    (0..values.len()).map(|row| Some(counts(row))).collect()
}

fn external(e: crate::Error) -> DataFusionError {
    DataFusionError::External(Box::new(e))
}

impl GroupsAccumulator for Distinct {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        condition: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        let mask = counted(&args[0], condition);
        let groups = UInt64Array::from_iter_values(groups.iter().map(|g| *g as u64));
        let groups = filter(&groups, &mask)?;
        self.add(filter(&args[0], &mask)?, groups.as_primitive().clone(), total)
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let (groups, values) = self.take(to)?;
        let groups: Vec<usize> = groups.values().iter().map(|g| *g as usize).collect();
        // A group whose values are all NULL has no pair.
        let mut of = accumulator(&self.of, true).map_err(external)?;
        of.update_batch(&[values], &groups, None, self.groups)?;
        of.evaluate(to)
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        let (groups, values) = self.take(to)?;
        let mut lengths = vec![0; self.groups];
        groups.values().iter().for_each(|g| lengths[*g as usize] += 1);
        let mut order: Vec<u64> = (0..groups.len() as u64).collect();
        order.sort_by_key(|row| groups.value(*row as usize));
        let values = take(&values, &UInt64Array::from(order), None)?;
        Ok(vec![self.lists(lengths, values)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        let lists = states[0].as_list::<i32>();
        let lengths = lists.offsets().lengths();
        let groups = groups.iter().zip(lengths).flat_map(|(g, n)| std::iter::repeat_n(*g as u64, n));
        let groups = UInt64Array::from_iter_values(groups);
        self.add(list_values(lists), groups, total)
    }

    fn convert_to_state(
        &self,
        args: &[ArrayRef],
        condition: Option<&BooleanArray>,
    ) -> DfResult<Vec<ArrayRef>> {
        let mask = counted(&args[0], condition);
        let lengths = mask.values().iter().map(usize::from);
        Ok(vec![self.lists(lengths, filter(&args[0], &mask)?)])
    }

    fn size(&self) -> usize {
        self.pairs.bytes()
    }
}
