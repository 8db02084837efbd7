//! AND of which NULL counts as false, as in WHERE: one term after the other, each on fewer rows.
//!
//! The rows that the terms so far leave are copied together where the terms behind them take longer on the others than
//! the copying does. They are always copied before a term that can fail. Of each row only what these terms read is
//! copied.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, Schema};
use arrow_select::filter::FilterBuilder;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, Column};

use crate::Expr;

/// Copying a value takes about so many nanoseconds where few rows are picked.
const COPY: f64 = 2.0;
/// Finding the rows that are picked takes so many for each row that there was.
const FIND: f64 = 0.3;

/// A term of a conjunction.
#[derive(Debug, Clone)]
pub struct Term {
    /// A condition.
    pub expr: Expr,
    /// Whether it can fail on some row: it is evaluated on no row on which a term before it is not true.
    pub fails: bool,
    /// About how many nanoseconds it takes for a row.
    pub cost: f64,
}

/// The conjunction of these terms, evaluated in their order.
#[derive(Debug)]
pub struct Conjunction {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    term: Term,
    /// The positions of the columns that it and the terms behind it read.
    read: Vec<usize>,
    /// About how many nanoseconds it and the terms behind it take for a row.
    rest: f64,
}

impl Conjunction {
    /// All terms, in the order of their evaluation.
    pub fn new(terms: Vec<Term>) -> Conjunction {
        let (mut read, mut rest) = (Vec::new(), 0.0);
        let mut steps: Vec<Step> = Vec::with_capacity(terms.len());
        for term in terms.into_iter().rev() {
            collect_columns(&term.expr, &mut read);
            read.sort_unstable();
            read.dedup();
            rest += term.cost;
            steps.push(Step { term, read: read.clone(), rest });
        }
        steps.reverse();
        Conjunction { steps }
    }
}

fn collect_columns(e: &Expr, read: &mut Vec<usize>) {
    match e.downcast_ref::<Column>() {
        Some(column) => read.push(column.index()),
        None => e.children().into_iter().for_each(|child| collect_columns(child, read)),
    }
}

impl Step {
    /// Whether the rows that are left are copied together before the term: `open` of `rows`.
    fn narrows(&self, open: usize, rows: usize) -> bool {
        let copying = FIND * rows as f64 + COPY * (open * self.read.len()) as f64;
        open < rows && (self.term.fails || copying < self.rest * (rows - open) as f64)
    }
}

