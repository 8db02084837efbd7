//! An expression whose subqueries are columns that joins add to the rows on which it is evaluated.
//!
//! What can fail in a subquery's value stays behind what guards it: in `a = 0 OR 10 // a IN (SELECT …)` the quotient is
//! NULL where the first term is true.

use std::collections::BTreeSet;

use crate::algebra::{ColumnId, Expr, JoinKind, Kind, Rel, Sort, SortKey, Subquery, SubqueryKind};
use crate::error::Result;

use super::failing::{fails, rel_fails};
use super::stages::{canonical, is_volatile};
use super::{Unnest, case, filtered, gives, join, mapped, take};

/// How many subqueries of one place are remembered.
const MOST_FOUND: usize = 200;

/// What a value may be in place of NULL where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// Nothing else.
    Exact,
    /// False: only whether it is true matters.
    False,
    /// True: only whether it is false matters.
    True,
}

impl Nulls {
    /// Below a NOT.
    pub(super) fn opposite(self) -> Nulls {
        match self {
            Nulls::Exact => Nulls::Exact,
            Nulls::False => Nulls::True,
            Nulls::True => Nulls::False,
        }
    }
}

/// The rows on which expressions are evaluated, as joins add columns to them.
pub(super) struct InputRows {
    pub(super) rel: Rel,
    /// In the condition of a join the right side, and the columns that it has by itself.
    pub(super) right: Option<(Rel, BTreeSet<ColumnId>)>,
    /// Subqueries that are columns already.
    found: Vec<(Nulls, Subquery, Expr)>,
}

impl InputRows {
    pub(super) fn of(rel: Rel) -> InputRows {
        InputRows { rel, right: None, found: vec![] }
    }

    pub(super) fn of_join(left: Rel, right: Rel) -> InputRows {
        let columns = right.columns();
        InputRows { rel: left, right: Some((right, columns)), found: vec![] }
    }

    /// The side of a join that gives one of these columns, else the left one.
    pub(super) fn side(&self, reads: &BTreeSet<ColumnId>) -> Side {
        match &self.right {
            Some((_, columns)) if reads.iter().any(|id| columns.contains(id)) => Side::Right,
            _ => Side::Left,
        }
    }

    pub(super) fn at(&mut self, side: Side) -> &mut Rel {
        match (&mut self.right, side) {
            (Some((rel, _)), Side::Right) => rel,
            _ => &mut self.rel,
        }
    }

    /// Joins rows to a side. Rows that are sorted stay so.
    pub(super) fn join(&mut self, side: Side, kind: JoinKind, right: Rel, predicates: Vec<Expr>) {
        let rel = self.at(side);
        let left = take(rel);
        *rel = below_sort(left, |left| join(kind, left, right, predicates));
    }

    /// Computes columns of a side.
    pub(super) fn map(&mut self, side: Side, exprs: Vec<(ColumnId, Expr)>) {
        let rel = self.at(side);
        *rel = mapped(take(rel), exprs);
    }

    /// Keeps the rows for which the predicates are true.
    pub(super) fn filter(&mut self, predicates: &mut Vec<Expr>) {
        self.rel = filtered(take(&mut self.rel), std::mem::take(predicates));
    }
}

/// Changes what is sorted. Rows that have an order for another reason are sorted again.
fn below_sort(rel: Rel, change: impl FnOnce(Rel) -> Rel) -> Rel {
    match rel {
        Rel::Sort(Sort { input, keys, fetch: None }) => {
            let input = Box::new(below_sort(*input, change));
            Rel::Sort(Sort { input, keys, fetch: None })
        }
        rel => match order(&rel).cloned() {
            Some(keys) => Rel::Sort(Sort { input: Box::new(change(rel)), keys, fetch: None }),
            None => change(rel),
        },
    }
}

/// The order that rows have.
fn order(rel: &Rel) -> Option<&Vec<SortKey>> {
    match rel {
        Rel::Sort(node) => Some(&node.keys),
        Rel::Limit(node) => order(&node.input),
        Rel::Map(node) => order(&node.input),
        Rel::Filter(node) => order(&node.input),
        _ => None,
    }
}

