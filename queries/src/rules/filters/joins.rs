//! Predicates into joins: those above one and its own.
//!
//! | join | from above | its own |
//! |---|---|---|
//! | inner | to the side that has the columns; over both it becomes the join's | to the side that has the columns |
//! | left | of left columns to the left side | of right columns to the right side |
//! | semi | of left columns to the left side | to the side that has the columns |
//! | anti, mark | of left columns to the left side | of right columns to the right side |
//! | null-aware anti | of left columns to the left side | none: there a NULL is not nothing |
//! | full | none | none |
//!
//! A left row that is not given has no part in what the others are given. So a condition of left columns may be asked
//! before any of these joins. Never of the side that is filled with NULLs, where the condition may be true of what is
//! filled up. What is asked of two rows for a match may be asked of the right one before. Of the left one it may be
//! asked only where rows without a match are not given.
//!
//! An outer join becomes a left or inner one where a predicate is true of no row that it fills up. A predicate over the
//! columns of both sides may say something of one of them ([`branches`]).
//!
//! What can fail stays above semi and anti joins: these stand for IN and EXISTS of the same WHERE, and guard it. It
//! stays with an inner or left join too, if something that is evaluated before it does, which may come from a subquery.
//! But not for equalities of both sides, or no filter that can fail would go below a join.

use datafusion_expr::Operator;

use super::facts::{Facts, columns_of};
use super::predicate::{Predicate, distinct, split};
use super::{Push, branches, filter, nulls};
use crate::algebra::{ColumnId, Expr, Join, JoinKind, Kind, Map, Rel};
use crate::error::Result;

/// Of more columns a predicate is not asked which of them must not be NULL.
const MOST_COLUMNS: usize = 16;

/// A side of a join.
#[derive(Debug, Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// The inputs of a join and their numbers.
struct Sides {
    left: Rel,
    left_at: usize,
    right: Rel,
    right_at: usize,
}

