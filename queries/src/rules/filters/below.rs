//! Predicates below operators of one input, and below unions.
//!
//! - [`Map`](Rel::Map): what is computed takes the place of its column. It does not if it is volatile, makes the
//!   predicate many times as large, or is expensive where nothing is won by it. Above a scan it would be computed
//!   twice. What a predicate that stays does not read is computed above it.
//! - Aggregates: predicates on keys alone, of which there is at least one. Rows of a group are given together or not at
//!   all then, and a group has rows. Only groups of no rows ([`Aggregate::totals`]) are given without. A float that
//!   stands for its equals in a group may not be looked at but by its value.
//! - Windows: predicates on what the partitions are made by alone, as of groups. All rows of a partition are there, or none.
//! - Unions: to each input, by the places of columns.
//! - Sorts and repetitions: all. Expand: what reads neither its keys nor its set.
//! - Never below LIMIT, and what else keeps the first rows.

use std::collections::{BTreeMap, BTreeSet};

use datafusion_expr::Operator;

use super::facts::is_by_value;
use super::predicate::{Predicate, split};
use super::{Push, filter, nulls};
use crate::algebra::{Aggregate, ColumnId, Expr, Kind, Map, Rel, Union, Window};
use crate::compile::is_text;
use crate::error::Result;

/// The most parts that a predicate may have once columns are replaced by what they are computed of.
const MOST_PARTS: usize = 500;

/// The most parts that predicates may have over all inputs of a union.
const MOST_IN_UNIONS: usize = 1_000_000;

/// Of more columns an expression is not asked which of them make it NULL.
const MOST_COLUMNS: usize = 16;

