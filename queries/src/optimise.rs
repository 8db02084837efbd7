//! DataFusion's analyzer and logical optimiser.

use std::sync::Arc;

use datafusion_common::config::ConfigOptions;
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};

use crate::Settings;
use crate::error::Result;

/// The planner's options, the same in every process.
pub fn config() -> ConfigOptions {
    let mut config = ConfigOptions::default();
    config.optimizer.skip_failed_rules = false;
    config.execution.target_partitions = 1;
    config.execution.time_zone = Some("+00:00".into());
    config
}

/// The query's time.
pub fn now(settings: &Settings) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_nanos(settings.now_ns)
}

/// Checks and coerces types, then simplifies and reorders.
pub fn optimise(plan: LogicalPlan, settings: &Settings) -> Result<LogicalPlan> {
    let config = Arc::new(config());
    let plan = Analyzer::new().execute_and_check(plan, &config, |_, _| {})?;
    let context = OptimizerContext::new_with_config_options(config)
        .with_query_execution_start_time(now(settings))
        .with_max_passes(8);
    Ok(Optimizer::new().optimize(plan, &context, |_, _| {})?)
}
