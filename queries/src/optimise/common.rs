//! Expressions that are computed once.
//!
//! A TIMESTAMP and an instant of the same value are one constant to the optimiser, so that expressions over them are one
//! too, of the type of the first. Where a plan has both, each expression is computed by itself.

use std::collections::HashSet;

use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use crate::tree;

/// Computes equal expressions once.
#[derive(Debug, Default)]
pub struct ComputeOnce(CommonSubexprEliminate);

impl OptimizerRule for ComputeOnce {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match has_equal_instants(&plan)? {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

/// Whether a constant of a plan is an instant, and another one a TIMESTAMP of its value.
fn has_equal_instants(plan: &LogicalPlan) -> Result<bool> {
    let (mut local, mut zoned) = (HashSet::new(), HashSet::new());
    tree::look_at_plan(plan, &mut |node| {
        node.apply_expressions(|e| {
            tree::look_at_expr(e, &mut |e| {
                if let Expr::Literal(value, _) = e
                    && let Some(is_zoned) = is_zoned(value)
                {
                    if is_zoned { &mut zoned } else { &mut local }.insert(value.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(!zoned.is_disjoint(&local))
}

/// Whether a value of a TIMESTAMP type has a zone.
fn is_zoned(value: &ScalarValue) -> Option<bool> {
    match value {
        ScalarValue::TimestampSecond(_, zone)
        | ScalarValue::TimestampMillisecond(_, zone)
        | ScalarValue::TimestampMicrosecond(_, zone)
        | ScalarValue::TimestampNanosecond(_, zone) => Some(zone.is_some()),
        _ => None,
    }
}
