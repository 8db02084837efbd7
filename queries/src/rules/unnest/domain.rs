//! The domain of a dependent join: the distinct combinations of the columns of its left side that its right side names.
//!
//! It is taken from the smallest part of the left side that has the columns, and from the rows of it that conditions above
//! it leave, as far as they name nothing else. Combinations that no left row has do no harm, unless what is computed for
//! them can fail: then (`exact`) inner joins and conditions that can fail are kept too.
//!
//! The domain is read again and again beside the left side. So its part is made to give the same rows each time. A sum of
//! floats may differ in its last digit from one reading to the next: if the part is an aggregate, its keys are carried
//! along, and they alone are compared.

use std::collections::BTreeSet;

use datafusion_expr::Operator;

use crate::algebra::{Aggregate, ColumnId, Expr, JoinKind, Rel};
use crate::error::{Error, Result};

use super::failing::fails;
use super::push::{Carried, Pushed};
use super::repeatable::{is_sorted, make_repeatable};
use super::{Above, Unnest, filtered, gives, reads_any};

/// The combinations of a dependent join.
pub(super) struct Domain<'a> {
    /// The columns of a combination.
    pub(super) columns: Vec<ColumnId>,
    /// Those that the right side names.
    pub(super) outer: BTreeSet<ColumnId>,
    /// Whether a column tells combinations apart; the others follow from these.
    pub(super) tells: Vec<bool>,
    /// Whether the right side can fail.
    pub(super) exact: bool,
    /// The left side of the join.
    left: &'a mut Rel,
    /// What is read above it.
    above: &'a Above<'a>,
    /// The part of it that has the columns, once it is asked for.
    source: Option<Rel>,
}

impl<'a> Domain<'a> {
    pub(super) fn new(
        left: &'a mut Rel,
        outer: BTreeSet<ColumnId>,
        exact: bool,
        above: &'a Above<'a>,
    ) -> Domain<'a> {
        let mut columns: Vec<ColumnId> = outer.iter().copied().collect();
        let mut tells = vec![true; columns.len()];
        if let Some((keys, inexact)) = inexact(part(left, &outer, exact), &outer)
            && keys.iter().all(|key| gives(left, *key))
        {
            columns.extend(keys.into_iter().filter(|key| !outer.contains(key)));
            tells = columns.iter().map(|id| !inexact.contains(id)).collect();
        }
        Domain { columns, outer, tells, exact, left, above, source: None }
    }
}

impl Unnest {
    /// The combinations as a relation of its own.
    pub(super) fn combinations(&mut self, domain: &mut Domain) -> Result<(Rel, Vec<Carried>)> {
        let source = match domain.source.take() {
            Some(source) => source,
            None => self.source(domain)?,
        };
        let (input, numbers) = self.copy(&source)?;
        domain.source = Some(source);
        let number = |id: &ColumnId| numbers.get(id).copied().unwrap_or(*id);
        let keys: Vec<ColumnId> = domain.columns.iter().map(number).collect();
        let carried = keys.iter().map(|id| Carried { id: *id, strict: false }).collect();
        let rows = Aggregate { input: Box::new(input), keys, calls: vec![], totals: vec![] };
        Ok((Rel::Aggregate(rows), carried))
    }

    fn source(&self, domain: &mut Domain) -> Result<Rel> {
        let wanted: BTreeSet<ColumnId> = domain.columns.iter().copied().collect();
        let mut needed = wanted.clone();
        let mut kept: Vec<Expr> = Vec::new();
        let mut rel: &mut Rel = domain.left;
        while let Some(input) = step(rel, &wanted, domain.exact) {
            needed.extend(rel.reads());
            match rel {
                Rel::Filter(node) => {
                    let predicates = node.predicates.iter().filter(|e| domain.exact || !fails(e));
                    kept.splice(0..0, predicates.cloned());
                }
                Rel::Map(_) | Rel::Sort(_) => {}
                Rel::Join(node) if matches!(node.kind, JoinKind::Left | JoinKind::Mark(_)) => {}
                Rel::Join(node) if node.kind == JoinKind::Inner => {
                    kept.splice(0..0, node.predicates.iter().filter(|e| !fails(e)).cloned());
                    kept.retain(|e| !fails(e));
                }
                _ => kept.retain(|e| !fails(e)),
            }
            let Some(below) = rel.inputs_mut().into_iter().nth(input) else {
                return Err(Error::Unsupported("this correlated subquery".into()));
            };
            rel = below;
        }
        let given = rel.columns();
        needed.extend(given.iter().copied().filter(|id| domain.above.reads(*id)));
        if !make_repeatable(rel, &needed, &self.columns) {
            let what = "this correlated subquery over rows that would be read twice and may differ: random values, \
                        or the first value of a group without an order";
            return Err(Error::Unsupported(what.into()));
        }
        let mut predicates = Vec::new();
        let mut is_whole = true;
        for e in kept {
            let applies = !e.is_volatile() && e.columns().is_subset(&given);
            if applies && (is_whole || !fails(&e)) {
                predicates.push(e);
            }
            is_whole &= applies;
        }
        Ok(filtered(rel.clone(), predicates))
    }

