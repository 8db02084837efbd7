//! Aggregates of how often each value is there. `mode` is the most frequent one. `entropy` is in bits, and `histogram`
//! is a map of all values in their order. Of values that are there equally often the mode is the least one, whatever
//! the order of rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, MapArray, StructArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDF, EmitTo};

use super::lists::{items, lists};
use super::rows::{Converter, known};
use super::{Own, States, aggregate};
use crate::functions::lists::maps::map_of;

/// The aggregates.
pub(super) fn all() -> Vec<Arc<AggregateUDF>> {
    vec![
        aggregate(Counted { name: "mode", gives: Gives::Mode }),
        aggregate(Counted { name: "entropy", gives: Gives::Entropy }),
        aggregate(Counted { name: "histogram", gives: Gives::Histogram }),
    ]
}

/// What is made of the counts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gives {
    Mode,
    Entropy,
    Histogram,
}

struct Counted {
    name: &'static str,
    gives: Gives,
}

impl Own for Counted {
    type Groups = Groups;

    fn name(&self) -> &'static str {
        self.name
    }

    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>> {
        Converter::taken(given, 1)
    }

    fn gives(&self, taken: &[DataType]) -> DataType {
        let value = taken.first().cloned().unwrap_or(DataType::Null);
        match self.gives {
            Gives::Mode => value,
            Gives::Entropy => DataType::Float64,
            Gives::Histogram => map_of(&value, &DataType::UInt64),
        }
    }

    fn states(&self, taken: &[DataType]) -> Vec<DataType> {
        let value = taken.first().cloned().unwrap_or(DataType::Null);
        vec![DataType::new_list(value, true), DataType::new_list(DataType::Int64, true)]
    }

    fn of_nothing(&self, gives: &DataType) -> Result<ScalarValue> {
        match self.gives {
            Gives::Entropy => Ok(ScalarValue::from(0.0)),
            _ => ScalarValue::try_from(gives),
        }
    }

    fn groups(&self, taken: &[DataType], _: &AccumulatorArgs) -> Result<Groups> {
        let [value] = taken else { return exec_err!("{}() takes a value", self.name) };
        let converter = Converter::new(&[(value.clone(), false)])?;
        Ok(Groups { counts: Vec::new(), converter, gives: self.gives, bytes: 0 })
    }
}

/// How often the values of a group are there.
type Counts = HashMap<Box<[u8]>, i64>;

struct Groups {
    counts: Vec<Counts>,
    converter: Converter,
    gives: Gives,
    /// The bytes of all values.
    bytes: usize,
}

/// About the bytes of a value in a table besides its own.
const ENTRY: usize = size_of::<(Box<[u8]>, i64)>() * 2;

impl Groups {
    fn count(&mut self, group: usize, value: &[u8], count: i64) -> Result<()> {
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

/// The values of one group after the other, in their order, and how often each is there.
fn ordered(counts: &[Counts]) -> Vec<(&[u8], i64)> {
    let mut all: Vec<(&[u8], i64)> = Vec::with_capacity(counts.iter().map(Counts::len).sum());
    for counts in counts {
        let begin = all.len();
        all.extend(counts.iter().map(|(value, count)| (value.as_ref(), *count)));
        all[begin..].sort_unstable();
    }
    all
}

/// A map for each group that has values.
fn histograms(counts: &[Counts], values: ArrayRef, numbers: ArrayRef) -> Result<ArrayRef> {
    let data_type = map_of(values.data_type(), numbers.data_type());
    let DataType::Map(field, _) = &data_type else { return exec_err!("a histogram is a map") };
    let DataType::Struct(fields) = field.data_type() else { return exec_err!("entries are structs") };
    if i32::try_from(values.len()).is_err() {
        return exec_err!("the groups have more than 2^31 values together");
    }
    let entries = StructArray::try_new(fields.clone(), vec![values, numbers], None)?;
    let offsets = OffsetBuffer::from_lengths(counts.iter().map(Counts::len));
    let nulls: NullBuffer = counts.iter().map(|counts| !counts.is_empty()).collect();
    Ok(Arc::new(MapArray::try_new(field.clone(), offsets, entries, Some(nulls), false)?))
}

impl States for Groups {
    fn resize(&mut self, total: usize) {
        self.counts.resize_with(total, Counts::default);
    }

    fn add(&mut self, args: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values] = args else { return exec_err!("there is a value") };
        let (rows, known) = (self.converter.rows(values)?, known(values));
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| known(*row)) {
            self.count(*group, rows.row(row).as_ref(), 1)?;
        }
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values, counts] = states else { return exec_err!("a state has values and counts") };
        let ((values, ranges), (counts, _)) = (items(values), items(counts));
        let (rows, counts) = (self.converter.rows(&values)?, counts.as_primitive::<Int64Type>());
        for (group, range) in groups.iter().zip(ranges) {
            for at in range {
                self.count(*group, rows.row(at).as_ref(), counts.value(at))?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let counts = self.taken(emit);
        match self.gives {
            Gives::Mode => self.converter.column(counts.iter().map(mode)),
            Gives::Entropy => Ok(Arc::new(Float64Array::from_iter_values(counts.iter().map(entropy)))),
            Gives::Histogram => {
                let all = ordered(&counts);
                let values = self.converter.column(all.iter().map(|(value, _)| Some(*value)))?;
                let numbers = UInt64Array::from_iter_values(all.iter().map(|(_, count)| *count as u64));
                histograms(&counts, values, Arc::new(numbers))
            }
        }
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let counts = self.taken(emit);
        // In one order, so that what is sent is the same in each run.
        let all = ordered(&counts);
        let values = self.converter.column(all.iter().map(|(value, _)| Some(*value)))?;
        let numbers = Int64Array::from_iter_values(all.iter().map(|(_, count)| *count));
        let lengths = || counts.iter().map(Counts::len);
        Ok(vec![lists(lengths(), values)?, lists(lengths(), Arc::new(numbers))?])
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
