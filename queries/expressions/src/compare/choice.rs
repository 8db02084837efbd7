//! `nullif`, `greatest` and `least`: operands are compared in their normal form, and given as they are.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_ord::cmp;
use arrow_schema::{FieldRef, Schema};
use arrow_select::nullif::nullif;
use arrow_select::zip::zip;
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;

use super::nested;
use crate::Expr;
use crate::values::normal::normalised;

/// `left op right`, where `op` is one of `=`, `<` and `>`.
fn compared(left: &ArrayRef, op: Operator, right: &ArrayRef) -> Result<BooleanArray> {
    if left.data_type().is_nested() {
        return nested::compare(left, op, right);
    }
    let (left, right) = (normalised(left), normalised(right));
    Ok(match op {
        Operator::Lt => cmp::lt(&left, &right)?,
        Operator::Gt => cmp::gt(&left, &right)?,
        _ => cmp::eq(&left, &right)?,
    })
}

/// `nullif(value, other)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct NullIf {
    args: [Expr; 2],
}

impl NullIf {
    /// NULL where the two are equal, else `value`.
    pub fn new(value: Expr, other: Expr) -> NullIf {
        NullIf { args: [value, other] }
    }
}

impl fmt::Display for NullIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nullif({}, {})", self.args[0], self.args[1])
    }
}

impl PhysicalExpr for NullIf {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let value = self.args[0].evaluate(batch)?.into_array(batch.num_rows())?;
        let other = self.args[1].evaluate(batch)?.into_array(batch.num_rows())?;
        let equal = compared(&value, Operator::Eq, &other)?;
        Ok(ColumnarValue::Array(nullif(&value, &equal)?))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        let field = self.args[0].return_field(schema)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn children(&self) -> Vec<&Expr> {
        self.args.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        let other = children.swap_remove(1);
        Ok(Arc::new(NullIf::new(children.swap_remove(0), other)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `greatest(…)` or `least(…)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Extreme {
    args: Vec<Expr>,
    greatest: bool,
}

impl Extreme {
    /// The first of the greatest or least of the arguments, of which NULLs are passed over.
    pub fn new(args: Vec<Expr>, greatest: bool) -> Extreme {
        Extreme { args, greatest }
    }
}

impl fmt::Display for Extreme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        write!(f, "{}({})", if self.greatest { "greatest" } else { "least" }, args.join(", "))
    }
}

impl PhysicalExpr for Extreme {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let mut best: ArrayRef = self.args[0].evaluate(batch)?.into_array(rows)?;
        for arg in &self.args[1..] {
            let value = arg.evaluate(batch)?.into_array(rows)?;
            let better = if self.greatest { Operator::Gt } else { Operator::Lt };
            let better = compared(&value, better, &best)?;
            let known = |of: &ArrayRef| {
                of.nulls().map_or_else(|| BooleanBuffer::new_set(rows), |nulls| nulls.inner().clone())
            };
            let both = &known(&value) & &known(&best);
            let first = &known(&value) & &!&known(&best);
            let replaced = &(better.values() & &both) | &first;
            best = zip(&BooleanArray::new(replaced, None), &value, &best)?;
        }
        Ok(ColumnarValue::Array(best))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        let field = self.args[0].return_field(schema)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn children(&self) -> Vec<&Expr> {
        self.args.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, args: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Extreme::new(args, self.greatest)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
