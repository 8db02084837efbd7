//! The order of joins: the cheapest tree by estimates from the catalog alone (decisions 38 and 42).
//!
//! A tree of joins becomes a graph: its inputs are the relations, its predicates the edges. Its outer, semi and anti
//! joins are operators that keep rules about each other. [`search`] finds a tree over the graph, and the joins are
//! built anew in its shape. The order of the text stays where the tree found is not clearly cheaper, and where some
//! table's number of rows is unknown. It also stays where a predicate can fail or differs from one evaluation to the
//! next. Where it stays, joins without a key are put off until there is one ([`connected`]).
//!
//! - [`reduced`]: groups that a join asks for, before the order is looked for.
//! - [`early`]: groups before a join, once the order is known.
//! - [`eager_groups`]: groups of some of the relations, before the order is looked for.
//! - [`region`]: a tree of joins, taken apart.
//! - [`connected`]: the order of the text without needless cross products.
//! - [`conflicts`]: which joins may change places.
//! - [`parts`]: from predicates to classes of equal columns, edges and operators, and back from a tree to joins.
//! - [`graph`]: about how many rows sets of relations have, and which of them may be joined.
//! - [`search`]: from the graph to a tree.

pub mod conflicts;
pub mod connected;
pub mod eager_groups;
pub mod early;
pub mod graph;
#[cfg(test)]
mod orders;
pub mod parts;
pub mod reduced;
pub mod region;
pub mod search;

use super::simplify::nodes::taken;
use crate::algebra::{Expr, Join, JoinKind, Rel};
use crate::compile::fails;
use crate::estimates::{self, Estimate};
use crate::rules::filters::origins::Origins;
use parts::Parts;
use region::{Joined, Region, Tree};

/// Of fewer relations there is one order.
const LEAST_RELATIONS: usize = 3;

/// Orders the joins of a tree.
pub fn order(rel: Rel) -> Rel {
    let rel = connected::connect(rel);
    let origins = Origins::of(&rel);
    ordered(rel, 0, &origins).0
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

/// A relation, the number of which is `at`, with the joins in it ordered, and its estimate.
fn ordered(mut rel: Rel, at: usize, origins: &Origins) -> (Rel, Estimate) {
    if let Rel::Join(join) = &rel
        && is_movable(join)
    {
        let Region { relations, tree } = Region::of(rel, at, origins, &is_movable);
        let starts = relations.iter().map(|(_, at)| *at).collect();
        let relations = relations.into_iter().map(|(rel, at)| Some(ordered(rel, at, origins))).collect();
        return Joins { relations, starts, origins }.ordered(tree);
    }
    let mut number = at + 1;
    let mut estimates = Vec::new();
    for input in rel.inputs_mut() {
        let size = origins.size(number);
        let (other, estimate) = ordered(taken(input), number, origins);
        *input = other;
        estimates.push(estimate);
        number += size;
    }
    let estimate = estimates::of(&rel, &estimates.iter().collect::<Vec<_>>());
    (rel, estimate)
}

/// Relations that are joined.
struct Joins<'a> {
    /// The relations with their estimates; none in the place of one that was taken.
    relations: Vec<Option<(Rel, Estimate)>>,
    /// The numbers that they have in the tree, which grow.
    starts: Vec<usize>,
    origins: &'a Origins,
}

impl Joins<'_> {
    /// The joins of a tree over them in the best order that is found.
    fn ordered(mut self, tree: Tree) -> (Rel, Estimate) {
        match self.graph(&tree) {
            Some((parts, graph)) => match search::best(&graph, &tree) {
                shape if shape == tree.shape() => tree.built(&mut self.relations),
                shape => parts.build(&graph, &shape, self.relations),
            },
            None if tree.is_inner() => tree.built(&mut self.relations),
            None => self.apart(tree),
        }
    }

    /// The same of each part that has inner joins alone.
    fn apart(&mut self, tree: Tree) -> (Rel, Estimate) {
        match tree {
            Tree::Relation(place) => region::relation(&mut self.relations, place),
            Tree::Join(join) if join.kind == JoinKind::Inner => {
                let mut own = Joins { relations: vec![], starts: vec![], origins: self.origins };
                let tree = self.inputs(Tree::Join(join), &mut own);
                own.ordered(tree)
            }
            Tree::Join(join) => {
                let Joined { kind, sides: [left, right], predicates, .. } = *join;
                let left = self.apart(left);
                region::joined(kind, left, self.apart(right), predicates)
            }
        }
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
                own.relations.push(Some(self.apart(other)));
                Tree::Relation(own.relations.len() - 1)
            }
        }
    }

    /// What a tree is made of, and the graph over its relations. They are given if there is more than one order and the
    /// numbers of their rows are known.
    fn graph(&self, tree: &Tree) -> Option<(Parts, graph::Graph)> {
        if !(LEAST_RELATIONS..=graph::MOST_RELATIONS).contains(&self.relations.len()) {
            return None;
        }
        let estimates: Vec<Estimate> =
            self.relations.iter().flatten().map(|(_, estimate)| estimate.clone()).collect();
        if !estimates.iter().all(|estimate| estimate.is_known) {
            return None;
        }
        let parts = Parts::of(tree, &|id| region::owner(id, &self.starts, self.origins))?;
        let graph = parts.graph(&estimates);
        Some((parts, graph))
    }
}

