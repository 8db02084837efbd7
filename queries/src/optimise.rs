//! DataFusion's analyzer and logical optimiser.
//!
//! - [`query_time`]: what depends on the query's time becomes a literal.
//! - [`bounds`]: comparisons with decimals of more digits.
//! - [`casts`]: which casts in comparisons it may take off.
//! - [`common`]: expressions that are computed once.
//! - [`dependencies`]: which columns determine others.
//! - [`distinct`]: types of aggregates of distinct values.
//! - [`grouping_keys`]: keys of grouping sets as columns.
//! - [`literals`]: equal literals as one.
//! - [`nullability`]: which columns it may take for never NULL: none.
//! - [`push_filter`]: below what a filter may move.
//! - [`settled`]: what the analyser leaves wrong.
//! - [`simplify`]: what it may not make something else of.
//! - [`joins`]: which keys a join may be given.
//! - [`unions`]: what the columns of a union's inputs are called.

/// What a rule around one of DataFusion's has from it.
macro_rules! of_unguarded {
    () => {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn apply_order(&self) -> Option<datafusion_optimizer::optimizer::ApplyOrder> {
            self.0.apply_order()
        }
    };
}

pub mod bounds;
pub mod casts;
pub mod common;
pub mod dependencies;
pub mod distinct;
pub mod grouping_keys;
pub mod joins;
pub mod literals;
pub mod nullability;
pub mod push_filter;
pub mod query_time;
pub mod settled;
pub mod simplify;
pub mod unions;

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Schema};
use datafusion_common::alias::AliasGenerator;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, DataFusionError, Result as DfResult, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, Operator, Volatility};
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerConfig, OptimizerContext, OptimizerRule};
use datafusion_physical_expr::create_physical_expr;
use expressions::checked::checked;
use expressions::compare::is_ambiguous;
use schema::instants::UTC;

use crate::Settings;
use crate::cast_calls;
use crate::error::Result;
use crate::functions::Functions;
use crate::guards;
use crate::tree;

/// The planner's options, the same in every process.
pub fn config() -> ConfigOptions {
    let mut config = ConfigOptions::default();
    config.optimizer.skip_failed_rules = false;
    config.execution.target_partitions = 1;
    config.execution.time_zone = Some(UTC.into());
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
    let plan = cast_calls::replace(settled::replace(plan)?)?;
    // What is a key of a grouping set has to be a column before it becomes a literal.
    let plan = query_time::replace(grouping_keys::as_columns(plan)?, &config, settings)?;
    let plan = fold_arithmetic(plan, settings)?;
    let plan = guards::mark(bounds::narrow(plan)?)?;
    let context = OptimizerContext::new_with_config_options(config)
        .with_query_execution_start_time(now(settings))
        .with_max_passes(8);
    let context = Context { context, functions: Functions::all() };
    Ok(optimizer().optimize(plan, &context, |_, _| {})?)
}

/// A plan that is optimised without the columns that no operator reads.
pub fn without_unread_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let context = OptimizerContext::new_with_config_options(Arc::new(config()));
    let prune = Optimizer::with_rules(vec![dependencies::guarded(Arc::new(OptimizeProjections::new()))]);
    Ok(prune.optimize(plan, &context, |_, _| {})?)
}

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// The optimiser's rules, of which those that can give a wrong answer are guarded.
fn optimizer() -> Optimizer {
    let guarded: [Rule; 8] = [
        Arc::new(simplify::Simplify::default()),
        Arc::new(common::ComputeOnce::default()),
        Arc::new(joins::ExtractKeys::default()),
        Arc::new(joins::OrderJoins::default()),
        Arc::new(push_filter::PushDownFilter::default()),
        Arc::new(distinct::SingleDistinct::default()),
        Arc::new(unions::OptimizeUnions::default()),
        Arc::new(unions::PropagateEmpty::default()),
    ];
    let own = |rule: Rule| guarded.iter().find(|own| own.name() == rule.name()).cloned().unwrap_or(rule);
    Optimizer::with_rules(Optimizer::new().rules.into_iter().map(own).map(dependencies::guarded).collect())
}

/// The optimiser's context, with the functions that it may put in.
struct Context {
    context: OptimizerContext,
    functions: &'static Functions,
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
        Some(self.functions)
    }
}

