//! `current_date`, `now()` and the like become literals.
//!
//! The planner knows their values only where it simplifies a call. Evaluated within an expression, they fail. So they are
//! replaced before any constant is computed.

use std::sync::Arc;

use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result as DfResult};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{Expr, LogicalPlan, Volatility};

use super::now;
use crate::Settings;
use crate::error::Result;
use crate::tree;

/// Replaces each call whose value is fixed for the query and depends on nothing else. Columns keep their names.
pub fn replace(plan: LogicalPlan, config: &Arc<ConfigOptions>, settings: &Settings) -> Result<LogicalPlan> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(DFSchema::empty()))
        .with_config_options(config.clone())
        .with_query_execution_start_time(Some(now(settings)))
        .build();
    Ok(tree::all_expressions_up(plan, &mut |e, _| literal(e, &context))?)
}

fn literal(e: Expr, context: &SimplifyContext) -> DfResult<Transformed<Expr>> {
    let Expr::ScalarFunction(call) = &e else { return Ok(Transformed::no(e)) };
    if !call.args.is_empty() || call.func.signature().volatility != Volatility::Stable {
        return Ok(Transformed::no(e));
    }
    Ok(match call.func.simplify(vec![], context)? {
        ExprSimplifyResult::Simplified(value) => Transformed::yes(value),
        ExprSimplifyResult::Original(_) => Transformed::no(e),
    })
}
