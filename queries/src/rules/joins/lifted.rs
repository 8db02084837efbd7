//! Columns that are computed between joins, above them.
//!
//! A view of a join that computes a column stands as one input of the joins around it, and its tables keep their places:
//!
//! ```text
//! inner join (a = z)                 m := f(a, x)
//!   m := f(a, x)             is        inner join (a = z)
//!     inner join (a = x)                 inner join (a = x)
//!     …                                  …
//!   v                                  v
//! ```
//!
//! Now the order is looked for over all of them. A row of an inner, left, semi or anti join has the left row's values as
//! they are, and one of an inner join those of the right row too, so that `m` is the same computed above. It is computed of
//! rows that the join gives: of no others than before. It is only lifted where that takes little time, since the join may
//! give a row several times. A predicate that reads `m` reads `f(a, x)` instead, which must not fail there.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::is_movable;
use crate::algebra::{ColumnId, Expr, Join, JoinKind, Map, Rel};
use crate::compile::fails;
use crate::rules::filters::below::{is_expensive, is_small};
use crate::rules::simplify::nodes::taken;

/// Lifts what is computed between joins that may change their places.
pub fn lift(rel: Rel) -> Rel {
    let lifted: Result<Rel, Infallible> = rel.change_up(&mut |rel| {
        Ok(match rel {
            Rel::Join(join) if is_movable(&join) => lifted(join),
            other => other,
        })
    });
    match lifted {
        Ok(rel) => rel,
        Err(never) => match never {},
    }
}

fn lifted(mut join: Join) -> Rel {
    let mut maps = Vec::new();
    if join.kind != JoinKind::Full {
        take_maps(&mut join, |join| &mut join.left, &mut maps);
    }
    if join.kind == JoinKind::Inner {
        take_maps(&mut join, |join| &mut join.right, &mut maps);
    }
    // Those further above were taken first, and may read columns of those below.
    maps.into_iter().rfold(Rel::Join(join), |input, exprs| Rel::Map(Map { input: Box::new(input), exprs }))
}

/// Takes what is computed directly above joins of a side, that above first.
fn take_maps(join: &mut Join, side: impl Fn(&mut Join) -> &mut Rel, maps: &mut Vec<Vec<(ColumnId, Expr)>>) {
    loop {
        let predicates = std::mem::take(&mut join.predicates);
        let below = side(join);
        let Some(read) = read_below(below, &predicates) else {
            join.predicates = predicates;
            return;
        };
        if let Rel::Map(Map { input, exprs }) = taken(below) {
            *below = *input;
            maps.push(exprs);
        }
        join.predicates = read;
    }
}

/// The predicates of a join over what lies below a map, if that can be lifted.
fn read_below(rel: &Rel, predicates: &[Expr]) -> Option<Vec<Expr>> {
    let Rel::Map(map) = rel else { return None };
    let is_cheap = |e: &Expr| !is_expensive(e) && !e.is_volatile() && !e.has_subquery();
    if !stands_on_join(&map.input) || !map.exprs.iter().all(|(_, e)| is_cheap(e)) {
        return None;
    }
    let computed: BTreeMap<ColumnId, &Expr> = map.exprs.iter().map(|(id, e)| (*id, e)).collect();
    if !predicates.iter().all(|predicate| is_small(predicate, &computed)) {
        return None;
    }
    let mut predicates = predicates.to_vec();
    for predicate in &mut predicates {
        predicate.replace(&|id| computed.get(&id).map(|e| (*e).clone()));
    }
    (!predicates.iter().any(fails)).then_some(predicates)
}

/// Whether a relation is a join that may change its place, below what is computed.
fn stands_on_join(rel: &Rel) -> bool {
    match rel {
        Rel::Join(join) => is_movable(join),
        Rel::Map(map) => stands_on_join(&map.input),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, eq, id, int, join, map, more, quotient};

    fn lift_all(statement: &mut Statement) {
        let root = taken(&mut statement.root);
        statement.root = lift(root);
    }

    /// Two tables joined, with a column computed of them, and a third table.
    fn sample(sample: &mut Sample) -> ([Rel; 2], [Expr; 3]) {
        let (t, [a]) = sample.table("t", ["a"]);
        let (u, [x]) = sample.table("u", ["x"]);
        let (v, [z]) = sample.table("v", ["z"]);
        let m = sample.condition("m");
        let view = map(join(JoinKind::Inner, t, u, vec![eq(&a, &x)]), vec![(id(&m), more(&a, &x))]);
        ([view, v], [a, m, z])
    }

    #[test]
    fn what_is_computed_of_a_join_is_computed_above_the_next_one() {
        for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi] {
            let mut all = Sample::default();
            let ([view, v], [a, m, z]) = sample(&mut all);
            let word = if kind == JoinKind::Inner {
                "inner"
            } else if kind == JoinKind::Left {
                "left"
            } else {
                "semi"
            };
            all.becomes(
                lift_all,
                join(kind, view, v, vec![eq(&a, &z)]),
                &[&m],
                &format!(
                    "map m#3 := (a#0 > x#1)\n  {word} join (a#0 = z#2)\n    inner join (a#0 = x#1)\n      \
                     scan t a#0\n      scan u x#1\n    scan v z#2\n"
                ),
            );
        }
    }

    #[test]
    fn nothing_is_lifted_from_where_nulls_are_filled_in() {
        for kind in [JoinKind::Left, JoinKind::Full] {
            let mut all = Sample::default();
            let ([view, v], [a, m, z]) = sample(&mut all);
            let rel = join(kind, v, view, vec![eq(&a, &z)]);
            let kept = all.columns.show_rel(&rel);
            all.becomes(lift_all, rel, &[&m], &kept);
        }
    }

    #[test]
    fn a_predicate_reads_what_was_computed_unless_that_can_fail() {
        let mut all = Sample::default();
        let ([view, v], [_, m, _]) = sample(&mut all);
        all.becomes(
            lift_all,
            join(JoinKind::Inner, view, v, vec![m.clone()]),
            &[&m],
            "map m#3 := (a#0 > x#1)\n  inner join (a#0 > x#1)\n    inner join (a#0 = x#1)\n      \
             scan t a#0\n      scan u x#1\n    scan v z#2\n",
        );
        let mut all = Sample::default();
        let (t, [a]) = all.table("t", ["a"]);
        let (u, [x]) = all.table("u", ["x"]);
        let (v, [z]) = all.table("v", ["z"]);
        let q = all.number("q");
        let view = map(join(JoinKind::Inner, t, u, vec![eq(&a, &x)]), vec![(id(&q), quotient(&int(1), &a))]);
        let rel = join(JoinKind::Inner, view, v, vec![eq(&q, &z)]);
        let kept = all.columns.show_rel(&rel);
        all.becomes(lift_all, rel, &[&q], &kept);
    }
}
