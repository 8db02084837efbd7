//! DataFusion's analyzer and logical optimiser.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, IntervalUnit, Schema, TimeUnit};
use datafusion_common::alias::AliasGenerator;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_expr::{Expr, LogicalPlan, Operator};
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerConfig, OptimizerContext};

use crate::Settings;
use crate::error::Result;
use crate::expr::checked;
use crate::functions::Functions;
use crate::{guards, subqueries};

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
    let plan = fold_integers(plan)?;
    let plan = guards::mark(subqueries::rewrite(plan)?)?;
    let context = OptimizerContext::new_with_config_options(config)
        .with_query_execution_start_time(now(settings))
        .with_max_passes(8);
    let context = Context { context, functions: Functions::new() };
    Ok(Optimizer::new().optimize(plan, &context, |_, _| {})?)
}

/// The optimiser's context, with the functions that it may put in.
struct Context {
    context: OptimizerContext,
    functions: Functions,
}

impl OptimizerConfig for Context {
    fn query_execution_start_time(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        self.context.query_execution_start_time()
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        self.context.alias_generator()
    }

    fn options(&self) -> Arc<ConfigOptions> {
        self.context.options()
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        Some(&self.functions)
    }
}

/// Computes arithmetic on constant integers and decimals with overflow as an error. The optimiser would compute it too, and wrap.
fn fold_integers(plan: LogicalPlan) -> Result<LogicalPlan> {
    let folded = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|e| {
            let name = names.save(&e);
            let folded = e.transform_up(fold)?;
            Ok(Transformed::new_transformed(name.restore(folded.data), folded.transformed))
        })
    })?;
    Ok(folded.data)
}

/// A constant number of days, which the analyzer has turned into seconds, as an interval of days: as one of nanoseconds
/// it could be 292 years at most.
fn days(e: &Expr) -> Option<ScalarValue> {
    let Expr::Cast(interval) = e else { return None };
    let Expr::Cast(duration) = interval.expr.as_ref() else { return None };
    let Expr::Literal(ScalarValue::Int64(Some(seconds)), _) = duration.expr.as_ref() else { return None };
    let is = interval.field.data_type() == &DataType::Interval(IntervalUnit::MonthDayNano)
        && duration.field.data_type() == &DataType::Duration(TimeUnit::Second);
    let days = i32::try_from(seconds / 86_400).ok().filter(|_| is && seconds % 86_400 == 0)?;
    Some(ScalarValue::new_interval_mdn(0, days, 0))
}

fn fold(e: Expr) -> DfResult<Transformed<Expr>> {
    if let Some(days) = days(&e) {
        return Ok(Transformed::yes(Expr::Literal(days, None)));
    }
    let constant = |e: &Expr| matches!(e, Expr::Literal(v, _) if !v.is_null());
    let integer = |e: &Expr| matches!(e, Expr::Literal(v, _) if v.data_type().is_integer());
    let date_or_interval = |e: &Expr| {
        use arrow_schema::DataType::{Date32, Interval};
        matches!(e, Expr::Literal(v, _) if !v.is_null() && matches!(v.data_type(), Date32 | Interval(_)))
            || matches!(e, Expr::Cast(c) if c.field.data_type() == &Date32 && matches!(*c.expr, Expr::Literal(..)))
    };
    let decimal = |e: &Expr| {
        use arrow_schema::DataType::Decimal128;
        matches!(e, Expr::Literal(v, _) if !v.is_null() && matches!(v.data_type(), Decimal128(..)))
            || matches!(e, Expr::Cast(c) if matches!(c.field.data_type(), Decimal128(..)) && constant(&c.expr))
    };
    use Operator::{BitwiseShiftLeft, BitwiseShiftRight, Divide, Minus, Multiply, Plus};
    let folds = match &e {
        Expr::BinaryExpr(b) => {
            (matches!(b.op, Plus | Minus | Multiply | BitwiseShiftLeft | BitwiseShiftRight)
                && integer(&b.left)
                && integer(&b.right)
                && constant(&b.left)
                && constant(&b.right))
                || (matches!(b.op, Plus | Minus) && date_or_interval(&b.left) && date_or_interval(&b.right))
                || (matches!(b.op, Plus | Minus | Multiply | Divide) && decimal(&b.left) && decimal(&b.right))
        }
        Expr::Cast(c) => integer(&c.expr) && constant(&c.expr) && c.field.data_type().is_integer(),
        Expr::Negative(inner) => integer(inner) && constant(inner),
        _ => false,
    };
    if !folds {
        return Ok(Transformed::no(e));
    }
    let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let compiled = checked(
        datafusion_physical_expr::create_physical_expr(&e, &DFSchema::empty(), &props, &context)?,
        &Schema::empty(),
    )?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
    let value = compiled.evaluate(&one)?.into_array(1)?;
    Ok(Transformed::yes(Expr::Literal(ScalarValue::try_from_array(&value, 0)?, None)))
}
