//! `x BETWEEN low AND high` where x has to be computed once: it may be another value each time, as `random()` is.

use std::fmt;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, Column};

use crate::Expr;
use crate::checked::checked;

/// Whether a value is between two others of its type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Between {
    /// The value, the least and the greatest.
    parts: [Expr; 3],
    /// The columns of the three.
    schema: SchemaRef,
}

impl Between {
    /// Compares values of a type.
    pub fn new(value: Expr, low: Expr, high: Expr, data_type: &DataType) -> Between {
        let fields = ["value", "low", "high"].map(|name| Field::new(name, data_type.clone(), true));
        Between { parts: [value, low, high], schema: Arc::new(Schema::new(fields.to_vec())) }
    }

    /// The comparisons over the three columns.
    fn compared(&self) -> Result<Expr> {
        let column = |i: usize| -> Expr { Arc::new(Column::new(self.schema.field(i).name(), i)) };
        let low = BinaryExpr::new(column(0), Operator::GtEq, column(1));
        let high = BinaryExpr::new(column(0), Operator::LtEq, column(2));
        let both = BinaryExpr::new(Arc::new(low), Operator::And, Arc::new(high));
        checked(Arc::new(both), &self.schema)
    }
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [value, low, high] = &self.parts;
        write!(f, "{value} BETWEEN {low} AND {high}")
    }
}

impl PhysicalExpr for Between {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let of = |e: &Expr| e.evaluate(batch)?.into_array(rows);
        let columns = self.parts.iter().map(of).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let three = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        self.compared()?.evaluate(&three)
    }

    fn children(&self) -> Vec<&Expr> {
        self.parts.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Expr>) -> Result<Expr> {
        Ok(match <[Expr; 3]>::try_from(children) {
            Ok(parts) => Arc::new(Between { parts, schema: self.schema.clone() }),
            Err(_) => self,
        })
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
