//! AND and OR in their order of evaluation: `WHERE i <> 0 AND 100 / i > 5` must not divide by zero.
//!
//! Terms that can't fail come first, the others in their order, each evaluated on those rows only that the ones before it
//! leave open ([`short_circuit`]).

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Literal};
use expressions::short_circuit;

use super::Part;
use crate::plan;

/// Chains of fewer terms lean to the left, as they are written.
const LONG: usize = 64;

/// The conjunction or disjunction of terms.
pub(super) fn in_order(kind: short_circuit::Kind, terms: Vec<Part>) -> Part {
    let op = if kind.and { Operator::And } else { Operator::Or };
    let (failing, total): (Vec<_>, Vec<_>) = terms.into_iter().partition(|term| term.fails);
    let first = joined(op, total.into_iter().map(|term| term.expr).collect());
    let fails = !failing.is_empty();
    let mut all: Vec<plan::Expr> =
        first.into_iter().chain(failing.into_iter().map(|term| term.expr)).collect();
    let expr = match all.len() {
        0 => Arc::new(Literal::new(ScalarValue::Boolean(Some(kind.and)))),
        1 => all.swap_remove(0),
        _ => short_circuit::in_order(kind, all),
    };
    Part { expr, fails }
}

/// Terms that can't fail, as one. A long chain becomes a tree that is as deep as it has to be.
fn joined(op: Operator, mut terms: Vec<plan::Expr>) -> Option<plan::Expr> {
    let both = |a, b| -> plan::Expr { Arc::new(BinaryExpr::new(a, op, b)) };
    if terms.len() < LONG {
        return terms.into_iter().reduce(both);
    }
    while terms.len() > 1 {
        let mut rest = terms.into_iter();
        let mut pairs = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => both(left, right),
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop()
}
