//! A key that stands twice in the ORDER BY of DISTINCT ON, or in that of an aggregate: the second one decides nothing, and
//! accumulators that are given it fail.

use std::collections::HashSet;

use datafusion_common::Result as DfResult;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::expr::Sort;
use datafusion_expr::{Distinct, DistinctOn, Expr, LogicalPlan};

use crate::error::Result;
use crate::tree;

/// Leaves each key once.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(tree::plan_up(plan, &mut |node| {
        tree::expressions_up(node, &mut of_aggregate)?.transform_data(of_distinct)
    })?
    .data)
}

fn of_aggregate(mut e: Expr) -> DfResult<Transformed<Expr>> {
    let changed = match &mut e {
        Expr::AggregateFunction(f) => leave_once(&mut f.params.order_by),
        _ => false,
    };
    Ok(Transformed::new_transformed(e, changed))
}

fn of_distinct(node: LogicalPlan) -> DfResult<Transformed<LogicalPlan>> {
    let LogicalPlan::Distinct(Distinct::On(on)) = &node else { return Ok(Transformed::no(node)) };
    let (mut on_expr, mut sort_expr) = (on.on_expr.clone(), on.sort_expr.clone());
    let mut seen = HashSet::new();
    on_expr.retain(|e| seen.insert(e.clone()));
    let sorted = sort_expr.as_mut().is_some_and(leave_once);
    if !sorted && on_expr.len() == on.on_expr.len() {
        return Ok(Transformed::no(node));
    }
    let on = DistinctOn::try_new(on_expr, on.select_expr.clone(), sort_expr, on.input.clone())?;
    Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
}

/// Whether keys were left out.
fn leave_once(keys: &mut Vec<Sort>) -> bool {
    let (mut seen, before) = (HashSet::new(), keys.len());
    keys.retain(|key| seen.insert(key.expr.clone()));
    keys.len() < before
}
