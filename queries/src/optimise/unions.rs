//! Inputs of unions.
//!
//! A column of a union is the column at its position in each input, whatever name that has. Two of DataFusion's rules look
//! for it by the union's name when a union is left out or joined with one around it: they take another column, or find
//! none. Here such inputs are given the union's names first.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::LogicalPlan;
use datafusion_expr::logical_plan::{EmptyRelation, Union};
use datafusion_optimizer::optimize_unions::OptimizeUnions as UnguardedUnions;
use datafusion_optimizer::propagate_empty_relation::PropagateEmptyRelation as UnguardedEmpty;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use crate::tree;

/// Leaves out relations that are known to have no rows, and what is made of them.
#[derive(Debug, Default)]
pub struct PropagateEmpty(UnguardedEmpty);

impl OptimizerRule for PropagateEmpty {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Union(union) = &plan else { return self.0.rewrite(plan, config) };
        let mut inputs = union.inputs.iter().filter(|input| !is_empty(input));
        match (inputs.next(), inputs.next()) {
            (Some(alone), None) => Ok(Transformed::yes(tree::like(alone.as_ref().clone(), &union.schema)?)),
            _ => self.0.rewrite(plan, config),
        }
    }
}

/// Joins unions within each other.
#[derive(Debug, Default)]
pub struct OptimizeUnions(UnguardedUnions);

impl OptimizerRule for OptimizeUnions {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Union(union) if union.inputs.len() == 1 => {
                Ok(Transformed::yes(tree::like(union.inputs[0].as_ref().clone(), &union.schema)?))
            }
            // The rule above it puts this projection on each input of the union.
            LogicalPlan::Projection(mut projection) => {
                if let LogicalPlan::Union(union) = projection.input.as_ref() {
                    let named = |input: &Arc<LogicalPlan>| {
                        Ok(Arc::new(tree::like(input.as_ref().clone(), &union.schema)?))
                    };
                    let inputs = union.inputs.iter().map(named);
                    let union =
                        Union { inputs: inputs.collect::<Result<_>>()?, schema: union.schema.clone() };
                    projection.input = Arc::new(LogicalPlan::Union(union));
                }
                Ok(Transformed::no(LogicalPlan::Projection(projection)))
            }
            plan => self.0.rewrite(plan, config),
        }
    }
}

fn is_empty(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, .. }))
}
