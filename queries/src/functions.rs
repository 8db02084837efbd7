//! The functions that SQL can call: DataFusion's packages, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::{AggregateUDF, ScalarUDF};

/// All functions by name and alias.
pub struct Functions {
    scalar: BTreeMap<String, Arc<ScalarUDF>>,
    aggregate: BTreeMap<String, Arc<AggregateUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
}

impl Functions {
    /// Scalar functions and aggregates of DataFusion's packages.
    pub fn new() -> Functions {
        let mut scalar = BTreeMap::new();
        for f in datafusion_functions::all_default_functions() {
            for name in f.aliases() {
                scalar.insert(name.clone(), f.clone());
            }
            scalar.insert(f.name().to_string(), f);
        }
        let mut aggregate = BTreeMap::new();
        for f in datafusion_functions_aggregate::all_default_aggregate_functions() {
            for name in f.aliases() {
                aggregate.insert(name.clone(), f.clone());
            }
            aggregate.insert(f.name().to_string(), f);
        }
        let planners: Vec<Arc<dyn ExprPlanner>> = vec![
            Arc::new(datafusion_functions::core::planner::CoreFunctionPlanner::default()),
            Arc::new(datafusion_functions::datetime::planner::DatetimeFunctionPlanner),
            Arc::new(datafusion_functions::unicode::planner::UnicodeFunctionPlanner),
            Arc::new(datafusion_functions_aggregate::planner::AggregateFunctionPlanner),
        ];
        Functions { scalar, aggregate, planners }
    }

    /// The scalar function of this name, in lower case.
    pub fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalar.get(name).cloned()
    }

    /// The aggregate of this name, in lower case.
    pub fn aggregate(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregate.get(name).cloned()
    }

    /// The names of all scalar functions.
    pub fn scalar_names(&self) -> Vec<String> {
        self.scalar.keys().cloned().collect()
    }

    /// The names of all aggregates.
    pub fn aggregate_names(&self) -> Vec<String> {
        self.aggregate.keys().cloned().collect()
    }

    /// What turns syntax such as `EXTRACT`, `SUBSTRING` and `COUNT(*)` into calls.
    pub fn planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }
}

impl Default for Functions {
    fn default() -> Self {
        Functions::new()
    }
}
