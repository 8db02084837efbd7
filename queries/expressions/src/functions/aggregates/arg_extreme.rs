//! `arg_min(value, key)` and `arg_max(value, key)`: the value of the row with the least or the greatest key. Of rows
//! with equal keys it is that of the least value. So it does not depend on the order of rows, nor on the workers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDF, EmitTo};

use super::rows::{Converter, known};
use super::{Own, States, aggregate};
use crate::values::normal::normalised;

/// The aggregates. Those with NULLs give that of the value too; those with NULLs last look at keys that are NULL if there
/// are no others.
pub(super) fn all() -> Vec<Arc<AggregateUDF>> {
    let of = |name, max, nulls| aggregate(ArgExtreme { name, max, nulls });
    vec![
        of("arg_min", false, Nulls::Skipped),
        of("arg_max", true, Nulls::Skipped),
        of("arg_min_null", false, Nulls::Values),
        of("arg_max_null", true, Nulls::Values),
        of("arg_min_nulls_last", false, Nulls::Keys),
        of("arg_max_nulls_last", true, Nulls::Keys),
    ]
}

/// Which NULLs count.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nulls {
    Skipped,
    Values,
    Keys,
}

struct ArgExtreme {
    name: &'static str,
    max: bool,
    nulls: Nulls,
}

impl Own for ArgExtreme {
    type Groups = Groups;

    fn name(&self) -> &'static str {
        self.name
    }

    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>> {
        Converter::taken(given, 2)
    }

    fn states(&self, taken: &[DataType]) -> Vec<DataType> {
        // Whether there is a row, which may be one of NULLs.
        taken.iter().cloned().chain([DataType::Boolean]).collect()
    }

    fn groups(&self, taken: &[DataType], _: &AccumulatorArgs) -> Result<Groups> {
        let [value, key] = taken else { return exec_err!("{}() takes a value and a key", self.name) };
        let converter = Converter::new(&[(key.clone(), self.max), (value.clone(), false)])?;
        Ok(Groups { best: Vec::new(), converter, nulls: self.nulls, bytes: 0 })
    }
}

/// The best row of each group: its key and its value as bytes.
struct Groups {
    best: Vec<Option<Box<[u8]>>>,
    converter: Converter,
    nulls: Nulls,
    /// The bytes of all rows.
    bytes: usize,
}

impl Groups {
    /// Compares the rows that are there with the best ones.
    fn compare(
        &mut self,
        [values, keys]: [&ArrayRef; 2],
        groups: &[usize],
        is_there: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let rows = self.converter.rows_as_they_are(&[normalised(keys), values.clone()])?;
        let (value, key) = (known(values), known(keys));
        for (row, group) in groups.iter().enumerate() {
            let counts = match self.nulls {
                Nulls::Skipped => value(row) && key(row),
                Nulls::Values => key(row),
                Nulls::Keys => true,
            };
            if !counts || !is_there(row) {
                continue;
            }
            let candidate = rows.row(row);
            let best = &mut self.best[*group];
            if best.as_deref().is_none_or(|best| candidate.as_ref() < best) {
                self.bytes += candidate.as_ref().len();
                self.bytes -= best.as_ref().map_or(0, |best| best.len());
                *best = Some(candidate.as_ref().into());
            }
        }
        Ok(())
    }

    /// The values and the keys of the first groups, and whether they have any.
    fn taken(&mut self, emit: EmitTo) -> Result<(ArrayRef, ArrayRef, BooleanArray)> {
        let best = emit.take_needed(&mut self.best);
        self.bytes -= best.iter().flatten().map(|row| row.len()).sum::<usize>();
        let has: BooleanArray = best.iter().map(|row| Some(row.is_some())).collect();
        let mut columns = self.converter.columns(best.iter().map(Option::as_deref))?;
        match (columns.pop(), columns.pop()) {
            (Some(values), Some(keys)) => Ok((values, keys, has)),
            _ => exec_err!("a row has a value and a key"),
        }
    }
}

impl States for Groups {
    fn resize(&mut self, total: usize) {
        self.best.resize(total, None);
    }

    fn add(&mut self, args: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values, keys] = args else { return exec_err!("there are a value and a key") };
        self.compare([values, keys], groups, |_| true)
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values, keys, has] = states else { return exec_err!("a state has a value, a key and a mark") };
        let has = has.as_boolean();
        self.compare([values, keys], groups, |row| has.value(row))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.taken(emit)?.0)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (values, keys, has) = self.taken(emit)?;
        Ok(vec![values, keys, Arc::new(has)])
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<Box<[u8]>>>() + self.bytes + self.converter.size()
    }
}
