//! The comparison operators of lists, structs and maps.
//!
//! Two values are compared element by element. A NULL within them is a value, equal to NULL and greater than all
//! others. It is so where they are ordered and grouped, too. DataFusion's operators take it for the least.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::ord::make_comparator;
use arrow_schema::SortOptions;
use datafusion_common::{Result, internal_err};
use datafusion_expr::Operator;

use crate::values::normal::normalised;

/// `left op right` of two columns of nested values.
pub fn compare(left: &ArrayRef, op: Operator, right: &ArrayRef) -> Result<BooleanArray> {
    let (left, right) = (normalised(left), normalised(right));
    let order = make_comparator(&left, &right, SortOptions { descending: false, nulls_first: false })?;
    let is = |row: usize| order(row, row);
    let rows = left.len();
    let values = match op {
        Operator::Eq | Operator::IsNotDistinctFrom => {
            BooleanBuffer::collect_bool(rows, |row| is(row).is_eq())
        }
        Operator::NotEq | Operator::IsDistinctFrom => {
            BooleanBuffer::collect_bool(rows, |row| is(row).is_ne())
        }
        Operator::Lt => BooleanBuffer::collect_bool(rows, |row| is(row).is_lt()),
        Operator::LtEq => BooleanBuffer::collect_bool(rows, |row| is(row).is_le()),
        Operator::Gt => BooleanBuffer::collect_bool(rows, |row| is(row).is_gt()),
        Operator::GtEq => BooleanBuffer::collect_bool(rows, |row| is(row).is_ge()),
        other => return internal_err!("{other} compares no nested values"),
    };
    let nulls = match op {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => None,
        _ => NullBuffer::union(left.nulls(), right.nulls()),
    };
    Ok(BooleanArray::new(values, nulls))
}
