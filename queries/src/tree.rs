//! DataFusion's walks over plans and expressions, each compiled once.
//!
//! They are generic over what is done at each node, and each instance has code for every kind of node. With one instance
//! for each use, and the like in [`crate::visits`], this package took 148 seconds to compile in place of 90.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::Projection;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, LogicalPlan, cast};

/// What becomes of a node.
type Change<'a, N> = &'a mut dyn FnMut(N) -> Result<Transformed<N>>;

/// What a look at a node says of those below it.
type Look<'a, N> = &'a mut dyn FnMut(&N) -> Result<TreeNodeRecursion>;

/// [`TreeNode::transform_up`] of an expression.
pub fn expr_up(e: Expr, change: Change<Expr>) -> Result<Transformed<Expr>> {
    e.transform_up(change)
}

/// [`TreeNode::transform_down`] of an expression.
pub fn expr_down(e: Expr, change: Change<Expr>) -> Result<Transformed<Expr>> {
    e.transform_down(change)
}

/// [`TreeNode::map_children`] of an expression.
pub fn expr_children(e: Expr, change: Change<Expr>) -> Result<Transformed<Expr>> {
    e.map_children(change)
}

/// [`TreeNode::apply`] to an expression.
pub fn look_at_expr(e: &Expr, look: Look<Expr>) -> Result<TreeNodeRecursion> {
    e.apply(look)
}

/// Whether an expression or one in it is such.
pub fn any_expr(e: &Expr, is: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    // It never fails.
    let _ = look_at_expr(e, &mut |e| {
        found = is(e);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// [`TreeNode::map_children`] of a plan.
pub fn plan_children(plan: LogicalPlan, change: Change<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    plan.map_children(change)
}

/// [`LogicalPlan::transform_up_with_subqueries`].
pub fn plan_up(plan: LogicalPlan, change: Change<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(change)
}

/// [`TreeNode::transform_down`] of a plan without its subqueries.
pub fn plan_down(plan: LogicalPlan, change: Change<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down(change)
}

/// [`LogicalPlan::map_expressions`]: those of one node.
pub fn expressions(plan: LogicalPlan, change: Change<Expr>) -> Result<Transformed<LogicalPlan>> {
    plan.map_expressions(change)
}

/// [`LogicalPlan::map_expressions`] and in each of them [`expr_up`]; what they are called stays, and so does what each
/// key of grouping sets is called.
pub fn expressions_up(plan: LogicalPlan, change: Change<Expr>) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    expressions(plan, &mut |e| {
        let mut one = |e: Expr| {
            let name = names.save(&e);
            let e = expr_up(e, &mut *change)?;
            Ok(Transformed::new_transformed(name.restore(e.data), e.transformed))
        };
        if matches!(e, Expr::GroupingSet(_)) { expr_children(e, &mut one) } else { one(e) }
    })
}

/// [`expressions_up`] of all nodes, those of subqueries too. `change` is told the columns that the expression may name.
pub fn all_expressions_up(
    plan: LogicalPlan,
    change: &mut dyn FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let changed = plan_up(plan, &mut |node| {
        let columns = columns_below(&node)?;
        expressions_up(node, &mut |e| change(e, &columns))
    })?;
    Ok(changed.data)
}

/// The columns that the expressions of a node may name: those of its inputs, or of the table that it scans.
pub fn columns_below(node: &LogicalPlan) -> Result<DFSchema> {
    match node {
        LogicalPlan::TableScan(scan) => {
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())
        }
        other => Ok(merge_schema(&other.inputs())),
    }
}

/// A plan whose columns have the names and types of a schema, position by position.
pub fn like(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let pairs = || plan.schema().iter().zip(schema.iter());
    if pairs().all(|((table, field), (to_table, to))| {
        table == to_table && field.name() == to.name() && field.data_type() == to.data_type()
    }) {
        return Ok(plan);
    }
    let columns = pairs().map(|((table, field), (to_table, to))| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        let column = match field.data_type() == to.data_type() {
            true => column,
            false => cast(column, to.data_type().clone()),
        };
        column.alias_qualified(to_table.cloned(), to.name())
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// [`TreeNode::apply`] to a plan without its subqueries.
pub fn look_at_plan(plan: &LogicalPlan, look: Look<LogicalPlan>) -> Result<TreeNodeRecursion> {
    plan.apply(look)
}

/// Whether a node or one below it, subqueries aside, is such.
pub fn any_plan(plan: &LogicalPlan, is: &mut dyn FnMut(&LogicalPlan) -> bool) -> bool {
    let mut found = false;
    // It never fails.
    let _ = look_at_plan(plan, &mut |node| {
        found = is(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// [`LogicalPlan::apply_with_subqueries`].
pub fn look_at_plans(plan: &LogicalPlan, look: Look<LogicalPlan>) -> Result<TreeNodeRecursion> {
    plan.apply_with_subqueries(look)
}
