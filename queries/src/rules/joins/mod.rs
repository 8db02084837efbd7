//! The order of joins: the cheapest tree by estimates from the catalog alone (decisions 38 and 42).
//!
//! A tree of joins becomes a graph: its inputs are the relations, its predicates the edges, and its outer, semi and anti
//! joins operators that keep rules about each other. [`search`] finds a tree over the graph, and the joins are built anew in
//! its shape. The order of the text stays where the tree found is not clearly cheaper, where the number of rows of some table
//! is not known, and where a predicate can fail or differs from one evaluation to the next. Where it stays, joins without a
//! key are put off until there is one ([`connected`]).
//!
//! Where outer joins stay in their place, the trees of inner joins between them are ordered one by one. Semi and anti joins
//! above such a tree are made before it, with the relation that they ask about, where that has fewer rows than the tree.
//!
//! - [`reduced`]: groups that a join asks for, before the order is looked for.
//! - [`early`]: groups before a join, once the order is known.
//! - [`partial`]: groups of some of the relations, before the order is looked for.
//! - [`region`]: a tree of joins, taken apart.
//! - [`connected`]: the order of the text without needless cross products.
//! - [`conflicts`]: which joins may change places.
//! - [`graph`]: from predicates to classes of equal columns, edges and operators.
//! - [`search`]: from the graph to a tree.

pub mod conflicts;
pub mod connected;
pub mod early;
pub mod graph;
#[cfg(test)]
mod orders;
pub mod partial;
pub mod reduced;
pub mod region;
pub mod search;

use super::simplify::nodes::taken;
use crate::algebra::{Expr, Join, JoinKind, Rel};
use crate::compile::fails;
use crate::estimates::{self, Estimate};
use crate::rules::filters::places::Places;
use graph::Parts;
use region::{Joined, Region, Tree};

/// The tree that was found replaces that of the text if its cost is at most this part of the other's.
const CLEARLY: f64 = 0.9;

/// Of fewer relations there is one order.
const LEAST_RELATIONS: usize = 3;

/// Orders the joins of a tree.
pub fn order(rel: Rel) -> Rel {
    let rel = connected::connect(rel);
    let places = Places::of(&rel);
    ordered(rel, 0, &places).0
}

/// Whether predicates may be evaluated on other rows than before: they neither fail nor change.
fn are_free(predicates: &[Expr]) -> bool {
    predicates.iter().all(|e| !fails(e) && !e.is_volatile())
}

/// Whether a join is an inner one that may change its place.
fn is_part(join: &Join) -> bool {
    join.kind == JoinKind::Inner && are_free(&join.predicates)
}

/// Whether a join is one that may change its place. A mark is a column that others may read wherever it stands.
fn is_movable(join: &Join) -> bool {
    !matches!(join.kind, JoinKind::Mark(_) | JoinKind::Single) && are_free(&join.predicates)
}

/// Whether a join leaves out left rows, each by itself.
fn is_asking(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware)
}

/// A relation, the number of which is `at`, with the joins in it ordered, and its estimate.
fn ordered(mut rel: Rel, at: usize, places: &Places) -> (Rel, Estimate) {
    if let Rel::Join(join) = &rel
        && is_movable(join)
    {
        let Region { relations, tree } = Region::of(rel, at, places, &is_movable);
        let starts = relations.iter().map(|(_, at)| *at).collect();
        let relations = relations.into_iter().map(|(rel, at)| Some(ordered(rel, at, places))).collect();
        return Joins { relations, starts, places }.ordered(tree);
    }
    let mut number = at + 1;
    let mut estimates = Vec::new();
    for input in rel.inputs_mut() {
        let size = places.size(number);
        let (other, estimate) = ordered(taken(input), number, places);
        *input = other;
        estimates.push(estimate);
        number += size;
    }
    let estimate = estimates::of(&rel, &estimates.iter().collect::<Vec<_>>());
    (rel, estimate)
}

/// A semi or anti join above a tree of inner joins.
struct Asking {
    kind: JoinKind,
    predicates: Vec<Expr>,
    right: (Rel, Estimate),
    /// The number of the right side.
    right_at: usize,
}

impl Asking {
    fn above(self, left: (Rel, Estimate)) -> (Rel, Estimate) {
        region::joined(self.kind, left, self.right, self.predicates)
    }
}

/// Relations that are joined.
struct Joins<'a> {
    /// The relations with their estimates; none in the place of one that was taken.
    relations: Vec<Option<(Rel, Estimate)>>,
    /// The numbers that they have in the tree, which grow.
    starts: Vec<usize>,
    places: &'a Places,
}

