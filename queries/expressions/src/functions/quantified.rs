//! `x = ANY(list)`, `x < ALL(list)` and the like, over the items of a list.
//!
//! It is computed item by item, as over the rows of a subquery: a NULL among the items leaves the answer open. A list that
//! is NULL has no items.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use datafusion_common::{Result, exec_datafusion_err, internal_err, plan_err};
use datafusion_expr::type_coercion::binary::comparison_coercion;
use datafusion_expr::{
    ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_physical_expr::expressions::{BinaryExpr, Column};

use crate::checked::checked;

const OPERATORS: [Operator; 6] =
    [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq];

/// The name of the function for a comparison with any item, or with all.
pub fn name(op: Operator, all: bool) -> String {
    format!("{op} {}", if all { "ALL" } else { "ANY" }).to_lowercase()
}

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let each = OPERATORS.into_iter().flat_map(|op| [(op, false), (op, true)]);
    each.map(|(op, all)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Quantified { name: name(op, all), op, all, signature }))
    })
    .collect()
}

/// One comparison with one quantifier.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantified {
    name: String,
    op: Operator,
    all: bool,
    signature: Signature,
}

impl Quantified {
    /// Whether the comparison holds for any or all of the items of each row, given whether it holds for each item.
    fn over_items(&self, lengths: &[usize], holds: &BooleanArray) -> BooleanArray {
        let mut at = 0;
        let rows = lengths.iter().map(|&length| {
            let items = at..at + length;
            at += length;
            let mut open = false;
            for item in items {
                if holds.is_null(item) {
                    open = true;
                } else if holds.value(item) != self.all {
                    return Some(!self.all);
                }
            }
            (!open).then_some(self.all)
        });
        rows.collect()
    }
}

/// The items of the lists of all rows in turn, and how many each row has.
fn items(lists: &ArrayRef) -> Result<(ArrayRef, Vec<usize>)> {
    let (values, ranges): (ArrayRef, Vec<(usize, usize)>) = match lists.data_type() {
        DataType::List(_) => {
            let list = lists.as_list::<i32>();
            let ranges = list.offsets().windows(2).map(|o| (o[0] as usize, o[1] as usize)).collect();
            (list.values().clone(), ranges)
        }
        DataType::LargeList(_) => {
            let list = lists.as_list::<i64>();
            let ranges = list.offsets().windows(2).map(|o| (o[0] as usize, o[1] as usize)).collect();
            (list.values().clone(), ranges)
        }
        DataType::FixedSizeList(_, size) => {
            let size = *size as usize;
            let ranges = (0..lists.len()).map(|row| (row * size, (row + 1) * size)).collect();
            (lists.as_fixed_size_list().values().clone(), ranges)
        }
        other => return internal_err!("{other} is no list"),
    };
    let of_row =
        |(row, (from, to)): (usize, &(usize, usize))| if lists.is_null(row) { 0..0 } else { *from..*to };
    let taken = ranges.iter().enumerate().map(of_row);
    let lengths = taken.clone().map(|range| range.len()).collect();
    let too_many = |_| exec_datafusion_err!("lists with more than 4,294,967,295 items in one batch");
    let places = taken.flatten().map(u32::try_from).collect::<std::result::Result<Vec<_>, _>>();
    let places = UInt32Array::from(places.map_err(too_many)?);
    Ok((take(&values, &places, None)?, lengths))
}

impl ScalarUDFImpl for Quantified {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [value, list] = types else { return plan_err!("{} takes a value and a list", self.name) };
        let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) = list
        else {
            return plan_err!(
                "{} takes a list or a subquery, and {list} is neither",
                self.name.to_uppercase()
            );
        };
        let Some(common) = comparison_coercion(value, item.data_type()) else {
            return plan_err!(
                "Cannot infer common argument type for comparison operation {value} {} {list}",
                self.name
            );
        };
        let item = Arc::new(Field::new(item.name(), common.clone(), true));
        let list = match list {
            DataType::LargeList(_) => DataType::LargeList(item),
            DataType::FixedSizeList(_, size) => DataType::FixedSizeList(item, *size),
            _ => DataType::List(item),
        };
        Ok(vec![common, list])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let [value, lists] = args.args.as_slice() else {
            return internal_err!("{} has two arguments", self.name);
        };
        let (value, lists) = (value.to_array(rows)?, lists.to_array(rows)?);
        let (items, lengths) = items(&lists)?;
        let places = lengths.iter().zip(0u32..).flat_map(|(length, row)| std::iter::repeat_n(row, *length));
        let values = take(&value, &UInt32Array::from_iter_values(places), None)?;
        let schema = Arc::new(Schema::new(vec![
            Field::new("value", values.data_type().clone(), true),
            Field::new("item", items.data_type().clone(), true),
        ]));
        let pairs = RecordBatch::try_new(schema.clone(), vec![values, items])?;
        let side = |name: &str, column: usize| Arc::new(Column::new(name, column));
        let comparison = Arc::new(BinaryExpr::new(side("value", 0), self.op, side("item", 1)));
        let holds = checked(comparison, &schema)?.evaluate(&pairs)?.into_array(pairs.num_rows())?;
        Ok(ColumnarValue::Array(Arc::new(self.over_items(&lengths, holds.as_boolean()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_leaves_open_what_no_item_decides() {
        let holds = BooleanArray::from(vec![Some(false), None, Some(true), None, Some(false)]);
        let lengths = [2, 2, 0, 1];
        let of = |all: bool| {
            let signature = Signature::user_defined(Volatility::Immutable);
            let any = Quantified { name: String::new(), op: Operator::Eq, all, signature };
            any.over_items(&lengths, &holds).iter().collect::<Vec<_>>()
        };
        assert_eq!(of(false), [None, Some(true), Some(false), Some(false)]);
        assert_eq!(of(true), [Some(false), None, Some(true), Some(false)]);
    }
}
