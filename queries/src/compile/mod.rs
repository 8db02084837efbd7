//! Expressions of the algebra to compiled ones, over the columns of a batch by position.
//!
//! What is compiled differs from what DataFusion would make of it. Overflow is an error, floats and intervals are
//! compared by their values, and casts are those of SQL ([`casts`]). What can fail ([`fails`]) is evaluated only where
//! what stands before it lets the row through ([`order`]).
//!
//! - [`layout`]: the columns of batches.
//! - [`scalar`]: one expression after another.
//! - [`operators`]: binary operators.
//! - [`casts`]: which kernel computes a cast.
//! - [`order`]: AND and OR in their order of evaluation.
//! - [`cost`]: about how long expressions take.
//! - [`failing`]: what can fail.
//! - [`aggregate`]: calls of aggregates.

mod aggregate;
mod casts;
mod cost;
mod failing;
mod layout;
mod operators;
mod order;
mod scalar;

use std::sync::{Arc, LazyLock};

use arrow_array::{RecordBatch, RecordBatchOptions};
use datafusion_common::ScalarValue;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::ColumnarValue;
use datafusion_expr::physical_planning_context::ScalarSubqueryResults;
use expressions::short_circuit;
use schema::instants::UTC;

pub(crate) use casts::is_text;
pub use failing::fails;
pub(crate) use failing::widens;
pub use layout::Layout;
pub(crate) use operators::is_comparison;

use crate::Settings;
use crate::algebra::{Expr, Kind};
use crate::error::Result;
use crate::plan;

/// What compiling expressions depends on.
#[derive(Debug)]
pub struct Compiler {
    /// What functions are told, the same in every process.
    options: Arc<ConfigOptions>,
    /// The slots of scalar subqueries.
    results: ScalarSubqueryResults,
}

/// A compiled expression.
struct Part {
    expr: plan::Expr,
    /// Whether evaluating it can fail on some row.
    fails: bool,
    /// About how many nanoseconds it takes for a row.
    cost: f64,
    /// About which part of the rows it keeps, if it is a condition.
    kept: f64,
}

/// The options of functions, made once: the time zone is UTC.
pub(crate) fn options() -> Arc<ConfigOptions> {
    static OPTIONS: LazyLock<Arc<ConfigOptions>> = LazyLock::new(|| {
        let mut options = ConfigOptions::default();
        options.execution.time_zone = Some(UTC.into());
        Arc::new(options)
    });
    OPTIONS.clone()
}

impl Compiler {
    /// Compiles for a query of these settings. [`Kind::Stage`] reads a slot of `results`.
    pub fn new(_settings: &Settings, results: ScalarSubqueryResults) -> Compiler {
        Compiler { options: options(), results }
    }

    /// Compiles an expression over the columns of batches.
    ///
    /// # Errors
    /// It reads a column that the batches do not have, or holds a subquery.
    pub fn compile(&self, e: &Expr, input: &Layout) -> Result<plan::Expr> {
        Ok(self.part(e, input, false)?.expr)
    }

