//! The comparison operators of floats, and of nested values.

use std::fmt;
use std::sync::Arc;

use crate::values::floats;
use arrow_array::RecordBatch;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;

use super::nested;
use crate::Expr;

/// `left op right` of floats or of nested values, of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    // Pairs are compared by what they point to.
    sides: [Expr; 2],
    op: Operator,
}

impl Comparison {
    /// Compares.
    pub fn new(left: Expr, op: Operator, right: Expr) -> Comparison {
        Comparison { sides: [left, right], op }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.sides[0], self.op, self.sides[1])
    }
}

impl PhysicalExpr for Comparison {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        let total = matches!(self.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        Ok(!total && (self.sides[0].nullable(schema)? || self.sides[1].nullable(schema)?))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let (left, right) = (self.sides[0].evaluate(batch)?, self.sides[1].evaluate(batch)?);
        let rows = batch.num_rows();
        let compared = match left.data_type() {
            DataType::Float64 => floats::compare::<Float64Type>(left, self.op, right, rows)?,
            DataType::Float32 => floats::compare::<Float32Type>(left, self.op, right, rows)?,
            t if t.is_nested() => {
                nested::compare(&left.into_array(rows)?, self.op, &right.into_array(rows)?)?
            }
            other => return internal_err!("{other} is neither a float nor nested"),
        };
        Ok(ColumnarValue::Array(Arc::new(compared)))
    }

    fn children(&self) -> Vec<&Expr> {
        self.sides.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        let right = children.swap_remove(1);
        Ok(Arc::new(Comparison::new(children.swap_remove(0), self.op, right)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
