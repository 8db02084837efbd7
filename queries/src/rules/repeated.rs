//! Expressions that stand several times in an operator, or in operators one above the other, computed once below them.
//!
//! `sum(a * (1 - b)), avg(a * (1 - b))` computes the product once, in a [`Map`] below the aggregate. The largest common
//! expressions are taken. What these have in common is found when the new operator is looked at, whose expressions are
//! no more than half as large together. What an operator below has computed is read, not computed again: a key of
//! groups as the argument of an aggregate.
//!
//! An expression is computed for all rows then. So one of its places is such that it was before. It is not a branch of
//! a CASE, not in AND and OR, not the argument of an aggregate with FILTER. What can fail does so on the same rows.
//! What is volatile is computed at each place, and what costs next to nothing, too.
//!
//! What a filter asks for and an operator above it too is computed between two filters. The predicates that don't read
//! it come before, so that it is computed on the rows that they leave. That is done for what takes long and can't fail.

use std::collections::BTreeMap;

use datafusion_expr::Volatility;

use super::filters::below::is_expensive;
use super::filters::predicate::{Predicate, split};
use super::hash::hash_over;
use super::simplify::nodes::taken;
use crate::algebra::{ColumnId, Columns, Expr, Filter, JoinKind, Kind, Map, Rel};
use crate::compile::{fails, is_text};

/// A column made here is named by its expression if that has at most so many parts.
const SHORT: usize = 30;

/// Computes what stands several times in a tree once.
pub fn share(rel: &mut Rel, columns: &mut Columns) {
    Sharing { columns, above: Above::default() }.share(rel);
}

/// Computed columns by the hashes of what they are.
type Known = BTreeMap<u64, Vec<(ColumnId, Expr)>>;

/// The hashes of what operators above compute of the same rows, and how often. Two expressions of one hash are equal but for
/// the rarest case, in which a column is made that is read once.
type Above = BTreeMap<u64, usize>;

struct Sharing<'a> {
    columns: &'a mut Columns,
    above: Above,
}

impl Sharing<'_> {
    /// Shares what stands several times in a relation and those below it. Gives the columns among its own that are computed.
    fn share(&mut self, rel: &mut Rel) -> Known {
        let made = self.share_once(rel);
        // Operators above read the columns that are made now.
        let mut hidden = Vec::with_capacity(made.len());
        for (hash, count) in made {
            if let Some(above) = self.above.get_mut(&hash) {
                let count = count.min(*above);
                *above -= count;
                hidden.push((hash, count));
            }
        }
        let known = self.share_inputs(rel);
        for (hash, count) in hidden {
            *self.above.entry(hash).or_default() += count;
        }
        known
    }

    fn share_inputs(&mut self, rel: &mut Rel) -> Known {
        let mut known = match rel {
            Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) => return Known::new(),
            Rel::Union(_) => {
                rel.inputs_mut().into_iter().for_each(|input| {
                    self.share_apart(input, vec![]);
                });
                return Known::new();
            }
            Rel::Aggregate(node) => {
                let own = hashes(node.calls.iter().flat_map(|(_, call)| call.exprs()));
                self.share_apart(&mut node.input, own)
            }
            Rel::Join(node) => {
                let own = hashes(&node.predicates);
                let left = self.share_apart(&mut node.left, own.clone());
                let right = self.share_apart(&mut node.right, own);
                return joined(rel, left, right);
            }
            Rel::Map(node) => {
                let own = hashes(node.exprs.iter().map(|(_, e)| e));
                self.share_below(&mut node.input, own)
            }
            Rel::Filter(node) => {
                let own = hashes(&node.predicates);
                self.share_below(&mut node.input, own)
            }
            Rel::Sort(node) if node.fetch.is_none() => {
                let own = hashes(node.keys.iter().map(|key| &key.expr));
                self.share_below(&mut node.input, own)
            }
            Rel::Sort(node) => self.share_apart(&mut node.input, vec![]),
            Rel::Limit(node) => self.share_apart(&mut node.input, vec![]),
            Rel::Expand(node) => self.share_below(&mut node.input, vec![]),
            Rel::Window(node) => self.share_below(&mut node.input, vec![]),
            Rel::Repeat(node) => self.share_below(&mut node.input, vec![]),
            Rel::Unnest(node) => {
                let own = hashes(node.lists.iter().map(|(_, list)| list));
                self.share_apart(&mut node.input, own)
            }
        };
        read(rel, &known);
        match rel {
            Rel::Aggregate(_) => return Known::new(),
            Rel::Map(node) => add(&mut known, &node.exprs),
            _ => {}
        }
        known
    }

    /// Shares what is in an input of an operator that computes `own` besides what is computed above it.
    fn share_below(&mut self, input: &mut Rel, own: Vec<u64>) -> Known {
        own.iter().for_each(|hash| *self.above.entry(*hash).or_default() += 1);
        let known = self.share(input);
        for hash in own {
            if let Some(count) = self.above.get_mut(&hash) {
                *count -= 1;
            }
        }
        known
    }

    /// The same of an operator that gives other rows.
    fn share_apart(&mut self, input: &mut Rel, own: Vec<u64>) -> Known {
        let outer = std::mem::take(&mut self.above);
        let known = self.share_below(input, own);
        self.above = outer;
        known
    }
}

