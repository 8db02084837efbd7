//! Casts that Arrow's kernels compute otherwise than SQL does, in a plan whose types are settled: each becomes a call of
//! a function of [`expressions`].
//!
//! Casts to and from nested types that Arrow has and SQL has not (a value to a list of that value) are refused here.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue, not_impl_err};
use datafusion_expr::{Cast, Expr, ExprSchemable, LogicalPlan, ScalarUDF, TryCast};
use expressions::{exact, text};

use crate::error::Result;
use crate::tree;

/// Replaces casts of text, and those between decimals and floats.
pub fn replace(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = tree::all_expressions_up(plan, &mut of_text)?;
    let replaced = tree::plan_up(plan, &mut |node| {
        let schema = tree::columns_below(&node)?;
        tree::expressions(node, &mut |e| tree::expr_up(e, &mut |e| Ok(between_numbers(e, &schema))))
    })?;
    Ok(replaced.data)
}

/// What is cast, to which type, and whether it is TRY_CAST.
fn parts(e: &Expr) -> Option<(&Expr, &DataType, bool)> {
    match e {
        Expr::Cast(Cast { expr, field }) => Some((expr, field.data_type(), false)),
        Expr::TryCast(TryCast { expr, field }) => Some((expr, field.data_type(), true)),
        _ => None,
    }
}

fn of_text(e: Expr, schema: &DFSchema) -> DfResult<Transformed<Expr>> {
    let Some((value, to, safe)) = parts(&e) else { return Ok(Transformed::no(e)) };
    if !text::is_read(to) && !to.is_nested() {
        return Ok(Transformed::no(e));
    }
    let from = value.get_type(schema)?;
    if to.is_nested() {
        return match from.is_nested() || from.is_null() {
            true => Ok(Transformed::no(e)),
            false => not_impl_err!("a cast of {} to {}", text::shown(&from), text::shown(to)),
        };
    }
    if !matches!(from, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8) {
        return Ok(Transformed::no(e));
    }
    let cast = text::read(to.clone(), safe);
    if let Expr::Literal(literal, _) = value
        && let Ok(value) = cast.values(&literal.to_array()?)
    {
        return Ok(Transformed::yes(Expr::Literal(ScalarValue::try_from_array(&value, 0)?, None)));
    }
    Ok(Transformed::yes(Arc::new(ScalarUDF::new_from_impl(cast)).call(vec![value.clone()])))
}

fn between_numbers(e: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Some((value, to, safe)) = parts(&e) else { return Transformed::no(e) };
    // Few types are asked for: to find one costs a walk of the expression.
    if !(to.is_floating() || matches!(to, DataType::Decimal128(..)))
        || !value.get_type(schema).is_ok_and(|from| exact::is_exact(&from, to))
    {
        return Transformed::no(e);
    }
    Transformed::yes(exact::to(to.clone(), safe).call(vec![value.clone()]))
}
