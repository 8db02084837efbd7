//! An aggregate over the items of lists: `list_sum([1, 2])`.
//!
//! The items of all lists of a batch are the rows of one aggregation, whose groups are the lists that have items. An
//! accumulator sees the items of a list in their order.

use std::hash::{Hash, Hasher};
use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_empty_array, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::take::take;
use datafusion_common::Result;
use datafusion_expr::{
    ColumnarValue, EmitTo, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::picks::Lists;
use super::{Given, over_rows};
use crate::Expr;
use crate::accumulators::{AggregateFunction, accumulator, comparable};

/// An aggregate over the items of a list.
#[derive(Debug, Clone)]
pub struct Aggregated {
    /// How the call is written, without the list: the aggregate, and its arguments besides the items.
    pub text: String,
    /// The name of the aggregate.
    pub aggregate: String,
    /// The aggregate.
    pub function: AggregateFunction,
    /// Its arguments, over batches of items.
    pub args: Vec<Expr>,
    /// The column of items.
    pub schema: SchemaRef,
    /// The type of its results.
    pub gives: DataType,
    /// Whether it can fail.
    pub fails: bool,
}

/// An aggregate of items as DataFusion knows a function.
#[derive(Debug)]
struct OfItems {
    aggregated: Aggregated,
    signature: Signature,
}

/// The function of an aggregate of items. Its argument is the list.
pub fn function(aggregated: Aggregated) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(OfItems { aggregated, signature }))
}

/// The aggregate of items that a function is.
pub fn of(function: &ScalarUDF) -> Option<&Aggregated> {
    function.inner().downcast_ref::<OfItems>().map(|of| &of.aggregated)
}

/// Whether a function is an aggregate of items that can't fail.
pub fn is_total(function: &ScalarUDF) -> bool {
    of(function).is_some_and(|aggregated| !aggregated.fails)
}

impl PartialEq for OfItems {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.aggregated, &other.aggregated);
        one.text == other.text
            && one.schema == other.schema
            && one.gives == other.gives
            && one.args == other.args
    }
}

impl Eq for OfItems {}

impl Hash for OfItems {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.aggregated.text.hash(state);
    }
}

impl ScalarUDFImpl for OfItems {
    fn name(&self) -> &str {
        &self.aggregated.text
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.aggregated.gives.clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new("aggregate", self.aggregated.gives.clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_rows(&args, |given| self.aggregated.values(given))
    }
}

impl Aggregated {
    /// The value of each list; NULL of a list that is NULL.
    fn values(&self, given: &Given) -> Result<ArrayRef> {
        let lists = Lists::of(given.arg(0)?)?.alone()?;
        let mut groups: Vec<usize> = Vec::with_capacity(lists.values().len());
        let mut places: Vec<Option<u32>> = Vec::with_capacity(lists.len());
        let mut count = 0;
        for row in 0..lists.len() {
            let length = lists.value_length(row) as usize;
            places.push(match length {
                _ if lists.is_null(row) => None,
                // The value of no items stands before the others.
                0 => Some(0),
                _ => {
                    groups.extend(repeat_n(count, length));
                    count += 1;
                    Some(count as u32)
                }
            });
        }
        let nothing = match places.contains(&Some(0)) {
            true => self.of_groups(&new_empty_array(lists.values().data_type()), &[], 1)?,
            false => new_null_array(&self.gives, 1),
        };
        let values = match count {
            0 => new_empty_array(&self.gives),
            _ => self.of_groups(lists.values(), &groups, count)?,
        };
        if self.gives.is_null() {
            return Ok(new_null_array(&self.gives, lists.len()));
        }
        let all = concat(&[nothing.as_ref(), values.as_ref()])?;
        Ok(take(&all, &UInt32Array::from(places), None)?)
    }

    /// The value of each group of items. Without items there is one group.
    fn of_groups(&self, items: &ArrayRef, groups: &[usize], count: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(items.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), vec![items.clone()], &options)?;
        let args = self.args.iter().map(|arg| arg.evaluate(&batch)?.into_array(items.len()));
        let mut args = args.collect::<Result<Vec<_>>>()?;
        if let AggregateFunction::General(f) = &self.function {
            args = comparable(f, args);
        }
        let mut accumulator = accumulator(&self.function, groups.is_empty())?;
        accumulator.update_batch(&args, groups, None, count)?;
        let values = accumulator.evaluate(EmitTo::All)?;
        match values.data_type() == &self.gives {
            true => Ok(values),
            false => Ok(cast(&values, &self.gives)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, ListArray};
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Schema;
    use datafusion_physical_expr::expressions::Column;

    use super::super::list_field;
    use super::*;

    fn sum() -> Aggregated {
        Aggregated {
            text: "list_sum".into(),
            aggregate: "sum".into(),
            function: AggregateFunction::SumInt { unsigned: false },
            args: vec![Arc::new(Column::new("item", 0))],
            schema: Arc::new(Schema::new(vec![Field::new("item", DataType::Int64, true)])),
            gives: DataType::Int64,
            fails: true,
        }
    }

    #[test]
    fn each_list_is_a_group() {
        let items: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(70), None, Some(4), None]));
        // The third list is NULL and has an item all the same.
        let offsets = OffsetBuffer::from_lengths([2, 0, 1, 2, 1]);
        let nulls = NullBuffer::from(vec![true, true, false, true, true]);
        let lists = ListArray::new(list_field(&DataType::Int64), offsets, items, Some(nulls));
        let whole = [Some(3), None, None, Some(4), None];
        for (from, rows) in [(0, 5), (1, 3), (4, 1), (1, 1), (2, 0)] {
            let part: ArrayRef = Arc::new(lists.slice(from, rows));
            let given = Given { rows, gives: &DataType::Int64, args: vec![part] };
            let sums = sum().values(&given).unwrap();
            let sums: Vec<Option<i64>> = sums.as_primitive::<Int64Type>().iter().collect();
            assert_eq!(sums, whole[from..from + rows], "{from} {rows}");
        }
    }

    #[test]
    fn a_sum_that_does_not_fit_is_an_error() {
        let items: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1]));
        let lists =
            ListArray::new(list_field(&DataType::Int64), OffsetBuffer::from_lengths([2]), items, None);
        let given = Given { rows: 1, gives: &DataType::Int64, args: vec![Arc::new(lists)] };
        assert!(sum().values(&given).unwrap_err().to_string().contains("SUM does not fit"));
    }

    #[test]
    fn no_items_count_as_none() {
        let count = Aggregated { function: AggregateFunction::Count, ..sum() };
        let items: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let lists =
            ListArray::new(list_field(&DataType::Int64), OffsetBuffer::from_lengths([0, 2]), items, None);
        let given = Given { rows: 2, gives: &DataType::Int64, args: vec![Arc::new(lists)] };
        let counts = count.values(&given).unwrap();
        assert_eq!(counts.as_primitive::<Int64Type>().values().as_ref(), [0, 1]);
    }
}