/// What is known of a join by what is known of its inputs. Where a side is filled up with NULLs, what is computed of it is not
/// what is computed of the row that is given.
fn joined(rel: &mut Rel, left: Known, right: Known) -> Known {
    read(rel, &left);
    read(rel, &right);
    match rel {
        Rel::Join(node) if node.kind == JoinKind::Inner => {
            let (mut known, more) = if left.len() < right.len() { (right, left) } else { (left, right) };
            for (hash, more) in more {
                known.entry(hash).or_default().extend(more);
            }
            known
        }
        Rel::Join(node) if node.kind == JoinKind::Full => Known::new(),
        _ => left,
    }
}

/// Adds computed columns.
fn add(known: &mut Known, computed: &[(ColumnId, Expr)]) {
    for (id, e) in computed {
        let parts = parts(e);
        if let Some(part) = parts.first().filter(|part| part.is_worth) {
            known.entry(part.hash).or_default().push((*id, e.clone()));
        }
    }
}

/// Reads columns where an operator would compute them again.
fn read(rel: &mut Rel, known: &Known) {
    if known.is_empty() {
        return;
    }
    for e in rel.exprs_mut() {
        let parts = parts(e);
        replace(e, &parts, known);
    }
}

/// The hashes of the parts of expressions that are worth a column.
fn hashes<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Vec<u64> {
    let worth = |e| parts(e).into_iter().filter(|part| part.is_worth).map(|part| part.hash);
    exprs.into_iter().flat_map(worth).collect()
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
struct Occurrences<'a> {
    /// Expressions of one hash, and how often they stand somewhere.
    all: BTreeMap<u64, Vec<Occurrence<'a>>>,
}

struct Occurrence<'a> {
    e: &'a Expr,
    count: usize,
    /// How often operators above have it.
    above: usize,
    /// Whether it is computed for all rows at one of its places.
    is_sure: bool,
    /// How often it stands where it is a part of no other one that is shared.
    taken: usize,
    /// The column that is made for it.
    column: Option<ColumnId>,
}

