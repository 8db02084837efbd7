//! What is changed in compiled expressions.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Literal, NegativeExpr};

use crate::differences::Difference;
use crate::overflow_checks::{BitShift, Precise};
use crate::{Expr, compare, date_shift};

/// Makes overflow in the arithmetic of integers and decimals an error, where DataFusion's default wraps in silence, and
/// compares floats and intervals by their values. What has been checked already stays as it is.
pub fn checked(expr: Expr, schema: &Schema) -> DfResult<Expr> {
    let overflowing = |left: &Expr, op: Operator, right: &Expr| -> Expr {
        Arc::new(BinaryExpr::new(left.clone(), op, right.clone()).with_fail_on_overflow(true))
    };
    let transformed = expr.transform_up(|e| {
        if let Some(negation) = e.downcast_ref::<NegativeExpr>() {
            let value = negation.arg();
            let data_type = value.data_type(schema)?;
            if data_type.is_integer() {
                let zero: Expr = Arc::new(Literal::new(ScalarValue::new_zero(&data_type)?));
                return Ok(Transformed::yes(overflowing(&zero, Operator::Minus, value)));
            }
        }
        if let Some(text) = e.downcast_ref::<CastExpr>()
            && matches!(text.target_field().data_type(), DataType::Utf8 | DataType::Utf8View)
            && matches!(text.expr().data_type(schema)?, DataType::Duration(_))
        {
            // The difference of two timestamps is an interval, and printed like one.
            let interval: Expr = Arc::new(Difference::new(text.expr().clone()));
            let target = text.target_field().data_type().clone();
            return Ok(Transformed::yes(Arc::new(CastExpr::new(interval, target, None))));
        }
        if let Some(comparison) = compare::replaced(&e, schema)? {
            return Ok(Transformed::yes(comparison));
        }
        let Some(binary) = e.downcast_ref::<BinaryExpr>() else { return Ok(Transformed::no(e)) };
        let (left, right) = (binary.left(), binary.right());
        let computed = match binary.op() {
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                if let Some(shifted) = date_shift::dates(binary, schema)? {
                    return Ok(Transformed::yes(shifted));
                }
                overflowing(left, *binary.op(), right)
            }
            Operator::Divide | Operator::Modulo => e,
            op @ (Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight) => {
                let to_left = *op == Operator::BitwiseShiftLeft;
                return Ok(Transformed::yes(Arc::new(BitShift::new(left.clone(), right.clone(), to_left))));
            }
            _ => return Ok(Transformed::no(e)),
        };
        Ok(Transformed::yes(match computed.data_type(schema)? {
            DataType::Decimal128(..) => Arc::new(Precise::new(computed)),
            _ => computed,
        }))
    })?;
    Ok(transformed.data)
}
