//! Conditions that name outer columns, moved up out of a relation.
//!
//! A condition passes what does not change which rows it takes. That is computed columns, inner joins, the rows that an
//! outer join keeps, an aggregate of which it names the keys alone. An equality of a column and an outer value passes
//! any aggregate with keys. The column becomes another key, and an outer row sees the groups of its own value. It does
//! not pass a side that is filled with NULLs, or the right side of a semi or anti join. There it decides what is NULL
//! or found, not which rows there are. Nor does it pass an aggregate without keys, which has a row where it leaves
//! none, a LIMIT or a union.
//!
//! A condition may guard what is computed above it. So what can fail and stands behind such a condition goes up with it,
//! and where it can't the condition stays.
//!
//! Where only the existence of rows matters (`is_set`), rows need not be distinct, and a semi join is as good as an inner
//! join.

use std::collections::BTreeSet;

use datafusion_expr::Operator;

use crate::algebra::{self, Aggregate, ColumnId, Expand, Expr, Join, JoinKind, Map, Rel, Repeat};

use super::eliminate::equality;
use super::failing::{fails, rel_fails};
use super::scalar::is_distinct;
use super::{Unnest, filtered, gives, mapped, reads_any, take};

/// Whether a relation, or one below it, reads one of these columns.
pub(super) fn accesses(rel: &Rel, outer: &BTreeSet<ColumnId>) -> bool {
    itself(rel, outer) || rel.inputs().into_iter().any(|input| accesses(input, outer))
}

/// Whether the operator itself does.
fn itself(rel: &Rel, outer: &BTreeSet<ColumnId>) -> bool {
    let has = |id: &ColumnId| outer.contains(id);
    rel.exprs().into_iter().any(|e| reads_any(e, outer))
        || match rel {
            Rel::Aggregate(node) => node.keys.iter().any(has),
            Rel::Expand(node) => node.keys.iter().any(|(_, from)| has(from)),
            Rel::Union(node) => node.inputs.iter().flat_map(|(_, from)| from).any(has),
            Rel::Repeat(node) => has(&node.times),
            _ => false,
        }
}

/// The conditions that would be moved up, if all can be.
pub(super) fn conditions<'a>(
    rel: &'a Rel,
    outer: &BTreeSet<ColumnId>,
    is_set: bool,
) -> Option<Vec<&'a Expr>> {
    match rel {
        Rel::Filter(node) => {
            let mut on = conditions(&node.input, outer, is_set)?;
            for e in &node.predicates {
                if goes_up(e, outer, !on.is_empty()) {
                    on.push(e);
                }
            }
            Some(on)
        }
        Rel::Map(node) => {
            let on = conditions(&node.input, outer, is_set)?;
            let is_guarded = !on.is_empty() && node.exprs.iter().any(|(_, e)| fails(e));
            (!itself(rel, outer) && !is_guarded).then_some(on)
        }
        Rel::Sort(node) if node.fetch.is_none() => conditions(&node.input, outer, is_set),
        Rel::Expand(Expand { input, .. }) | Rel::Repeat(Repeat { input, .. }) if !itself(rel, outer) => {
            conditions(input, outer, is_set)
        }
        Rel::Unnest(node) if !itself(rel, outer) => {
            let on = conditions(&node.input, outer, is_set)?;
            // A list may be there for guarded rows alone.
            let is_guarded = !on.is_empty() && node.lists.iter().any(|(_, list)| fails(list));
            (!is_guarded).then_some(on)
        }
        Rel::Join(node) => of_join(node, outer, is_set),
        Rel::Aggregate(node) if !node.keys.is_empty() && node.totals.is_empty() && !itself(rel, outer) => {
            let on = conditions(&node.input, outer, is_set)?;
            if on.is_empty() || is_set && is_distinct(node) {
                return Some(on);
            }
            let passes = |e: &&Expr| names_keys(e, &node.keys, outer) || equality(e, outer).is_some();
            let all = on.iter().all(passes) && !rel.exprs().into_iter().any(fails);
            all.then_some(on)
        }
        _ => (!accesses(rel, outer)).then(Vec::new),
    }
}

/// Whether a condition names outer columns, or may need one before it that does.
fn goes_up(e: &Expr, outer: &BTreeSet<ColumnId>, is_behind: bool) -> bool {
    reads_any(e, outer) || is_behind && fails(e)
}

/// Whether a condition names keys and outer columns alone.
fn names_keys(e: &Expr, keys: &[ColumnId], outer: &BTreeSet<ColumnId>) -> bool {
    e.columns().iter().all(|id| keys.contains(id) || outer.contains(id))
}

