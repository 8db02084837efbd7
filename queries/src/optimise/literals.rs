//! Literals of one value as one literal.
//!
//! `x = 0.0 AND x = -0.0` holds of 0.0, and a day is 24 hours. A rule that asks whether two literals are equal, or which
//! is greater, compares their representations; what stands beside a comparison gets the one that stands for all.

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Expr;
use expressions::compare::is_ambiguous;
use expressions::values::normal::normalised;

/// Gives the literals that are operands of a comparison the representation that stands for all equal ones.
pub fn normal(mut e: Expr) -> Result<Transformed<Expr>> {
    let operands: Vec<&mut Expr> = match &mut e {
        Expr::BinaryExpr(b) if b.op.supports_propagation() => vec![&mut *b.left, &mut *b.right],
        Expr::Between(b) => vec![&mut *b.expr, &mut *b.low, &mut *b.high],
        Expr::InList(list) => std::iter::once(&mut *list.expr).chain(&mut list.list).collect(),
        Expr::Case(case) if case.expr.is_some() => {
            let whens = case.when_then_expr.iter_mut().map(|(when, _)| when);
            case.expr.iter_mut().chain(whens).map(|e| &mut **e).collect()
        }
        _ => vec![],
    };
    let mut changed = false;
    for operand in operands {
        let Expr::Literal(value, _) = operand else { continue };
        if !is_ambiguous(&value.data_type()) {
            continue;
        }
        let one = of_all_equal(value)?;
        // Floats are equal here if their bits are.
        if one != *value {
            *value = one;
            changed = true;
        }
    }
    Ok(Transformed::new_transformed(e, changed))
}

/// The literal that stands for all that equal one.
pub fn of_all_equal(value: &ScalarValue) -> Result<ScalarValue> {
    ScalarValue::try_from_array(&normalised(&value.to_array()?), 0)
}