/// A side of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Unnest {
    /// An expression without subqueries of the same value, up to what `nulls` allows. Where a condition of `skip` is true
    /// the value is not asked for.
    pub(super) fn value(
        &mut self,
        mut e: Expr,
        place: &mut InputRows,
        nulls: Nulls,
        skip: &mut Vec<Expr>,
    ) -> Result<Expr> {
        if !e.has_subquery() {
            return Ok(e);
        }
        let guards = skip.len();
        match e.kind {
            Kind::Subquery(subquery) => return self.subquery(*subquery, place, nulls, skip),
            Kind::And(ref mut terms) => {
                let last = terms.iter().rposition(fails);
                for (i, term) in terms.iter_mut().enumerate() {
                    self.replace(term, place, nulls, skip)?;
                    if nulls == Nulls::False && last > Some(i) {
                        // NULL in the place of false would let what can fail be evaluated.
                        settle(term, true);
                    }
                    skip.push(term.clone().not());
                }
            }
            Kind::Or(ref mut terms) => {
                let last = terms.iter().rposition(fails);
                for (i, term) in terms.iter_mut().enumerate() {
                    self.replace(term, place, nulls, skip)?;
                    if nulls == Nulls::True && last > Some(i) {
                        settle(term, false);
                    }
                    skip.push(term.clone());
                }
            }
            Kind::Not(ref mut inner) => self.replace(inner, place, nulls.opposite(), skip)?,
            Kind::Case { operand: None, ref mut branches, ref mut otherwise } => {
                for (when, then) in branches {
                    self.replace(when, place, Nulls::False, skip)?;
                    skip.push(Expr::or([when.clone().not(), when.clone().is_null()]));
                    self.replace(then, place, nulls, skip)?;
                    skip.pop();
                    skip.push(when.clone());
                }
                if let Some(otherwise) = otherwise {
                    self.replace(otherwise, place, nulls, skip)?;
                }
            }
            _ => {
                for child in e.children_mut() {
                    self.replace(child, place, Nulls::Exact, skip)?;
                }
            }
        }
        skip.truncate(guards);
        Ok(e)
    }

    /// Puts what [`Unnest::value`] makes of an expression in its place.
    pub(super) fn replace(
        &mut self,
        e: &mut Expr,
        place: &mut InputRows,
        nulls: Nulls,
        skip: &mut Vec<Expr>,
    ) -> Result<()> {
        if e.has_subquery() {
            let whole = std::mem::replace(e, Expr::boolean(None));
            *e = self.value(whole, place, nulls, skip)?;
        }
        Ok(())
    }

    fn subquery(
        &mut self,
        subquery: Subquery,
        place: &mut InputRows,
        nulls: Nulls,
        skip: &mut Vec<Expr>,
    ) -> Result<Expr> {
        let values: &[Expr] = match &subquery.kind {
            SubqueryKind::Any { values, .. } | SubqueryKind::All { values, .. } => values,
            SubqueryKind::Scalar | SubqueryKind::Exists => &[],
        };
        let mut reads = subquery.rel.free();
        values.iter().for_each(|e| e.collect_columns(&mut reads));
        let side = place.side(&reads);
        // In the condition of a join a guard may read the other side.
        let mut none = Vec::new();
        let skip = if place.right.is_some() { &mut none } else { skip };
        let is_guarded = !skip.is_empty() && (rel_fails(&subquery.rel) || values.iter().any(fails));
        let is_new_each_time = is_volatile(&subquery.rel) || values.iter().any(Expr::is_volatile);
        let shape = if is_guarded || is_new_each_time { None } else { Some(canonical(&subquery)) };
        if let Some(shape) = &shape {
            let same = |(n, other, _): &&(Nulls, Subquery, Expr)| *n == nulls && other == shape;
            if let Some((_, _, value)) = place.found.iter().find(same) {
                return Ok(value.clone());
            }
        }
        let Subquery { kind, rel, columns } = subquery;
        let (rel, columns) = self.rows(rel, columns)?;
        let value = match kind {
            SubqueryKind::Scalar => self.scalar(rel, &columns, place, side, skip)?,
            SubqueryKind::Exists => self.exists(rel, place, side, nulls, skip)?,
            SubqueryKind::Any { .. } | SubqueryKind::All { .. } => {
                let quantified = self.compared(kind, rel, columns, place, side, skip)?;
                self.quantified(quantified, place, side, nulls, skip)?
            }
        };
        if let Some(shape) = shape
            && place.found.len() < MOST_FOUND
        {
            place.found.push((nulls, shape, value.clone()));
        }
        Ok(value)
    }

    /// The relation of a subquery, without subqueries in its expressions, and its columns, which the relation gives.
    pub(super) fn rows(&mut self, rel: Rel, mut columns: Vec<ColumnId>) -> Result<(Rel, Vec<ColumnId>)> {
        let mut rel = self.relation(rel)?;
        // A column around the subquery may be one of its columns, also where it is a key of an aggregate.
        let free = rel.free();
        let mut outer = Vec::new();
        for id in &mut columns {
            if free.contains(id) || !gives(&rel, *id) {
                let e = self.read(*id);
                *id = self.like(*id);
                outer.push((*id, e));
            }
        }
        if !outer.is_empty() {
            rel = mapped(rel, outer);
        }
        Ok((rel, columns))
    }

    /// What in a subquery can fail is computed of NULLs for rows that do not ask for its value.
    pub(super) fn guard(&mut self, rel: &mut Rel, place: &mut InputRows, side: Side, skip: &[Expr]) {
        if skip.is_empty() || !rel_fails(rel) {
            return;
        }
        let outer: Vec<ColumnId> = rel.free().into_iter().filter(|id| gives(place.at(side), *id)).collect();
        let mut exprs = Vec::with_capacity(outer.len());
        for id in &outer {
            let guarded = guarded(self.read(*id), skip);
            exprs.push((self.like(*id), guarded));
        }
        let place_of = |id: ColumnId| outer.iter().position(|other| *other == id);
        let with = |id: ColumnId| place_of(id).map(|i| self.columns.read(exprs[i].0));
        rel.replace_free(&with);
        place.map(side, exprs);
    }

    /// A value as a column or a constant, so that it is computed once for each row.
    pub(super) fn settled(&mut self, e: Expr, place: &mut InputRows, side: Side, skip: &[Expr]) -> Expr {
        if e.as_column().is_some() || e.as_literal().is_some() {
            return e;
        }
        let column = self.column("value", e.data_type.clone());
        let e = if fails(&e) { guarded(e, skip) } else { e };
        place.map(side, vec![(column, e)]);
        self.read(column)
    }
}

/// Makes a condition true or false by whether it is `decides`.
fn settle(e: &mut Expr, decides: bool) {
    let whole = std::mem::replace(e, Expr::boolean(None));
    let condition = if decides { whole } else { whole.not() };
    *e = case(vec![(condition, Expr::boolean(decides))], Expr::boolean(!decides));
}

/// A value that is NULL where a condition of `skip` is true.
fn guarded(e: Expr, skip: &[Expr]) -> Expr {
    if skip.is_empty() {
        return e;
    }
    let null = Expr::null(&e.data_type);
    case(skip.iter().map(|skip| (skip.clone(), null.clone())).collect(), e)
}
