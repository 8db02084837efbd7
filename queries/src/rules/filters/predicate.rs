//! What is known of a predicate while it moves, so that it is looked at once and not at each operator.

use std::collections::BTreeMap;

use crate::algebra::{ColumnId, Expr};
use crate::compile::fails;
use crate::rules::hash::hash;

/// A predicate.
#[derive(Debug, Clone)]
pub struct Predicate {
    /// What must be true.
    pub expr: Expr,
    /// The columns that it reads, in their order.
    pub columns: Vec<ColumnId>,
    /// Whether it can fail on some row.
    pub fails: bool,
    /// Whether it has a value of its own each time that it is evaluated.
    pub is_volatile: bool,
    /// The same for equal ones.
    hash: u64,
}

impl Predicate {
    /// What is known of an expression.
    pub fn new(expr: Expr) -> Predicate {
        let columns = expr.columns().into_iter().collect();
        let (fails, is_volatile, hash) = (fails(&expr), expr.is_volatile(), hash(&expr));
        Predicate { expr, columns, fails, is_volatile, hash }
    }

    /// Whether it neither fails nor changes, so that it may be evaluated on any rows.
    pub fn is_free(&self) -> bool {
        !self.fails && !self.is_volatile
    }

    /// Whether all columns that it reads are as `is` says.
    pub fn reads_only(&self, is: impl Fn(ColumnId) -> bool) -> bool {
        self.columns.iter().all(|id| is(*id))
    }
}

/// Each predicate where it stands first, but for volatile ones.
pub fn distinct(all: Vec<Predicate>) -> Vec<Predicate> {
    if all.len() < 2 {
        return all;
    }
    let mut kept: Vec<Predicate> = Vec::with_capacity(all.len());
    let mut by_hash: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for predicate in all {
        let same = by_hash.entry(predicate.hash).or_default();
        let is_known = |at: &usize| kept.get(*at).is_some_and(|other| other.expr == predicate.expr);
        if predicate.is_volatile || !same.iter().any(is_known) {
            same.push(kept.len());
            kept.push(predicate);
        }
    }
    kept
}

/// Predicates that move, and those that stay, by whether each may move by itself. What can fail moves only if nothing that
/// is evaluated before it stays: what can't fail, and what stands before it.
pub fn split(all: Vec<Predicate>, may: &dyn Fn(&Predicate) -> bool) -> (Vec<Predicate>, Vec<Predicate>) {
    let may_move: Vec<bool> = all.iter().map(may).collect();
    let mut guards_move = all.iter().zip(&may_move).all(|(predicate, may)| predicate.fails || *may);
    let (mut moving, mut staying) = (Vec::new(), Vec::new());
    for (predicate, may) in all.into_iter().zip(may_move) {
        let moves = may && (guards_move || !predicate.fails);
        guards_move &= moves || !predicate.fails;
        if moves { &mut moving } else { &mut staying }.push(predicate);
    }
    (moving, staying)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, int, more, quotient};

    #[test]
    fn what_can_fail_stays_behind_what_stays() {
        let mut sample = Sample::default();
        let (x, y) = (sample.number("x"), sample.number("y"));
        let plain = |e: &Expr| Predicate::new(more(e, &int(0)));
        let failing = |e: &Expr| Predicate::new(more(&quotient(&int(1), e), &int(0)));
        let reads_x = |predicate: &Predicate| predicate.columns.iter().all(|id| Some(*id) == x.as_column());
        let moved = |all: Vec<Predicate>| {
            let (moving, staying) = split(all, &reads_x);
            (moving.len(), staying.len())
        };
        assert_eq!(moved(vec![failing(&x), plain(&x)]), (2, 0));
        assert_eq!(moved(vec![failing(&x), plain(&y)]), (0, 2));
        assert_eq!(moved(vec![failing(&x), failing(&y), failing(&x)]), (1, 2));
        assert_eq!(moved(vec![plain(&x), failing(&y), plain(&x)]), (2, 1));
    }
}
