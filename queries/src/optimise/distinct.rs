//! Aggregates of the distinct values of one column.
//!
//! DataFusion's rule groups by that column first. A sum of all values beside them becomes the sum of the groups' sums,
//! which has ten more digits where the values are decimals: another type than that for which everything above was made.

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy as Unguarded;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use crate::tree;

/// DataFusion's rule, which leaves the types of columns as they are.
#[derive(Debug, Default)]
pub struct SingleDistinct(Unguarded);

impl OptimizerRule for SingleDistinct {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let schema = plan.schema().clone();
        self.0.rewrite(plan, config)?.map_data(|plan| tree::like(plan, &schema))
    }
}