impl Sharing<'_> {
    /// Puts what an operator has several times, or an operator above it once more, into a new one below it. Gives the
    /// hashes of the parts of that, and how often operators above have them there.
    fn share_once(&mut self, rel: &mut Rel) -> Vec<(u64, usize)> {
        let exprs = exprs(rel);
        if exprs.iter().all(|(e, _)| e.children().is_empty()) {
            return vec![];
        }
        let parts: Vec<Vec<Part>> = exprs.iter().map(|(e, _)| parts(e)).collect();
        let mut places = Occurrences::default();
        for ((e, is_sure), parts) in exprs.iter().zip(&parts) {
            places.count(e, parts, *is_sure);
        }
        // What is computed of groups is not computed of their rows.
        let none = Above::default();
        let above = if matches!(rel, Rel::Aggregate(_)) { &none } else { &self.above };
        places.add(above);
        if let Rel::Map(node) = &*rel {
            // They are columns already.
            node.exprs.iter().zip(&parts).for_each(|((_, e), parts)| places.leave_whole(e, parts));
        }
        if matches!(rel, Rel::Filter(_)) {
            places.leave(&|e| is_expensive(e) && !fails(e));
        }
        if places.all.values().flatten().all(|place| !place.is_shared()) {
            return vec![];
        }
        let mut order = Vec::new();
        for ((e, _), parts) in exprs.iter().zip(&parts) {
            places.take(e, parts, &mut order);
        }
        let mut made: Vec<(ColumnId, Expr)> = Vec::new();
        let mut read_above = Vec::new();
        for (hash, number) in order {
            let Some(place) = places.all.get_mut(&hash).and_then(|same| same.get_mut(number)) else {
                continue;
            };
            if place.taken + place.above > 1 && place.column.is_none() {
                let id = self.columns.add(name(place.e, self.columns), place.e.data_type.clone());
                place.column = Some(id);
                if place.above > 0 {
                    read_above.extend(hashes([place.e]).into_iter().map(|hash| (hash, place.above)));
                }
                made.push((id, place.e.clone()));
            }
        }
        if made.is_empty() {
            return vec![];
        }
        let known = by_hash(&made);
        let mut parts = parts.iter();
        for e in exprs_mut(rel) {
            if let Some(parts) = parts.next() {
                replace(e, parts, &known);
            }
        }
        if let Rel::Filter(node) = rel {
            let (before, behind) = parted(std::mem::take(&mut node.predicates), &made);
            node.predicates = behind;
            if !before.is_empty() {
                let input = Box::new(taken(&mut node.input));
                *node.input = Rel::Filter(Filter { input, predicates: before });
            }
        }
        if let Some(input) = rel.inputs_mut().into_iter().next() {
            *input = Rel::Map(Map { input: Box::new(taken(input)), exprs: made });
        }
        read_above
    }
}

/// Predicates that may come before columns are computed, and those that have to wait for them.
fn parted(predicates: Vec<Expr>, made: &[(ColumnId, Expr)]) -> (Vec<Expr>, Vec<Expr>) {
    let reads = |predicate: &Predicate| made.iter().any(|(id, _)| predicate.columns.contains(id));
    let all = predicates.into_iter().map(Predicate::new).collect();
    let (before, behind) = split(all, &|predicate| !reads(predicate) && !predicate.is_volatile);
    let exprs = |all: Vec<Predicate>| all.into_iter().map(|predicate| predicate.expr).collect();
    (exprs(before), exprs(behind))
}

