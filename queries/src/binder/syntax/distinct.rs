//! `IS DISTINCT FROM` and `IS NOT DISTINCT FROM`, whose right side the parser takes to reach as far as it can.
//!
//! AND and OR bind less than IS, and so does a NOT in front of it: `NOT a IS DISTINCT FROM b AND c` is
//! `(NOT (a IS DISTINCT FROM b)) AND c`. What was taken too much is moved up, an operator at a time, while the tree is
//! left from its leaves to its root. Parentheses are nodes of the tree, which nothing is moved across.

use sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator};

/// Repairs an expression whose operands are repaired.
pub fn rotate(expr: &mut Expr) {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
            // Also `a IS DISTINCT FROM b IS NULL` is read from the left.
            let right = std::mem::replace(right.as_mut(), nothing());
            move_up(expr, right, &|e| is_and(e) || is_or(e) || is_test(e));
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr: right } if is_and(right) || is_or(right) => {
            let right = std::mem::replace(right.as_mut(), nothing());
            move_up(expr, right, &|e| is_and(e) || is_or(e));
        }
        Expr::BinaryOp { op: BinaryOperator::And, right, .. } if is_or(right) => {
            let right = std::mem::replace(right.as_mut(), nothing());
            move_up(expr, right, &is_or);
        }
        _ => {}
    }
}

/// Puts `expr`, which has lost its right operand, into `right` at its left border, below what binds less. The operand
/// that stood there goes to its right. Then `right` is the expression.
fn move_up(expr: &mut Expr, mut right: Expr, binds_less: &dyn Fn(&Expr) -> bool) {
    let mut leaf = &mut right;
    while binds_less(leaf) {
        leaf = left_operand(leaf);
    }
    let operand = std::mem::replace(leaf, nothing());
    let mut lowest = std::mem::replace(expr, nothing());
    match &mut lowest {
        Expr::IsDistinctFrom(_, right)
        | Expr::IsNotDistinctFrom(_, right)
        | Expr::UnaryOp { expr: right, .. }
        | Expr::BinaryOp { right, .. } => **right = operand,
        _ => unreachable!("only these have lost an operand"),
    }
    *leaf = lowest;
    *expr = right;
}

fn nothing() -> Expr {
    Expr::Identifier(Ident::new(""))
}

fn is_and(e: &Expr) -> bool {
    matches!(e, Expr::BinaryOp { op: BinaryOperator::And, .. })
}

fn is_or(e: &Expr) -> bool {
    matches!(e, Expr::BinaryOp { op: BinaryOperator::Or, .. })
}

/// `IS NULL` and its like.
fn is_test(e: &Expr) -> bool {
    matches!(
        e,
        Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
    )
}

fn left_operand(e: &mut Expr) -> &mut Expr {
    match e {
        Expr::BinaryOp { left, .. } => left,
        Expr::IsNull(left)
        | Expr::IsNotNull(left)
        | Expr::IsTrue(left)
        | Expr::IsNotTrue(left)
        | Expr::IsFalse(left)
        | Expr::IsNotFalse(left)
        | Expr::IsUnknown(left)
        | Expr::IsNotUnknown(left) => left,
        _ => unreachable!("only these bind less than IS DISTINCT FROM"),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::GenericDialect;
    use sqlparser::parser::Parser;

    use super::*;
    use crate::visitors;

    /// The expression with all its parentheses.
    fn grouped(text: &str) -> String {
        let parser = Parser::new(&GenericDialect {});
        let mut e = parser.try_with_sql(text).expect("tokens").parse_expr().expect("an expression");
        visitors::change_expressions(&mut e, &mut rotate);
        visitors::change_expressions(&mut e, &mut |e| {
            let compound = !matches!(e, Expr::Identifier(_) | Expr::Nested(_));
            if compound {
                *e = Expr::Nested(Box::new(std::mem::replace(e, nothing())));
            }
        });
        e.to_string()
    }

    #[test]
    fn and_or_and_not_bind_less() {
        for (text, groups) in [
            ("a IS DISTINCT FROM b AND c", "((a IS DISTINCT FROM b) AND c)"),
            ("x AND a IS DISTINCT FROM b OR c", "((x AND (a IS DISTINCT FROM b)) OR c)"),
            ("x OR a IS DISTINCT FROM b AND c", "(x OR ((a IS DISTINCT FROM b) AND c))"),
            ("NOT a IS NOT DISTINCT FROM b AND c", "((NOT (a IS NOT DISTINCT FROM b)) AND c)"),
            ("NOT NOT a IS DISTINCT FROM b OR c", "((NOT (NOT (a IS DISTINCT FROM b))) OR c)"),
            (
                "x AND NOT a IS DISTINCT FROM b AND c OR d",
                "((x AND ((NOT (a IS DISTINCT FROM b)) AND c)) OR d)",
            ),
            (
                "a IS DISTINCT FROM b AND c IS DISTINCT FROM d OR e",
                "(((a IS DISTINCT FROM b) AND (c IS DISTINCT FROM d)) OR e)",
            ),
            ("a IS DISTINCT FROM b IS NULL AND c", "(((a IS DISTINCT FROM b) IS NULL) AND c)"),
            ("a IS DISTINCT FROM b = c", "(a IS DISTINCT FROM (b = c))"),
            ("NOT (a IS DISTINCT FROM b OR c)", "(NOT (((a IS DISTINCT FROM b) OR c)))"),
        ] {
            assert_eq!(grouped(text), groups, "{text}");
        }
    }
}
