//! `quantile_disc(value, place)`: the first value, in order, that at least so great a part of the values does not exceed.
//! Without a place it is refused; of NULLs alone it is NULL.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, RecordBatch, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, exec_err, plan_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDF, ColumnarValue, EmitTo, GroupsAccumulator};

use super::rows::Converter;
use super::{Own, aggregate, no_conversion, passes};

/// The aggregate.
pub(super) fn quantile_disc() -> Arc<AggregateUDF> {
    aggregate(Quantile)
}

struct Quantile;

impl Own for Quantile {
    type Groups = Groups;

    fn name(&self) -> &'static str {
        "quantile_disc"
    }

    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>> {
        let [value, place] = given else { return None };
        (Converter::takes(value) && place.is_numeric()).then(|| vec![value.clone(), DataType::Float64])
    }

    fn gives(&self, taken: &[DataType]) -> DataType {
        taken.first().cloned().unwrap_or(DataType::Null)
    }

    fn states(&self, taken: &[DataType]) -> Vec<DataType> {
        vec![DataType::new_list(self.gives(taken), true)]
    }

    fn groups(&self, taken: &[DataType], args: &AccumulatorArgs) -> Result<Groups> {
        let descending = args.order_bys.first().is_some_and(|key| key.options.descending);
        let value = self.gives(taken);
        Ok(Groups {
            values: Vec::new(),
            converter: Converter::new(&[(value.clone(), descending)])?,
            value,
            place: place(args)?,
            distinct: args.is_distinct,
            bytes: 0,
        })
    }
}

/// The place, a constant.
fn place(args: &AccumulatorArgs) -> Result<f64> {
    let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
    match args.exprs.get(1).map(|place| place.evaluate(&nothing)) {
        Some(Ok(ColumnarValue::Scalar(ScalarValue::Float64(Some(place)))))
            if (0.0..=1.0).contains(&place) =>
        {
            Ok(place)
        }
        _ => plan_err!("the place of quantile_disc() is a constant between 0 and 1"),
    }
}

/// The values of a group one behind the other, and where each ends.
#[derive(Default, Clone)]
struct Values {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Values {
    fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    /// The value at a place in their order.
    fn at(&self, place: f64, distinct: bool) -> Option<&[u8]> {
        let mut all: Vec<&[u8]> = self.all().collect();
        if distinct {
            all.sort_unstable();
            all.dedup();
        }
        let n = all.len() as f64;
        // Behind so many values; computed from the end, as others do, so that 0.1 of ten values is the first.
        let behind = (n - (n - place * n).floor()).max(1.0) as usize - 1;
        let behind = behind.min(all.len().checked_sub(1)?);
        Some(*all.select_nth_unstable(behind).1)
    }
}

struct Groups {
    values: Vec<Values>,
    converter: Converter,
    value: DataType,
    place: f64,
    distinct: bool,
    /// The bytes of all values.
    bytes: usize,
}

impl Groups {
    fn push(&mut self, group: usize, value: &[u8]) {
        self.values[group].push(value);
        self.bytes += value.len() + size_of::<usize>();
    }

    fn taken(&mut self, emit: EmitTo) -> Vec<Values> {
        let values = emit.take_needed(&mut self.values);
        let inside = values.iter().map(|values| values.bytes.len() + values.ends.len() * size_of::<usize>());
        self.bytes -= inside.sum::<usize>();
        values
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        condition: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.values.resize_with(total, Values::default);
        let Some(values) = args.first() else { return Ok(()) };
        let rows = self.converter.rows(values)?;
        let nulls = values.logical_nulls();
        for (row, group) in groups.iter().enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && passes(condition, row) {
                self.push(*group, rows.row(row).as_ref());
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let values = self.taken(emit);
        let nothing = self.converter.rows(&new_null_array(&self.value, 1))?;
        let nothing = nothing.row(0);
        let found = values.iter().map(|values| values.at(self.place, self.distinct));
        let mut columns = self.converter.columns(found.map(|value| value.unwrap_or(nothing.as_ref())))?;
        columns.pop().ok_or_else(|| exec_datafusion_err!("a value has a column"))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let values = self.taken(emit);
        let total: usize = values.iter().map(|values| values.ends.len()).sum();
        if i32::try_from(total).is_err() {
            return exec_err!("the groups have more than 2^31 values together");
        }
        let lengths = OffsetBuffer::<i32>::from_lengths(values.iter().map(|values| values.ends.len()));
        let mut columns = self.converter.columns(values.iter().flat_map(Values::all))?;
        let items = columns.pop().ok_or_else(|| exec_datafusion_err!("a value has a column"))?;
        let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        Ok(vec![Arc::new(ListArray::try_new(item, lengths, items, None)?)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.values.resize_with(total, Values::default);
        let Some(lists) = states.first() else { return Ok(()) };
        let lists = lists.as_list::<i32>();
        let rows = self.converter.rows(lists.values())?;
        let offsets = lists.value_offsets();
        for (row, group) in groups.iter().enumerate() {
            for at in offsets[row] as usize..offsets[row + 1] as usize {
                self.push(*group, rows.row(at).as_ref());
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, _: &[ArrayRef], _: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        no_conversion()
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<Values>() + self.bytes + self.converter.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_a_value() {
        let mut values = Values::default();
        (1..=10_u8).rev().for_each(|value| values.push(&[value]));
        for (place, expected) in [(0.0, 1), (0.1, 1), (0.11, 2), (0.5, 5), (0.51, 6), (0.9, 9), (1.0, 10)] {
            assert_eq!(values.at(place, false), Some([expected].as_slice()), "{place}");
        }
        assert_eq!(Values::default().at(0.5, false), None);
    }
}
