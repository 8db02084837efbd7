//! DataFusion's walks over plans and expressions, each compiled once.
//!
//! They are generic over what is done at each node, and each instance has code for every kind of node. With one instance
//! for each use, and the like in [`crate::visits`], this package took 148 seconds to compile in place of 90.

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::{Expr, LogicalPlan};

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
