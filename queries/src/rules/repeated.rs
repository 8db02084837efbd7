//! Expressions that stand several times in one operator, computed once below it.
//!
//! `sum(a * (1 - b)), avg(a * (1 - b))` computes the product once, in a [`Map`] below the aggregate. The largest common
//! expressions are taken; what these have in common is found when the new operator is looked at, whose expressions are no
//! more than half as large together.
//!
//! An expression is computed for all rows then. So one of its places is such that it was before: not a branch of a CASE, not
//! in AND and OR, not the argument of an aggregate with FILTER. What can fail does so on the same rows. What is volatile is
//! computed at each place, and what costs next to nothing, too.

use std::collections::BTreeMap;

use datafusion_expr::Volatility;

use super::hash::hash_over;
use super::simplify::nodes::taken;
use crate::algebra::{ColumnId, Columns, Expr, Kind, Map, Rel};
use crate::compile::is_text;

/// A column made here is named by its expression if that has at most so many parts.
const SHORT: usize = 30;

/// Computes what stands several times in an operator once, in a tree.
pub fn share(rel: &mut Rel, columns: &mut Columns) {
    share_once(rel, columns);
    rel.inputs_mut().into_iter().for_each(|input| share(input, columns));
}

/// A part of an expression.
struct Part {
    hash: u64,
    /// How many parts it has, itself among them. They follow it in a list.
    size: usize,
    /// Whether it is worth a column, and has the same value at each place.
    is_worth: bool,
    is_volatile: bool,
}

/// Where an expression stands.
#[derive(Default)]
struct Places<'a> {
    /// Expressions of one hash, and how often they stand somewhere.
    all: BTreeMap<u64, Vec<Place<'a>>>,
}

struct Place<'a> {
    e: &'a Expr,
    count: usize,
    /// Whether it is computed for all rows at one of its places.
    is_sure: bool,
    /// How often it stands where it is a part of no other one that is shared.
    taken: usize,
    /// The column that is made for it.
    column: Option<ColumnId>,
}

/// Puts what an operator has several times into a new one below it.
fn share_once(rel: &mut Rel, columns: &mut Columns) {
    let exprs = exprs(rel);
    if exprs.iter().all(|(e, _)| e.children().is_empty()) {
        return;
    }
    let parts: Vec<Vec<Part>> = exprs.iter().map(|(e, _)| parts(e)).collect();
    let mut places = Places::default();
    for ((e, is_sure), parts) in exprs.iter().zip(&parts) {
        places.count(e, parts, *is_sure);
    }
    if places.all.values().flatten().all(|place| !place.is_shared()) {
        return;
    }
    let mut order = Vec::new();
    for ((e, _), parts) in exprs.iter().zip(&parts) {
        places.take(e, parts, &mut order);
    }
    let mut made: Vec<(ColumnId, Expr)> = Vec::new();
    for (hash, number) in order {
        let Some(place) = places.all.get_mut(&hash).and_then(|same| same.get_mut(number)) else { continue };
        if place.taken > 1 && place.column.is_none() {
            let id = columns.add(name(place.e, columns), place.e.data_type.clone());
            place.column = Some(id);
            made.push((id, place.e.clone()));
        }
    }
    if made.is_empty() {
        return;
    }
    let by_hash = by_hash(&made);
    let mut parts = parts.iter();
    for e in exprs_mut(rel) {
        if let Some(parts) = parts.next() {
            replace(e, parts, &by_hash);
        }
    }
    if let Some(input) = rel.inputs_mut().into_iter().next() {
        *input = Rel::Map(Map { input: Box::new(taken(input)), exprs: made });
    }
}

/// The expressions of operators that are looked at, and whether each is computed for all rows.
fn exprs(rel: &Rel) -> Vec<(&Expr, bool)> {
    match rel {
        Rel::Map(node) => node.exprs.iter().map(|(_, e)| (e, true)).collect(),
        Rel::Aggregate(node) => {
            let calls = node.calls.iter().map(|(_, call)| call);
            calls
                .flat_map(|call| {
                    let args = call.args.iter().map(|arg| (arg, call.filter.is_none()));
                    args.chain(call.filter.iter().map(|e| (e, true)))
                })
                .collect()
        }
        _ => vec![],
    }
}

/// The same, to be changed.
fn exprs_mut(rel: &mut Rel) -> Vec<&mut Expr> {
    match rel {
        Rel::Map(node) => node.exprs.iter_mut().map(|(_, e)| e).collect(),
        Rel::Aggregate(node) => {
            let calls = node.calls.iter_mut().map(|(_, call)| call);
            calls.flat_map(|call| call.args.iter_mut().chain(call.filter.iter_mut())).collect()
        }
        _ => vec![],
    }
}

/// The parts of an expression, each before its own.
fn parts(e: &Expr) -> Vec<Part> {
    let mut all = Vec::new();
    add_parts(e, &mut all);
    all
}

fn add_parts(e: &Expr, all: &mut Vec<Part>) {
    let at = all.len();
    all.push(Part { hash: 0, size: 0, is_worth: false, is_volatile: false });
    let children = e.children();
    let mut hashes = Vec::with_capacity(children.len());
    let mut is_volatile = match &e.kind {
        Kind::Call { function, .. } => function.signature().volatility == Volatility::Volatile,
        kind => matches!(kind, Kind::Subquery(_)),
    };
    for child in children {
        let of_child = all.len();
        add_parts(child, all);
        if let Some(part) = all.get(of_child) {
            hashes.push(part.hash);
            is_volatile |= part.is_volatile;
        }
    }
    let size = all.len() - at;
    if let Some(part) = all.get_mut(at) {
        *part =
            Part { hash: hash_over(e, &hashes), size, is_worth: !is_volatile && is_worth(e), is_volatile };
    }
}

