//! Join keys.
//!
//! Two of DataFusion's rules lose what keys mean. Both are guarded here. The second one is left out where it takes too long.
//!
//! - The one that makes `=` of a join's condition keys adds them to keys that have been made of `IS NOT DISTINCT FROM`,
//!   under which NULL equals NULL.
//! - The one that orders inner joins so that each has keys gives all of them the way of the first to compare NULLs, and
//!   forgets a key that depends on more than one of the joined relations.

use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{DFSchema, JoinType, NullEquality, Result};
use datafusion_expr::logical_plan::Join;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::eliminate_cross_join::EliminateCrossJoin as UnguardedOrder;
use datafusion_optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate as UnguardedKeys;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use crate::tree;

/// The most relations that inner joins stand between and whose order is changed. The rule looks at each pair of them again
/// for each of them: 1,000 took it minutes. More are joined as they stand, with the keys that their conditions have.
const MOST_ORDERED: usize = 64;

/// Makes equalities of a join's condition its keys.
#[derive(Debug, Default)]
pub struct ExtractKeys(UnguardedKeys);

impl OptimizerRule for ExtractKeys {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Join(join) if takes_null_for_equal(&join) => {
                Ok(Transformed::no(LogicalPlan::Join(join)))
            }
            plan => self.0.rewrite(plan, config),
        }
    }
}

/// Orders inner joins so that each has keys.
#[derive(Debug, Default)]
pub struct OrderJoins(UnguardedOrder);

impl OptimizerRule for OrderJoins {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut loses = false;
        tree::look_at_plans(&plan, &mut |node| {
            loses |= matches!(node, LogicalPlan::Join(join) if has_many_relations(join) || loses_keys(join));
            Ok(match loses {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })?;
        if loses { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}

fn takes_null_for_equal(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull
}

/// Whether inner joins stand between too many relations to order them.
fn has_many_relations(join: &Join) -> bool {
    let mut open = vec![&join.left, &join.right];
    let mut relations = 0;
    while let Some(plan) = open.pop()
        && relations <= MOST_ORDERED
    {
        match plan.as_ref() {
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
                open.extend([&join.left, &join.right]);
            }
            _ => relations += 1,
        }
    }
    join.join_type == JoinType::Inner && relations > MOST_ORDERED
}

/// Whether the rule would lose a key of this join, or what it means.
fn loses_keys(join: &Join) -> bool {
    if join.join_type != JoinType::Inner || join.on.is_empty() {
        return false;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    relations(&join.left, &mut left);
    relations(&join.right, &mut right);
    takes_null_for_equal(join) || !join.on.iter().all(|(l, r)| is_of_one(l, &left) && is_of_one(r, &right))
}

/// The relations between which a tree of inner joins stands.
fn relations<'a>(plan: &'a LogicalPlan, found: &mut Vec<&'a DFSchema>) {
    match plan {
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
            relations(&join.left, found);
            relations(&join.right, found);
        }
        other => found.push(other.schema()),
    }
}

fn is_of_one(key: &Expr, relations: &[&DFSchema]) -> bool {
    let columns = key.column_refs();
    relations.iter().any(|schema| columns.iter().all(|c| schema.has_column(c)))
}
