//! What an OR over two tables says of one.
//!
//! `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` is true of no pair whose `a.x` is neither 1 nor 3. So there is a
//! necessary condition of one table, which leaves fewer rows to join, beside the one over both, which stays. Queries 7
//! and 19 of TPC-H ask such questions.

use crate::algebra::{ColumnId, Expr, Kind};
use crate::compile::fails;

/// The most branches of an OR of which the necessary conditions are taken.
const MOST: usize = 100;

/// What an OR says of the columns that are as `is_own` says; `None` if a branch says nothing of them.
pub fn of_side(predicate: &Expr, is_own: &dyn Fn(ColumnId) -> bool) -> Option<Expr> {
    let Kind::Or(branches) = &predicate.kind else { return None };
    if branches.len() > MOST {
        return None;
    }
    let own = |branch: &Expr| {
        let terms = match &branch.kind {
            Kind::And(terms) => terms.as_slice(),
            _ => std::slice::from_ref(branch),
        };
        let own: Vec<Expr> = terms.iter().filter_map(|term| own_part(term, is_own)).collect();
        (!own.is_empty()).then(|| Expr::and(own))
    };
    Some(Expr::or(branches.iter().map(own).collect::<Option<Vec<_>>>()?))
}

/// A term of a branch if it is a condition of the own columns alone, or what it says of them.
fn own_part(term: &Expr, is_own: &dyn Fn(ColumnId) -> bool) -> Option<Expr> {
    let columns = term.columns();
    let is_usable = !columns.is_empty() && columns.iter().all(|id| is_own(*id));
    if is_usable {
        return (!fails(term) && !term.is_volatile()).then(|| term.clone());
    }
    of_side(term, is_own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, eq, id, int};

    #[test]
    fn each_branch_has_to_say_something() {
        let mut sample = Sample::default();
        let (x, y) = (sample.number("x"), sample.number("y"));
        let both = |n, m| Expr::and([eq(&x, &int(n)), eq(&y, &int(m))]);
        let of_x = |e: Expr| of_side(&e, &|column| column == id(&x)).map(|e| sample.columns.show(&e));
        assert_eq!(of_x(Expr::or([both(1, 2), both(3, 4)])).as_deref(), Some("(x#0 = 1) OR (x#0 = 3)"));
        assert_eq!(of_x(Expr::or([both(1, 2), eq(&y, &int(4))])), None);
        assert_eq!(of_x(both(1, 2)), None);
    }
}