/// The rows of a batch that are open. Columns that nobody reads have any values.
fn narrowed(batch: &RecordBatch, open: &BooleanBuffer, read: &[usize]) -> Result<RecordBatch> {
    let rows = open.count_set_bits();
    let mask = BooleanArray::new(open.clone(), None);
    let mut filter = FilterBuilder::new(&mask);
    if read.len() > 1 {
        filter = filter.optimize();
    }
    let filter = filter.build();
    let columns = batch.columns().iter().enumerate().map(|(position, column)| {
        let is_read = read.binary_search(&position).is_ok();
        Ok(if is_read { filter.filter(column)? } else { column.slice(0, rows) })
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// The rows on which a condition is true; `None` if it is on all of them.
fn truths(value: ColumnarValue, rows: usize) -> Option<BooleanBuffer> {
    match value {
        ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => None,
        ColumnarValue::Scalar(_) => Some(BooleanBuffer::new_unset(rows)),
        ColumnarValue::Array(values) => {
            let values = values.as_boolean();
            Some(match values.nulls().filter(|nulls| nulls.null_count() > 0) {
                Some(nulls) => values.values() & nulls.inner(),
                None => values.values().clone(),
            })
        }
    }
}

/// Of the rows that `outer` has picked those that `inner` has picked of them.
fn within(outer: &BooleanBuffer, inner: &BooleanBuffer) -> BooleanBuffer {
    let mut picked = BooleanBufferBuilder::new(outer.len());
    picked.append_n(outer.len(), false);
    for (row, is_open) in outer.set_indices().zip(inner.iter()) {
        if is_open {
            picked.set_bit(row, true);
        }
    }
    picked.finish()
}

// Derived, these would move out of the shared pointers. Costs follow from the terms.
impl PartialEq for Conjunction {
    fn eq(&self, other: &Self) -> bool {
        let terms = |all: &Conjunction| -> Vec<Expr> {
            all.steps.iter().map(|step| step.term.expr.clone()).collect()
        };
        terms(self).eq(&terms(other))
    }
}

impl Eq for Conjunction {}

impl Hash for Conjunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.steps.iter().for_each(|step| step.term.expr.hash(state));
    }
}

impl fmt::Display for Conjunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.steps.iter().take_while(|step| !step.term.fails).count();
        let (before, behind) = self.steps.split_at(total);
        let is_or = |e: &Expr| e.downcast_ref::<BinaryExpr>().is_some_and(|e| *e.op() == Operator::Or);
        let shown = before.iter().map(|Step { term, .. }| match is_or(&term.expr) {
            true => format!("({})", term.expr),
            false => term.expr.to_string(),
        });
        let shown = shown.collect::<Vec<_>>().join(" AND ");
        let first = if behind.is_empty() || total == 0 { shown } else { format!("({shown})") };
        let behind = behind.iter().map(|step| format!("({})", step.term.expr));
        let all: Vec<String> = (total > 0).then_some(first).into_iter().chain(behind).collect();
        write!(f, "{}", all.join(" AND THEN "))
    }
}

