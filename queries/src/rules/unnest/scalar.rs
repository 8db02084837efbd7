//! A subquery as the value of its only row.
//!
//! An aggregate without keys has one row. What stands above it in the subquery is computed from the row where the
//! subquery stood. So only a row that asks for the value computes it. Of other subqueries that may have several rows
//! one value and the number of rows are taken ([`super::single`]).

use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::first_last::first_value_udaf;

use crate::algebra::{Aggregate, ColumnId, Expr, Join, JoinKind, Kind, Rel};
use crate::error::{Error, Result};

use super::failing::fails;
use super::single::single;
use super::values::{InputRows, Side};
use super::{
    Unnest, call, case, count_rows, join, mapped, only_if, reads, reads_any, renumbering, sources, take,
};

/// Expressions of more parts are not put in the place of a column.
const MOST_PARTS: usize = 200;

/// An expression over the only row of a subquery.
pub(super) struct OneRow {
    /// The expression.
    pub(super) value: Expr,
    /// The row is there if this is true.
    pub(super) passed: Option<Expr>,
}

impl Unnest {
    /// The value of a scalar subquery.
    pub(super) fn scalar(
        &mut self,
        mut rel: Rel,
        columns: &[ColumnId],
        place: &mut InputRows,
        side: Side,
        skip: &[Expr],
    ) -> Result<Expr> {
        let [column] = columns else {
            return Err(Error::Invalid("a scalar subquery gives one column".into()));
        };
        if rel.free().is_empty() {
            return Ok(self.stage(rel, *column));
        }
        self.guard(&mut rel, place, side, skip);
        if is_one_row_of_a_group(&rel) {
            let OneRow { value, passed } = self.one_row(rel, self.read(*column), place, side);
            return Ok(passed.into_iter().fold(value, |value, passed| only_if(passed, value)));
        }
        if has_one_row(&rel) {
            place.join(side, JoinKind::Left, rel, vec![]);
            return Ok(self.read(*column));
        }
        let value = self.like(*column);
        let rows = self.column("rows", DataType::Int64);
        let calls = vec![(value, call(first_value_udaf(), vec![self.read(*column)])), (rows, count_rows())];
        let aggregate = Aggregate { input: Box::new(rel), keys: vec![], calls, totals: vec![] };
        place.join(side, JoinKind::Left, Rel::Aggregate(aggregate), vec![]);
        Ok(single(self.read(value), self.read(rows)))
    }

    /// An expression over the row that [`is_one_row_of_a_group`] finds, as one over the rows that it is joined to.
    pub(super) fn one_row(&mut self, rel: Rel, value: Expr, place: &mut InputRows, side: Side) -> OneRow {
        let (aggregate, mut exprs) = steps(rel, value);
        let made = aggregate.columns();
        let mut read: Vec<ColumnId> = reads(&exprs).intersection(&made).copied().collect();
        match (read.pop(), aggregate.free().is_empty()) {
            // One value that is the same for all rows.
            (Some(column), true) if read.is_empty() => {
                let value = self.stage(aggregate, column);
                let with = |id: ColumnId| (id == column).then(|| value.clone());
                exprs.iter_mut().for_each(|e| e.replace(&with));
            }
            (Some(_), _) => place.join(side, JoinKind::Left, aggregate, vec![]),
            (None, _) => {}
        }
        let passed = exprs.split_off(1);
        let value = exprs.swap_remove(0);
        OneRow { value, passed: all(passed) }
    }

    /// A join whose left rows have one match at most as a left join.
    pub(super) fn single_join(&mut self, node: Join) -> Result<Rel> {
        let Join { left, right, predicates, .. } = node;
        let right = self.filter(*right, predicates)?;
        if has_one_row(&right) {
            return Ok(join(JoinKind::Left, *left, right, vec![]));
        }
        let free = right.free();
        let is_own = |id: &ColumnId| self.used.contains(id) && !free.contains(id);
        let columns: Vec<ColumnId> = right.columns().into_iter().filter(is_own).collect();
        let (right, numbers) = self.copy(&right)?;
        let rows = self.column("rows", DataType::Int64);
        let mut calls = vec![(rows, count_rows())];
        let mut exprs = Vec::with_capacity(columns.len());
        for id in columns {
            let below = renumbering(&numbers)(id);
            let value = self.like(id);
            calls.push((value, call(first_value_udaf(), vec![self.read(below)])));
            exprs.push((id, single(self.read(value), self.read(rows))));
        }
        let aggregate = Aggregate { input: Box::new(right), keys: vec![], calls, totals: vec![] };
        Ok(mapped(join(JoinKind::Left, *left, Rel::Aggregate(aggregate), vec![]), exprs))
    }
}

/// Whether all conditions of a filter are true.
fn all(conditions: Vec<Expr>) -> Option<Expr> {
    if conditions.is_empty() {
        return None;
    }
    if !conditions.iter().any(fails) {
        return Some(Expr::and(conditions));
    }
    // One that is NULL ends a filter, and not an AND.
    let (fail, first): (Vec<_>, Vec<_>) = conditions.into_iter().partition(fails);
    let first = if first.is_empty() { None } else { Some(Expr::and(first)) };
    first.into_iter().chain(fail).rev().reduce(|rest, e| case(vec![(e, rest)], Expr::boolean(false)))
}

