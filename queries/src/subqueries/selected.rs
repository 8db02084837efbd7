//! `IN (SELECT …)` and `EXISTS` in the select list, for which the optimiser has no join: they become what they mean by
//! counting rows. `x IN (q)` is true if some y of q equals x; else NULL if some y is NULL, or x is NULL and q has rows;
//! else false.

use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue, Spans};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::Subquery;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, not, when};
use datafusion_functions_aggregate::count::count_all;

use super::{Rewrite, outer};
use crate::error::Result;
use crate::tree;

/// Rewrites the subqueries of a plan that is not analysed yet.
pub(super) fn rewrite(plan: LogicalPlan, rewrite: &mut Rewrite) -> Result<LogicalPlan> {
    let rewritten = tree::plan_up(plan, &mut |node| match node {
        LogicalPlan::Projection(ref projection) => {
            let schema = projection.input.schema().clone();
            let names = NamePreserver::new(&node);
            tree::expressions(node, &mut |e| {
                let name = names.save(&e);
                let counted = tree::expr_up(e, &mut |e| value(e, &schema, rewrite))?;
                Ok(Transformed::new_transformed(name.restore(counted.data), counted.transformed))
            })
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(rewritten.data)
}

/// A value with three outcomes.
fn value(e: Expr, schema: &DFSchema, rewrite: &mut Rewrite) -> DfResult<Transformed<Expr>> {
    match e {
        Expr::InSubquery(q) => {
            if let Some(equal) = rewrite.scalar(&q) {
                return Ok(Transformed::yes(equal));
            }
            let InSubquery { expr, subquery, negated } = q;
            let names = &mut rewrite.aliases;
            let x = outer(expr.as_ref().clone(), schema)?;
            let null = some(&subquery, Some(&|y| y.is_null()), names)?;
            let unknown = null.or(expr.is_null().and(some(&subquery, None, names)?));
            let found = when(some(&subquery, Some(&|y| x.clone().eq(y)), names)?, lit(true))
                .when(unknown, lit(ScalarValue::Boolean(None)))
                .otherwise(lit(false))?;
            Ok(Transformed::yes(if negated { not(found) } else { found }))
        }
        Expr::Exists(Exists { subquery, negated }) => {
            let found = some(&subquery, None, &mut rewrite.aliases)?;
            Ok(Transformed::yes(if negated { not(found) } else { found }))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether a subquery has a row for whose column `condition` is true. The count has a name of its own, and so has the
/// subquery, but for a correlated one, of which the optimiser needs to see more columns: their names may be those of the
/// other, or of the outer query. `names`: how many are given.
fn some(of: &Subquery, condition: Option<&dyn Fn(Expr) -> Expr>, names: &mut usize) -> DfResult<Expr> {
    *names += 1;
    let mut plan = LogicalPlanBuilder::new_from_arc(of.subquery.clone());
    if let Some(condition) = condition {
        if of.outer_ref_columns.is_empty() {
            plan = plan.alias(format!("__selected_{names}"))?;
        }
        let column = plan.schema().columns().swap_remove(0);
        plan = plan.filter(condition(Expr::Column(column)))?;
    }
    let count = count_all().alias(format!("__count_{names}"));
    let plan = plan.aggregate(Vec::<Expr>::new(), [count])?.build()?;
    Ok(Expr::ScalarSubquery(subquery(plan)).gt(lit(0_i64)))
}

fn subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}