impl PhysicalExpr for Conjunction {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(false)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let mut rows = Cow::Borrowed(batch);
        // What each narrowing has picked of the rows before it, and which of the rows that there are now are open.
        let (mut picked, mut open): (Vec<BooleanBuffer>, Option<BooleanBuffer>) = (Vec::new(), None);
        for step in &self.steps {
            if let Some(known) = &open {
                let count = known.count_set_bits();
                if count == 0 {
                    break;
                }
                if step.narrows(count, rows.num_rows()) {
                    rows = Cow::Owned(narrowed(&rows, known, &step.read)?);
                    picked.extend(open.take());
                }
            }
            let found = truths(step.term.expr.evaluate(&rows)?, rows.num_rows());
            open = match (open, found) {
                (Some(open), Some(found)) => Some(&open & &found),
                (open, found) => open.or(found),
            };
        }
        let mut open = open.unwrap_or_else(|| BooleanBuffer::new_set(rows.num_rows()));
        while let Some(outer) = picked.pop() {
            open = within(&outer, &open);
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::new(open, None))))
    }

    fn children(&self) -> Vec<&Expr> {
        self.steps.iter().map(|step| &step.term.expr).collect()
    }

    fn with_new_children(self: Arc<Self>, exprs: Vec<Expr>) -> Result<Expr> {
        let terms = self.steps.iter().zip(exprs).map(|(step, expr)| Term { expr, ..step.term });
        Ok(Arc::new(Conjunction::new(terms.collect())))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringViewArray};
    use arrow_schema::Field;
    use datafusion_physical_expr::expressions::Literal;

    use super::*;

    fn column(name: &str, position: usize) -> Expr {
        Arc::new(Column::new(name, position))
    }

    fn int(n: i64) -> Expr {
        Arc::new(Literal::new(ScalarValue::Int64(Some(n))))
    }

    fn text(value: &str) -> Expr {
        Arc::new(Literal::new(ScalarValue::Utf8View(Some(value.into()))))
    }

    fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    /// Numbers from 0, of which each fifth is NULL, their remainders by 7, and texts of both.
    fn batch(rows: i64) -> RecordBatch {
        let a: Int64Array = (0..rows).map(|n| (n % 5 != 4).then_some(n)).collect();
        let b: Int64Array = (0..rows).map(|n| Some(n % 7)).collect();
        let c: StringViewArray = (0..rows).map(|n| Some(format!("number {n} of many texts"))).collect();
        let types = [DataType::Int64, DataType::Int64, DataType::Utf8View];
        let fields = ["a", "b", "c"].iter().zip(types).map(|(name, t)| Field::new(*name, t, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, vec![Arc::new(a), Arc::new(b), Arc::new(c)]).expect("a length")
    }

    fn truths_of(terms: &[(Expr, bool, f64)], batch: &RecordBatch) -> Result<Vec<bool>> {
        let terms =
            terms.iter().map(|(expr, fails, cost)| Term { expr: expr.clone(), fails: *fails, cost: *cost });
        let value = Conjunction::new(terms.collect()).evaluate(batch)?.into_array(batch.num_rows())?;
        let value = value.as_boolean();
        assert_eq!(value.null_count(), 0);
        Ok(value.values().iter().collect())
    }

    #[test]
    fn rows_are_those_for_which_all_terms_are_true() {
        let batch = batch(1000);
        let terms = [
            binary(column("a", 0), Operator::Lt, int(600)),
            binary(column("b", 1), Operator::Eq, int(3)),
            binary(column("a", 0), Operator::Gt, int(100)),
            binary(column("c", 2), Operator::NotEq, text("number 101 of many texts")),
            binary(column("b", 1), Operator::Eq, binary(column("a", 0), Operator::Modulo, int(7))),
        ];
        let expected: Vec<bool> =
            (0..1000).map(|n| n % 5 != 4 && (101..600).contains(&n) && n % 7 == 3 && n != 101).collect();
        // Narrowed never, wherever it may be, and at some places.
        for costs in [[0.0; 5], [1000.0; 5], [1.0, 1.0, 1.0, 50.0, 1.0], [0.0, 0.0, 0.0, 0.0, 100.0]] {
            for fails in [[false; 5], [true; 5], [false, true, false, false, true]] {
                let terms: Vec<_> = terms
                    .iter()
                    .zip(fails)
                    .zip(costs)
                    .map(|((e, fails), cost)| (e.clone(), fails, cost))
                    .collect();
                assert_eq!(
                    truths_of(&terms, &batch).expect("it is computed"),
                    expected,
                    "{costs:?} {fails:?}"
                );
            }
        }
    }

    #[test]
    fn what_can_fail_is_evaluated_on_open_rows_alone() {
        let batch = batch(70);
        let divides = binary(column("b", 1), Operator::NotEq, int(0));
        let quotient = binary(binary(int(10), Operator::Divide, column("b", 1)), Operator::Gt, int(2));
        let expected: Vec<bool> = (0..70).map(|n| matches!(n % 7, 1..=3)).collect();
        let guarded = [(divides.clone(), false, 0.0), (quotient.clone(), true, 0.0)];
        assert_eq!(truths_of(&guarded, &batch).expect("it is guarded"), expected);
        assert!(truths_of(&[(divides, false, 0.0), (quotient, false, 0.0)], &batch).is_err());
    }

    #[test]
    fn it_is_printed_with_what_can_fail_apart() {
        let one = |n| binary(column("b", 1), Operator::Eq, int(n));
        let term = |expr, fails| Term { expr, fails, cost: 1.0 };
        let either = binary(one(2), Operator::Or, one(3));
        let shown = |terms| Conjunction::new(terms).to_string();
        assert_eq!(
            shown(vec![term(one(1), false), term(either.clone(), false)]),
            "b@1 = 1 AND (b@1 = 2 OR b@1 = 3)"
        );
        assert_eq!(
            shown(vec![term(one(1), false), term(one(4), false), term(either, true)]),
            "(b@1 = 1 AND b@1 = 4) AND THEN (b@1 = 2 OR b@1 = 3)"
        );
        assert_eq!(shown(vec![term(one(1), true), term(one(2), true)]), "(b@1 = 1) AND THEN (b@1 = 2)");
    }
}
