//! `x = ANY(list)`, `x < ALL(list)` and the like as calls. The planner would ask whether the list holds the value, or
//! compare it with the list's extremes, and forget that a NULL among the items leaves the answer open.

use std::ops::ControlFlow;

use datafusion_expr::Operator;
use datafusion_sql::sqlparser::ast::{self, BinaryOperator};
use expressions::functions::quantified::name;

use super::call;
use crate::error::Error;

fn operator(syntax: &BinaryOperator) -> Option<Operator> {
    match syntax {
        BinaryOperator::Eq => Some(Operator::Eq),
        BinaryOperator::NotEq => Some(Operator::NotEq),
        BinaryOperator::Lt => Some(Operator::Lt),
        BinaryOperator::LtEq => Some(Operator::LtEq),
        BinaryOperator::Gt => Some(Operator::Gt),
        BinaryOperator::GtEq => Some(Operator::GtEq),
        _ => None,
    }
}

/// Makes the syntax a call of a function. Subqueries stay.
pub fn rewrite(expr: &mut ast::Expr) -> ControlFlow<Error> {
    let (all, compare_op, right) = match &*expr {
        ast::Expr::AnyOp { compare_op, right, .. } => (false, compare_op, right),
        ast::Expr::AllOp { compare_op, right, .. } => (true, compare_op, right),
        _ => return ControlFlow::Continue(()),
    };
    if matches!(right.as_ref(), ast::Expr::Subquery(_)) {
        return ControlFlow::Continue(());
    }
    let Some(op) = operator(compare_op) else {
        let what = if all { "ALL" } else { "ANY" };
        return ControlFlow::Break(Error::Unsupported(format!("{compare_op} {what}")));
    };
    let name = name(op, all);
    let nothing = ast::Expr::Value(ast::Value::Null.into());
    if let ast::Expr::AnyOp { left, right, .. } | ast::Expr::AllOp { left, right, .. } =
        std::mem::replace(expr, nothing)
    {
        *expr = call(&name, vec![*left, *right]);
    }
    ControlFlow::Continue(())
}
