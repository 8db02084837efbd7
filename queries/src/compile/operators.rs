//! Binary operators: overflow is an error, where the kernels would wrap in silence, and floats and intervals are compared
//! by their values.
//!
//! The types are those of the algebra. To ask a compiled expression for its type is to look at all of it.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::BinaryExpr;
use expressions::compare::is_ambiguous;
use expressions::overflow_checks::{BitShift, Precise};
use expressions::{compare, date_shift};

use crate::algebra::Expr;
use crate::error::Result;
use crate::plan;

/// An operator that compares.
pub(crate) fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// Two compiled values, of a type, compared.
pub(super) fn compared(
    left: plan::Expr,
    op: Operator,
    right: plan::Expr,
    data_type: &DataType,
    schema: &Schema,
) -> Result<plan::Expr> {
    let plain: plan::Expr = Arc::new(BinaryExpr::new(left, op, right));
    let own = if is_ambiguous(data_type) { compare::replaced(&plain, schema)? } else { None };
    Ok(own.unwrap_or(plain))
}

/// A binary operator of the algebra over its compiled operands.
pub(super) fn binary(
    e: &Expr,
    (left, left_type): (plan::Expr, &DataType),
    op: Operator,
    (right, right_type): (plan::Expr, &DataType),
    schema: &Schema,
) -> Result<plan::Expr> {
    let computed = match op {
        _ if is_comparison(op) => return compared(left, op, right, left_type, schema),
        Operator::Plus | Operator::Minus | Operator::Multiply => {
            let sum = BinaryExpr::new(left, op, right).with_fail_on_overflow(true);
            let has_date = [left_type, right_type].contains(&&DataType::Date32);
            match if has_date { date_shift::dates(&sum, schema)? } else { None } {
                Some(shifted) => return Ok(shifted),
                None => sum,
            }
        }
        Operator::Divide | Operator::Modulo => BinaryExpr::new(left, op, right),
        Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight => {
            return Ok(Arc::new(BitShift::new(left, right, op == Operator::BitwiseShiftLeft)));
        }
        _ => return Ok(Arc::new(BinaryExpr::new(left, op, right))),
    };
    Ok(match e.data_type {
        DataType::Decimal128(..) => Arc::new(Precise::new(Arc::new(computed))),
        _ => Arc::new(computed),
    })
}
