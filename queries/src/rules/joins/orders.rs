//! Random trees of joins, run in each order that the search may choose: all give the same rows.

use datafusion_expr::Operator;

use super::conflicts::{are_associative, are_left_asscom, are_right_asscom};
use super::graph::{Graph, Relations, Shape};
use super::is_movable;
use super::parts::Parts;
use super::region::{Region, Tree, owner};
use super::search::best;
use crate::algebra::{Expr, JoinKind, Rel};
use crate::estimates;
use crate::rules::filters::origins::Origins;
use crate::rules::random::{Random, Row, Run};
use crate::rules::testing::{Sample, eq, int, join, more};

/// The kinds of the paper's tables, in their order.
const KINDS: [JoinKind; 5] =
    [JoinKind::Inner, JoinKind::Semi, JoinKind::Anti, JoinKind::Left, JoinKind::Full];

fn random(seed: u64) -> Random {
    let mut random = Random(seed);
    // The first numbers of seeds that follow each other are alike.
    (0..10).for_each(|_| {
        random.below(2);
    });
    random
}

/// The rows that a relation gives, in an order of their own.
fn rows(rel: &Rel) -> Vec<Row> {
    let mut rows = Run::default().rows(rel);
    rows.sort();
    rows
}

fn same(left: &Expr, right: &Expr) -> Expr {
    Expr::compare(left.clone(), Operator::IsNotDistinctFrom, right.clone())
}

/// What a property of two joins is about: both of its sides, of three relations. `None` where one of them reads columns that
/// are not there.
type Property = fn([JoinKind; 2], [Rel; 3], &dyn Fn(usize, usize, usize) -> Vec<Expr>) -> Option<[Rel; 2]>;

