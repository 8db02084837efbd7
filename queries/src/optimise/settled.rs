//! What the analyser leaves wrong, in a plan whose types are settled.
//!
//! - `nullif` of two types, see [`nullif`].
//! - Fields of structs, see [`field`].
//! - The quotient of an unsigned and a signed integer of 64 bits, for which the analyser has made both decimals: it has
//!   four digits behind the point then, and a quotient of integers has none. Quotients of other decimals are floats.

use arrow_schema::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, cast};
use expressions::functions::{decimal_rounding, field, nullif};
use expressions::values::decimals::Rounding;

use crate::tree;

/// Sets it right.
pub fn replace(plan: LogicalPlan) -> crate::Result<LogicalPlan> {
    Ok(tree::all_expressions_up(plan, &mut replaced)?)
}

fn replaced(e: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let right = match &e {
        Expr::ScalarFunction(call) => match field::of_struct(call) {
            Some(field) => Some(field),
            None => nullif::of_two_types(call, schema)?,
        },
        Expr::BinaryExpr(binary) if binary.op == Operator::Divide => cut(binary, schema)?,
        _ => None,
    };
    Ok(right.map_or_else(|| Transformed::no(e), Transformed::yes))
}

/// The quotient of two decimals without digits behind the point, cut.
fn cut(quotient: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    let whole = |e: &Expr| {
        Ok::<_, datafusion_common::DataFusionError>(matches!(e.get_type(schema)?, DataType::Decimal128(_, 0)))
    };
    if !whole(&quotient.left)? || !whole(&quotient.right)? {
        return Ok(None);
    }
    let cut = decimal_rounding::function(Rounding::Cut, Some(0));
    let value = Expr::BinaryExpr(quotient.clone());
    // What stands above has been given types by this one.
    let data_type = value.get_type(schema)?;
    let cut = Expr::ScalarFunction(ScalarFunction::new_udf(cut, vec![value]));
    Ok(Some(cast(cut, data_type)))
}
