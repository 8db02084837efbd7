//! `IN (SELECT …)` and `EXISTS` where the optimiser has no join for them, or one that takes NULL for false.
//!
//! A condition `x IN (q)` of WHERE is a semi join, and `x NOT IN (q)` an anti join that knows of NULL. Anywhere else the
//! optimiser would only mark the rows that have a match, and a row without one may have to be NULL instead of false.
//! There, `x IN (q)` becomes what it means, by counting rows: true if some y of q equals x; else NULL if some y is NULL,
//! or x is NULL and q has rows; else false.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue, Spans};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::{Filter, Subquery};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, not, when};
use datafusion_functions_aggregate::count::count_all;

use crate::error::Result;

/// Rewrites the subqueries of a plan that is not analysed yet.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Filter(filter) => {
            let schema = filter.input.schema().clone();
            let conditions = split_conjunction_owned(filter.predicate.clone());
            let conditions =
                conditions.into_iter().map(|c| condition(c, &schema)).collect::<DfResult<Vec<_>>>()?;
            let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
            if predicate == filter.predicate {
                return Ok(Transformed::no(LogicalPlan::Filter(filter)));
            }
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        LogicalPlan::Projection(ref projection) => {
            let schema = projection.input.schema().clone();
            let names = NamePreserver::new(&node);
            node.map_expressions(|e| {
                let name = names.save(&e);
                let counted = e.transform_up(|e| value(e, &schema, true))?;
                Ok(Transformed::new_transformed(name.restore(counted.data), counted.transformed))
            })
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(rewritten.data)
}

/// A condition of WHERE.
fn condition(e: Expr, schema: &DFSchema) -> DfResult<Expr> {
    match e {
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(i) => {
                condition(Expr::InSubquery(InSubquery { negated: !i.negated, ..i }), schema)
            }
            Expr::Exists(_) => Ok(Expr::Not(inner)),
            other => Ok(not(other).transform_up(|e| value(e, schema, false))?.data),
        },
        Expr::InSubquery(i) if !i.negated || i.subquery.outer_ref_columns.is_empty() => {
            Ok(Expr::InSubquery(i))
        }
        // With outer columns it is that no row equals x, nor may.
        Expr::InSubquery(i) => {
            let column = Expr::Column(i.subquery.subquery.schema().columns().swap_remove(0));
            let may_equal = Expr::IsNotFalse(Box::new(outer(*i.expr, schema)?.eq(column)));
            let plan = LogicalPlanBuilder::new_from_arc(i.subquery.subquery).filter(may_equal)?.build()?;
            Ok(Expr::Exists(Exists { subquery: subquery(plan), negated: true }))
        }
        Expr::Exists(e) => Ok(Expr::Exists(e)),
        other => Ok(other.transform_up(|e| value(e, schema, false))?.data),
    }
}

/// A value with three outcomes.
fn value(e: Expr, schema: &DFSchema, exists: bool) -> DfResult<Transformed<Expr>> {
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
        Expr::Exists(Exists { subquery, negated }) if exists => {
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

/// An expression over `schema` as a subquery sees it.
fn outer(e: Expr, schema: &DFSchema) -> DfResult<Expr> {
    let seen = e.transform_up(|e| {
        let Expr::Column(column) = e else { return Ok(Transformed::no(e)) };
        let field = schema.qualified_field_from_column(&column)?.1.clone();
        Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
    })?;
    Ok(seen.data)
}
