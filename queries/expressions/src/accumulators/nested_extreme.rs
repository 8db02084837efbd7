//! `MIN` and `MAX` of lists, structs and maps, in the order of ORDER BY: a NULL within a value is greater than all else.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;
use datafusion_common::{Result as DfResult, not_impl_err};
use datafusion_expr::{EmitTo, GroupsAccumulator};

use super::{emit, filtered, passes};
use crate::functions::aggregates::rows::Converter;

/// Keeps the extreme of each group as a row of bytes that compares like the value.
pub struct NestedExtreme {
    max: bool,
    converter: Converter,
    best: Vec<Option<Vec<u8>>>,
    /// The bytes of all rows in `best`.
    bytes: usize,
}

impl NestedExtreme {
    /// Makes the accumulator of `MIN` or `MAX` for a type.
    ///
    /// # Errors
    /// A type without an order.
    pub fn new(max: bool, data_type: &DataType) -> DfResult<NestedExtreme> {
        if !Converter::takes(data_type) {
            return not_impl_err!("MIN and MAX of {data_type}");
        }
        // Both ascend: within a descending value NULLs would lie elsewhere.
        let converter = Converter::new(&[(data_type.clone(), false)])?;
        Ok(NestedExtreme { max, converter, best: Vec::new(), bytes: 0 })
    }

    fn add(
        &mut self,
        column: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.best.resize(total, None);
        let rows = self.converter.rows(column)?;
        for (row, &group) in groups.iter().enumerate() {
            if column.is_null(row) || !passes(filter, row) {
                continue;
            }
            let value = rows.row(row);
            let best = &mut self.best[group];
            let better = best.as_deref().is_none_or(|best| match self.max {
                true => value.data() > best,
                false => value.data() < best,
            });
            if better {
                let old = best.replace(value.data().to_vec());
                self.bytes += value.data().len();
                self.bytes -= old.map_or(0, |old| old.len());
            }
        }
        Ok(())
    }
}

impl GroupsAccumulator for NestedExtreme {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DfResult<()> {
        self.add(&args[0], groups, filter, total)
    }

    fn evaluate(&mut self, to: EmitTo) -> DfResult<ArrayRef> {
        let best = emit(&mut self.best, to);
        self.bytes -= best.iter().flatten().map(Vec::len).sum::<usize>();
        self.converter.column(best.iter().map(Option::as_deref))
    }

    fn state(&mut self, to: EmitTo) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(to)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> DfResult<()> {
        self.add(&states[0], groups, None, total)
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> DfResult<Vec<ArrayRef>> {
        Ok(vec![filtered(&args[0], filter)?])
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<Vec<u8>>>() + self.bytes + self.converter.size()
    }
}