/// The expressions of operators that are looked at, and whether each is computed for all rows.
fn exprs(rel: &Rel) -> Vec<(&Expr, bool)> {
    match rel {
        Rel::Map(node) => node.exprs.iter().map(|(_, e)| (e, true)).collect(),
        Rel::Filter(node) => node.predicates.iter().map(|e| (e, true)).collect(),
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
        Rel::Filter(node) => node.predicates.iter_mut().collect(),
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
        Kind::Call { function, .. } => matches!(function.name(), "coalesce" | "nvl"),
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

impl Occurrence<'_> {
    fn is_shared(&self) -> bool {
        self.count + self.above > 1 && self.is_sure
    }
}

impl<'a> Occurrences<'a> {
    fn count(&mut self, e: &'a Expr, parts: &[Part], is_sure: bool) {
        let Some(part) = parts.first() else { return };
        if part.is_worth {
            let same = self.all.entry(part.hash).or_default();
            match same.iter_mut().find(|place| place.e == e) {
                Some(place) => {
                    place.count += 1;
                    place.is_sure |= is_sure;
                }
                None => same.push(Occurrence { e, count: 1, above: 0, is_sure, taken: 0, column: None }),
            }
        }
        each_part(e, parts, &mut |child, parts, always| self.count(child, parts, is_sure && always));
    }

    /// Notes what operators above have.
    fn add(&mut self, above: &Above) {
        for (hash, same) in &mut self.all {
            let count = above.get(hash).copied().unwrap_or(0);
            same.iter_mut().for_each(|place| place.above = count);
        }
    }

    /// Leaves an expression alone that stands by itself, once.
    fn leave_whole(&mut self, e: &Expr, parts: &[Part]) {
        let same = parts.first().and_then(|part| self.all.get_mut(&part.hash));
        let place = same.and_then(|same| same.iter_mut().find(|place| place.e == e));
        if let Some(place) = place.filter(|place| place.count == 1) {
            place.above = 0;
        }
    }

    /// Leaves those places alone at which expressions are as `is` says.
    fn leave(&mut self, is: &dyn Fn(&Expr) -> bool) {
        for place in self.all.values_mut().flatten() {
            place.is_sure &= (place.count + place.above > 1) && is(place.e);
        }
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

fn by_hash(made: &[(ColumnId, Expr)]) -> Known {
    let mut all = Known::new();
    for (id, e) in made {
        all.entry(super::hash::hash(e)).or_default().push((*id, e.clone()));
    }
    all
}

/// Puts columns in the place of expressions, the largest ones first.
fn replace(e: &mut Expr, parts: &[Part], made: &Known) {
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
    use crate::algebra::{Aggregate, Call, Statement};
    use crate::rules::testing::{Sample, eq, filter, id, int, join, map, more, quotient};

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
    fn a_key_of_groups_is_read_by_an_aggregate() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let [k, s] = ["k", "s"].map(|name| sample.number(name));
        let q = quotient(&x, &y);
        let function = crate::functions::Functions::all().aggregate("sum").unwrap();
        let call = |arg: &Expr| Call {
            function: function.clone(),
            args: vec![arg.clone()],
            distinct: false,
            filter: None,
            order_by: vec![],
            ignore_nulls: None,
        };
        let grouped = |key: &Expr, arg: &Expr| {
            let input = Box::new(map(t.clone(), vec![(id(&k), key.clone())]));
            let calls = vec![(id(&s), call(arg))];
            Rel::Aggregate(Aggregate { input, keys: vec![id(&k)], calls, totals: vec![] })
        };
        sample.becomes(
            share_all,
            grouped(&q, &q),
            &[&k, &s],
            "aggregate by k#2; s#3 := sum(k#2)\n  map k#2 := x#0 / y#1\n    scan t x#0, y#1\n",
        );
        // A part of the key.
        sample.becomes(
            share_all,
            grouped(&quotient(&q, &int(2)), &quotient(&q, &int(3))),
            &[&k, &s],
            "aggregate by k#2; s#3 := sum(x#0 / y#1#4 / 3)\n  map k#2 := x#0 / y#1#4 / 2\n    map x#0 / y#1#4 := \
             x#0 / y#1\n      scan t x#0, y#1\n",
        );
    }

    #[test]
    fn what_a_filter_asks_for_is_computed_behind_the_others() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let [a, b] = ["a", "b"].map(|name| sample.number(name));
        let long = Kind::Case {
            operand: None,
            branches: vec![(more(&x, &y), x.clone())],
            otherwise: Some(Box::new(y.clone())),
        };
        let long = Expr { kind: long, data_type: x.data_type.clone() };
        let rel = |e: &Expr| {
            let rows = filter(t.clone(), vec![more(e, &int(1)), eq(&x, &int(3))]);
            map(rows, vec![(id(&a), quotient(e, &int(2))), (id(&b), int(7))])
        };
        let case = "CASE WHEN x#0 > y#1 THEN x#0 ELSE y#1 END";
        sample.becomes(
            share_all,
            rel(&long),
            &[&a, &b],
            &format!(
                "map a#2 := {case}#4 / 2, b#3 := 7\n  filter ({case}#4 > 1)\n    map {case}#4 := {case}\n      \
                 filter (x#0 = 3)\n        scan t x#0, y#1\n"
            ),
        );
        // It can fail, and the filter guards it.
        let kept = rel(&quotient(&x, &y));
        let shown = sample.columns.show_rel(&kept);
        sample.becomes(share_all, kept, &[&a, &b], &shown);
    }

    #[test]
    fn what_is_computed_of_a_side_is_read_above_an_inner_join_alone() {
        for (kind, reads) in [(JoinKind::Inner, true), (JoinKind::Left, false)] {
            let mut sample = Sample::default();
            let (t, [x]) = sample.table("t", ["x"]);
            let (u, [y, z]) = sample.table("u", ["y", "z"]);
            let [a, b] = ["a", "b"].map(|name| sample.number(name));
            let q = quotient(&y, &z);
            let joined = join(kind, t, map(u, vec![(id(&a), q.clone())]), vec![eq(&x, &q)]);
            let mut statement =
                sample.statement(map(joined, vec![(id(&b), quotient(&q, &int(2)))]), &[&a, &b]);
            share_all(&mut statement);
            let shown = statement.columns.show_rel(&statement.root);
            assert!(shown.contains("join (x#0 = a#3)"), "{shown}");
            assert_eq!(shown.contains("b#4 := a#3 / 2"), reads, "{shown}");
        }
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
