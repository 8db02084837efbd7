//! Expressions of the algebra to compiled ones.

mod layout;

use std::sync::Arc;

use datafusion_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;

pub use layout::Layout;

use crate::Settings;
use crate::algebra::{Call, Expr};
use crate::error::{Error, Result};
use crate::plan;

/// What compiling expressions depends on.
#[derive(Debug)]
pub struct Compiler {
    results: ScalarSubqueryResults,
}

impl Compiler {
    /// Compiles for a query of these settings. [`crate::algebra::Kind::Stage`] reads a slot of `results`.
    pub fn new(_settings: &Settings, results: ScalarSubqueryResults) -> Compiler {
        Compiler { results }
    }

    /// Compiles an expression over the columns of batches.
    pub fn compile(&self, _e: &Expr, _input: &Layout) -> Result<plan::Expr> {
        let _ = &self.results;
        Err(Error::Unsupported("not yet".into()))
    }

    /// Compiles a conjunction of which NULL counts as false.
    pub fn compile_filter(&self, _predicates: &[Expr], _input: &Layout) -> Result<plan::Expr> {
        Err(Error::Unsupported("not yet".into()))
    }

    /// Compiles an aggregate.
    pub fn aggregate(
        &self,
        _call: &Call,
        _input: &Layout,
        _name: &str,
    ) -> Result<(Arc<AggregateFunctionExpr>, Option<plan::Expr>, Vec<plan::SortKey>)> {
        Err(Error::Unsupported("not yet".into()))
    }
}

/// Whether evaluating an expression can fail on some row.
pub fn fails(_e: &Expr) -> bool {
    true
}