fn is_given(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

fn associative(
    [a, b]: [JoinKind; 2],
    [e1, e2, e3]: [Rel; 3],
    on: &dyn Fn(usize, usize, usize) -> Vec<Expr>,
) -> Option<[Rel; 2]> {
    let (p12, p23) = (on(0, 0, 1), on(1, 1, 2));
    let left = join(b, join(a, e1.clone(), e2.clone(), p12.clone()), e3.clone(), p23.clone());
    let right = join(a, e1, join(b, e2, e3, p23), p12);
    is_given(a).then_some([left, right])
}

fn left_asscom(
    [a, b]: [JoinKind; 2],
    [e1, e2, e3]: [Rel; 3],
    on: &dyn Fn(usize, usize, usize) -> Vec<Expr>,
) -> Option<[Rel; 2]> {
    let (p12, p13) = (on(0, 0, 1), on(1, 0, 2));
    let left = join(b, join(a, e1.clone(), e2.clone(), p12.clone()), e3.clone(), p13.clone());
    let right = join(a, join(b, e1, e3, p13), e2, p12);
    Some([left, right])
}

fn right_asscom(
    [a, b]: [JoinKind; 2],
    [e1, e2, e3]: [Rel; 3],
    on: &dyn Fn(usize, usize, usize) -> Vec<Expr>,
) -> Option<[Rel; 2]> {
    let (p13, p23) = (on(0, 0, 2), on(1, 1, 2));
    let left = join(a, e1.clone(), join(b, e2.clone(), e3.clone(), p23.clone()), p13.clone());
    let right = join(b, e2, join(a, e1, e3, p13), p23);
    (is_given(a) && is_given(b)).then_some([left, right])
}

/// Whether both sides give the same rows of many tables, where NULL matches nothing in the joins that reject NULLs.
fn holds(property: Property, kinds: [JoinKind; 2], rejects: [bool; 2]) -> bool {
    let mut random = random(7);
    (0..300).all(|_| {
        let mut sample = Sample::default();
        let tables = [(); 3].map(|()| {
            let name = format!("t{}", random.below(1_000));
            sample.sized(&name, ["x", "y"], Some(10))
        });
        let columns = [0, 1, 2].map(|table: usize| tables[table].1[0].clone());
        let on = |number: usize, left: usize, right: usize| {
            let equal = if rejects[number] { eq } else { same };
            vec![equal(&columns[left], &columns[right])]
        };
        let sides = property(kinds, tables.map(|(rel, _)| rel), &on);
        sides.is_some_and(|[left, right]| rows(&left) == rows(&right))
    })
}

/// Tables 1 to 3 of the paper. 1: if the second join rejects NULLs, 2: if the first one does, 3: if both do.
#[test]
fn properties_are_those_of_the_paper_and_hold() {
    type Says = fn(JoinKind, JoinKind, [bool; 2]) -> bool;
    let tables: [(Property, Says, [&str; 5]); 3] = [
        (associative, are_associative, ["++++-", "-----", "-----", "---1-", "---13"]),
        (left_asscom, are_left_asscom, ["++++-", "++++-", "++++-", "++++2", "---13"]),
        (right_asscom, are_right_asscom, ["+----", "-----", "-----", "-----", "----3"]),
    ];
    for (property, says, table) in tables {
        for (a, row) in KINDS.into_iter().zip(table) {
            for (b, cell) in KINDS.into_iter().zip(row.chars()) {
                for rejects in [[true, true], [true, false], [false, true], [false, false]] {
                    let expected = match cell {
                        '1' => rejects[1],
                        '2' => rejects[0],
                        '3' => rejects[0] && rejects[1],
                        cell => cell == '+',
                    };
                    assert_eq!(says(a, b, rejects), expected, "{a:?} {b:?} {rejects:?}");
                    assert_eq!(holds(property, [a, b], rejects), expected, "{a:?} {b:?} {rejects:?}");
                }
            }
        }
    }
}

/// Makes random trees.
struct Make {
    sample: Sample,
    random: Random,
    /// The kinds of joins.
    kinds: Vec<JoinKind>,
}

impl Make {
    /// A tree over so many tables, and the columns that it gives.
    fn tree(&mut self, tables: usize) -> (Rel, Vec<Expr>) {
        if tables == 1 {
            let name = format!("t{}", self.random.below(1_000));
            let rows = self.random.of(&[10, 1_000, 100_000]);
            let (rel, columns) = self.sample.sized(&name, ["x", "y"], Some(rows));
            return (rel, columns.to_vec());
        }
        let of_left = 1 + self.random.below(tables - 1);
        let ((left, mut columns), (right, of_right)) = (self.tree(of_left), self.tree(tables - of_left));
        let kind = self.random.of(&self.kinds);
        let (a, b) = (self.random.of(&columns), self.random.of(&of_right));
        let mut on = vec![];
        if kind == JoinKind::AntiNullAware || self.random.below(8) > 0 {
            on.push(eq(&a, &b));
        }
        if kind != JoinKind::AntiNullAware && self.random.below(3) == 0 {
            let (c, d) = (self.random.of(&columns), self.random.of(&of_right));
            let one = self.random.of(&[c.clone(), d.clone()]);
            on.push(match self.random.below(6) {
                0 => same(&c, &d),
                1 => more(&c, &d),
                2 => Expr::or([eq(&c, &d), one.is_null()]),
                3 => more(&one, &int(0)),
                4 => one.is_null(),
                // Over more than two tables.
                _ => Expr::or([eq(&c, &b), more(&d, &a)]),
            });
        }
        if kind.gives_right() {
            columns.extend(of_right);
        }
        (join(kind, left, right, on), columns)
    }
}

/// All trees over a set that the search may look at, each once whichever side is the left one.
fn all(graph: &Graph, set: Relations) -> Vec<Shape> {
    if set.count_ones() == 1 {
        return vec![Shape::Relation(set.trailing_zeros() as usize)];
    }
    let lowest = set & set.wrapping_neg();
    let mut trees = Vec::new();
    let mut half = (set - 1) & set;
    while half > 0 {
        if half & lowest != 0 && graph.by(half, set ^ half).is_some() {
            let rights = all(graph, set ^ half);
            for left in all(graph, half) {
                trees.extend(rights.iter().map(|right| Shape::join(left.clone(), right.clone())));
            }
        }
        half = (half - 1) & set;
    }
    trees
}

fn is_allowed(graph: &Graph, shape: &Shape) -> bool {
    match shape {
        Shape::Relation(_) => true,
        Shape::Join(sides, _) => {
            graph.by(sides[0].relations(), sides[1].relations()).is_some()
                && sides.iter().all(|side| is_allowed(graph, side))
        }
    }
}

/// Runs a tree of so many tables in each order; gives the number of orders.
fn check(seed: u64, tables: usize, kinds: &[JoinKind]) -> usize {
    let mut make = Make { sample: Sample::default(), random: random(seed), kinds: kinds.to_vec() };
    let (rel, _) = make.tree(tables);
    let expected = rows(&rel);
    let shown = make.sample.columns.show_rel(&rel);
    let origins = Origins::of(&rel);
    let Region { relations, tree } = Region::of(rel, 0, &origins, &is_movable);
    if tree.is_inner() {
        return 0;
    }
    let starts: Vec<usize> = relations.iter().map(|(_, at)| *at).collect();
    let relations: Vec<_> = relations
        .into_iter()
        .map(|(rel, _)| {
            let estimate = estimates::of_tree(&rel);
            Some((rel, estimate))
        })
        .collect();
    let of_relations: Vec<_> = relations.iter().flatten().map(|(_, estimate)| estimate.clone()).collect();
    let parts = |tree: &Tree| Parts::of(tree, &|id| owner(id, &starts, &origins)).unwrap();
    let graph = parts(&tree).graph(&of_relations);
    assert!(is_allowed(&graph, &tree.shape()), "the order of the text is not allowed: seed {seed}\n{shown}");
    assert!(is_allowed(&graph, &best(&graph, &tree)), "what is chosen is not allowed: seed {seed}\n{shown}");
    let shapes = all(&graph, (1 << tables) - 1);
    for shape in &shapes {
        let (built, _) = parts(&tree).build(&graph, shape, relations.clone());
        let found = rows(&built);
        assert!(
            found == expected,
            "seed {seed}, {tables} tables\n{shown}\n{}\n{expected:?}\n{found:?}",
            make.sample.columns.show_rel(&built)
        );
    }
    shapes.len()
}

#[test]
fn all_orders_give_the_same_rows() {
    let count: u64 =
        std::env::var("PALAIS_RANDOM_STATEMENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let outer = [JoinKind::Inner, JoinKind::Left, JoinKind::Left, JoinKind::Full];
    let every = [
        JoinKind::Inner,
        JoinKind::Inner,
        JoinKind::Left,
        JoinKind::Left,
        JoinKind::Full,
        JoinKind::Semi,
        JoinKind::Anti,
        JoinKind::AntiNullAware,
    ];
    for kinds in [outer.as_slice(), &every] {
        let orders: usize = (0..count).map(|seed| check(seed, 3 + seed as usize % 3, kinds)).sum();
        assert!(orders as u64 > 2 * count, "{orders} orders of {count} trees");
    }
}