impl Push<'_> {
    /// A join, the number of which is `at`, with predicates above it moved into it.
    pub(super) fn join(&mut self, node: Join, at: usize, above: Vec<Predicate>) -> Result<Rel> {
        let Join { kind, left, right, predicates: on } = node;
        let left_at = at + 1;
        let right_at = left_at + self.origins.size(left_at);
        let sides = Sides { left: *left, left_at, right: *right, right_at };
        match kind {
            JoinKind::AntiNullAware => self.null_aware(sides, on, above),
            JoinKind::Single => {
                let left = Box::new(self.push(sides.left, left_at, vec![], true)?);
                let right = Box::new(self.push(sides.right, right_at, vec![], false)?);
                Ok(filter(Rel::Join(Join { kind, left, right, predicates: on }), above))
            }
            JoinKind::Mark(mark) => self.mark(mark, sides, on, above),
            kind => {
                let on = on.into_iter().map(Predicate::new).collect();
                match kind {
                    JoinKind::Inner => self.inner(sides, on, above),
                    JoinKind::Left => self.left(sides, on, above),
                    JoinKind::Full => self.full(sides, on, above),
                    kind => self.matching(kind, sides, on, above),
                }
            }
        }
    }

    fn is_in(&self, id: ColumnId, top: usize) -> bool {
        self.origins.is_in(id, top)
    }

    /// Whether all columns of a predicate are made in a part of the tree.
    fn is_of(&self, predicate: &Predicate, top: usize) -> bool {
        predicate.reads_only(|id| self.is_in(id, top))
    }

    /// What a predicate over both sides says of one.
    fn said_of(&self, predicate: &Predicate, top: usize) -> Result<Vec<Predicate>> {
        if predicate.is_volatile {
            return Ok(vec![]);
        }
        let Some(said) = branches::of_side(&predicate.expr, &|id| self.is_in(id, top)) else {
            return Ok(vec![]);
        };
        Ok(self.simplifier.conditions(vec![said])?.into_iter().map(Predicate::new).collect())
    }

    /// Notes the columns of which a predicate that holds is true of no NULL.
    fn require(&mut self, predicate: &Predicate, is_wanted: impl Fn(&Self, ColumnId) -> bool) {
        if predicate.is_volatile || predicate.columns.len() > MOST_COLUMNS {
            return;
        }
        for id in &predicate.columns {
            if is_wanted(self, *id) && nulls::rejects(&predicate.expr, &|other| other == *id) {
                self.required.insert(*id);
            }
        }
    }

    /// Whether rows are not wanted in which all columns of a side are NULL.
    fn rejects_nulls_of(&self, top: usize, above: &[Predicate]) -> bool {
        let rejects = |predicate: &Predicate| {
            !predicate.is_volatile
                && predicate.columns.iter().any(|id| self.is_in(*id, top))
                && nulls::rejects(&predicate.expr, &|id| self.is_in(id, top))
        };
        above.iter().any(rejects) || self.required.iter().any(|id| self.is_in(*id, top))
    }

    /// Whether a predicate makes a value of one side equal one of the other.
    fn is_key(&self, predicate: &Predicate, sides: &Sides) -> bool {
        let Kind::Binary(Operator::Eq | Operator::IsNotDistinctFrom, a, b) = &predicate.expr.kind else {
            return false;
        };
        let is_of = |e: &Expr, top| {
            let columns = e.columns();
            !columns.is_empty() && columns.iter().all(|id| self.is_in(*id, top))
        };
        is_of(a, sides.left_at) && is_of(b, sides.right_at)
            || is_of(b, sides.left_at) && is_of(a, sides.right_at)
    }

    /// Predicates of a join that move to the left and the right side, where they may, and those that stay. What can fail
    /// stays if something that is evaluated before it does, other than an equality of both sides.
    fn settled(
        &self,
        all: Vec<Predicate>,
        sides: &Sides,
        may: &dyn Fn(&Predicate) -> Option<Side>,
    ) -> (Vec<Predicate>, Vec<Predicate>, Vec<Predicate>) {
        let places: Vec<Option<Side>> =
            all.iter().map(|predicate| may(predicate).filter(|_| !predicate.is_volatile)).collect();
        let stays_first = |(predicate, place): (&Predicate, &Option<Side>)| {
            place.is_none() && !predicate.fails && !self.is_key(predicate, sides)
        };
        let mut guards_move = !all.iter().zip(&places).any(stays_first);
        let (mut of_left, mut of_right, mut staying) = (vec![], vec![], vec![]);
        for (predicate, place) in all.into_iter().zip(places) {
            match place {
                Some(side) if guards_move || !predicate.fails => match side {
                    Side::Left => of_left.push(predicate),
                    Side::Right => of_right.push(predicate),
                },
                _ => {
                    guards_move &= !predicate.fails || self.is_key(&predicate, sides);
                    staying.push(predicate);
                }
            }
        }
        (of_left, of_right, staying)
    }

    fn inner(&mut self, sides: Sides, on: Vec<Predicate>, above: Vec<Predicate>) -> Result<Rel> {
        let (staying, above): (Vec<_>, Vec<_>) =
            above.into_iter().partition(|predicate| predicate.is_volatile);
        let all = distinct(on.into_iter().chain(above).collect());
        let side = |predicate: &Predicate| {
            if self.is_of(predicate, sides.left_at) {
                return Some(Side::Left);
            }
            self.is_of(predicate, sides.right_at).then_some(Side::Right)
        };
        let (mut of_left, mut of_right, own) = self.settled(all, &sides, &side);
        for predicate in &own {
            of_left.extend(self.said_of(predicate, sides.left_at)?);
            of_right.extend(self.said_of(predicate, sides.right_at)?);
            self.require(predicate, |_, _| true);
        }
        let left = self.push(sides.left, sides.left_at, of_left, true)?;
        let right = self.push(sides.right, sides.right_at, of_right, true)?;
        Ok(filter(joined(JoinKind::Inner, left, right, own), staying))
    }

    fn left(&mut self, sides: Sides, on: Vec<Predicate>, above: Vec<Predicate>) -> Result<Rel> {
        if self.rejects_nulls_of(sides.right_at, &above) {
            return self.inner(sides, on, above);
        }
        let may = |predicate: &Predicate| !predicate.is_volatile && self.is_of(predicate, sides.left_at);
        let (mut of_left, staying) = split(above, &may);
        for predicate in &staying {
            of_left.extend(self.said_of(predicate, sides.left_at)?);
        }
        let side = |predicate: &Predicate| {
            (!predicate.columns.is_empty() && self.is_of(predicate, sides.right_at)).then_some(Side::Right)
        };
        let (_, mut of_right, own) = self.settled(on, &sides, &side);
        for predicate in &own {
            of_right.extend(self.said_of(predicate, sides.right_at)?);
            self.require(predicate, |push, id| push.is_in(id, sides.right_at));
        }
        of_right.extend(self.known_of_right(&sides, &own));
        let left = self.push(sides.left, sides.left_at, of_left, true)?;
        let right = self.push(sides.right, sides.right_at, of_right, false)?;
        Ok(filter(joined(JoinKind::Left, left, right, own), staying))
    }

    fn full(&mut self, sides: Sides, on: Vec<Predicate>, above: Vec<Predicate>) -> Result<Rel> {
        let Sides { left, left_at, right, right_at } = sides;
        let sides = |left, left_at, right, right_at| Sides { left, left_at, right, right_at };
        let rejects = (self.rejects_nulls_of(left_at, &above), self.rejects_nulls_of(right_at, &above));
        match rejects {
            (true, true) => self.inner(sides(left, left_at, right, right_at), on, above),
            // Left rows without a match are wanted, right ones not.
            (true, false) => self.left(sides(left, left_at, right, right_at), on, above),
            (false, true) => self.left(sides(right, right_at, left, left_at), on, above),
            (false, false) => {
                let left = self.push(left, left_at, vec![], false)?;
                let right = self.push(right, right_at, vec![], false)?;
                Ok(filter(joined(JoinKind::Full, left, right, on), above))
            }
        }
    }

    /// A semi, anti or mark join.
    fn matching(
        &mut self,
        kind: JoinKind,
        sides: Sides,
        on: Vec<Predicate>,
        above: Vec<Predicate>,
    ) -> Result<Rel> {
        let is_semi = kind == JoinKind::Semi;
        let (mut of_left, staying) = self.free_of_left(&sides, above);
        let (mut of_right, mut own) = (vec![], vec![]);
        for predicate in on {
            let is_free = predicate.is_free() && !predicate.columns.is_empty();
            if is_free && self.is_of(&predicate, sides.right_at) {
                of_right.push(predicate);
            } else if is_semi && is_free && self.is_of(&predicate, sides.left_at) {
                of_left.push(predicate);
            } else {
                of_right.extend(self.said_of(&predicate, sides.right_at)?);
                if is_semi {
                    of_left.extend(self.said_of(&predicate, sides.left_at)?);
                }
                self.require(&predicate, |push, id| is_semi || push.is_in(id, sides.right_at));
                own.push(predicate);
            }
        }
        of_right.extend(self.known_of_right(&sides, &own));
        if is_semi {
            let facts = Facts::of(&sides.right, &of_right);
            for (left, right) in self.keys(&sides, &own) {
                of_left.extend(facts.over(right, left));
            }
        }
        let left = self.push(sides.left, sides.left_at, of_left, true)?;
        let right = self.push(sides.right, sides.right_at, of_right, false)?;
        Ok(filter(joined(kind, left, right, own), staying))
    }

    /// A mark join. Where rows with a mark, or without, are the only ones wanted, it is a semi or an anti join.
    fn mark(&mut self, mark: ColumnId, sides: Sides, on: Vec<Expr>, above: Vec<Predicate>) -> Result<Rel> {
        let is_mark = |e: &Expr| e.as_column() == Some(mark);
        let is_not = |e: &Expr| matches!(&e.kind, Kind::Not(inner) if is_mark(inner));
        let on = on.into_iter().map(Predicate::new).collect();
        let wanted = above.iter().find_map(|predicate| match &predicate.expr {
            e if is_mark(e) => Some(true),
            e if is_not(e) => Some(false),
            _ => None,
        });
        let Some(wanted) = wanted else { return self.matching(JoinKind::Mark(mark), sides, on, above) };
        let is_said = |e: &Expr| if wanted { is_mark(e) } else { is_not(e) };
        let above = above.into_iter().filter(|predicate| !is_said(&predicate.expr));
        let (of_mark, others): (Vec<_>, Vec<_>) =
            above.partition(|predicate| predicate.columns.binary_search(&mark).is_ok());
        let kind = if wanted { JoinKind::Semi } else { JoinKind::Anti };
        let input = Box::new(self.matching(kind, sides, on, others)?);
        Ok(filter(Rel::Map(Map { input, exprs: vec![(mark, Expr::boolean(wanted))] }), of_mark))
    }

    fn null_aware(&mut self, sides: Sides, on: Vec<Expr>, above: Vec<Predicate>) -> Result<Rel> {
        let (of_left, staying) = self.free_of_left(&sides, above);
        let left = Box::new(self.push(sides.left, sides.left_at, of_left, true)?);
        let right = Box::new(self.push(sides.right, sides.right_at, vec![], false)?);
        let kind = JoinKind::AntiNullAware;
        Ok(filter(Rel::Join(Join { kind, left, right, predicates: on }), staying))
    }

    /// Predicates of left columns that can't fail, and the others.
    fn free_of_left(&self, sides: &Sides, above: Vec<Predicate>) -> (Vec<Predicate>, Vec<Predicate>) {
        above.into_iter().partition(|predicate| predicate.is_free() && self.is_of(predicate, sides.left_at))
    }

    /// The columns that a match makes equal, the left one first.
    fn keys(&self, sides: &Sides, on: &[Predicate]) -> Vec<(ColumnId, ColumnId)> {
        let key = |predicate: &Predicate| {
            let (a, b) = columns_of(&predicate.expr)?;
            let is = |left, right| self.is_in(left, sides.left_at) && self.is_in(right, sides.right_at);
            if is(a, b) { Some((a, b)) } else { is(b, a).then_some((b, a)) }
        };
        on.iter().filter_map(key).collect()
    }

    /// What is known of the right rows that match.
    fn known_of_right(&self, sides: &Sides, on: &[Predicate]) -> Vec<Predicate> {
        self.keys(sides, on).into_iter().flat_map(|(left, right)| self.facts.over(left, right)).collect()
    }
}

