//! Aggregates of how often each value is there: `mode`, the most frequent one, and `entropy`, in bits. Of values that are
//! there equally often the mode is the least one, whatever the order of rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDF, EmitTo, GroupsAccumulator};

use super::rows::Converter;
use super::{Own, aggregate, no_conversion, passes};

/// The aggregates.
pub(super) fn all() -> Vec<Arc<AggregateUDF>> {
    vec![
        aggregate(Counted { name: "mode", is_mode: true }),
        aggregate(Counted { name: "entropy", is_mode: false }),
    ]
}

struct Counted {
    name: &'static str,
    is_mode: bool,
}

impl Own for Counted {
    type Groups = Groups;

    fn name(&self) -> &'static str {
        self.name
    }

    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>> {
        (given.len() == 1 && given.iter().all(Converter::takes)).then(|| given.to_vec())
    }

    fn gives(&self, taken: &[DataType]) -> DataType {
        match self.is_mode {
            true => taken.first().cloned().unwrap_or(DataType::Null),
            false => DataType::Float64,
        }
    }

    fn states(&self, taken: &[DataType]) -> Vec<DataType> {
        let value = taken.first().cloned().unwrap_or(DataType::Null);
        vec![DataType::new_list(value, true), DataType::new_list(DataType::Int64, true)]
    }

    fn of_nothing(&self, gives: &DataType) -> Result<ScalarValue> {
        if self.is_mode { ScalarValue::try_from(gives) } else { Ok(ScalarValue::from(0.0)) }
    }

    fn groups(&self, taken: &[DataType], _: &AccumulatorArgs) -> Result<Groups> {
        let [value] = taken else { return exec_err!("{}() takes a value", self.name) };
        let converter = Converter::new(&[(value.clone(), false)])?;
        Ok(Groups { counts: Vec::new(), converter, value: value.clone(), is_mode: self.is_mode, bytes: 0 })
    }
}

/// How often the values of a group are there.
type Counts = HashMap<Box<[u8]>, i64>;

struct Groups {
    counts: Vec<Counts>,
    converter: Converter,
    value: DataType,
    is_mode: bool,
    /// The bytes of all values.
    bytes: usize,
}

/// About the bytes of a value in a table besides its own.
const ENTRY: usize = size_of::<(Box<[u8]>, i64)>() * 2;

impl Groups {
    fn resize(&mut self, total: usize) {
        self.counts.resize_with(total, Counts::default);
    }

    fn add(&mut self, group: usize, value: &[u8], count: i64) -> Result<()> {
        let counts = &mut self.counts[group];
        if let Some(known) = counts.get_mut(value) {
            let sum = known.checked_add(count);
            *known = sum.ok_or_else(|| exec_datafusion_err!("a count is out of range"))?;
        } else {
            self.bytes += value.len() + ENTRY;
            counts.insert(value.into(), count);
        }
        Ok(())
    }

    fn taken(&mut self, emit: EmitTo) -> Vec<Counts> {
        let counts = emit.take_needed(&mut self.counts);
        let bytes: usize = counts.iter().flat_map(Counts::keys).map(|value| value.len() + ENTRY).sum();
        self.bytes -= bytes;
        counts
    }
}

/// The value that is there most often.
fn mode(counts: &Counts) -> Option<&[u8]> {
    let best = counts.iter().max_by(|(a, a_count), (b, b_count)| a_count.cmp(b_count).then_with(|| b.cmp(a)));
    best.map(|(value, _)| value.as_ref())
}

/// How many bits a value says on average. The sum does not depend on the order of a table.
fn entropy(counts: &Counts) -> f64 {
    let mut counts: Vec<i64> = counts.values().copied().collect();
    counts.sort_unstable();
    let total: f64 = counts.iter().map(|count| *count as f64).sum();
    let bits = counts.iter().map(|count| {
        let part = *count as f64 / total;
        -part * part.log2()
    });
    // Of one value -0.0 would be the sum.
    bits.sum::<f64>() + 0.0
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        condition: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let [values] = args else { return Ok(()) };
        let rows = self.converter.rows(values)?;
        let nulls = values.logical_nulls();
        for (row, group) in groups.iter().enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && passes(condition, row) {
                self.add(*group, rows.row(row).as_ref(), 1)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let counts = self.taken(emit);
        if !self.is_mode {
            return Ok(Arc::new(Float64Array::from_iter_values(counts.iter().map(entropy))));
        }
        let nothing = self.converter.rows(&new_null_array(&self.value, 1))?;
        let nothing = nothing.row(0);
        let modes = counts.iter().map(|counts| mode(counts).unwrap_or(nothing.as_ref()));
        let mut columns = self.converter.columns(modes)?;
        columns.pop().ok_or_else(|| exec_datafusion_err!("a value has a column"))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let counts = self.taken(emit);
        let lengths = || OffsetBuffer::<i32>::from_lengths(counts.iter().map(Counts::len));
        let total: usize = counts.iter().map(Counts::len).sum();
        if i32::try_from(total).is_err() {
            return exec_err!("the groups have more than 2^31 values together");
        }
        // In one order, so that what is sent is the same in each run.
        let mut all: Vec<(&[u8], i64)> = Vec::with_capacity(total);
        for counts in &counts {
            let begin = all.len();
            all.extend(counts.iter().map(|(value, count)| (value.as_ref(), *count)));
            all[begin..].sort_unstable();
        }
        let mut columns = self.converter.columns(all.iter().map(|(value, _)| *value))?;
        let values = columns.pop().ok_or_else(|| exec_datafusion_err!("a value has a column"))?;
        let numbers = Int64Array::from_iter_values(all.iter().map(|(_, count)| *count));
        let list = |values: ArrayRef| -> Result<ArrayRef> {
            let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(item, lengths(), values, None)?))
        };
        Ok(vec![list(values)?, list(Arc::new(numbers))?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let [values, counts] = states else { return exec_err!("a state has values and counts") };
        let (values, counts) = (values.as_list::<i32>(), counts.as_list::<i32>());
        let rows = self.converter.rows(values.values())?;
        for (row, group) in groups.iter().enumerate() {
            let counts = counts.value(row);
            let begin = values.value_offsets()[row] as usize;
            for (at, count) in (begin..).zip(counts.as_primitive::<Int64Type>().values()) {
                self.add(*group, rows.row(at).as_ref(), *count)?;
            }
        }
        Ok(())
    }

    fn convert_to_state(&self, _: &[ArrayRef], _: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        no_conversion()
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<Counts>() + self.bytes + self.converter.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_counts_the_least_value_is_the_mode() {
        let counts = |all: &[(u8, i64)]| -> Counts {
            all.iter().map(|(value, count)| (Box::from([*value].as_slice()), *count)).collect()
        };
        assert_eq!(mode(&counts(&[(3, 2), (1, 2), (2, 1)])), Some([1].as_slice()));
        assert_eq!(mode(&counts(&[])), None);
        assert_eq!(entropy(&counts(&[(1, 5), (2, 5)])), 1.0);
        assert!(entropy(&counts(&[(1, 5)])).is_sign_positive());
        assert_eq!(entropy(&counts(&[])), 0.0);
    }
}
