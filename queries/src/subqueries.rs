//! Subqueries in expressions become joins.
//!
//! The optimiser has rules for that too. They answer some shapes wrongly: columns of two relations with one name are
//! confused, and a condition of a derived table on the outer side of a join is moved above the join. Here every shape is
//! either turned into a join by rules of our own, or refused; what is left to the optimiser has no outer columns.
//!
//! - [`unique`]: first each relation of the statement gets a name of its own, so that a name means one column.
//! - [`places`]: what becomes of the node in whose expressions a subquery stands.
//! - [`quantified`]: EXISTS, IN, ANY and ALL, as conditions and as values with three outcomes.
//! - [`scalar`]: a subquery as a value; [`single`]: one that may have several rows, which is an error.
//! - [`pulled`]: a correlated subquery whose conditions can be moved into the join (most are).
//! - [`dependent`]: any other, computed for each distinct combination of the outer columns that it names.
//!
//! A scalar subquery without outer columns stays: it is run first. Subqueries inside others come first.

mod dependent;
mod places;
mod pulled;
mod quantified;
mod scalar;
mod single;
mod unique;

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, NullEquality, Result as DfResult, ScalarValue};
use datafusion_expr::logical_plan::{Join, JoinConstraint, Projection, SubqueryAlias};
use datafusion_expr::{Expr, JoinType, LogicalPlan};

use crate::error::Result;
use crate::tree;

/// Rewrites the subqueries of a plan that is not analysed yet.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    tree::look_at_plans(&plan, &mut |node| {
        found = matches!(node, LogicalPlan::Subquery(_))
            || node.expressions().iter().any(|e| {
                tree::any_expr(e, &mut |e| {
                    matches!(
                        e,
                        Expr::Exists(_)
                            | Expr::InSubquery(_)
                            | Expr::SetComparison(_)
                            | Expr::OuterReferenceColumn(..)
                    )
                })
            });
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(plan);
    }
    let plan = unique::rename(&plan)?;
    let mut rewrite = Rewrite { given: 0 };
    Ok(tree::plan_up(plan, &mut |node| rewrite.node(node))?.data)
}

struct Rewrite {
    /// How many names were given.
    given: usize,
}

impl Rewrite {
    /// A name that no relation of the plan has.
    fn fresh(&mut self, what: &str) -> String {
        self.given += 1;
        format!("__{what}{}", self.given)
    }

    /// The given expressions over a plan as the columns of a relation of a new name.
    fn relation(
        &mut self,
        what: &str,
        exprs: Vec<Expr>,
        plan: LogicalPlan,
    ) -> DfResult<(LogicalPlan, Vec<Column>)> {
        let name = self.fresh(what);
        let named = exprs.into_iter().enumerate().map(|(i, e)| e.alias(format!("{name}_{i}"))).collect();
        let plan = LogicalPlan::Projection(Projection::try_new(named, Arc::new(plan))?);
        let alias = SubqueryAlias::try_new(Arc::new(plan), name)?;
        let columns = alias.schema.columns();
        Ok((LogicalPlan::SubqueryAlias(alias), columns))
    }
}

/// The rows that expressions are evaluated on, as joins add columns to them.
struct Outer {
    /// Without those columns.
    rows: LogicalPlan,
    /// With them.
    plan: LogicalPlan,
    added: bool,
}

impl Outer {
    fn new(rows: LogicalPlan) -> Outer {
        Outer { plan: rows.clone(), rows, added: false }
    }

    fn join(&mut self, right: LogicalPlan, on: Option<Expr>, kind: JoinType) -> DfResult<()> {
        let left = std::mem::take(&mut self.plan);
        self.plan = join(left, right, on, kind)?;
        self.added |= !matches!(kind, JoinType::LeftSemi | JoinType::LeftAnti);
        Ok(())
    }

    /// The plan `above` the rows without the columns that joins added.
    fn without_added(&self, above: LogicalPlan) -> DfResult<LogicalPlan> {
        if self.added { project(above, self.rows.schema().columns()) } else { Ok(above) }
    }
}

fn join(left: LogicalPlan, right: LogicalPlan, on: Option<Expr>, kind: JoinType) -> DfResult<LogicalPlan> {
    let (left, right) = (Arc::new(left), Arc::new(right));
    let (constraint, nulls) = (JoinConstraint::On, NullEquality::NullEqualsNothing);
    Ok(LogicalPlan::Join(Join::try_new(left, right, vec![], on, kind, constraint, nulls, false)?))
}

fn project(plan: LogicalPlan, columns: Vec<Column>) -> DfResult<LogicalPlan> {
    let exprs = columns.into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}

fn null() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}

/// The outer columns that a plan names, each once.
fn outer_columns(plan: &LogicalPlan) -> Vec<Column> {
    let mut columns = Vec::new();
    // Looking does not fail.
    let _ = tree::look_at_plans(plan, &mut |node| {
        for e in node.expressions() {
            collect(&e, &mut columns);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    columns
}

fn collect(e: &Expr, columns: &mut Vec<Column>) {
    let _ = tree::look_at_expr(e, &mut |e| {
        if let Expr::OuterReferenceColumn(_, column) = e
            && !columns.contains(column)
        {
            columns.push(column.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    });
}

/// The columns of a schema that a plan names as outer ones.
fn columns_of(plan: &LogicalPlan, schema: &DFSchema) -> Vec<Column> {
    let mut columns = outer_columns(plan);
    columns.retain(|c| has(schema, c));
    columns
}

/// Whether an expression names a column of `schema` as an outer one.
fn names(e: &Expr, schema: &DFSchema) -> bool {
    tree::any_expr(e, &mut |e| matches!(e, Expr::OuterReferenceColumn(_, c) if has(schema, c)))
}

/// The columns of a schema that conditions name, in the order of their names.
fn named(on: &[Expr], schema: &DFSchema) -> Vec<Column> {
    let columns: BTreeSet<&Column> = on.iter().flat_map(Expr::column_refs).collect();
    columns.into_iter().filter(|c| has(schema, c)).cloned().collect()
}

/// Whether a schema has a column of exactly this name.
fn has(schema: &DFSchema, column: &Column) -> bool {
    schema
        .iter()
        .any(|(relation, field)| relation == column.relation.as_ref() && *field.name() == column.name)
}

/// An expression of a subquery as one over the rows outside: its outer columns that `schema` has are columns.
fn outside(e: Expr, schema: &DFSchema) -> DfResult<Expr> {
    let seen = tree::expr_up(e, &mut |e| match e {
        Expr::OuterReferenceColumn(_, column) if has(schema, &column) => {
            Ok(Transformed::yes(Expr::Column(column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(seen.data)
}

/// Columns as other expressions.
fn replace(e: Expr, with: &mut dyn FnMut(&Column) -> Option<Expr>) -> DfResult<Expr> {
    let replaced = tree::expr_up(e, &mut |e| match &e {
        Expr::Column(column) => Ok(match with(column) {
            Some(other) => Transformed::yes(other),
            None => Transformed::no(e),
        }),
        _ => Ok(Transformed::no(e)),
    })?;
    Ok(replaced.data)
}