    /// Compiles a conjunction of which NULL counts as false. Terms that can't fail come first, and of these the ones
    /// that are quick and leave few rows. Then come the others in their order, each on the rows that those before it
    /// leave. `kept` says about which part of the rows a term keeps.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn compile_filter(
        &self,
        predicates: &[Expr],
        input: &Layout,
        kept: &dyn Fn(&Expr) -> f64,
    ) -> Result<plan::Expr> {
        let mut parts = Vec::with_capacity(predicates.len());
        for predicate in predicates {
            let terms = match &predicate.kind {
                Kind::And(terms) => terms.as_slice(),
                _ => std::slice::from_ref(predicate),
            };
            for term in terms {
                parts.push(Part { kept: kept(term), ..self.part(term, input, true)? });
            }
        }
        Ok(order::in_order(short_circuit::Kind { and: true, filter: true }, parts).expr)
    }

    /// The value of an expression without columns.
    ///
    /// # Errors
    /// It has columns, or computing it fails.
    pub fn constant(&self, e: &Expr) -> Result<ScalarValue> {
        if let Kind::Literal(value) = &e.kind {
            return Ok(value.clone());
        }
        let layout = Layout::empty();
        let compiled = self.compile(e, &layout)?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(layout.schema().clone(), vec![], &options)
            .map_err(|e| crate::Error::Invalid(e.to_string()))?;
        let value = match compiled.evaluate(&one)? {
            ColumnarValue::Scalar(value) => value,
            ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0)?,
        };
        Ok(match value.data_type() == e.data_type {
            true => value,
            // A function may give one text for another.
            false => value.cast_to(&e.data_type)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::DataType;
    use datafusion_expr::Operator;

    use super::*;
    use crate::algebra::{ColumnId, Columns};
    use crate::estimates::kept;
    use crate::types::Types;

    /// Two columns of integers, `i` and `j`.
    struct Rows {
        columns: Columns,
        ids: [ColumnId; 2],
        types: Types,
        compiler: Compiler,
    }

    impl Rows {
        fn new() -> Rows {
            let mut columns = Columns::default();
            let ids = ["i", "j"].map(|name| columns.add(name, DataType::Int64));
            let settings = Settings::default();
            let compiler = Compiler::new(&settings, ScalarSubqueryResults::new(0));
            Rows { columns, ids, types: Types::new(&settings), compiler }
        }

        fn i(&self) -> Expr {
            self.columns.read(self.ids[0])
        }

        fn binary(&self, left: Expr, op: Operator, right: Expr) -> Expr {
            self.types.binary(left, op, right).expect("there is such an operation")
        }

        /// The value, or `None` if that fails, over the values of i, with j = 0.
        fn values(&self, e: &plan::Expr, i: &[Option<i64>]) -> Option<Vec<Option<bool>>> {
            let layout = self.layout();
            let columns: [ArrayRef; 2] =
                [Arc::new(Int64Array::from(i.to_vec())), Arc::new(Int64Array::from(vec![0; i.len()]))];
            let batch = RecordBatch::try_new(layout.schema().clone(), columns.to_vec()).ok()?;
            let array = e.evaluate(&batch).ok()?.into_array(i.len()).ok()?;
            Some(array.as_boolean().iter().collect())
        }

        fn layout(&self) -> Layout {
            Layout::new(self.ids.to_vec(), &self.columns)
        }
    }

    fn int(value: i64) -> Expr {
        Expr::literal(ScalarValue::Int64(Some(value)))
    }

    #[test]
    fn what_can_fail_is_evaluated_where_the_others_let_the_row_through() {
        let rows = Rows::new();
        let quotient = rows.types.integer_quotient(int(100), rows.i()).expect("both are integers");
        let large = rows.binary(quotient, Operator::Gt, int(5));
        let guard = rows.binary(rows.i(), Operator::NotEq, int(0));
        assert!(fails(&large) && !fails(&guard));
        let values = [Some(0), Some(10), Some(50), None];
        for terms in [vec![large.clone(), guard.clone()], vec![guard.clone(), large.clone()]] {
            let filter =
                rows.compiler.compile_filter(&terms, &rows.layout(), &kept::guess).expect("it compiles");
            assert_eq!(
                rows.values(&filter, &values).map(|all| all.iter().map(|v| *v == Some(true)).collect()),
                Some(vec![false, true, false, false])
            );
            let both = rows.types.and(terms).expect("conditions");
            let both = rows.compiler.compile(&both, &rows.layout()).expect("it compiles");
            assert_eq!(rows.values(&both, &values), Some(vec![Some(false), Some(true), Some(false), None]));
        }
        let zero = rows.binary(rows.i(), Operator::Eq, int(0));
        let either = rows.types.or(vec![large.clone(), zero]).expect("conditions");
        let either = rows.compiler.compile(&either, &rows.layout()).expect("it compiles");
        assert_eq!(rows.values(&either, &values), Some(vec![Some(true), Some(true), Some(false), None]));
        let alone = rows.compiler.compile(&large, &rows.layout()).expect("it compiles");
        assert_eq!(rows.values(&alone, &values), None);
    }

    #[test]
    fn an_overflow_is_an_error() {
        let rows = Rows::new();
        let sum = rows.binary(rows.i(), Operator::Plus, int(1));
        let positive = rows.binary(sum, Operator::Gt, int(0));
        let compiled = rows.compiler.compile(&positive, &rows.layout()).expect("it compiles");
        assert_eq!(rows.values(&compiled, &[Some(i64::MAX - 1)]), Some(vec![Some(true)]));
        assert_eq!(rows.values(&compiled, &[Some(i64::MAX)]), None);
    }

    #[test]
    fn long_chains_are_shallow() {
        let rows = Rows::new();
        let term = |i| rows.binary(rows.i(), Operator::Eq, int(i));
        let chain = rows.types.or((0..5000).map(term).collect()).expect("conditions");
        let compiled = rows.compiler.compile(&chain, &rows.layout()).expect("it compiles");
        fn depth(e: &plan::Expr) -> usize {
            1 + e.children().into_iter().map(depth).max().unwrap_or(0)
        }
        assert!(depth(&compiled) < 20);
        assert_eq!(
            rows.values(&compiled, &[Some(4999), Some(5000), None]),
            Some(vec![Some(true), Some(false), None])
        );
    }

    #[test]
    fn a_column_that_the_batch_lacks_is_an_error() {
        let rows = Rows::new();
        let only = Layout::new(vec![rows.ids[1]], &rows.columns);
        assert!(rows.compiler.compile(&rows.i(), &only).is_err());
        assert!(rows.compiler.compile(&rows.i(), &rows.layout()).is_ok());
    }
}
