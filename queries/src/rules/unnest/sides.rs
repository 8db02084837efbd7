//! Subqueries in the condition of an outer, semi, anti or mark join.
//!
//! A subquery that names columns of one side alone is a column of that side. A condition with one that names columns of
//! both becomes a condition of the right side, which makes the join dependent. A full join has no dependent side: it is the
//! left join, and besides it the rows of the right side that have no match.

use std::collections::BTreeSet;

use crate::algebra::{ColumnId, Expr, Join, JoinKind, Kind, Rel, SubqueryKind, Union};
use crate::error::{Error, Result};

use super::failing::fails;
use super::repeatable::make_repeatable;
use super::values::{InputRows, Nulls};
use super::{Unnest, join, mapped, renumbering};

impl Unnest {
    /// A join with subqueries in its condition.
    pub(super) fn condition(&mut self, mut node: Join) -> Result<Rel> {
        if node.kind == JoinKind::Inner {
            return self.inner(node);
        }
        let (left, right) = (node.left.columns(), node.right.columns());
        let of_both = |e: &Expr| is_of_both(e, &left, &right);
        if node.predicates.iter().any(of_both) {
            return match node.kind {
                JoinKind::Full => self.full(node),
                JoinKind::AntiNullAware => {
                    Err(Error::Unsupported("a subquery in NOT IN that names columns of both sides".into()))
                }
                _ => {
                    let right = self.filter(*node.right, node.predicates)?;
                    Ok(join(node.kind, *node.left, right, vec![]))
                }
            };
        }
        // Of a side that the join does not keep, a term is a condition.
        if !matches!(node.kind, JoinKind::Full | JoinKind::AntiNullAware) {
            let is_of_right = |e: &Expr| {
                let columns = e.columns();
                !fails(e) && columns.iter().any(|id| right.contains(id)) && columns.is_disjoint(&left)
            };
            let (of_right, rest): (Vec<_>, Vec<_>) =
                node.predicates.into_iter().partition(|e| e.has_subquery() && is_of_right(e));
            if !of_right.is_empty() {
                *node.right = self.filter(*node.right, of_right)?;
            }
            node.predicates = rest;
        }
        let nulls = if node.kind == JoinKind::AntiNullAware { Nulls::Exact } else { Nulls::False };
        let mut place = InputRows::of_join(*node.left, *node.right);
        let mut predicates = Vec::with_capacity(node.predicates.len());
        for e in node.predicates {
            predicates.push(self.value(e, &mut place, nulls, &mut vec![])?);
        }
        let Some((right, _)) = place.right else {
            return Err(Error::Invalid("a join without a right side".into()));
        };
        Ok(join(node.kind, place.rel, right, predicates))
    }

    /// Makes subqueries, and those inside them, give the same rows whenever they are read. Whether that is so now.
    fn settle_subqueries(&self, e: &mut Expr) -> bool {
        let mut is = !e.is_volatile();
        e.change(&mut |e| {
            if let Kind::Subquery(subquery) = &mut e.kind {
                is &= make_repeatable(&mut subquery.rel, &self.used, &self.columns);
                is &= self.settle_below(&mut subquery.rel);
            }
        });
        is
    }

    fn settle_below(&self, rel: &mut Rel) -> bool {
        rel.exprs_mut().into_iter().all(|e| self.settle_subqueries(e))
            && rel.inputs_mut().into_iter().all(|input| self.settle_below(input))
    }

    /// The left join, and the right rows that have no match.
    fn full(&mut self, node: Join) -> Result<Rel> {
        let Join { mut left, mut right, mut predicates, .. } = node;
        if !predicates.iter_mut().all(|e| self.settle_subqueries(e))
            || !make_repeatable(&mut left, &self.used, &self.columns)
            || !make_repeatable(&mut right, &self.used, &self.columns)
        {
            let what = "a subquery in ON of a full join that names columns of both sides, over tables that would be \
                        read twice and may differ: a LIMIT, or random values";
            return Err(Error::Unsupported(what.into()));
        }
        let used = |rel: &Rel| -> Vec<ColumnId> {
            let free = rel.free();
            let is_own = |id: &ColumnId| self.used.contains(id) && !free.contains(id);
            rel.columns().into_iter().filter(is_own).collect()
        };
        let (of_left, of_right) = (used(&left), used(&right));
        let pairs = join(JoinKind::Left, (*left).clone(), (*right).clone(), predicates.clone());
        let (pairs, of_pairs) = self.copy(&pairs)?;
        let others = join(JoinKind::Anti, *right, *left, predicates);
        let (others, of_others) = self.copy(&others)?;

        let columns: Vec<ColumnId> = of_left.iter().chain(&of_right).copied().collect();
        let pairs_columns = columns.iter().copied().map(renumbering(&of_pairs)).collect();
        let mut nulls = Vec::with_capacity(of_left.len());
        for id in &of_left {
            let null = Expr::null(&self.columns.get(*id).data_type);
            nulls.push((self.like(*id), null));
        }
        let of_right = of_right.into_iter().map(renumbering(&of_others));
        let others_columns = nulls.iter().map(|(id, _)| *id).chain(of_right).collect();
        let mut inputs = Vec::with_capacity(2);
        for (rel, columns, nulls) in [(pairs, pairs_columns, vec![]), (others, others_columns, nulls)] {
            let rel = match rel {
                Rel::Join(node) => self.condition(node)?,
                rel => rel,
            };
            inputs.push((mapped(rel, nulls), columns));
        }
        Ok(Rel::Union(Union { columns, inputs }))
    }
}

/// Whether an expression has a subquery that names columns of both sides.
fn is_of_both(e: &Expr, left: &BTreeSet<ColumnId>, right: &BTreeSet<ColumnId>) -> bool {
    e.any(&mut |e| {
        let Kind::Subquery(subquery) = &e.kind else { return false };
        let mut reads = subquery.rel.free();
        if let SubqueryKind::Any { values, .. } | SubqueryKind::All { values, .. } = &subquery.kind {
            values.iter().for_each(|e| e.collect_columns(&mut reads));
        }
        !reads.is_disjoint(left) && !reads.is_disjoint(right)
    })
}
