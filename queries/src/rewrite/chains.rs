//! Long chains of AND and OR as trees that are as deep as they have to be.
//!
//! The parser reads `a OR b OR c` as `(a OR b) OR c`, a tree as deep as the chain is long, and the planner looks at all of a
//! tree for each of its levels. AND and OR are associative, and their terms stay in their order.

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// Chains of fewer terms stay as they are.
const LONG: usize = 64;

/// Balances an expression that is a long chain.
pub fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = &*expr else { return };
    let op = op.clone();
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) || length(expr, &op) < LONG {
        return;
    }
    let terms = terms(std::mem::replace(expr, Expr::Value(Value::Null.into())), &op);
    if let Some(balanced) = joined(terms, &op) {
        *expr = balanced;
    }
}

/// How many terms hang to the left of each other.
fn length(mut expr: &Expr, chain: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp { left, op, .. } = expr
        && op == chain
    {
        (expr, length) = (left, length + 1);
    }
    length
}

/// The terms of a chain, in their order.
fn terms(mut expr: Expr, chain: &BinaryOperator) -> Vec<Expr> {
    let mut terms = Vec::new();
    loop {
        match expr {
            Expr::BinaryOp { left, op, right } if op == *chain => {
                terms.push(*right);
                expr = *left;
            }
            first => {
                terms.push(first);
                terms.reverse();
                return terms;
            }
        }
    }
}

/// Neighbours joined until one is left.
fn joined(mut terms: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    while terms.len() > 1 {
        let mut rest = terms.into_iter();
        let mut pairs = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => {
                    Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) }
                }
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop()
}

#[cfg(test)]
mod tests {
    use datafusion_sql::sqlparser::dialect::GenericDialect;
    use datafusion_sql::sqlparser::parser::Parser;

    use super::*;

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            _ => 0,
        }
    }

    #[test]
    fn long_chains_become_shallow_and_keep_their_order() {
        for (op, count, expected) in [("AND", 1000, 10), ("OR", 65, 7), ("OR", 63, 62), ("+", 1000, 999)] {
            let text = (0..count).map(|i| format!("a{i}")).collect::<Vec<_>>().join(&format!(" {op} "));
            let mut expr = Parser::new(&GenericDialect {})
                .with_recursion_limit(5000)
                .try_with_sql(&text)
                .and_then(|mut parser| parser.parse_expr())
                .expect("it is an expression");
            balance(&mut expr);
            assert_eq!((depth(&expr), expr.to_string()), (expected, text), "{op} {count}");
        }
    }
}
