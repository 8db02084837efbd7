//! Which predicates of a join are keys.
//!
//! An equality of a value of the left side with one of the right side is a key. Rows are found by it, and lie by its
//! hash. What can fail in it is computed for all rows of its side. Conditions on that side alone, which are evaluated
//! before it, are its guards: where one of them is not true the key is NULL.

use datafusion_expr::Operator;
use datafusion_expr::utils::can_hash;

use crate::algebra::{Expr, Kind};
use crate::compile::{Layout, fails};

/// Values that must be equal.
pub(super) struct Key {
    pub left: Expr,
    pub right: Expr,
    /// Whether NULL equals NULL: `IS NOT DISTINCT FROM`.
    pub null_safe: bool,
}

/// The sides whose columns an expression reads.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Sides {
    left: bool,
    right: bool,
}

const LEFT: Sides = Sides { left: true, right: false };
const RIGHT: Sides = Sides { left: false, right: true };
const NEITHER: Sides = Sides { left: false, right: false };

/// The keys among predicates, and the others in their order. With `only`, the predicates are one equality that has to be a
/// key even if a side of it reads no column.
pub(super) fn split(predicates: &[Expr], left: &Layout, right: &Layout, only: bool) -> (Vec<Key>, Vec<Expr>) {
    let sides = |e: &Expr| sides(e, left, right);
    let known: Vec<(Sides, bool)> = predicates.iter().map(|e| (sides(e), fails(e))).collect();
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for (i, e) in predicates.iter().enumerate() {
        if e.as_bool() == Some(Some(true)) {
            continue;
        }
        let Some(mut key) = key(e, &sides, only) else {
            rest.push(e.clone());
            continue;
        };
        for (value, side) in [(&mut key.left, LEFT), (&mut key.right, RIGHT)] {
            if fails(value) {
                let is_guard = |j: usize| known[j].0 == side && (j < i || !known[j].1);
                let guards = predicates.iter().enumerate().filter(|(j, _)| is_guard(*j));
                guard(value, guards.map(|(_, guard)| guard.clone()).collect());
            }
        }
        keys.push(key);
    }
    (keys, rest)
}

fn key(e: &Expr, sides: &impl Fn(&Expr) -> Sides, only: bool) -> Option<Key> {
    let Kind::Binary(op, one, other) = &e.kind else { return None };
    let null_safe = match op {
        Operator::Eq => false,
        Operator::IsNotDistinctFrom => true,
        _ => return None,
    };
    if !can_hash(&one.data_type) || one.data_type != other.data_type {
        return None;
    }
    let (left, right) = match (sides(one), sides(other)) {
        (LEFT, RIGHT) => (one, other),
        (RIGHT, LEFT) => (other, one),
        (LEFT | NEITHER, RIGHT | NEITHER) if only => (one, other),
        (RIGHT, NEITHER) | (NEITHER, LEFT) if only => (other, one),
        _ => return None,
    };
    Some(Key { left: (**left).clone(), right: (**right).clone(), null_safe })
}

fn sides(e: &Expr, left: &Layout, right: &Layout) -> Sides {
    let mut sides = NEITHER;
    e.look(&mut |e| {
        if let Some(id) = e.as_column() {
            sides.left |= left.position(id).is_some();
            sides.right |= right.position(id).is_some();
        }
        true
    });
    sides
}

/// NULL where a guard is not true.
fn guard(value: &mut Expr, guards: Vec<Expr>) {
    if guards.is_empty() {
        return;
    }
    let data_type = value.data_type.clone();
    let branches = vec![(Expr::and(guards), value.clone())];
    *value = Expr { kind: Kind::Case { operand: None, branches, otherwise: None }, data_type };
}
