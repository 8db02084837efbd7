//! Whether an expression of a relation and those below it can fail on some row.

use crate::algebra::{Expr, Kind, Rel};
pub(super) use crate::compile::fails;

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
