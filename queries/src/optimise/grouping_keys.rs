//! Keys of grouping sets as columns.
//!
//! An aggregate knows the keys of its grouping sets by their expressions. A rule that simplifies these makes two keys
//! one, or gives a key another name. Here each key that is more than a column is computed below the aggregate.

use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result};
use datafusion_expr::expr::GroupingSet;
use datafusion_expr::logical_plan::{Aggregate, Projection};
use datafusion_expr::{Expr, LogicalPlan};

use crate::tree;

/// Rewrites an analysed plan.
pub fn as_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rewritten = tree::plan_up(plan, &mut |node| match node {
        LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(rewritten.data)
}

fn of_aggregate(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let keys: Vec<Expr> = match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(sets)] => sets.distinct_expr().into_iter().cloned().collect(),
        _ => vec![],
    };
    if keys.iter().all(|key| matches!(key, Expr::Column(_))) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let column = |i: usize| match &keys[i] {
        Expr::Column(column) => column.clone(),
        _ => Column::new_unqualified(format!("grouping key {i}")),
    };
    let through = aggregate.input.schema().columns().into_iter().map(Expr::Column);
    let computed = keys.iter().enumerate().filter(|(_, key)| !matches!(key, Expr::Column(_)));
    let computed = computed.map(|(i, key)| key.clone().alias(column(i).name));
    let below = Projection::try_new(through.chain(computed).collect(), aggregate.input)?;
    let sets = aggregate.group_expr.into_iter().map(|e| match e {
        Expr::GroupingSet(sets) => Expr::GroupingSet(renamed(sets, &keys, &column)),
        other => other,
    });
    let input = Arc::new(LogicalPlan::Projection(below));
    let grouped = Aggregate::try_new(input, sets.collect(), aggregate.aggr_expr)?;
    // By the names that they had.
    let named = aggregate.schema.iter().enumerate().map(|(i, (relation, field))| match keys.get(i) {
        Some(key) if !matches!(key, Expr::Column(_)) => {
            Expr::Column(column(i)).alias_qualified(relation.cloned(), field.name())
        }
        _ => Expr::Column(Column::new(relation.cloned(), field.name())),
    });
    let above = Projection::try_new(named.collect(), Arc::new(LogicalPlan::Aggregate(grouped)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(above)))
}

/// The sets with a column for each key.
fn renamed(sets: GroupingSet, keys: &[Expr], column: &dyn Fn(usize) -> Column) -> GroupingSet {
    let renamed = |list: Vec<Expr>| -> Vec<Expr> {
        let of = |key: Expr| match keys.iter().position(|k| *k == key) {
            Some(i) => Expr::Column(column(i)),
            None => key,
        };
        list.into_iter().map(of).collect()
    };
    match sets {
        GroupingSet::Rollup(list) => GroupingSet::Rollup(renamed(list)),
        GroupingSet::Cube(list) => GroupingSet::Cube(renamed(list)),
        GroupingSet::GroupingSets(lists) => {
            GroupingSet::GroupingSets(lists.into_iter().map(renamed).collect())
        }
    }
}