fn joined(kind: JoinKind, left: Rel, right: Rel, on: Vec<Predicate>) -> Rel {
    let predicates = on.into_iter().map(|predicate| predicate.expr).collect();
    Rel::Join(Join { kind, left: Box::new(left), right: Box::new(right), predicates })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, eq, id, int, join, more, quotient};

    /// Two tables.
    fn tables(sample: &mut Sample) -> (Rel, Rel, [Expr; 4]) {
        let (t, [a, b]) = sample.table("t", ["a", "b"]);
        let (u, [x, y]) = sample.table("u", ["x", "y"]);
        (t, u, [a, b, x, y])
    }

    #[test]
    fn a_cross_join_takes_what_stands_above() {
        let mut sample = Sample::default();
        let (t, u, [a, b, x, y]) = tables(&mut sample);
        let rel = crate::rules::testing::filter(
            join(JoinKind::Inner, t, u, vec![]),
            vec![eq(&a, &x), eq(&a, &int(5)), more(&y, &int(1)), more(&b, &y)],
        );
        sample.pushes(
            rel,
            "inner join (a#0 = x#2) AND (b#1 > y#3)\n  filter (a#0 = 5)\n    scan t a#0, b#1\n  \
             filter (y#3 > 1) AND (x#2 = 5)\n    scan u x#2, y#3\n",
        );
    }

    #[test]
    fn a_left_join_keeps_what_decides_about_nulls() {
        let mut sample = Sample::default();
        let (t, u, [a, b, x, y]) = tables(&mut sample);
        let on = vec![eq(&a, &x), more(&b, &int(1)), more(&y, &int(2))];
        let left = join(JoinKind::Left, t, u, on);
        let above = |e: Expr| crate::rules::testing::filter(left.clone(), vec![eq(&a, &int(5)), e]);
        sample.pushes(
            above(y.clone().is_null()),
            "filter (y#3 IS NULL)\n  left join (a#0 = x#2) AND (b#1 > 1)\n    filter (a#0 = 5)\n      \
             scan t a#0, b#1\n    filter (y#3 > 2) AND (x#2 = 5)\n      scan u x#2, y#3\n",
        );
        sample.pushes(
            above(eq(&y, &int(3))),
            "inner join (a#0 = x#2)\n  filter (b#1 > 1) AND (a#0 = 5)\n    scan t a#0, b#1\n  \
             filter (y#3 > 2) AND (y#3 = 3)\n    scan u x#2, y#3\n",
        );
    }

    #[test]
    fn a_full_join_becomes_what_is_wanted_of_it() {
        let mut sample = Sample::default();
        let (t, u, [a, _, x, y]) = tables(&mut sample);
        let full = join(JoinKind::Full, t, u, vec![eq(&a, &x)]);
        let above = |e: Expr| crate::rules::testing::filter(full.clone(), vec![e]);
        sample.pushes(
            above(eq(&y, &int(3))),
            "left join (a#0 = x#2)\n  filter (y#3 = 3)\n    scan u x#2, y#3\n  scan t a#0, b#1\n",
        );
        let kept = above(eq(&y, &int(3)).is_null());
        sample.pushes(kept.clone(), &sample.columns.show_rel(&kept));
    }

    #[test]
    fn a_join_above_says_what_is_not_null_below() {
        let mut sample = Sample::default();
        let (t, u, [a, _, x, y]) = tables(&mut sample);
        let (v, [z]) = sample.table("v", ["z"]);
        let left = join(JoinKind::Left, t, u, vec![eq(&a, &x)]);
        sample.pushes(
            join(JoinKind::Inner, left, v, vec![eq(&y, &z)]),
            "inner join (y#3 = z#4)\n  inner join (a#0 = x#2)\n    scan t a#0, b#1\n    scan u x#2, y#3\n  \
             scan v z#4\n",
        );
    }

    #[test]
    fn what_can_fail_stays_above_a_semi_join() {
        let mut sample = Sample::default();
        let (t, u, [a, b, x, y]) = tables(&mut sample);
        let on = vec![eq(&a, &x), more(&b, &int(1)), more(&y, &int(2))];
        let fails = more(&quotient(&int(1), &b), &int(0));
        let above = |kind| {
            let above = vec![fails.clone(), eq(&a, &int(5))];
            crate::rules::testing::filter(join(kind, t.clone(), u.clone(), on.clone()), above)
        };
        let right = "filter (y#3 > 2) AND (x#2 = 5)\n      scan u x#2, y#3\n";
        sample.pushes(
            above(JoinKind::Semi),
            &format!(
                "filter ((1 / b#1) > 0)\n  semi join (a#0 = x#2)\n    filter (a#0 = 5) AND (b#1 > 1)\n      \
                 scan t a#0, b#1\n    {right}"
            ),
        );
        sample.pushes(
            above(JoinKind::Anti),
            &format!(
                "filter ((1 / b#1) > 0)\n  anti join (a#0 = x#2) AND (b#1 > 1)\n    filter (a#0 = 5)\n      \
                 scan t a#0, b#1\n    {right}"
            ),
        );
    }

    #[test]
    fn a_mark_that_is_asked_for_is_a_semi_join() {
        let mut sample = Sample::default();
        let (t, u, [a, _, x, _]) = tables(&mut sample);
        let m = sample.condition("m");
        let mark = join(JoinKind::Mark(id(&m)), t, u, vec![eq(&a, &x)]);
        let above = |e: Expr| crate::rules::testing::filter(mark.clone(), vec![e]);
        let sides = "    scan t a#0, b#1\n    scan u x#2, y#3\n";
        sample.pushes(above(m.clone()), &format!("map m#4 := true\n  semi join (a#0 = x#2)\n{sides}"));
        sample.pushes(above(m.clone().not()), &format!("map m#4 := false\n  anti join (a#0 = x#2)\n{sides}"));
        let either = above(Expr::or([m, eq(&a, &int(1))]));
        sample.pushes(either.clone(), &sample.columns.show_rel(&either));
    }

    #[test]
    fn an_or_over_both_tables_says_something_of_each() {
        let mut sample = Sample::default();
        let (t, u, [a, b, x, y]) = tables(&mut sample);
        let both = |n, m| Expr::and([eq(&b, &int(n)), eq(&y, &int(m))]);
        let rel = join(JoinKind::Inner, t, u, vec![eq(&a, &x), Expr::or([both(1, 2), both(3, 4)])]);
        sample.pushes(
            rel,
            "inner join (a#0 = x#2) AND (((b#1 = 1) AND (y#3 = 2)) OR ((b#1 = 3) AND (y#3 = 4)))\n  \
             filter (b#1 IN (1, 3))\n    scan t a#0, b#1\n  filter (y#3 IN (2, 4))\n    scan u x#2, y#3\n",
        );
    }
}
