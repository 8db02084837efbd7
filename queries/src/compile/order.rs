//! AND and OR in their order of evaluation: `WHERE i <> 0 AND 100 // i > 5` must not divide by zero.
//!
//! Terms that can't fail come first, the others in their order, each evaluated on those rows only that the ones before
//! it leave open ([`short_circuit`]). Of the terms of a filter that can't fail those come first that are quick and
//! leave few rows. (Hellerstein and Stonebraker, SIGMOD 1993, section 3.2: by the time for each row that is left out.)

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Literal};
use expressions::conjunction::{Conjunction, Term};
use expressions::short_circuit;

use super::Part;
use crate::plan;

/// Chains of fewer terms lean to the left, as they are written.
const LONG: usize = 64;

/// A term leaves out at least this part of the rows where its place is chosen.
const LEAST_LEFT_OUT: f64 = 1e-3;

/// The conjunction or disjunction of terms.
pub(super) fn in_order(kind: short_circuit::Kind, terms: Vec<Part>) -> Part {
    let op = if kind.and { Operator::And } else { Operator::Or };
    let cost = terms.iter().map(|term| term.cost).sum();
    let kept = match kind.and {
        true => terms.iter().map(|term| term.kept).product(),
        false => terms.iter().map(|term| term.kept).sum::<f64>().min(1.0),
    };
    let (failing, mut total): (Vec<_>, Vec<_>) = terms.into_iter().partition(|term| term.fails);
    let fails = !failing.is_empty();
    let part = |expr| Part { expr, fails, cost, kept };
    if kind.and && kind.filter {
        total.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
        return part(conjunction(total.into_iter().chain(failing).collect()));
    }
    let first = joined(op, total.into_iter().map(|term| term.expr).collect());
    let mut all: Vec<plan::Expr> =
        first.into_iter().chain(failing.into_iter().map(|term| term.expr)).collect();
    part(match all.len() {
        0 => Arc::new(Literal::new(ScalarValue::Boolean(Some(kind.and)))),
        1 => all.swap_remove(0),
        _ => short_circuit::in_order(kind, all),
    })
}

impl Part {
    /// About how many nanoseconds a term takes for each row that it leaves out.
    fn rank(&self) -> f64 {
        self.cost / (1.0 - self.kept).max(LEAST_LEFT_OUT)
    }
}

/// All terms in this order, where NULL counts as false.
fn conjunction(mut terms: Vec<Part>) -> plan::Expr {
    match terms.len() {
        0 => Arc::new(Literal::new(ScalarValue::Boolean(Some(true)))),
        1 => terms.swap_remove(0).expr,
        _ => {
            let term = |Part { expr, fails, cost, .. }| Term { expr, fails, cost };
            Arc::new(Conjunction::new(terms.into_iter().map(term).collect()))
        }
    }
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
