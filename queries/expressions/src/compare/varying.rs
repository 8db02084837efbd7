//! Items of IN that are no constants.
//!
//! DataFusion takes an item for a constant if it gives one value for a batch without rows. A CASE does: NULL, since no
//! branch is taken. Here such an item gives a column for any batch.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema};
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, InListExpr, Literal};

use crate::Expr;

/// `value [NOT] IN (items)`, where items may be any expressions.
///
/// # Errors
/// The types differ.
pub fn in_list(value: Expr, items: Vec<Expr>, negated: bool, schema: &Schema) -> Result<Expr> {
    let items = items.into_iter().map(varying).collect();
    datafusion_physical_expr::expressions::in_list(value, items, &negated, schema)
}

/// Whether an item of a list may be taken for a constant that it is not.
pub fn is_open(list: &InListExpr) -> bool {
    list.list().iter().any(may_vary)
}

fn may_vary(item: &Expr) -> bool {
    !(item.is::<Literal>() || item.is::<Column>() || item.is::<Varying>())
}

fn varying(item: Expr) -> Expr {
    if may_vary(&item) { Arc::new(Varying { item }) } else { item }
}

/// An expression that gives a column for any batch.
#[derive(Debug, Eq)]
struct Varying {
    item: Expr,
}

// Derived, these would move out of the shared pointer.
impl PartialEq for Varying {
    fn eq(&self, other: &Self) -> bool {
        self.item.eq(&other.item)
    }
}

impl Hash for Varying {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.item.hash(state);
    }
}

impl fmt::Display for Varying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.item)
    }
}

impl PhysicalExpr for Varying {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array(self.item.evaluate(batch)?.into_array(batch.num_rows())?))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.item.return_field(schema)
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.item]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Varying { item: children.swap_remove(0) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.item.fmt_sql(f)
    }
}