/// Whether a relation is an aggregate without keys and, above it, what [`steps`] takes.
pub(super) fn is_one_row_of_a_group(rel: &Rel) -> bool {
    let mut nodes = Vec::new();
    let mut rel = rel;
    loop {
        nodes.push(rel);
        rel = match rel {
            Rel::Map(node) if node.exprs.iter().any(|(_, e)| e.is_volatile()) => return false,
            Rel::Map(node) => &node.input,
            Rel::Filter(node) => &node.input,
            Rel::Sort(node) if node.fetch != Some(0) => &node.input,
            Rel::Limit(node) if node.skip == 0 && node.fetch != Some(0) => &node.input,
            Rel::Aggregate(node) if node.keys.is_empty() && node.totals.is_empty() => break,
            Rel::Aggregate(node) if is_distinct(node) => &node.input,
            _ => return false,
        };
    }
    // How many parts an expression has once columns are replaced by what they are computed from.
    let mut parts: BTreeMap<ColumnId, usize> = BTreeMap::new();
    nodes.into_iter().rev().all(|node| {
        let sizes: Vec<usize> = node.exprs().into_iter().map(|e| size(e, &parts)).collect();
        match node {
            Rel::Map(map) => {
                parts.extend(map.exprs.iter().map(|(id, _)| *id).zip(sizes.iter().copied()));
                sizes.iter().all(|size| *size <= MOST_PARTS)
            }
            Rel::Filter(_) => sizes.iter().all(|size| *size <= MOST_PARTS),
            _ => true,
        }
    })
}

/// Whether an aggregate gives each row once and computes nothing.
pub(super) fn is_distinct(node: &Aggregate) -> bool {
    !node.keys.is_empty() && node.calls.is_empty() && node.totals.is_empty()
}

pub(super) fn size(e: &Expr, parts: &BTreeMap<ColumnId, usize>) -> usize {
    let own = e.as_column().and_then(|id| parts.get(&id).copied()).unwrap_or(1);
    e.children().into_iter().fold(own, |sum, child| sum.saturating_add(size(child, parts)))
}

/// Takes apart what [`is_one_row_of_a_group`] says yes of: the aggregate, and the expression over its columns, followed by
/// the conditions for which the row is there.
fn steps(mut rel: Rel, value: Expr) -> (Rel, Vec<Expr>) {
    let mut exprs = vec![value];
    while !matches!(&rel, Rel::Aggregate(node) if !is_distinct(node)) {
        match &mut rel {
            Rel::Filter(node) => {
                // Behind the value, and before the conditions above it.
                exprs.splice(1..1, std::mem::take(&mut node.predicates));
            }
            Rel::Map(node) => {
                exprs.iter_mut().for_each(|e| e.replace(&sources(&node.exprs)));
            }
            _ => {}
        }
        match rel.inputs_mut().into_iter().next() {
            Some(input) => rel = take(input),
            None => break,
        }
    }
    (rel, exprs)
}

/// Whether a relation has at most one row, whatever the columns around it are.
fn has_one_row(rel: &Rel) -> bool {
    match rel {
        Rel::Values(node) => node.rows.len() <= 1,
        Rel::Filter(node) => has_one_row(&node.input) || fixes_keys(rel),
        Rel::Map(node) => has_one_row(&node.input),
        Rel::Window(node) => has_one_row(&node.input),
        Rel::Sort(node) => node.fetch.is_some_and(|n| n <= 1) || has_one_row(&node.input),
        Rel::Limit(node) => node.fetch.is_some_and(|n| n <= 1) || has_one_row(&node.input),
        Rel::Aggregate(node) if is_distinct(node) => has_one_row(&node.input),
        Rel::Aggregate(node) => node.keys.is_empty() && node.totals.len() <= 1,
        Rel::Join(node) => match node.kind {
            JoinKind::Inner | JoinKind::Left => has_one_row(&node.left) && has_one_row(&node.right),
            JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware | JoinKind::Mark(_) => {
                has_one_row(&node.left)
            }
            JoinKind::Single => has_one_row(&node.left),
            JoinKind::Full => false,
        },
        Rel::Shared(node) => node.keys().is_some_and(|keys| keys.is_empty()),
        Rel::Scan(_) | Rel::Expand(_) | Rel::Union(_) | Rel::Repeat(_) | Rel::Unnest(_) => false,
    }
}

/// Whether predicates compare every key of an aggregate with what the relation does not give.
fn fixes_keys(rel: &Rel) -> bool {
    let mut predicates = Vec::new();
    let mut below = rel;
    let aggregate = loop {
        below = match below {
            Rel::Filter(node) => {
                predicates.extend(&node.predicates);
                &node.input
            }
            Rel::Map(node) => &node.input,
            Rel::Sort(node) => &node.input,
            Rel::Aggregate(node) if !node.keys.is_empty() && node.totals.is_empty() => break node,
            _ => return false,
        };
    };
    let given = rel.columns();
    aggregate.keys.iter().all(|key| {
        predicates.iter().any(|e| match &e.kind {
            Kind::Binary(Operator::Eq, left, right) => {
                let fixes = |key_side: &Expr, other: &Expr| {
                    key_side.as_column() == Some(*key) && !reads_any(other, &given) && !other.is_volatile()
                };
                fixes(left, right) || fixes(right, left)
            }
            _ => false,
        })
    })
}