/// Whether an expression takes longer than to read a column.
fn is_worth(e: &Expr) -> bool {
    let is_simple = |e: &Expr| matches!(e.kind, Kind::Column(_) | Kind::Literal(_) | Kind::Stage(_));
    match &e.kind {
        Kind::Column(_) | Kind::Literal(_) | Kind::Stage(_) | Kind::Subquery(_) => false,
        Kind::IsNull(inner) => !is_simple(inner),
        Kind::Not(inner) => is_worth(inner),
        Kind::Cast { expr, .. } => !is_simple(expr) || is_text(&expr.data_type) || is_text(&e.data_type),
        _ => true,
    }
}

/// Looks at the direct parts of an expression, each with its own parts and whether it is computed wherever the whole is.
fn each_part<'a, 'b>(e: &'a Expr, parts: &'b [Part], visit: &mut dyn FnMut(&'a Expr, &'b [Part], bool)) {
    let first_only = match &e.kind {
        Kind::Case { .. } => true,
        Kind::Call { function, .. } => matches!(function.name(), "coalesce" | "nvl" | "nvl2"),
        _ => false,
    };
    let is_open = matches!(e.kind, Kind::And(_) | Kind::Or(_));
    let mut at = 1;
    for (number, child) in e.children().into_iter().enumerate() {
        let size = parts.get(at).map_or(1, |part| part.size);
        visit(child, parts.get(at..at + size).unwrap_or_default(), !is_open && (number == 0 || !first_only));
        at += size;
    }
}

impl Place<'_> {
    fn is_shared(&self) -> bool {
        self.count > 1 && self.is_sure
    }
}

impl<'a> Places<'a> {
    fn count(&mut self, e: &'a Expr, parts: &[Part], is_sure: bool) {
        let Some(part) = parts.first() else { return };
        if part.is_worth {
            let same = self.all.entry(part.hash).or_default();
            match same.iter_mut().find(|place| place.e == e) {
                Some(place) => {
                    place.count += 1;
                    place.is_sure |= is_sure;
                }
                None => same.push(Place { e, count: 1, is_sure, taken: 0, column: None }),
            }
        }
        each_part(e, parts, &mut |child, parts, always| self.count(child, parts, is_sure && always));
    }

    /// Counts the places at which the largest shared expressions stand, and notes these in the order in which they stand.
    fn take(&mut self, e: &'a Expr, parts: &[Part], order: &mut Vec<(u64, usize)>) {
        let Some(part) = parts.first() else { return };
        let same = if part.is_worth { self.all.get_mut(&part.hash) } else { None };
        let found = same.and_then(|same| same.iter_mut().enumerate().find(|(_, place)| place.e == e));
        if let Some((number, place)) = found.filter(|(_, place)| place.is_shared()) {
            place.taken += 1;
            order.push((part.hash, number));
            return;
        }
        each_part(e, parts, &mut |child, parts, _| self.take(child, parts, order));
    }
}

fn by_hash(made: &[(ColumnId, Expr)]) -> BTreeMap<u64, Vec<&(ColumnId, Expr)>> {
    let mut all: BTreeMap<u64, Vec<&(ColumnId, Expr)>> = BTreeMap::new();
    for entry in made {
        all.entry(super::hash::hash(&entry.1)).or_default().push(entry);
    }
    all
}

/// Puts columns in the place of expressions, the largest ones first.
fn replace(e: &mut Expr, parts: &[Part], made: &BTreeMap<u64, Vec<&(ColumnId, Expr)>>) {
    let Some(part) = parts.first() else { return };
    if let Some((id, _)) = made.get(&part.hash).and_then(|same| same.iter().find(|(_, other)| other == e)) {
        e.kind = Kind::Column(*id);
        return;
    }
    let mut at = 1;
    for child in e.children_mut() {
        let size = parts.get(at).map_or(1, |part| part.size);
        replace(child, parts.get(at..at + size).unwrap_or_default(), made);
        at += size;
    }
}

fn name(e: &Expr, columns: &Columns) -> String {
    let mut parts = 0;
    e.look(&mut |_| {
        parts += 1;
        parts <= SHORT
    });
    if parts <= SHORT { columns.show(e) } else { "shared".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, eq, id, int, map, more, quotient};

    fn share_all(statement: &mut Statement) {
        share(&mut statement.root, &mut statement.columns);
    }

    #[test]
    fn what_stands_twice_is_computed_once() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let [a, b] = ["a", "b"].map(|name| sample.number(name));
        let q = quotient(&x, &y);
        let rel = map(t, vec![(id(&a), quotient(&q, &int(2))), (id(&b), quotient(&q, &int(3)))]);
        sample.becomes(
            share_all,
            rel,
            &[&a, &b],
            "map a#2 := x#0 / y#1#4 / 2, b#3 := x#0 / y#1#4 / 3\n  map x#0 / y#1#4 := x#0 / y#1\n    scan t x#0, y#1\n",
        );
    }

    #[test]
    fn what_is_not_computed_for_all_rows_stays() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let (a, b) = (sample.condition("a"), sample.condition("b"));
        let guarded = |n| Expr::and([more(&y, &int(0)), eq(&quotient(&x, &y), &int(n))]);
        let rel = map(t, vec![(id(&a), guarded(1)), (id(&b), guarded(2))]);
        let kept = sample.columns.show_rel(&rel);
        sample.becomes(share_all, rel, &[&a, &b], &kept);
    }
}
