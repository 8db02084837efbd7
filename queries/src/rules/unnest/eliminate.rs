//! Dependent joins, from the top down.

use std::collections::BTreeSet;

use datafusion_expr::Operator;

use crate::algebra::{Aggregate, ColumnId, Expr, Join, JoinKind, Kind, Map, Rel, Statement};
use crate::error::{Error, Result};

use super::domain::Domain;
use super::failing::{fails, rel_fails};
use super::lift::{MOST_PARTS, alone};
use super::pull::conditions;
use super::scalar::size;
use super::{Above, Unnest, filtered, gives, items, join, mapped, reads, reads_any, sources, take};

impl Unnest {
    /// A relation without dependent joins.
    pub(super) fn joined(&mut self, mut rel: Rel, above: &Above) -> Result<Rel> {
        if let Rel::Join(node) = rel {
            return self.join(node, above);
        }
        let here = Above::below(&rel, above);
        for input in rel.inputs_mut() {
            let below = take(input);
            *input = self.joined(below, &here)?;
        }
        Ok(rel)
    }

    fn join(&mut self, node: Join, above: &Above) -> Result<Rel> {
        let mut read = reads(&node.predicates);
        read.extend(node.right.free());
        let here = Above::of(read, Some(above));
        let left = Box::new(self.joined(*node.left, &here)?);
        self.apart(Join { left, ..node }, above)
    }

    /// A join whose left side has no dependent joins.
    pub(super) fn apart(&mut self, node: Join, above: &Above) -> Result<Rel> {
        let free = node.right.free();
        let outer: BTreeSet<ColumnId> = free.into_iter().filter(|id| gives(&node.left, *id)).collect();
        if !outer.is_empty() {
            return self.dependent(node, outer, above);
        }
        let here = Above::of(reads(&node.predicates), node.kind.gives_right().then_some(above));
        let right = Box::new(self.joined(*node.right, &here)?);
        Ok(alone(Join { right, ..node }).unwrap_or_else(Rel::Join))
    }

    fn dependent(&mut self, mut node: Join, outer: BTreeSet<ColumnId>, above: &Above) -> Result<Rel> {
        match node.kind {
            JoinKind::Full => {
                return Err(Error::Unsupported(
                    "a full join whose right side names columns of the left side".into(),
                ));
            }
            JoinKind::AntiNullAware => {
                node.kind = JoinKind::Anti;
                node.predicates = node.predicates.into_iter().map(not_false).collect();
            }
            _ => {}
        }
        let gives_right = node.kind.gives_right();
        if !gives_right && inline(&mut node, &outer) {
            return self.apart(node, above);
        }
        let is_set = matches!(node.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_));
        if conditions(&node.right, &outer, is_set).is_some() {
            let mut on = Vec::new();
            let right = self.pull(*node.right, &outer, is_set, &mut on);
            on.extend(node.predicates);
            let here = Above::of(reads(&on), gives_right.then_some(above));
            let right = Box::new(self.joined(right, &here)?);
            let node = Join { kind: node.kind, left: node.left, right, predicates: on };
            return Ok(alone(node).unwrap_or_else(Rel::Join));
        }
        node = match items::of_each_row(node) {
            Ok(rel) => return self.joined(rel, above),
            Err(node) => node,
        };
        node = match self.lift(node, &outer, above)? {
            Ok(rel) => return Ok(rel),
            Err(node) => node,
        };
        if let Some(rel) = self.one_group(&mut node, above)? {
            return Ok(rel);
        }
        let mut left = *node.left;
        let mut read = reads(&node.predicates);
        let right_above = Above::of(read.clone(), gives_right.then_some(above));
        read.extend(&outer);
        let left_above = Above::of(read, Some(above));
        let exact = rel_fails(&node.right);
        let mut domain = Domain::new(&mut left, outer, exact, &left_above);
        let pushed = self.push(*node.right, &mut domain, &right_above)?;
        let mut on = self.own_combination(&domain, &pushed);
        on.extend(node.predicates);
        Ok(join(node.kind, left, pushed.rel, on))
    }

    /// The right side is an aggregate without keys, or what is computed from its row. It has one row, so that what is
    /// computed is computed above the join, and every left row has a match.
    fn one_group(&mut self, node: &mut Join, above: &Above) -> Result<Option<Rel>> {
        let mut below: &Rel = &node.right;
        loop {
            below = match below {
                Rel::Map(map) => &map.input,
                Rel::Sort(sort) if sort.fetch.is_none() => &sort.input,
                Rel::Aggregate(group) if group.keys.is_empty() && group.totals.is_empty() => break,
                _ => return Ok(None),
            };
        }
        if node.kind != JoinKind::Inner && (node.kind != JoinKind::Left || !node.predicates.is_empty()) {
            return Ok(None);
        }
        let mut maps = Vec::new();
        let mut right = take(&mut node.right);
        let group: Aggregate = loop {
            right = match right {
                Rel::Map(Map { input, exprs }) => {
                    maps.push(exprs);
                    *input
                }
                Rel::Sort(sort) => *sort.input,
                Rel::Aggregate(group) => break group,
                other => other,
            };
        };
        let predicates = std::mem::take(&mut node.predicates);
        let mut read = reads(&predicates);
        read.extend(reads(maps.iter().flatten().map(|(_, e)| e)));
        let here = Above::of(read, Some(above));
        let mut rel = self.group(take(&mut node.left), group, &here)?;
        for exprs in maps.into_iter().rev() {
            rel = mapped(rel, exprs);
        }
        Ok(Some(filtered(rel, predicates)))
    }
}

