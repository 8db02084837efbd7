//! The domain of a dependent join: the distinct combinations of the columns of its left side that its right side names.
//!
//! It is taken from the smallest part of the left side that has the columns. Of it the rows are taken that conditions
//! above it leave, as far as they name nothing else. Combinations that no left row has do no harm, unless what is
//! computed for them can fail. Then (`exact`) inner joins and conditions that can fail are kept too.
//!
//! The domain is read again and again beside the left side. So its part is made to give the same rows each time. A sum
//! of floats may differ in its last digit from one reading to the next. If the part is an aggregate, its keys are
//! carried along, and they alone are compared.

use std::collections::BTreeSet;

use datafusion_expr::Operator;

use crate::algebra::{Aggregate, ColumnId, Expr, Join, JoinKind, Rel};
use crate::error::{Error, Result};

use super::failing::fails;
use super::push::{Carried, Pushed};
use super::repeatable::{is_repeatable, is_sorted, make_repeatable, sums_floats};
use super::{Above, Unnest, filtered, gives, reads_any, renumbering};

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
    /// The way from there to the part that has the columns: which input of each relation.
    way: Vec<usize>,
    /// What is read above it.
    above: &'a Above<'a>,
    /// The rows of that part, once they are asked for.
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
        let (way, part) = way(left, &outer, exact);
        if let Some((keys, inexact)) = inexact(part, &outer)
            && keys.iter().all(|key| gives(left, *key))
        {
            columns.extend(keys.into_iter().filter(|key| !outer.contains(key)));
            tells = columns.iter().map(|id| !inexact.contains(id)).collect();
        }
        Domain { columns, outer, tells, exact, left, way, above, source: None }
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
        let keys: Vec<ColumnId> = domain.columns.iter().copied().map(renumbering(&numbers)).collect();
        let carried = keys.iter().map(|id| Carried { id: *id, strict: false }).collect();
        let rows = Aggregate { input: Box::new(input), keys, calls: vec![], totals: vec![] };
        Ok((Rel::Aggregate(rows), carried))
    }

    fn source(&self, domain: &mut Domain) -> Result<Rel> {
        let part = domain.way.iter().try_fold(&*domain.left, |rel, input| rel.inputs().get(*input).copied());
        let (given, repeatable) = match part {
            Some(part) => (part.columns(), is_repeatable(part)),
            None => (BTreeSet::new(), false),
        };
        let is_else = |e: &Expr| e.as_column().is_some_and(|id| !given.contains(&id));
        let applies = |e: &Expr| !e.any(&mut |e| is_else(e)) && !e.is_volatile();
        let mut needed: BTreeSet<ColumnId> = domain.columns.iter().copied().collect();
        // What conditions above the part leave of it, the last one first; `None` where one is left out.
        let mut kept: Vec<Option<Expr>> = Vec::new();
        let mut rel: &mut Rel = domain.left;
        for input in &domain.way {
            if !repeatable {
                needed.extend(rel.reads());
            }
            match rel {
                Rel::Filter(node) => {
                    let kept_of = |e: &Expr| applies(e).then(|| e.clone());
                    kept.extend(node.predicates.iter().rev().map(kept_of));
                }
                Rel::Map(_) | Rel::Sort(_) | Rel::Window(_) => {}
                Rel::Join(node) if matches!(node.kind, JoinKind::Left | JoinKind::Mark(_)) => {}
                Rel::Join(node) if node.kind == JoinKind::Inner => {
                    kept.extend(node.predicates.iter().rev().filter(|e| applies(e)).cloned().map(Some));
                    kept.push(None);
                }
                _ => kept.push(None),
            }
            let Some(below) = rel.inputs_mut().into_iter().nth(*input) else {
                return Err(Error::Unsupported("this correlated subquery".into()));
            };
            rel = below;
        }
        if !repeatable {
            needed.extend(given.iter().copied().filter(|id| domain.above.reads(*id)));
            if !make_repeatable(rel, &needed, &self.columns) {
                let what = "this correlated subquery over rows that would be read twice and may differ: random \
                            values, or values of a group that depend on the order of its rows";
                return Err(Error::Unsupported(what.into()));
            }
        }
        // What can fail stays behind what it stands behind.
        let mut predicates = Vec::new();
        let mut is_whole = domain.exact;
        for e in kept.into_iter().rev() {
            match e {
                Some(e) if is_whole || !fails(&e) => predicates.push(e),
                _ => is_whole = false,
            }
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

/// The input that has every combination too, and is smaller. The relation gives all columns wanted, so that those not made
/// on one side are given by the other.
fn step(rel: &Rel, wanted: &BTreeSet<ColumnId>, exact: bool) -> Option<usize> {
    let makes_none = || !wanted.iter().any(|id| rel.made_here().contains(id));
    let in_right = |node: &Join| wanted.iter().filter(|id| gives(&node.right, **id)).count();
    let below = match rel {
        Rel::Filter(_) | Rel::Repeat(_) => true,
        Rel::Sort(node) => node.fetch.is_none(),
        // With an order it takes the same rows each time, once that has no equal ones.
        Rel::Limit(node) => !is_sorted(&node.input),
        Rel::Map(_) | Rel::Window(_) => makes_none(),
        Rel::Unnest(_) => makes_none(),
        Rel::Expand(node) => !node.sets.is_empty() && makes_none(),
        Rel::Aggregate(node) => !node.keys.is_empty() && node.totals.is_empty() && makes_none(),
        Rel::Join(node) => match node.kind {
            JoinKind::Inner if exact => false,
            JoinKind::Inner => match in_right(node) {
                0 => true,
                n => return (n == wanted.len()).then_some(1),
            },
            JoinKind::Left => in_right(node) == 0,
            JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware | JoinKind::Mark(_) => makes_none(),
            JoinKind::Full | JoinKind::Single => false,
        },
        Rel::Scan(_) | Rel::Values(_) | Rel::Union(_) | Rel::Shared(_) => false,
    };
    below.then_some(0)
}

/// Where [`step`] leads to, and the inputs on the way.
fn way<'a>(rel: &'a Rel, wanted: &BTreeSet<ColumnId>, exact: bool) -> (Vec<usize>, &'a Rel) {
    let (mut rel, mut way) = (rel, Vec::new());
    while let Some(input) = step(rel, wanted, exact) {
        match rel.inputs().get(input) {
            Some(below) => rel = below,
            None => break,
        }
        way.push(input);
    }
    (way, rel)
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
    let of_floats = group.calls.iter().filter(|(_, call)| sums_floats(call));
    let mut inexact: BTreeSet<ColumnId> = of_floats.map(|(id, _)| *id).collect();
    for map in maps.into_iter().rev() {
        let made: Vec<ColumnId> =
            map.exprs.iter().filter(|(_, e)| reads_any(e, &inexact)).map(|(id, _)| *id).collect();
        inexact.extend(made);
    }
    (!inexact.is_disjoint(wanted)).then(|| (group.keys.clone(), inexact))
}
