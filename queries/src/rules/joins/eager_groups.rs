//! Groups of some of the relations that are joined, before the others are (eager aggregation: Yan and Larson, VLDB 1995).
//!
//! Aggregates may be asked of some relations while the keys of the groups come from others. Then the former are joined
//! alone and put into groups by what the others compare them with. Query 10 of TPC-H gives columns of customers and the
//! sum of what they have returned. Items and orders become groups by customer, a third as many rows as there are items.
//! Then they meet the customers, whose names and addresses are long.
//!
//! It is done if it costs less, by the order of joins that costs least either way. The aggregate above stays: see [`early`].
//!
//! [`early`]: super::early

use std::collections::BTreeSet;

use super::early::{self, Asked};
use super::parts::Parts;
use super::region::{self, Region};
use super::{are_free, is_part, search};
use crate::algebra::{Aggregate, ColumnId, Columns, Expr, Filter, Join, JoinKind, Rel};
use crate::error::Result;
use crate::estimates::{self, Estimate, equality};
use crate::rules::filters::origins::Origins;
use crate::rules::simplify::nodes::taken;
use crate::types::Types;

/// Of more relations no parts are looked at.
const MOST_RELATIONS: usize = 10;

/// Putting a row into a group costs as much as so many rows that stream past a join.
const GROUP: f64 = 1.0;
/// And so many more for each key, if there are several.
const KEY: f64 = 0.7;
/// And so many for each that has no fixed length.
const LONG_KEY: f64 = 4.0;

/// The way found is taken if its cost is at most this part of the other's.
const CLEARLY: f64 = 0.9;

/// Groups some relations of joins before the others where that pays.
///
/// # Errors
/// As [`early::group`].
pub fn group(rel: &mut Rel, columns: &mut Columns, types: &Types) -> Result<()> {
    if let Rel::Aggregate(node) = rel
        && early::has_groups(node)
        && matches!(&*node.input, Rel::Join(join) if is_part(join))
        && let Some(parts) = parted(node, columns)
    {
        *rel = parts.grouped(node, columns, types)?;
    }
    rel.inputs_mut().into_iter().try_for_each(|input| group(input, columns, types))
}

/// The relations of which aggregates are asked, and the others.
struct Parted {
    asked: Rel,
    /// The columns of these that the others are compared with.
    keys: Vec<ColumnId>,
    others: Vec<Rel>,
    /// What the others are compared with each other, and with those.
    predicates: Vec<Expr>,
}

