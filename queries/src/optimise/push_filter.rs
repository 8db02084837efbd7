//! Filters below what they filter.
//!
//! DataFusion's rule moves a predicate below an aggregate if each column of the predicate is a group key. That holds of
//! a predicate without columns too. Below an aggregate without keys it removes the rows and not the one group, so that
//! `HAVING 1 = 2` gives a row. Here a predicate moves only below plain keys, which have no group without rows, and only
//! if it and the keys have one value however often they are evaluated.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::logical_plan::{Aggregate, Distinct, Filter};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::push_down_filter::PushDownFilter as Unguarded;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

/// DataFusion's rule, which leaves predicates alone that would change the groups.
#[derive(Debug, Default)]
pub struct PushDownFilter(Unguarded);

impl OptimizerRule for PushDownFilter {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else { return self.0.rewrite(plan, config) };
        // The rule would join several filters and go on below them.
        let (filter, merged) = merge(filter);
        let (movable, kept): (Vec<Expr>, Vec<Expr>) =
            split_conjunction_owned(filter.predicate).into_iter().partition(|p| may_move(p, &filter.input));
        let mut moved = match conjunction(movable) {
            Some(predicate) => {
                self.0.rewrite(LogicalPlan::Filter(Filter::new(predicate, filter.input)), config)?
            }
            None => Transformed::no(Arc::unwrap_or_clone(filter.input)),
        };
        moved.transformed |= merged;
        Ok(moved.update_data(|plan| above(kept, plan)))
    }
}

/// Filters that stand above each other as one; whether there were several. The lower one's predicates come first.
fn merge(mut filter: Filter) -> (Filter, bool) {
    let mut merged = false;
    while let LogicalPlan::Filter(below) = filter.input.as_ref() {
        let predicates = split_conjunction_owned(below.predicate.clone());
        let mut all: Vec<Expr> = Vec::new();
        for predicate in predicates.into_iter().chain(split_conjunction_owned(filter.predicate.clone())) {
            if !all.contains(&predicate) {
                all.push(predicate);
            }
        }
        let Some(predicate) = conjunction(all) else { break };
        filter = Filter::new(predicate, below.input.clone());
        merged = true;
    }
    (filter, merged)
}

/// Whether a predicate may move below the node.
fn may_move(predicate: &Expr, below: &LogicalPlan) -> bool {
    match below {
        LogicalPlan::Aggregate(aggregate) => has_plain_keys(aggregate) && !predicate.is_volatile(),
        // The first row of a group would be another one.
        LogicalPlan::Distinct(Distinct::On(_)) => false,
        _ => true,
    }
}

fn has_plain_keys(aggregate: &Aggregate) -> bool {
    let plain = |key: &Expr| !matches!(key, Expr::GroupingSet(_)) && !key.is_volatile();
    !aggregate.group_expr.is_empty() && aggregate.group_expr.iter().all(plain)
}

fn above(predicates: Vec<Expr>, plan: LogicalPlan) -> LogicalPlan {
    match conjunction(predicates) {
        Some(predicate) => LogicalPlan::Filter(Filter::new(predicate, Arc::new(plan))),
        None => plan,
    }
}
