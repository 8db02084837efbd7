//! One representation for equal values.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, Schema};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Literal;

use crate::Expr;
use crate::values::normal::normalised;

/// The expression whose values are normalised. A literal stays one: what is known of constants is computed once.
pub fn normal(e: &Expr) -> Result<Expr> {
    if e.is::<Normal>() {
        return Ok(e.clone());
    }
    if let Some(literal) = e.downcast_ref::<Literal>() {
        let value = normalised(&literal.value().to_array()?);
        return Ok(Arc::new(Literal::new(ScalarValue::try_from_array(&value, 0)?)));
    }
    Ok(Arc::new(Normal { value: e.clone() }))
}

/// The values of an expression, normalised.
#[derive(Debug, Eq)]
pub struct Normal {
    value: Expr,
}

// Derived, these would move out of the shared pointer.
impl PartialEq for Normal {
    fn eq(&self, other: &Self) -> bool {
        self.value.eq(&other.value)
    }
}

impl Hash for Normal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl fmt::Display for Normal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl PhysicalExpr for Normal {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.value.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(normalised(&values)))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.value.return_field(schema)
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.value]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Normal { value: children.swap_remove(0) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)
    }
}