impl Push<'_> {
    /// A relation other than a filter or a join, with predicates moved below it.
    pub(super) fn below(&mut self, rel: Rel, at: usize, above: Vec<Predicate>) -> Result<Rel> {
        match rel {
            Rel::Map(node) => self.map(node, at, above),
            Rel::Aggregate(node) => self.aggregate(node, at, above),
            Rel::Window(node) => self.window(node, at, above),
            Rel::Union(node) => self.union(node, at, above),
            Rel::Expand(mut node) => {
                let own = BTreeSet::from_iter(node.keys.iter().map(|(id, _)| *id).chain([node.id]));
                let may = |predicate: &Predicate| {
                    !predicate.is_volatile && predicate.reads_only(|id| !own.contains(&id))
                };
                let (moving, staying) = split(above, &may);
                *node.input = self.push(take(&mut node.input), at + 1, moving, false)?;
                Ok(filter(Rel::Expand(node), staying))
            }
            Rel::Repeat(mut node) => {
                let times = node.times;
                let may =
                    |predicate: &Predicate| !predicate.is_volatile && predicate.reads_only(|id| id != times);
                let (moving, staying) = split(above, &may);
                *node.input = self.push(take(&mut node.input), at + 1, moving, false)?;
                Ok(filter(Rel::Repeat(node), staying))
            }
            Rel::Unnest(mut node) => {
                let own = BTreeSet::from_iter(node.made());
                // On a row without items nothing is asked.
                let may = |predicate: &Predicate| {
                    !predicate.is_volatile
                        && (node.keeps || !predicate.fails)
                        && predicate.reads_only(|id| !own.contains(&id))
                };
                let (moving, staying) = split(above, &may);
                *node.input = self.push(take(&mut node.input), at + 1, moving, false)?;
                Ok(filter(Rel::Unnest(node), staying))
            }
            Rel::Sort(mut node) if node.fetch.is_none() => {
                *node.input = self.push(take(&mut node.input), at + 1, above, true)?;
                Ok(Rel::Sort(node))
            }
            Rel::Sort(mut node) => {
                *node.input = self.push_apart(take(&mut node.input), at + 1)?;
                Ok(filter(Rel::Sort(node), above))
            }
            Rel::Limit(mut node) => {
                *node.input = self.push_apart(take(&mut node.input), at + 1)?;
                Ok(filter(Rel::Limit(node), above))
            }
            leaf @ (Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_)) => Ok(filter(leaf, above)),
            other @ (Rel::Filter(_) | Rel::Join(_)) => Ok(filter(other, above)),
        }
    }

    fn map(&mut self, mut node: Map, at: usize, above: Vec<Predicate>) -> Result<Rel> {
        let input = take(&mut node.input);
        let computed: BTreeMap<ColumnId, &Expr> = node.exprs.iter().map(|(id, e)| (*id, e)).collect();
        let wins = wins_below(&input);
        let may = |predicate: &Predicate| {
            let mut read = predicate.columns.iter().filter_map(|id| computed.get(id)).peekable();
            !predicate.is_volatile
                && (read.peek().is_none()
                    || read.all(|e| !e.is_volatile() && (wins || !is_expensive(e)))
                        && is_small(&predicate.expr, &computed))
        };
        let (moving, staying) = split(above, &may);
        let mut below = Vec::with_capacity(moving.len());
        for mut predicate in moving {
            if predicate.columns.iter().all(|id| !computed.contains_key(id)) {
                below.push(predicate);
                continue;
            }
            predicate.expr.replace(&|id| computed.get(&id).map(|e| (*e).clone()));
            below.extend(self.simplifier.conditions(vec![predicate.expr])?.into_iter().map(Predicate::new));
        }
        for (id, e) in &node.exprs {
            if self.required.contains(id) {
                let columns = e.columns();
                let few = columns.len() <= MOST_COLUMNS;
                let needed =
                    columns.iter().filter(|id| few && nulls::is_null_with(e, &|other| other == **id));
                self.required.extend(needed.copied());
            }
        }
        let input = Box::new(self.push(input, at + 1, below, true)?);
        if staying.is_empty() {
            return Ok(Rel::Map(Map { input, exprs: node.exprs }));
        }
        // What the predicates don't read is computed of the rows that are left.
        let read: BTreeSet<ColumnId> =
            staying.iter().flat_map(|predicate| &predicate.columns).copied().collect();
        let (needed, others): (Vec<_>, Vec<_>) =
            node.exprs.into_iter().partition(|(id, _)| read.contains(id));
        let filtered = filter(mapped(input, needed), staying);
        Ok(mapped(Box::new(filtered), others))
    }

    fn aggregate(&mut self, mut node: Aggregate, at: usize, above: Vec<Predicate>) -> Result<Rel> {
        let keys = BTreeSet::from_iter(node.keys.iter().copied());
        let has_rows = !keys.is_empty() && node.totals.is_empty();
        let may = |predicate: &Predicate| {
            has_rows
                && !predicate.is_volatile
                && !predicate.columns.is_empty()
                && predicate.reads_only(|id| keys.contains(&id))
                && is_by_value(&predicate.expr)
        };
        let (moving, staying) = split(above, &may);
        *node.input = self.push(take(&mut node.input), at + 1, moving, false)?;
        Ok(filter(Rel::Aggregate(node), staying))
    }

    fn window(&mut self, mut node: Window, at: usize, above: Vec<Predicate>) -> Result<Rel> {
        let keys: BTreeSet<ColumnId> = node.partition.iter().filter_map(Expr::as_column).collect();
        let may = |predicate: &Predicate| {
            !predicate.is_volatile
                && !predicate.columns.is_empty()
                && predicate.reads_only(|id| keys.contains(&id))
                && is_by_value(&predicate.expr)
        };
        let (moving, staying) = split(above, &may);
        // A row that is not wanted above is still one of its partition.
        let required = self.required.clone();
        self.required.retain(|id| keys.contains(id));
        *node.input = self.push(take(&mut node.input), at + 1, moving, false)?;
        self.required = required;
        Ok(filter(Rel::Window(node), staying))
    }

    fn union(&mut self, node: Union, at: usize, above: Vec<Predicate>) -> Result<Rel> {
        let places: BTreeMap<ColumnId, usize> =
            node.columns.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let parts = above.iter().map(|predicate| parts(&predicate.expr)).sum::<usize>();
        let is_small = parts.saturating_mul(node.inputs.len()) <= MOST_IN_UNIONS;
        let may = |predicate: &Predicate| {
            is_small && !predicate.is_volatile && predicate.reads_only(|id| places.contains_key(&id))
        };
        let (moving, staying) = split(above, &may);
        let required: Vec<usize> = self.required.iter().filter_map(|id| places.get(id)).copied().collect();
        let mut inputs = Vec::with_capacity(node.inputs.len());
        let mut number = at + 1;
        for (input, from) in node.inputs {
            let column = |id: ColumnId| places.get(&id).and_then(|place| from.get(*place)).copied();
            self.required.extend(required.iter().filter_map(|place| from.get(*place)));
            let own = moving.iter().cloned().map(|predicate| moved(predicate, &column)).collect();
            let size = self.origins.size(number);
            inputs.push((self.push(input, number, own, false)?, from));
            number += size;
        }
        Ok(filter(Rel::Union(Union { columns: node.columns, inputs }), staying))
    }
}

/// Columns computed beside those of the input, if there are any.
fn mapped(input: Box<Rel>, exprs: Vec<(ColumnId, Expr)>) -> Rel {
    if exprs.is_empty() { *input } else { Rel::Map(Map { input, exprs }) }
}

fn take(rel: &mut Rel) -> Rel {
    crate::rules::simplify::nodes::taken(rel)
}