    /// Where two relations carry the same combination.
    pub(super) fn same(&self, domain: &Domain, left: &[Carried], right: &[Carried]) -> Vec<Expr> {
        let pairs = left.iter().zip(right).zip(&domain.tells).filter(|(_, tells)| **tells);
        let compare = |(l, r): (&Carried, &Carried)| {
            // What was compared with a column of the right side is not NULL.
            let op = if l.strict || r.strict { Operator::Eq } else { Operator::IsNotDistinctFrom };
            Expr::compare(self.read(l.id), op, self.read(r.id))
        };
        pairs.map(|(pair, _)| compare(pair)).collect()
    }

    /// Where a relation carries the combination of a row of the left side.
    pub(super) fn own_combination(&self, domain: &Domain, pushed: &Pushed) -> Vec<Expr> {
        let own: Vec<Carried> = domain.columns.iter().map(|id| Carried { id: *id, strict: false }).collect();
        self.same(domain, &own, &pushed.columns)
    }
}

/// The input that has every combination of the columns too, and is smaller.
fn step(rel: &Rel, wanted: &BTreeSet<ColumnId>, exact: bool) -> Option<usize> {
    let has = |rel: &Rel| wanted.iter().all(|id| gives(rel, *id));
    match rel {
        Rel::Filter(_) => Some(0),
        Rel::Sort(node) => node.fetch.is_none().then_some(0),
        // With an order it takes the same rows each time, once that has no equal ones.
        Rel::Limit(node) => (!is_sorted(&node.input)).then_some(0),
        Rel::Map(node) => has(&node.input).then_some(0),
        Rel::Repeat(node) => has(&node.input).then_some(0),
        Rel::Expand(node) => (!node.sets.is_empty() && has(&node.input)).then_some(0),
        Rel::Aggregate(node) => {
            let are_keys = node.totals.is_empty() && wanted.iter().all(|id| node.keys.contains(id));
            (are_keys && has(&node.input)).then_some(0)
        }
        Rel::Join(node) => match node.kind {
            JoinKind::Inner if exact => None,
            JoinKind::Inner if has(&node.left) => Some(0),
            JoinKind::Inner => has(&node.right).then_some(1),
            JoinKind::Left
            | JoinKind::Semi
            | JoinKind::Anti
            | JoinKind::AntiNullAware
            | JoinKind::Mark(_) => has(&node.left).then_some(0),
            JoinKind::Full | JoinKind::Single => None,
        },
        Rel::Scan(_) | Rel::Values(_) | Rel::Union(_) => None,
    }
}

/// The part of a relation that [`step`] leads to.
fn part<'a>(rel: &'a Rel, wanted: &BTreeSet<ColumnId>, exact: bool) -> &'a Rel {
    let mut rel = rel;
    while let Some(input) = step(rel, wanted, exact) {
        match rel.inputs().get(input) {
            Some(below) => rel = below,
            None => break,
        }
    }
    rel
}

/// The keys of the aggregate that a part is, and the columns wanted that come from its sums of floats, if there are any.
fn inexact(part: &Rel, wanted: &BTreeSet<ColumnId>) -> Option<(Vec<ColumnId>, BTreeSet<ColumnId>)> {
    let mut maps = Vec::new();
    let mut rel = part;
    let group = loop {
        rel = match rel {
            Rel::Filter(node) => &node.input,
            Rel::Sort(node) => &node.input,
            Rel::Limit(node) => &node.input,
            Rel::Map(node) => {
                maps.push(node);
                &node.input
            }
            Rel::Aggregate(node) => break node,
            _ => return None,
        };
    };
    let exact = ["approx_distinct", "count", "first_value", "last_value", "max", "min", "nth_value"];
    let calls = group.calls.iter().filter(|(_, call)| !exact.contains(&call.function.name()));
    let of_floats = calls.filter(|(_, call)| call.args.iter().any(|e| e.data_type.is_floating()));
    let mut inexact: BTreeSet<ColumnId> = of_floats.map(|(id, _)| *id).collect();
    for map in maps.into_iter().rev() {
        let made: Vec<ColumnId> =
            map.exprs.iter().filter(|(_, e)| reads_any(e, &inexact)).map(|(id, _)| *id).collect();
        inexact.extend(made);
    }
    (!inexact.is_disjoint(wanted)).then(|| (group.keys.clone(), inexact))
}