impl Joins<'_> {
    /// The joins of a tree over them in the best order that is found.
    fn ordered(mut self, tree: Tree) -> (Rel, Estimate) {
        if !tree.is_inner()
            && self.relations.len() >= LEAST_RELATIONS
            && let Some((parts, graph)) = self.graph(&tree)
            && let Some(shape) = search::cheapest_of(&graph, &tree)
            && is_cheaper(&graph, &shape, &tree)
        {
            return parts.build(&graph, &shape, self.relations);
        }
        self.by_parts(tree)
    }

    /// The same where outer joins stay, and semi and anti joins go to one relation.
    fn by_parts(&mut self, mut tree: Tree) -> (Rel, Estimate) {
        let mut above = Vec::new();
        loop {
            match tree {
                Tree::Join(join) if is_asking(join.kind) => {
                    let Joined { kind, sides: [left, right], predicates, .. } = *join;
                    let right_at = right.at(&self.starts);
                    above.push(Asking { kind, predicates, right: self.by_parts(right), right_at });
                    tree = left;
                }
                Tree::Join(join) if join.kind == JoinKind::Inner => {
                    return self.inner(Tree::Join(join), above);
                }
                Tree::Join(join) => {
                    let Joined { kind, sides: [left, right], predicates, .. } = *join;
                    let (left, right) = (self.by_parts(left), self.by_parts(right));
                    let start = region::joined(kind, left, right, predicates);
                    return above.into_iter().rev().fold(start, |left, asking| asking.above(left));
                }
                Tree::Relation(place) => {
                    let start = region::relation(&mut self.relations, place);
                    return above.into_iter().rev().fold(start, |left, asking| asking.above(left));
                }
            }
        }
    }

    /// A tree of inner joins with the semi and anti joins above it.
    fn inner(&mut self, tree: Tree, above: Vec<Asking>) -> (Rel, Estimate) {
        let mut own = Joins { relations: vec![], starts: vec![], places: self.places };
        let tree = self.inputs(tree, &mut own);
        let (built, staying) = match own.graph(&tree) {
            Some((parts, mut graph)) => {
                let staying = own.made_before(&mut graph, above);
                match cheaper(&graph, &tree) {
                    Some(shape) => (parts.build(&graph, &shape, own.relations), staying),
                    None => (tree.built(&mut own.relations), staying),
                }
            }
            None => (tree.built(&mut own.relations), above.into_iter().rev().collect()),
        };
        staying.into_iter().fold(built, |left, asking| asking.above(left))
    }

    /// A tree of inner joins over relations of its own, which are those that these joins stand between.
    fn inputs(&mut self, tree: Tree, own: &mut Joins) -> Tree {
        match tree {
            Tree::Join(join) if join.kind == JoinKind::Inner => {
                let Joined { kind, sides: [left, right], predicates, at } = *join;
                let sides = [self.inputs(left, own), self.inputs(right, own)];
                Tree::Join(Box::new(Joined { kind, sides, predicates, at }))
            }
            other => {
                own.starts.push(other.at(&self.starts));
                let built = self.by_parts(other);
                own.relations.push(Some(built));
                Tree::Relation(own.relations.len() - 1)
            }
        }
    }

    /// What a tree is made of, and the graph over its relations, if the numbers of their rows are known.
    fn graph(&self, tree: &Tree) -> Option<(Parts, search::Graph)> {
        let estimates: Vec<Estimate> =
            self.relations.iter().flatten().map(|(_, estimate)| estimate.clone()).collect();
        if estimates.len() > search::MOST_RELATIONS || !estimates.iter().all(|estimate| estimate.is_known) {
            return None;
        }
        let parts = Parts::of(tree, &|id| region::owner(id, &self.starts, self.places))?;
        let graph = parts.graph(&estimates);
        Some((parts, graph))
    }

    /// Makes semi and anti joins, the upper ones of which come first, before the tree where that has to look at fewer
    /// rows. Gives those that stay above, the lower ones first.
    fn made_before(&mut self, graph: &mut search::Graph, above: Vec<Asking>) -> Vec<Asking> {
        let mut staying = Vec::new();
        for asking in above.into_iter().rev() {
            let all = graph.rows_of_all();
            let own = self
                .asked_of(&asking)
                .and_then(|number| self.relations.get_mut(number).zip(Some(number)));
            match own {
                Some((relation, number))
                    if asking.right.1.is_known && relation.as_ref().is_some_and(|(_, of)| of.rows <= all) =>
                {
                    if let Some(before) = relation.take() {
                        let after = asking.above(before);
                        graph.set_rows(number, after.1.rows);
                        *relation = Some(after);
                    }
                }
                _ => staying.push(asking),
            }
        }
        staying
    }

    /// The only relation of the tree below that a semi or anti join asks about.
    fn asked_of(&self, asking: &Asking) -> Option<usize> {
        let mut of_left = None;
        for id in asking.predicates.iter().flat_map(Expr::columns) {
            if self.places.is_in(id, asking.right_at) {
                continue;
            }
            let owner = region::owner(id, &self.starts, self.places)?;
            if of_left.is_some_and(|other| other != owner) {
                return None;
            }
            of_left = Some(owner);
        }
        of_left
    }
}