/// A predicate of a union as one of an input.
fn moved(mut predicate: Predicate, column: &dyn Fn(ColumnId) -> Option<ColumnId>) -> Predicate {
    predicate.expr.change(&mut |e| {
        if let Kind::Column(id) = &mut e.kind
            && let Some(own) = column(*id)
        {
            *id = own;
        }
    });
    Predicate::new(predicate.expr)
}

/// How many parts an expression has.
fn parts(e: &Expr) -> usize {
    let mut parts = 0;
    e.look(&mut |_| {
        parts += 1;
        true
    });
    parts
}

/// Whether a predicate stays small once columns are replaced.
fn is_small(predicate: &Expr, computed: &BTreeMap<ColumnId, &Expr>) -> bool {
    let mut more = 0_usize;
    predicate.look(&mut |e| {
        if let Some(e) = e.as_column().and_then(|id| computed.get(&id)) {
            more = more.saturating_add(parts(e));
        }
        more <= MOST_PARTS
    });
    more <= MOST_PARTS
}

/// Whether an expression takes so long that it is computed once rather than twice.
pub fn is_expensive(e: &Expr) -> bool {
    e.any(&mut |e| match &e.kind {
        Kind::Call { .. } | Kind::Like { .. } | Kind::Case { .. } => true,
        Kind::Binary(
            Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
            | Operator::StringConcat,
            ..,
        ) => true,
        Kind::Cast { expr, .. } => is_text(&expr.data_type) || is_text(&e.data_type),
        _ => false,
    })
}

/// Whether something is won by a filter below computed columns: if it can go on from there.
fn wins_below(input: &Rel) -> bool {
    match input {
        Rel::Filter(node) => wins_below(&node.input),
        Rel::Map(node) => wins_below(&node.input),
        Rel::Sort(node) if node.fetch.is_none() => wins_below(&node.input),
        Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) | Rel::Limit(_) | Rel::Sort(_) => false,
        Rel::Window(_) => false,
        Rel::Join(_) | Rel::Aggregate(_) | Rel::Expand(_) | Rel::Union(_) | Rel::Repeat(_) => true,
        Rel::Unnest(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, eq, filter, group, id, int, map, more, quotient, union};

    #[test]
    fn a_filter_moves_below_what_is_computed() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let [a, b] = ["a", "b"].map(|name| sample.number(name));
        let computed = map(t, vec![(id(&a), quotient(&x, &int(2)))]);
        let rel = filter(map(computed, vec![(id(&b), int(7))]), vec![more(&a, &b), eq(&x, &int(1))]);
        sample.pushes(
            rel,
            "map b#2 := 7\n  map a#1 := x#0 / 2\n    filter ((x#0 / 2) > 7) AND (x#0 = 1)\n      scan t x#0\n",
        );
    }

    #[test]
    fn what_a_filter_does_not_read_is_computed_above_it() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (text, b) = (sample.text("text"), sample.number("b"));
        let cast = Kind::Cast { expr: Box::new(x.clone()), safe: false };
        let cast = Expr { kind: cast, data_type: text.data_type.clone() };
        let computed = map(t, vec![(id(&text), cast), (id(&b), quotient(&x, &int(2)))]);
        sample.pushes(
            filter(computed, vec![more(&text, &text)]),
            "map b#2 := x#0 / 2\n  filter (text#1 > text#1)\n    map text#1 := CAST(x#0 AS Utf8View)\n      scan t x#0\n",
        );
    }

    #[test]
    fn a_filter_moves_below_groups_if_it_asks_for_keys() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let rel = filter(group(t.clone(), vec![id(&x)]), vec![eq(&x, &int(1))]);
        sample.pushes(rel, "aggregate by x#0\n  filter (x#0 = 1)\n    scan t x#0, y#1\n");
        let never = filter(group(t, vec![]), vec![Expr::boolean(false)]);
        sample.pushes(never.clone(), &sample.columns.show_rel(&never));
        let _ = y;
    }

    #[test]
    fn a_filter_moves_into_each_input_of_a_union() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let p = sample.number("p");
        let all = union(vec![id(&p)], vec![(t, vec![id(&x)]), (u, vec![id(&y)])]);
        sample.pushes(
            filter(all, vec![eq(&p, &int(1))]),
            "union p#2 of x#0 of y#1\n  filter (x#0 = 1)\n    scan t x#0\n  filter (y#1 = 1)\n    scan u y#1\n",
        );
    }

    #[test]
    fn no_filter_moves_below_a_limit() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let limit = crate::algebra::Limit { input: Box::new(t), skip: 0, fetch: Some(1) };
        let kept = filter(Rel::Limit(limit), vec![eq(&x, &int(1))]);
        sample.pushes(kept.clone(), &sample.columns.show_rel(&kept));
    }
}