/// Computes on constants what [`checked`] sets right. The optimiser would compute it as well, wrongly.
fn fold_arithmetic(plan: LogicalPlan, settings: &Settings) -> Result<LogicalPlan> {
    let props = ExecutionProps::new().with_query_execution_start_time(now(settings));
    Ok(tree::all_expressions_up(plan, &mut |e, _| fold(e, &props))?)
}

/// Functions that only stand for another expression, and can't be computed.
const STANDINS: [&str; 4] = ["arrow_cast", "coalesce", "nvl", "nvl2"];

fn fold(e: Expr, props: &ExecutionProps) -> DfResult<Transformed<Expr>> {
    let Expr::ScalarFunction(f) = &e else { return fold_computed(e, props) };
    if !f.args.iter().all(is_constant) {
        return Ok(Transformed::no(e));
    }
    if !STANDINS.contains(&f.func.name()) {
        return fold_computed(e, props);
    }
    match f.func.simplify(f.args.clone(), &SimplifyContext::default()) {
        Ok(ExprSimplifyResult::Simplified(other)) => {
            Ok(Transformed::yes(tree::expr_up(other, &mut |e| fold(e, props))?.data))
        }
        _ => fold_computed(e, props),
    }
}

fn fold_computed(e: Expr, props: &ExecutionProps) -> DfResult<Transformed<Expr>> {
    let arithmetic = match &e {
        Expr::BinaryExpr(b) => matches!(
            b.op,
            Operator::Plus
                | Operator::Minus
                | Operator::Multiply
                | Operator::Divide
                | Operator::BitwiseShiftLeft
                | Operator::BitwiseShiftRight
        ),
        Expr::Negative(_) => true,
        _ => false,
    };
    let compared = match &e {
        Expr::BinaryExpr(b) if b.op.supports_propagation() => Some(b.left.as_ref()),
        Expr::InList(list) => Some(list.expr.as_ref()),
        Expr::Between(between) => Some(between.expr.as_ref()),
        Expr::Case(case) => case.expr.as_deref(),
        Expr::ScalarFunction(f) if matches!(f.func.name(), "nullif" | "greatest" | "least") => f.args.first(),
        _ => None,
    };
    if !arithmetic && compared.is_none() || !is_constant(&e) {
        return Ok(Transformed::no(e));
    }
    let empty = DFSchema::empty();
    let exact = |t: &DataType| t.is_integer() || matches!(t, DataType::Decimal128(..) | DataType::Date32);
    let own = match compared {
        Some(value) => is_ambiguous(&value.get_type(&empty)?),
        None => exact(&e.get_type(&empty)?),
    };
    if !own {
        return Ok(Transformed::no(e));
    }
    match evaluate(&e, props) {
        // What is divided by zero may stand in a branch that is never taken; the optimiser leaves it alone.
        Err(DataFusionError::ArrowError(inner, _)) if matches!(*inner, ArrowError::DivideByZero) => {
            Ok(Transformed::no(e))
        }
        // So may what fails within a comparison.
        Err(_) if compared.is_some() => Ok(Transformed::no(e)),
        value => Ok(Transformed::yes(Expr::Literal(value?, None))),
    }
}

/// Whether an expression has the same value for all rows, which is known before any is read.
fn is_constant(e: &Expr) -> bool {
    let varies = tree::any_expr(e, &mut |e| match e {
        Expr::Literal(..)
        | Expr::Alias(_)
        | Expr::BinaryExpr(_)
        | Expr::InList(_)
        | Expr::Between(_)
        | Expr::Case(_)
        | Expr::Not(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Negative(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::Cast(_)
        | Expr::TryCast(_) => false,
        Expr::ScalarFunction(f) => f.func.signature().volatility == Volatility::Volatile,
        _ => true,
    });
    !varies
}

/// The value of an expression without columns.
fn evaluate(e: &Expr, props: &ExecutionProps) -> DfResult<ScalarValue> {
    let compiled = create_physical_expr(e, &DFSchema::empty(), props, &PhysicalPlanningContext::default())?;
    let compiled = checked(compiled, &Schema::empty())?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
    ScalarValue::try_from_array(&compiled.evaluate(&one)?.into_array(1)?, 0)
}