/// Whether rows of both sides, and the conditions of both, pass a join.
fn is_inner(node: &Join, outer: &BTreeSet<ColumnId>, is_set: bool) -> bool {
    let reads = || accesses(&node.right, outer) || node.predicates.iter().any(|e| reads_any(e, outer));
    node.kind == JoinKind::Inner || node.kind == JoinKind::Semi && is_set && reads()
}

fn of_join<'a>(node: &'a Join, outer: &BTreeSet<ColumnId>, is_set: bool) -> Option<Vec<&'a Expr>> {
    let mut on = conditions(&node.left, outer, is_set)?;
    // What the right side computes for each left row is computed for more of them.
    let is_guarded =
        !on.is_empty() && rel_fails(&node.right) && node.right.free().iter().any(|id| gives(&node.left, *id));
    if is_guarded {
        return None;
    }
    if is_inner(node, outer, is_set) {
        on.extend(conditions(&node.right, outer, is_set)?);
        for e in &node.predicates {
            if goes_up(e, outer, !on.is_empty()) {
                on.push(e);
            }
        }
        return Some(on);
    }
    let stays = node.kind == JoinKind::Full
        || accesses(&node.right, outer)
        || node.predicates.iter().any(|e| reads_any(e, outer) || fails(e));
    (!stays).then_some(on)
}

impl Unnest {
    /// Moves the conditions up that [`conditions`] finds, in their order, and adds them to `on`.
    pub(super) fn pull(
        &mut self,
        rel: Rel,
        outer: &BTreeSet<ColumnId>,
        is_set: bool,
        on: &mut Vec<Expr>,
    ) -> Rel {
        match rel {
            Rel::Filter(node) => {
                let start = on.len();
                let input = self.pull(*node.input, outer, is_set, on);
                filtered(input, rest(node.predicates, outer, on, start))
            }
            Rel::Sort(node) if node.fetch.is_none() => self.pull(*node.input, outer, is_set, on),
            Rel::Join(mut node) => {
                let start = on.len();
                let is_inner = is_inner(&node, outer, is_set);
                *node.left = self.pull(take(&mut node.left), outer, is_set, on);
                if is_inner {
                    node.kind = JoinKind::Inner;
                    *node.right = self.pull(take(&mut node.right), outer, is_set, on);
                    node.predicates = rest(node.predicates, outer, on, start);
                }
                Rel::Join(node)
            }
            Rel::Aggregate(node) if !node.keys.is_empty() && node.totals.is_empty() => {
                self.pull_group(node, outer, is_set, on)
            }
            mut rel => {
                if let Rel::Map(Map { input, .. })
                | Rel::Expand(Expand { input, .. })
                | Rel::Repeat(Repeat { input, .. })
                | Rel::Unnest(algebra::Unnest { input, .. }) = &mut rel
                {
                    **input = self.pull(take(input), outer, is_set, on);
                }
                rel
            }
        }
    }

    fn pull_group(
        &mut self,
        mut node: Aggregate,
        outer: &BTreeSet<ColumnId>,
        is_set: bool,
        on: &mut Vec<Expr>,
    ) -> Rel {
        let mut own = Vec::new();
        let input = self.pull(take(&mut node.input), outer, is_set, &mut own);
        if is_set && is_distinct(&node) && !own.is_empty() {
            on.extend(own);
            return input;
        }
        let mut exprs = Vec::new();
        for e in own {
            match equality(&e, outer) {
                Some((inner, other)) if !names_keys(&e, &node.keys, outer) => {
                    let key = self.key(inner, &mut exprs);
                    if !node.keys.contains(&key) {
                        node.keys.push(key);
                    }
                    on.push(Expr::compare(other.clone(), Operator::Eq, self.read(key)));
                }
                _ => on.push(e),
            }
        }
        *node.input = mapped(input, exprs);
        Rel::Aggregate(node)
    }

    /// A column that has the value of an expression; computed, if it is none.
    pub(super) fn key(&mut self, e: &Expr, exprs: &mut Vec<(ColumnId, Expr)>) -> ColumnId {
        if let Some(id) = e.as_column() {
            return id;
        }
        if let Some((id, _)) = exprs.iter().find(|(_, other)| other == e) {
            return *id;
        }
        let id = self.column("key", e.data_type.clone());
        exprs.push((id, e.clone()));
        id
    }
}

/// The predicates that stay; the others are added to `on`, where those from `start` on stand before them.
fn rest(predicates: Vec<Expr>, outer: &BTreeSet<ColumnId>, on: &mut Vec<Expr>, start: usize) -> Vec<Expr> {
    let mut stay = Vec::with_capacity(predicates.len());
    for e in predicates {
        if goes_up(&e, outer, on.len() > start) {
            on.push(e);
        } else {
            stay.push(e);
        }
    }
    stay
}
