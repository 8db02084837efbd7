//! Which columns determine others.
//!
//! A plan says of the keys of an aggregate that they determine the rest of its columns. Above a join, and above an aggregate
//! over that, it says so of columns that are keys of one side alone: DataFusion takes `b` out of `GROUP BY a, b` and of
//! `ORDER BY a, b` then, drops a DISTINCT or a join, and takes a column for a key that stands in no GROUP BY. So where
//! anything would ask which columns determine others, nothing is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, DFSchemaRef, FunctionalDependencies, Result};
use datafusion_expr::LogicalPlan;
use datafusion_expr::logical_plan::Distinct;
use datafusion_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use datafusion_sql::sqlparser::ast::TableFactor;

use super::Rule;
use crate::tree;

/// The rules that ask.
const ASKING: [&str; 4] =
    ["eliminate_duplicated_expr", "eliminate_join", "optimize_projections", "replace_distinct_aggregate"];

/// A rule, guarded if it is one of those that ask.
pub fn guarded(rule: Rule) -> Rule {
    if ASKING.contains(&rule.name()) { Arc::new(Unknowing(rule)) } else { rule }
}

/// A rule that is given plans of which no dependencies are known.
#[derive(Debug)]
struct Unknowing(Rule);

impl OptimizerRule for Unknowing {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let plan = match self.apply_order() {
            // It is given one node after the other, and looks at the inputs of each.
            Some(_) => tree::plan_children(plan, &mut |input| Ok(Transformed::no(forget(input)))),
            None => tree::plan_up(plan, &mut |node| Ok(Transformed::no(forget(node)))),
        };
        self.0.rewrite(plan?.data, config)
    }
}

/// Relations of FROM, for the planner, which asks what is determined by the keys of a GROUP BY over them.
#[derive(Debug, Default)]
pub struct Relations {
    /// Whether the relation that comes next is the one that was asked for here.
    is_asked: AtomicBool,
}

impl RelationPlanner for Relations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if self.is_asked.swap(false, Ordering::Relaxed) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        self.is_asked.store(true, Ordering::Relaxed);
        let plan = forget(context.plan(relation)?);
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}

/// A plan of whose columns it is not known which determine others.
fn forget(mut plan: LogicalPlan) -> LogicalPlan {
    match &mut plan {
        LogicalPlan::Projection(node) => empty(&mut node.schema),
        LogicalPlan::Aggregate(node) => empty(&mut node.schema),
        LogicalPlan::Join(node) => empty(&mut node.schema),
        LogicalPlan::SubqueryAlias(node) => empty(&mut node.schema),
        LogicalPlan::Union(node) => empty(&mut node.schema),
        LogicalPlan::TableScan(node) => empty(&mut node.projected_schema),
        LogicalPlan::Distinct(Distinct::On(node)) => empty(&mut node.schema),
        // These have the schema of their input.
        LogicalPlan::Distinct(Distinct::All(input)) => forget_below(input),
        LogicalPlan::Filter(node) => forget_below(&mut node.input),
        LogicalPlan::Sort(node) => forget_below(&mut node.input),
        LogicalPlan::Limit(node) => forget_below(&mut node.input),
        LogicalPlan::Repartition(node) => forget_below(&mut node.input),
        _ => {}
    }
    plan
}

fn forget_below(input: &mut Arc<LogicalPlan>) {
    if !input.schema().functional_dependencies().is_empty() {
        *input = Arc::new(forget(Arc::unwrap_or_clone(std::mem::take(input))));
    }
}

fn empty(schema: &mut DFSchemaRef) {
    if !schema.functional_dependencies().is_empty() {
        let none = FunctionalDependencies::empty();
        let forgetful = DFSchema::clone(schema).with_functional_dependencies(none);
        *schema = Arc::new(forgetful.expect("no dependency names a column that is not there"));
    }
}
