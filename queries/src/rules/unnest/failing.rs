//! What can fail on some row.

use datafusion_expr::Operator;

use crate::algebra::{Expr, Kind, Rel};

/// Whether evaluating an expression can fail on some row.
pub(super) fn fails(e: &Expr) -> bool {
    e.any(&mut |e| match &e.kind {
        Kind::Binary(op, ..) => {
            let arithmetic = matches!(
                op,
                Operator::Plus
                    | Operator::Minus
                    | Operator::Multiply
                    | Operator::Divide
                    | Operator::Modulo
                    | Operator::BitwiseShiftLeft
                    | Operator::BitwiseShiftRight
            );
            arithmetic && !e.data_type.is_floating()
        }
        Kind::Negative(inner) => !inner.data_type.is_floating(),
        Kind::Cast { safe, .. } => !safe,
        Kind::Call { .. } => true,
        _ => false,
    })
}

/// Whether an expression of a relation, or of one below it, can fail.
pub(super) fn rel_fails(rel: &Rel) -> bool {
    any_expr(rel, &mut fails)
}

/// Whether an expression of a relation, of one below it or of a subquery in them is as `is` says.
pub(super) fn any_expr(rel: &Rel, is: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    rel.look(&mut |node| {
        for e in node.exprs() {
            found = found || is(e);
            e.look(&mut |e| {
                if let Kind::Subquery(subquery) = &e.kind
                    && !found
                {
                    found = any_expr(&subquery.rel, is);
                }
                !found
            });
        }
    });
    found
}
