//! `quantile_disc(value, place)`: the first value, in order, that at least so great a part of the values does not exceed.
//! Without a place it is refused; of NULLs alone it is NULL.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDF, ColumnarValue, EmitTo};

use super::lists::{items, lists};
use super::rows::{Converter, known};
use super::{Own, States, aggregate};

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

    fn states(&self, taken: &[DataType]) -> Vec<DataType> {
        vec![DataType::new_list(self.gives(taken), true)]
    }

    fn groups(&self, taken: &[DataType], args: &AccumulatorArgs) -> Result<Groups> {
        let descending = args.order_bys.first().is_some_and(|key| key.options.descending);
        Ok(Groups {
            values: Vec::new(),
            converter: Converter::new(&[(self.gives(taken), descending)])?,
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

impl States for Groups {
    fn resize(&mut self, total: usize) {
        self.values.resize_with(total, Values::default);
    }

    fn add(&mut self, args: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values, ..] = args else { return exec_err!("there is a value") };
        let (rows, known) = (self.converter.rows(values)?, known(values));
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| known(*row)) {
            self.push(*group, rows.row(row).as_ref());
        }
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values] = states else { return exec_err!("a state has values") };
        let (values, ranges) = items(values);
        let rows = self.converter.rows(&values)?;
        for (group, range) in groups.iter().zip(ranges) {
            range.for_each(|at| self.push(*group, rows.row(at).as_ref()));
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let values = self.taken(emit);
        self.converter.column(values.iter().map(|values| values.at(self.place, self.distinct)))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let values = self.taken(emit);
        let items = self.converter.column(values.iter().flat_map(Values::all).map(Some))?;
        Ok(vec![lists(values.iter().map(|values| values.ends.len()), items)?])
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