#[cfg(test)]
mod tests {
    use datafusion_expr::Operator;

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

    /// Two large tables and a filtered one, by text in this order.
    fn sized(sample: &mut Sample) -> ([Rel; 3], [Expr; 4]) {
        let (t, [a, b]) = sample.sized("t", ["a", "b"], Some(1_000_000));
        let (u, [x]) = sample.sized("u", ["x"], Some(1_000_000));
        let (v, [z, k]) = sample.sized("v", ["z", "k"], Some(1_000));
        ([t, u, filter(v, vec![eq(&k, &int(1))])], [a, b, x, z])
    }

    #[test]
    fn an_inner_join_that_keeps_few_rows_goes_below_an_outer_one() {
        let mut sample = Sample::default();
        let ([t, u, v], [a, b, x, z]) = sized(&mut sample);
        let left = join(JoinKind::Left, t, u, vec![eq(&a, &x)]);
        sample.becomes(
            order_all,
            inner(left, v, vec![eq(&b, &z)]),
            &[&a],
            "left join (a#0 = x#2)\n  inner join (b#1 = z#3)\n    scan t a#0, b#1\n    filter (k#4 = 1)\n      \
             scan v z#3, k#4\n  scan u x#2\n",
        );
    }

    #[test]
    fn an_outer_join_goes_above_the_one_whose_right_side_it_stands_in() {
        let mut sample = Sample::default();
        let ([t, u, v], [a, b, x, z]) = sized(&mut sample);
        // Those rows of t that v asks for are the only ones that meet u.
        let right = join(JoinKind::Left, t, u, vec![eq(&a, &x)]);
        let rel = join(JoinKind::Left, v, right, vec![eq(&z, &b)]);
        sample.becomes(
            order_all,
            rel.clone(),
            &[&z],
            "left join (a#0 = x#2)\n  left join (z#3 = b#1)\n    filter (k#4 = 1)\n      scan v z#3, k#4\n    \
             scan t a#0, b#1\n  scan u x#2\n",
        );
        // A NULL that finds a row of u: rows that v fills up would find it too.
        let Rel::Join(mut kept) = rel else { panic!("a join") };
        if let Rel::Join(right) = &mut *kept.right {
            right.predicates = vec![Expr::compare(a.clone(), Operator::IsNotDistinctFrom, x.clone())];
        }
        let kept = Rel::Join(kept);
        sample.becomes(order_all, kept.clone(), &[&z], &sample.columns.show_rel(&kept));
    }

    #[test]
    fn left_joins_of_equal_tables_keep_their_order() {
        let mut sample = Sample::default();
        let [(t, [a]), (u, [x]), (v, [z])] =
            ["t", "u", "v"].map(|name| sample.sized(name, [name], Some(1_000)));
        let left = join(JoinKind::Left, t, u, vec![eq(&a, &x)]);
        let kept = join(JoinKind::Left, left, v, vec![eq(&x, &z)]);
        sample.becomes(order_all, kept.clone(), &[&a], &sample.columns.show_rel(&kept));
    }

    #[test]
    fn an_outer_join_that_can_fail_keeps_its_place() {
        let mut sample = Sample::default();
        let ([t, u, v], [a, b, x, z]) = sized(&mut sample);
        let left = join(JoinKind::Left, t, u, vec![eq(&quotient(&int(1), &a), &x)]);
        let kept = inner(left, v, vec![eq(&b, &z)]);
        sample.becomes(order_all, kept.clone(), &[&a], &sample.columns.show_rel(&kept));
    }

    #[test]
    fn of_tables_of_unknown_size_the_inner_joins_beside_are_ordered() {
        let mut sample = Sample::default();
        let ([t, u, v], [a, b, x, z]) = sized(&mut sample);
        let (w, [y]) = sample.sized("w", ["y"], None);
        let known = inner(inner(t, u, vec![eq(&a, &x)]), v, vec![eq(&b, &z)]);
        sample.becomes(
            order_all,
            join(JoinKind::Left, known, w, vec![eq(&a, &y)]),
            &[&a],
            "left join (a#0 = y#5)\n  inner join (a#0 = x#2)\n    inner join (b#1 = z#3)\n      scan t a#0, b#1\n      \
             filter (k#4 = 1)\n        scan v z#3, k#4\n    scan u x#2\n  scan w y#5\n",
        );
    }
}
