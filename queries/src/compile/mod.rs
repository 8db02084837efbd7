//! Expressions of the algebra to compiled ones, over the columns of a batch by position.
//!
//! What is compiled differs from what DataFusion would make of it: overflow is an error, floats and intervals are compared
//! by their values, casts are those of SQL ([`casts`]), and what can fail ([`fails`]) is evaluated only where what stands
//! before it lets the row through ([`order`]).
//!
//! - [`layout`]: the columns of batches.
//! - [`scalar`]: one expression after another.
//! - [`operators`]: binary operators.
//! - [`casts`]: which kernel computes a cast.
//! - [`order`]: AND and OR in their order of evaluation.
//! - [`failing`]: what can fail.
//! - [`aggregate`]: aggregates.

mod aggregate;
mod casts;
mod failing;
mod layout;
mod operators;
mod order;
mod scalar;

use std::sync::Arc;

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

/// A compiled expression, and whether evaluating it can fail on some row.
struct Part {
    expr: plan::Expr,
    fails: bool,
}

/// The options of functions: the time zone is UTC.
pub(crate) fn options() -> Arc<ConfigOptions> {
    let mut options = ConfigOptions::default();
    options.execution.time_zone = Some(UTC.into());
    Arc::new(options)
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

    /// Compiles a conjunction of which NULL counts as false. Terms that can't fail come first, then the others in their
    /// order, each on the rows that those before it leave.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn compile_filter(&self, predicates: &[Expr], input: &Layout) -> Result<plan::Expr> {
        let mut parts = Vec::with_capacity(predicates.len());
        for predicate in predicates {
            let terms = match &predicate.kind {
                Kind::And(terms) => terms.as_slice(),
                _ => std::slice::from_ref(predicate),
            };
            for term in terms {
                parts.push(self.part(term, input, true)?);
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