/// Puts what the right side of a semi, anti or mark join computes at its top into the predicates. There it is computed
/// for pairs of rows. Only what could not be moved otherwise.
fn inline(node: &mut Join, outer: &BTreeSet<ColumnId>) -> bool {
    let Rel::Map(map) = &*node.right else { return false };
    if map.exprs.iter().any(|(_, e)| e.is_volatile())
        || !map.exprs.iter().any(|(_, e)| reads_any(e, outer) || fails(e))
    {
        return false;
    }
    let parts = map.exprs.iter().map(|(id, e)| (*id, size(e, &Default::default()))).collect();
    if node.predicates.iter().map(|e| size(e, &parts)).fold(0, usize::saturating_add) > MOST_PARTS {
        return false;
    }
    let Rel::Map(Map { input, exprs }) = take(&mut node.right) else { return false };
    node.predicates.iter_mut().for_each(|e| e.replace(&sources(&exprs)));
    *node.right = *input;
    true
}

/// A condition is true or NULL.
pub(super) fn not_false(e: Expr) -> Expr {
    Expr::or([e.clone(), e.is_null()])
}

/// The two sides of an equality: one that reads columns of the relation alone, and one that reads outer ones alone.
pub(super) fn equality<'a>(e: &'a Expr, outer: &BTreeSet<ColumnId>) -> Option<(&'a Expr, &'a Expr)> {
    let Kind::Binary(Operator::Eq, left, right) = &e.kind else { return None };
    let sides = |inner: &'a Expr, other: &'a Expr| {
        let columns = inner.columns();
        let is = !columns.is_empty()
            && columns.is_disjoint(outer)
            && other.columns().is_subset(outer)
            && !inner.is_volatile()
            && !fails(inner);
        is.then_some((inner, other))
    };
    sides(left, right).or_else(|| sides(right, left))
}

/// Whether a statement has a subquery in an expression, a dependent join, or one that allows a single match.
pub(super) fn is_nested(statement: &Statement) -> bool {
    let roots = statement.stages.iter().map(|stage| &stage.root).chain([&statement.root]);
    let mut seen = Seen { made: vec![], clock: 0, found: false };
    for root in roots {
        if root.has_subquery() {
            return true;
        }
        seen.look(root);
    }
    seen.found
}

/// When columns were made, in a walk that sees inputs before what reads them.
struct Seen {
    made: Vec<usize>,
    clock: usize,
    found: bool,
}

impl Seen {
    /// The columns that are read and not made in a relation.
    fn look(&mut self, rel: &Rel) -> BTreeSet<ColumnId> {
        let start = self.clock;
        let mut open = BTreeSet::new();
        for (i, input) in rel.inputs().into_iter().enumerate() {
            let below = self.look(input);
            let is_right = i == 1 && matches!(rel, Rel::Join(_));
            self.found |= is_right && below.iter().any(|id| self.is_made_since(*id, start));
            open.extend(below);
        }
        if let Rel::Join(node) = rel {
            self.found |= node.kind == JoinKind::Single;
        }
        open.extend(rel.reads());
        open.retain(|id| !self.is_made_since(*id, start));
        self.clock += 1;
        for id in rel.made_here() {
            let at = id.0 as usize;
            if self.made.len() <= at {
                self.made.resize(at + 1, 0);
            }
            self.made[at] = self.clock;
        }
        open
    }

    fn is_made_since(&self, id: ColumnId, start: usize) -> bool {
        self.made.get(id.0 as usize).is_some_and(|at| *at > start)
    }
}
