//! AND and OR of which each operand is evaluated on those rows only that the ones before it leave open.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Schema};
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::Expr;

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    /// AND, else OR.
    pub and: bool,
    /// NULL counts as false, as in WHERE: it closes a row to an AND.
    pub filter: bool,
}

/// The expression over compiled operands, evaluated in their order.
pub fn in_order(kind: Kind, terms: Vec<Expr>) -> Expr {
    Arc::new(ShortCircuit { kind, terms })
}

#[derive(Debug, Eq)]
struct ShortCircuit {
    kind: Kind,
    terms: Vec<Expr>,
}

// Derived, these would move out of the shared pointers.
impl PartialEq for ShortCircuit {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.terms.eq(&other.terms)
    }
}

impl Hash for ShortCircuit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.terms.hash(state);
    }
}

impl fmt::Display for ShortCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            let operator = if self.kind.and { "AND THEN" } else { "OR ELSE" };
            if i > 0 {
                write!(f, " {operator} ")?;
            }
            write!(f, "({term})")?;
        }
        Ok(())
    }
}

impl PhysicalExpr for ShortCircuit {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let Kind { and, filter } = self.kind;
        let rows = batch.num_rows();
        let all = |value| if value { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) };
        let (mut is_true, mut is_false) = (all(and), all(!and));
        for term in &self.terms {
            let open = match (and, filter) {
                (true, true) => is_true.clone(),
                (true, false) => !&is_false,
                (false, _) => !&is_true,
            };
            if open.count_set_bits() == 0 {
                break;
            }
            let value = term.evaluate_selection(batch, &BooleanArray::new(open, None))?.into_array(rows)?;
            let value = value.as_boolean();
            // On a row that is closed the value is NULL, or any, and changes nothing.
            let known = value.nulls().map_or_else(|| all(true), |n| n.inner().clone());
            let (yes, no) = (value.values() & &known, &!value.values() & &known);
            (is_true, is_false) = match and {
                true => (&is_true & &yes, &is_false | &no),
                false => (&is_true | &yes, &is_false & &no),
            };
        }
        let known = NullBuffer::new(&is_true | &is_false);
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::new(is_true, Some(known)))))
    }

    fn children(&self) -> Vec<&Expr> {
        self.terms.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, terms: Vec<Expr>) -> Result<Expr> {
        Ok(Arc::new(ShortCircuit { kind: self.kind, terms }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;
    use datafusion_expr::Operator;
    use datafusion_physical_expr::expressions::{BinaryExpr, Column};

    use super::*;

    /// The nine pairs of true, false and NULL.
    fn batch() -> RecordBatch {
        let values = [Some(true), Some(false), None];
        let left: BooleanArray = values.iter().flat_map(|v| [*v; 3]).collect();
        let right: BooleanArray = values.iter().cycle().take(9).copied().collect();
        let fields = ["a", "b"].map(|name| Field::new(name, DataType::Boolean, true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        RecordBatch::try_new(schema, vec![Arc::new(left), Arc::new(right)]).expect("columns of a length")
    }

    #[test]
    fn nulls_are_as_those_of_and_and_or() {
        let column = |name, i| -> Expr { Arc::new(Column::new(name, i)) };
        let (a, b) = (column("a", 0), column("b", 1));
        let value = |e: &dyn PhysicalExpr| {
            let array = e.evaluate(&batch()).and_then(|v| v.into_array(9)).expect("booleans");
            array.as_boolean().iter().collect::<Vec<_>>()
        };
        for (and, op) in [(true, Operator::And), (false, Operator::Or)] {
            let plain = value(&BinaryExpr::new(a.clone(), op, b.clone()));
            for filter in [false, true] {
                let kind = Kind { and, filter };
                let ordered = value(&ShortCircuit { kind, terms: vec![a.clone(), b.clone()] });
                if filter {
                    let truth = |v: &[Option<bool>]| v.iter().map(|v| *v == Some(true)).collect::<Vec<_>>();
                    assert_eq!(truth(&ordered), truth(&plain), "{op}");
                } else {
                    assert_eq!(ordered, plain, "{op}");
                }
            }
        }
    }
}