/// A shape that is clearly cheaper than that of the text.
fn cheaper(graph: &search::Graph, tree: &Tree) -> Option<search::Shape> {
    if graph.relations() < LEAST_RELATIONS {
        return None;
    }
    let found = search::cheapest(graph);
    is_cheaper(graph, &found, tree).then_some(found)
}

fn is_cheaper(graph: &search::Graph, found: &search::Shape, tree: &Tree) -> bool {
    let cost = graph.cost(found);
    cost.is_finite() && cost <= CLEARLY * graph.cost(&tree.shape())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, eq, filter, int, join, more, quotient};

    fn order_all(statement: &mut Statement) {
        let root = taken(&mut statement.root);
        statement.root = order(root);
    }

    fn inner(left: Rel, right: Rel, on: Vec<Expr>) -> Rel {
        join(JoinKind::Inner, left, right, on)
    }

    #[test]
    fn the_relation_that_keeps_few_rows_is_joined_early() {
        for (rows, to) in [
            (
                Some(10),
                "inner join (a#0 = x#2)\n  scan t a#0, b#1\n  inner join (x#2 = z#4)\n    scan u x#2, y#3\n    scan v z#4\n",
            ),
            (
                None,
                "inner join (a#0 = z#4)\n  inner join (a#0 = x#2)\n    scan t a#0, b#1\n    scan u x#2, y#3\n  scan v z#4\n",
            ),
        ] {
            let mut sample = Sample::default();
            let (t, [a, _]) = sample.sized("t", ["a", "b"], Some(100_000));
            let (u, [x, _]) = sample.sized("u", ["x", "y"], Some(50_000));
            let (v, [z]) = sample.sized("v", ["z"], rows);
            // That x = z is inferred.
            let rel = inner(inner(t, u, vec![eq(&a, &x)]), v, vec![eq(&a, &z)]);
            let mut statement = sample.statement(rel, &[&a]);
            order_all(&mut statement);
            let shown = statement.columns.show_rel(&statement.root);
            assert_eq!(scans(&shown), scans(to), "{shown}");
        }
    }

    /// The scans in their order.
    fn scans(shown: &str) -> Vec<&str> {
        shown.lines().filter_map(|line| line.trim().strip_prefix("scan ")?.split(' ').next()).collect()
    }

    #[test]
    fn tables_that_nothing_connects_yet_wait() {
        let mut sample = Sample::default();
        let (t, [a]) = sample.sized("t", ["a"], None);
        let (u, [x]) = sample.sized("u", ["x"], None);
        let (v, [z, w]) = sample.sized("v", ["z", "w"], None);
        let rel = inner(inner(t, u, vec![]), v, vec![eq(&a, &z), eq(&x, &w)]);
        sample.becomes(
            order_all,
            rel,
            &[&a],
            "inner join (x#1 = w#3)\n  inner join (a#0 = z#2)\n    scan t a#0\n    scan v z#2, w#3\n  scan u x#1\n",
        );
    }

    #[test]
    fn a_key_that_can_fail_keeps_its_place() {
        let mut sample = Sample::default();
        let (t, [a]) = sample.sized("t", ["a"], Some(1_000_000));
        let (u, [x]) = sample.sized("u", ["x"], Some(1_000_000));
        let (v, [z]) = sample.sized("v", ["z"], Some(10));
        let rel = inner(inner(t, u, vec![eq(&a, &x)]), v, vec![eq(&quotient(&int(1), &a), &z)]);
        let kept = sample.columns.show_rel(&rel);
        sample.becomes(order_all, rel, &[&a], &kept);
    }

    #[test]
    fn a_semi_join_is_made_first_where_rows_are_fewer() {
        let mut sample = Sample::default();
        let (t, [a]) = sample.sized("t", ["a"], Some(1_000_000));
        let (u, [x]) = sample.sized("u", ["x"], Some(1_000));
        let (v, [z]) = sample.sized("v", ["z"], Some(10));
        let tree = inner(t, filter(u, vec![more(&x, &int(1))]), vec![eq(&a, &x)]);
        let rel = join(JoinKind::Semi, tree, v, vec![eq(&x, &z)]);
        sample.becomes(
            order_all,
            rel,
            &[&a],
            "inner join (a#0 = x#1)\n  scan t a#0\n  semi join (x#1 = z#2)\n    filter (x#1 > 1)\n      scan u x#1\n    scan v z#2\n",
        );
    }
}
