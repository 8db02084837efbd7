//! The functions that SQL can call, by name: those of DataFusion's packages, and in place of some of them those of
//! [`expressions`].

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, LazyLock};

use datafusion_common::{Result, plan_datafusion_err, plan_err};
use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};
use expressions::functions::{
    average, encode, ifnull, nullif, parts, percentile, prefix, quantified, regexp_replace, regression,
    rounding, strftime, sum, truncate, zone,
};

use crate::optimise;
use crate::rewrite::casts;

/// All functions by name and alias.
pub struct Functions {
    scalar: BTreeMap<String, Arc<ScalarUDF>>,
    aggregate: BTreeMap<String, Arc<AggregateUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
}

impl Functions {
    /// The functions, made once: there are hundreds, and planning a short query took a quarter of its time for them.
    pub fn all() -> &'static Functions {
        static ALL: LazyLock<Functions> = LazyLock::new(Functions::new);
        &ALL
    }

    /// Scalar functions and aggregates of DataFusion's packages.
    fn new() -> Functions {
        let mut scalar = BTreeMap::new();
        for f in datafusion_functions::all_default_functions() {
            for name in f.aliases() {
                scalar.insert(name.clone(), f.clone());
            }
            scalar.insert(f.name().to_string(), f);
        }
        let (substr, date_part) = (prefix::substr(), parts::date_part());
        let own = [
            substr.clone(),
            date_part.clone(),
            truncate::date_trunc(),
            strftime::strftime(),
            regexp_replace::regexp_replace(),
            encode::encode(),
            ifnull::ifnull(),
            nullif::nullif(),
            zone::at_time_zone(),
            // An instant, as it is not without a time zone in the options.
            datafusion_functions::datetime::now(&optimise::config()),
            casts::function(),
        ];
        for f in own.into_iter().chain(quantified::functions()).chain(rounding::functions()) {
            for name in f.aliases().iter().map(String::as_str).chain([f.name()]) {
                scalar.insert(name.to_string(), f.clone());
            }
        }
        let mut aggregate = BTreeMap::new();
        let own = [average::avg(), percentile::percentile_cont()].into_iter().chain(regression::all());
        for f in datafusion_functions_aggregate::all_default_aggregate_functions().into_iter().chain(own) {
            for name in f.aliases() {
                aggregate.insert(name.clone(), f.clone());
            }
            aggregate.insert(f.name().to_string(), f);
        }
        // Names that other systems have for the same.
        if let Some(f) = scalar.get("signum").cloned() {
            scalar.insert("sign".to_string(), f);
        }
        aggregate.insert("sum".to_string(), sum::sum());
        if let Some(f) = aggregate.get("var_samp").cloned() {
            aggregate.insert("variance".to_string(), f);
        }
        let planners: Vec<Arc<dyn ExprPlanner>> = vec![
            Arc::new(prefix::Planner(substr)),
            Arc::new(parts::Planner(date_part)),
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

    /// Whether this is the name of an aggregate, in lower case.
    pub fn is_aggregate(&self, name: &str) -> bool {
        self.aggregate.contains_key(name)
    }

    /// What turns syntax such as `EXTRACT`, `SUBSTRING` and `COUNT(*)` into calls.
    pub fn planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }
}

/// The optimiser looks aggregates up here (`DISTINCT ON` is turned into `first_value`).
impl FunctionRegistry for Functions {
    fn udfs(&self) -> HashSet<String> {
        self.scalar.keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn udafs(&self) -> HashSet<String> {
        self.aggregate.keys().cloned().collect()
    }

    fn udwfs(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn udf(&self, name: &str) -> Result<Arc<ScalarUDF>> {
        self.scalar(name).ok_or_else(|| plan_datafusion_err!("there is no function '{name}'"))
    }

    fn higher_order_function(&self, name: &str) -> Result<Arc<HigherOrderUDF>> {
        plan_err!("there is no function '{name}'")
    }

    fn udaf(&self, name: &str) -> Result<Arc<AggregateUDF>> {
        self.aggregate(name).ok_or_else(|| plan_datafusion_err!("there is no aggregate '{name}'"))
    }

    fn udwf(&self, name: &str) -> Result<Arc<WindowUDF>> {
        plan_err!("there is no window function '{name}'")
    }

    fn expr_planners(&self) -> Vec<Arc<dyn ExprPlanner>> {
        self.planners.clone()
    }
}
