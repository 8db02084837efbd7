//! `IN (SELECT …)` and `EXISTS` in the select list, for which the optimiser has no join: they become what they mean by
//! counting rows. `x IN (q)` is true if some y of q equals x; else NULL if some y is NULL, or x is NULL and q has rows;
//! else false.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue, Spans};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::Subquery;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, not, when};
use datafusion_functions_aggregate::count::count_all;

use super::outer;
use crate::error::Result;

/// Rewrites the subqueries of a plan that is not analysed yet.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Projection(ref projection) => {
            let schema = projection.input.schema().clone();
            let names = NamePreserver::new(&node);
            node.map_expressions(|e| {
                let name = names.save(&e);
                let counted = e.transform_up(|e| value(e, &schema))?;
                Ok(Transformed::new_transformed(name.restore(counted.data), counted.transformed))
            })
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(rewritten.data)
}

/// A value with three outcomes.
fn value(e: Expr, schema: &DFSchema) -> DfResult<Transformed<Expr>> {
    match e {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let column = Expr::Column(subquery.subquery.schema().columns().swap_remove(0));
            let equal = outer(expr.as_ref().clone(), schema)?.eq(column.clone());
            let unknown =
                some(&subquery, Some(column.is_null()))?.or(expr.is_null().and(some(&subquery, None)?));
            let found = when(some(&subquery, Some(equal))?, lit(true))
                .when(unknown, lit(ScalarValue::Boolean(None)))
                .otherwise(lit(false))?;
            Ok(Transformed::yes(if negated { not(found) } else { found }))
        }
        Expr::Exists(Exists { subquery, negated }) => {
            let found = some(&subquery, None)?;
            Ok(Transformed::yes(if negated { not(found) } else { found }))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether a subquery has a row for which `condition` is true.
fn some(of: &Subquery, condition: Option<Expr>) -> DfResult<Expr> {
    let mut plan = LogicalPlanBuilder::new_from_arc(of.subquery.clone());
    if let Some(condition) = condition {
        plan = plan.filter(condition)?;
    }
    let plan = plan.aggregate(Vec::<Expr>::new(), [count_all()])?.build()?;
    Ok(Expr::ScalarSubquery(subquery(plan)).gt(lit(0_i64)))
}

fn subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}
