//! `coalesce`: the first of several values that is not NULL. Each is evaluated on those rows only of which the ones before
//! it are NULL. A CASE would compute each value twice, and of calls within calls many times.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};
use arrow_select::zip::zip;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, Literal};

use crate::Expr;

/// The first of several values of one type that is not NULL.
#[derive(Debug, Eq)]
pub struct FirstKnown {
    data_type: DataType,
    values: Vec<Expr>,
}

impl FirstKnown {
    /// The first of `values` that is not NULL, of their type.
    pub fn new(data_type: DataType, values: Vec<Expr>) -> FirstKnown {
        FirstKnown { data_type, values }
    }

    /// Values of the one type: fields of structs may differ in whether they can be NULL.
    fn typed(&self, values: ArrayRef) -> Result<ArrayRef> {
        Ok(if values.data_type() == &self.data_type { values } else { cast(&values, &self.data_type)? })
    }
}

// Derived, these would move out of the shared pointers.
impl PartialEq for FirstKnown {
    fn eq(&self, other: &Self) -> bool {
        self.data_type == other.data_type && self.values.eq(&other.values)
    }
}

impl Hash for FirstKnown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values.hash(state);
    }
}

impl fmt::Display for FirstKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(ToString::to_string).collect();
        write!(f, "coalesce({})", values.join(", "))
    }
}

/// The values on the rows that `open` names; on others any.
fn on(value: &Expr, batch: &RecordBatch, open: &BooleanArray) -> Result<ColumnarValue> {
    // To pick rows would cost more than these do.
    match value.is::<Column>() || value.is::<Literal>() {
        true => value.evaluate(batch),
        false => value.evaluate_selection(batch, open),
    }
}

impl PhysicalExpr for FirstKnown {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        for value in &self.values {
            if !value.nullable(schema)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let mut found: Option<ArrayRef> = None;
        for value in &self.values {
            let Some(before) = found else {
                found = match value.evaluate(batch)? {
                    ColumnarValue::Scalar(value) if value.is_null() => None,
                    known @ ColumnarValue::Scalar(_) => return Ok(known),
                    ColumnarValue::Array(values) => Some(self.typed(values)?),
                };
                continue;
            };
            let nulls = before.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            let Some(nulls) = nulls else { return Ok(ColumnarValue::Array(before)) };
            let open = BooleanArray::new(!nulls.inner(), None);
            found = Some(match on(value, batch, &open)? {
                ColumnarValue::Array(values) if nulls.null_count() == rows => self.typed(values)?,
                ColumnarValue::Array(values) => zip(&open, &self.typed(values)?, &before)?,
                ColumnarValue::Scalar(value) => zip(&open, &value.to_scalar()?, &before)?,
            });
        }
        Ok(match found {
            Some(values) => ColumnarValue::Array(values),
            None => ColumnarValue::Scalar((&self.data_type).try_into()?),
        })
    }

    fn children(&self) -> Vec<&Expr> {
        self.values.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, values: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(FirstKnown { data_type: self.data_type.clone(), values }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_schema::Field;
    use datafusion_common::ScalarValue;
    use datafusion_expr::Operator;
    use datafusion_physical_expr::expressions::BinaryExpr;

    use super::*;

    #[test]
    fn a_value_is_computed_where_those_before_it_are_null() {
        let column = |name, i| -> Expr { Arc::new(Column::new(name, i)) };
        let literal = |v: Option<i64>| -> Expr { Arc::new(Literal::new(ScalarValue::Int64(v))) };
        let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let a = Int64Array::from(vec![Some(1), None, None]);
        let b = Int64Array::from(vec![Some(0), Some(2), None]);
        let batch =
            RecordBatch::try_new(schema, vec![Arc::new(a), Arc::new(b)]).expect("columns of a length");
        let of = |values: Vec<Expr>| {
            let first = FirstKnown::new(DataType::Int64, values);
            let array = first.evaluate(&batch).and_then(|v| v.into_array(3)).expect("it is computed");
            array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
        };
        // By zero on the first row.
        let quotient = Arc::new(BinaryExpr::new(literal(Some(10)), Operator::Divide, column("b", 1)));
        assert_eq!(of(vec![column("a", 0), quotient]), [Some(1), Some(5), None]);
        assert_eq!(of(vec![literal(None), column("a", 0), literal(Some(7))]), [Some(1), Some(7), Some(7)]);
        assert_eq!(of(vec![literal(Some(3)), column("a", 0)]), [Some(3); 3]);
        assert_eq!(of(vec![literal(None)]), [None; 3]);
    }
}
