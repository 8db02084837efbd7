//! The comparison operators of lists, structs and maps.
//!
//! Two values are compared element by element. A NULL within them is a value, equal to NULL and greater than all others,
//! as it is where they are ordered and grouped; DataFusion's operators take it for the least.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Schema, SortOptions};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;

use super::normal::normalised;
use crate::plan::Expr;

/// `left op right` of nested values of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct NestedComparison {
    // Pairs are compared by what they point to.
    sides: [Expr; 2],
    op: Operator,
}

impl NestedComparison {
    /// Compares.
    pub fn new(left: Expr, op: Operator, right: Expr) -> NestedComparison {
        NestedComparison { sides: [left, right], op }
    }
}

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

impl fmt::Display for NestedComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.sides[0], self.op, self.sides[1])
    }
}

impl PhysicalExpr for NestedComparison {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        let total = matches!(self.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        Ok(!total && (self.sides[0].nullable(schema)? || self.sides[1].nullable(schema)?))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let left = self.sides[0].evaluate(batch)?.into_array(rows)?;
        let right = self.sides[1].evaluate(batch)?.into_array(rows)?;
        Ok(ColumnarValue::Array(Arc::new(compare(&left, self.op, &right)?)))
    }

    fn children(&self) -> Vec<&Expr> {
        self.sides.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        let right = children.swap_remove(1);
        Ok(Arc::new(NestedComparison::new(children.swap_remove(0), self.op, right)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
