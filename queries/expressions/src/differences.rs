//! The difference of two timestamps as an interval of days and what is left of one, where its text is asked for.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, IntervalUnit, Schema};
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use schema::durations::to_intervals;

use crate::Expr;

/// A difference, which is a duration to the kernels.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Difference {
    // A list is compared by what it points to.
    value: [Expr; 1],
}

impl Difference {
    /// The difference `value` as an interval.
    pub fn new(value: Expr) -> Difference {
        Difference { value: [value] }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value[0].fmt(f)
    }
}

impl PhysicalExpr for Difference {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.value[0].nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let value = self.value[0].evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(to_intervals(&value)))
    }

    fn children(&self) -> Vec<&Expr> {
        self.value.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(Difference::new(children.swap_remove(0))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value[0].fmt_sql(f)
    }
}