fn parted(node: &Aggregate, columns: &Columns) -> Option<Parted> {
    let origins = Origins::of(&node.input);
    let Region { relations, tree } = Region::of((*node.input).clone(), 0, &origins, &is_part);
    if !(3..=MOST_RELATIONS).contains(&relations.len()) {
        return None;
    }
    let starts: Vec<usize> = relations.iter().map(|(_, at)| *at).collect();
    let owner = |id: ColumnId| region::owner(id, &starts, &origins);
    let of_keys: BTreeSet<usize> = node.keys.iter().map(|key| owner(*key)).collect::<Option<_>>()?;
    let mut asked = BTreeSet::new();
    for (_, call) in &node.calls {
        let reads = call.exprs().flat_map(Expr::columns);
        asked.extend(reads.map(owner).collect::<Option<Vec<usize>>>()?);
    }
    if asked.is_empty() || !asked.is_disjoint(&of_keys) {
        return None;
    }
    // With them those that no key is of, as far as predicates connect them.
    let predicates = tree.into_predicates();
    let owners = |e: &Expr| region::owners(e, &starts, &origins);
    let over: Vec<Vec<usize>> = predicates.iter().map(owners).collect::<Option<_>>()?;
    loop {
        let more: Vec<usize> = over
            .iter()
            .filter(|on| on.iter().any(|place| asked.contains(place)))
            .flatten()
            .copied()
            .filter(|place| !of_keys.contains(place) && !asked.contains(place))
            .collect();
        if more.is_empty() {
            break;
        }
        asked.extend(more);
    }
    let (mut inside, mut outside, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (e, on) in predicates.into_iter().zip(over) {
        if on.iter().all(|place| asked.contains(place)) {
            inside.push(e);
            continue;
        }
        if on.iter().any(|place| asked.contains(place)) {
            let (a, b) = equality(&e)?;
            let is_asked = |id: &ColumnId| owner(*id).is_some_and(|place| asked.contains(&place));
            let mut own = e.columns().into_iter().filter(is_asked);
            let (key, more) = (own.next()?, own.next());
            let is_compared = a.as_column() == Some(key) || b.as_column() == Some(key);
            if !is_compared || more.is_some() || !early::can_be_key(&a.data_type) {
                return None;
            }
            keys.insert(key);
        }
        outside.push(e);
    }
    if keys.is_empty() {
        return None;
    }
    let (mut of_asked, mut others) = (Vec::new(), Vec::new());
    for (place, (rel, _)) in relations.into_iter().enumerate() {
        if asked.contains(&place) { &mut of_asked } else { &mut others }.push(rel);
    }
    let parted = Parted {
        asked: joined(of_asked, inside),
        keys: keys.into_iter().collect(),
        others,
        predicates: outside,
    };
    parted.pays(node, columns).then_some(parted)
}

impl Parted {
    /// Whether it costs less than to join all relations and to group what they give.
    fn pays(&self, node: &Aggregate, columns: &Columns) -> bool {
        if matches!(self.asked, Rel::Aggregate(_)) {
            return false;
        }
        let own = self.asked.columns();
        let is_apart = |call| early::is_apart(call, &Asked::Given(&own));
        if !node.calls.iter().all(|(_, call)| is_apart(call)) {
            return false;
        }
        let is_fixed = |key: &ColumnId| columns.get(*key).data_type.is_primitive();
        let per_row = |keys: &[ColumnId]| match keys {
            [key] if is_fixed(key) => GROUP,
            keys => keys.iter().fold(GROUP, |cost, key| cost + if is_fixed(key) { KEY } else { LONG_KEY }),
        };
        let Some(whole) = cost(&node.input) else { return false };
        let Some(asked) = cost(&self.asked) else { return false };
        let given = estimates::of_tree(&self.asked);
        if self.keys.iter().map(|key| given.values(*key)).product::<f64>() >= given.rows {
            // How many groups there are is not known.
            return false;
        }
        let groups = Rel::Aggregate(Aggregate {
            input: Box::new(self.asked.clone()),
            keys: self.keys.clone(),
            calls: vec![],
            totals: vec![],
        });
        let with_groups = self.others.iter().cloned().chain([groups]).collect();
        let Some(others) = cost(&joined(with_groups, self.predicates.clone())) else { return false };
        let before = whole.cost + whole.rows * per_row(&node.keys);
        let after =
            asked.cost + asked.rows * per_row(&self.keys) + others.cost + others.rows * per_row(&node.keys);
        after <= CLEARLY * before
    }

    /// The aggregate over groups of the relations that are asked.
    fn grouped(self, node: &mut Aggregate, columns: &mut Columns, types: &Types) -> Result<Rel> {
        let (parts, wholes, given) = early::calls(std::mem::take(&mut node.calls), columns, types)?;
        let input = Box::new(self.asked);
        let groups = Rel::Aggregate(Aggregate { input, keys: self.keys, calls: parts, totals: vec![] });
        let all = self.others.into_iter().chain([groups]).collect();
        let input = Box::new(joined(all, self.predicates));
        let keys = std::mem::take(&mut node.keys);
        let above = Rel::Aggregate(Aggregate { input, keys, calls: wholes, totals: vec![] });
        Ok(early::mapped(above, given))
    }
}

/// What it costs to join the relations of inner joins in the best order, and about how many rows that gives.
struct Cost {
    cost: f64,
    rows: f64,
}

fn cost(rel: &Rel) -> Option<Cost> {
    let origins = Origins::of(rel);
    let Region { relations, tree } = Region::of(rel.clone(), 0, &origins, &is_part);
    let starts: Vec<usize> = relations.iter().map(|(_, at)| *at).collect();
    let estimates: Vec<Estimate> = relations.iter().map(|(rel, _)| estimates::of_tree(rel)).collect();
    if !estimates.iter().all(|estimate| estimate.is_known) {
        return None;
    }
    let parts = Parts::of(&tree, &|id| region::owner(id, &starts, &origins))?;
    let graph = parts.graph(&estimates);
    let cost = graph.cost(&search::cheapest(&graph));
    Some(Cost { cost, rows: graph.rows_of_all() })
}

/// Inner joins of relations, each with the predicates that those so far can be asked for. A single relation is filtered.
fn joined(relations: Vec<Rel>, mut predicates: Vec<Expr>) -> Rel {
    debug_assert!(are_free(&predicates), "they are those of a region");
    let mut relations = relations.into_iter();
    let Some(mut all) = relations.next() else { return crate::algebra::Values::one() };
    let mut given = all.columns();
    for right in relations {
        given.extend(right.columns());
        let own: Vec<Expr> = predicates.extract_if(.., |e| e.columns().is_subset(&given)).collect();
        let (left, right) = (Box::new(taken(&mut all)), Box::new(right));
        all = Rel::Join(Join { kind: JoinKind::Inner, left, right, predicates: own });
    }
    if predicates.is_empty() { all } else { Rel::Filter(Filter { input: Box::new(all), predicates }) }
}

#[cfg(test)]
mod tests {
    use datafusion_expr::Operator;

    use super::*;
    use crate::Settings;
    use crate::algebra::{Kind, Statement};
    use crate::rules::joins::early::tests::call;
    use crate::rules::testing::{Sample, eq, id, int, join};

    fn group_all(statement: &mut Statement) {
        let types = Types::new(&Settings::default());
        group(&mut statement.root, &mut statement.columns, &types).unwrap();
    }

    /// Items of orders of customers, and the most of these by columns of the others. `of` compares customers and orders.
    fn most(sample: &mut Sample, of: &dyn Fn([&Expr; 3]) -> Expr, by_date: bool) -> (Rel, [Expr; 2]) {
        let (customers, [c, name]) = sample.sized("customers", ["c", "name"], Some(1_000));
        let (orders, [o, customer, date]) = sample.sized("orders", ["o", "of", "date"], Some(100_000));
        let (items, [i, price]) = sample.sized("items", ["i", "price"], Some(1_000_000));
        let tree = join(JoinKind::Inner, customers, orders, vec![of([&c, &customer, &date])]);
        let input = Box::new(join(JoinKind::Inner, tree, items, vec![eq(&o, &i)]));
        let most = sample.number("most");
        let calls = vec![(id(&most), call("max", &price))];
        let keys = if by_date { vec![id(&date)] } else { vec![id(&c), id(&name)] };
        (Rel::Aggregate(Aggregate { input, keys, calls, totals: vec![] }), [c, most])
    }

    #[test]
    fn what_is_asked_is_grouped_before_it_meets_the_keys() {
        let mut sample = Sample::default();
        let (rel, [c, most]) = most(&mut sample, &|[c, of, _]| eq(c, of), false);
        sample.becomes(
            group_all,
            rel,
            &[&c, &most],
            "aggregate by c#0, name#1; most#7 := max(most#8)\n  inner join (c#0 = of#3)\n    scan customers c#0, name#1\n    \
             aggregate by of#3; most#8 := max(price#6)\n      inner join (o#2 = i#5)\n        \
             scan orders o#2, of#3, date#4\n        scan items i#5, price#6\n",
        );
    }

    #[test]
    fn nothing_is_grouped_where_more_is_asked_than_keys_and_aggregates() {
        let masked = |[c, of, date]: [&Expr; 3]| {
            let kind = Kind::Binary(Operator::BitwiseAnd, Box::new(date.clone()), Box::new(c.clone()));
            eq(of, &Expr { kind, data_type: c.data_type.clone() })
        };
        let plain = |[c, of, _]: [&Expr; 3]| eq(c, of);
        for (of, by_date) in [(&plain as &dyn Fn([&Expr; 3]) -> Expr, true), (&masked, false)] {
            let mut sample = Sample::default();
            let (rel, [_, most]) = most(&mut sample, of, by_date);
            let shown = sample.columns.show_rel(&rel);
            sample.becomes(group_all, rel, &[&most], &shown);
        }
    }

    #[test]
    fn a_single_relation_keeps_its_conditions() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.sized("t", ["x"], Some(10));
        let shown = "filter (x#0 = 1)\n  scan t x#0\n";
        let rel = joined(vec![t], vec![eq(&x, &int(1))]);
        assert_eq!(sample.columns.show_rel(&rel), shown);
    }
}
