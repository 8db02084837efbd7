//! From a graph of relations and predicates to the cheapest tree of joins.
//!
//! Up to [`MOST_EXACT`] relations, every tree without cross products is looked at, bushy ones too, by dynamic programming over
//! sets of relations (Selinger et al. 1979; Moerkotte and Neumann, VLDB 2006, section 2.2, whose DPsub this is). Beyond, the
//! two inputs whose join is the smallest are joined first, again and again (Fegaras, DEXA 1998). Parts of the graph that no
//! predicate connects are joined last, the smaller ones first.

use std::collections::BTreeMap;

use super::LEAST_RELATIONS;
use super::graph::{Graph, Relations, Shape, members};
use super::region::Tree;
use crate::algebra::JoinKind;

/// The most relations over which all trees are looked at: there are 3^10 pairs of sets.
const MOST_EXACT: usize = 10;

/// A tree that was found replaces another one if its cost is at most this part of the other's.
const CLEARLY: f64 = 0.9;

/// The cheapest tree over all relations, of which none is a side of an operator.
pub fn cheapest(graph: &Graph) -> Shape {
    let parts = graph.parts().into_iter().map(|part| members(part).map(Shape::Relation).collect());
    let mut parts: Vec<Shape> = parts.flat_map(|part| trees(graph, part)).collect();
    parts.sort_by(|a, b| graph.rows(a.relations()).total_cmp(&graph.rows(b.relations())));
    parts.into_iter().reduce(Shape::join).unwrap_or(Shape::Relation(0))
}

/// The tree over all relations that replaces a tree of joins: itself if no other one is clearly cheaper.
///
/// A tree in which outer joins leave their place is clearly cheaper than the best one in which they keep it.
pub fn best(graph: &Graph, tree: &Tree) -> Shape {
    let kept = by_parts(graph, tree);
    if graph.operators.is_empty() {
        return kept;
    }
    let found = only(trees(graph, (0..graph.relations()).map(Shape::Relation).collect()));
    found.filter(|found| is_clearly_less(graph.cost(found), graph.cost(&kept))).unwrap_or(kept)
}

fn is_clearly_less(cost: f64, other: f64) -> bool {
    cost.is_finite() && cost <= CLEARLY * other
}

/// A tree in which outer joins keep their place. Inner joins between them come in the order that costs least. Each semi
/// or anti join above is made before these where it asks about one of their inputs, which has fewer rows.
fn by_parts(graph: &Graph, tree: &Tree) -> Shape {
    let (mut below, mut above) = (tree, Vec::new());
    while let Tree::Join(join) = below
        && join.is_asking()
    {
        above.push(by_parts(graph, &join.sides[1]));
        below = &join.sides[0];
    }
    let (start, staying) = match below {
        Tree::Join(join) if join.kind == JoinKind::Inner => {
            let mut inputs = Vec::new();
            collect_inputs(graph, below, &mut inputs);
            let staying = made_before(graph, above, &mut inputs);
            (inner(graph, below, inputs), staying)
        }
        Tree::Join(join) => {
            let [left, right] = &join.sides;
            (Shape::join(by_parts(graph, left), by_parts(graph, right)), above.into_iter().rev().collect())
        }
        Tree::Relation(place) => (Shape::Relation(*place), above.into_iter().rev().collect()),
    };
    staying.into_iter().fold(start, Shape::join)
}

/// What inner joins at the top of a tree stand between.
fn collect_inputs(graph: &Graph, tree: &Tree, all: &mut Vec<Shape>) {
    match tree {
        Tree::Join(join) if join.kind == JoinKind::Inner => {
            join.sides.iter().for_each(|side| collect_inputs(graph, side, all));
        }
        other => all.push(by_parts(graph, other)),
    }
}

/// The inner joins at the top of a tree over what they stand between, in the order that costs least.
fn inner(graph: &Graph, tree: &Tree, inputs: Vec<Shape>) -> Shape {
    fn of_text(tree: &Tree, inputs: &mut dyn Iterator<Item = &Shape>) -> Shape {
        match tree {
            Tree::Join(join) if join.kind == JoinKind::Inner => {
                let left = of_text(&join.sides[0], inputs);
                Shape::join(left, of_text(&join.sides[1], inputs))
            }
            other => inputs.next().cloned().unwrap_or_else(|| other.shape()),
        }
    }
    let text = of_text(tree, &mut inputs.iter());
    if inputs.len() < LEAST_RELATIONS {
        return text;
    }
    let of_inputs = inputs.iter().map(|input| graph.cost(input)).sum::<f64>();
    let found = if graph.operators.is_empty() { Some(cheapest(graph)) } else { only(trees(graph, inputs)) };
    let is_less =
        |found: &Shape| is_clearly_less(graph.cost(found) - of_inputs, graph.cost(&text) - of_inputs);
    found.filter(is_less).unwrap_or(text)
}

/// Joins the right sides of semi and anti joins, the upper ones of which come first, with inputs of the joins below. Gives
/// those that stay above, the lower ones first.
fn made_before(graph: &Graph, above: Vec<Shape>, inputs: &mut [Shape]) -> Vec<Shape> {
    let mut staying = Vec::new();
    for right in above.into_iter().rev() {
        let all = inputs.iter().fold(0, |all, input| all | input.relations());
        let of_right = right.relations();
        let asking = graph.operators.iter().find(|operator| operator.sides[1] == of_right);
        let asks = asking.map_or(0, |operator| operator.on & operator.sides[0]);
        let own = inputs.iter_mut().find(|input| asks != 0 && asks & !input.relations() == 0);
        match own {
            Some(input) if graph.rows(input.relations()) <= graph.rows(all) => {
                *input = Shape::join(input.clone(), right);
            }
            _ => staying.push(right),
        }
    }
    staying
}

fn only(mut trees: Vec<Shape>) -> Option<Shape> {
    trees.pop().filter(|_| trees.is_empty())
}

/// The cheapest tree over these, or a cheap one; several if nothing connects them.
fn trees(graph: &Graph, inputs: Vec<Shape>) -> Vec<Shape> {
    if inputs.len() > MOST_EXACT {
        return greedy(graph, inputs);
    }
    // Predicates over three relations or more may connect what no pair of sets does.
    exact(graph, &inputs).map_or_else(|| greedy(graph, inputs), |found| vec![found])
}

/// The cheapest tree over connected inputs.
fn exact(graph: &Graph, inputs: &[Shape]) -> Option<Shape> {
    struct Best {
        cost: f64,
        rows: f64,
        shape: Shape,
    }
    // Sets are numbered by the positions of their inputs. Each is that without its lowest input, and this.
    let mut sets: Vec<Relations> = vec![0; 1 << inputs.len()];
    for number in 1..sets.len() {
        let input = inputs.get(number.trailing_zeros() as usize).map_or(0, Shape::relations);
        sets[number] = sets[number & (number - 1)] | input;
    }
    let mut best: Vec<Option<Best>> = (0..1_usize << inputs.len()).map(|_| None).collect();
    for (at, input) in inputs.iter().enumerate() {
        let rows = graph.rows(input.relations());
        best[1 << at] = Some(Best { cost: 0.0, rows, shape: input.clone() });
    }
    // A set comes behind all sets in it.
    for number in 1..best.len() {
        if number.count_ones() < 2 {
            continue;
        }
        let (mut found, mut rows): (Option<(f64, usize)>, Option<f64>) = (None, None);
        // The halves that have the lowest member, so that each pair is looked at once.
        let lowest = number & number.wrapping_neg();
        let mut half = (number - 1) & number;
        while half > 0 {
            if half & lowest != 0
                && let (Some(a), Some(b)) = (&best[half], &best[number ^ half])
                && graph.by(sets[half], sets[number ^ half]).is_some()
            {
                let rows = *rows.get_or_insert_with(|| graph.rows(sets[number]));
                let own = graph.cost_of_join((sets[half], a.rows), (sets[number ^ half], b.rows), rows);
                let cost = a.cost + b.cost + own;
                if found.is_none_or(|(least, _)| cost < least) {
                    found = Some((cost, half));
                }
            }
            half = (half - 1) & number;
        }
        if let (Some((cost, half)), Some(rows)) = (found, rows)
            && let (Some(a), Some(b)) = (&best[half], &best[number ^ half])
        {
            let shape = Shape::join(a.shape.clone(), b.shape.clone());
            best[number] = Some(Best { cost, rows, shape });
        }
    }
    best.pop().flatten().map(|best| best.shape)
}

/// A tree over these, of which the smallest joins come first; several where predicates don't connect them by twos.
fn greedy(graph: &Graph, mut trees: Vec<Shape>) -> Vec<Shape> {
    // The rows of the join of two sets that predicates connect: most pairs are looked at many times.
    let mut known: BTreeMap<(Relations, Relations), Option<f64>> = BTreeMap::new();
    loop {
        let mut found: Option<(f64, usize, usize)> = None;
        for a in 0..trees.len() {
            for b in a + 1..trees.len() {
                let (left, right) = (trees[a].relations(), trees[b].relations());
                let rows = known
                    .entry((left, right))
                    .or_insert_with(|| graph.by(left, right).map(|_| graph.rows(left | right)));
                if let Some(rows) = *rows
                    && found.is_none_or(|(least, ..)| rows < least)
                {
                    found = Some((rows, a, b));
                }
            }
        }
        let Some((_, a, b)) = found else { return trees };
        let right = trees.remove(b);
        let left = std::mem::replace(&mut trees[a], Shape::Relation(0));
        trees[a] = Shape::join(left, right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::joins::graph::tests::key;
    use crate::rules::joins::graph::{Class, Edge};

    /// All trees over a set without cross products, by brute force.
    fn all(graph: &Graph, set: Relations) -> Vec<Shape> {
        if set.count_ones() == 1 {
            return vec![Shape::Relation(set.trailing_zeros() as usize)];
        }
        let mut trees = Vec::new();
        let mut half = (set - 1) & set;
        while half > 0 {
            if graph.by(half, set ^ half).is_some() {
                for left in all(graph, half) {
                    trees.extend(
                        all(graph, set ^ half).into_iter().map(|right| Shape::join(left.clone(), right)),
                    );
                }
            }
            half = (half - 1) & set;
        }
        trees
    }

    #[test]
    fn the_tree_is_the_cheapest_of_all() {
        let mut seed = 1_u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for relations in 2..=5 {
            for _ in 0..20 {
                let rows: Vec<f64> = (0..relations).map(|_| random(1_000_000) as f64).collect();
                // A tree of keys, and some more of them.
                let mut classes: Vec<Class> = (1..relations)
                    .map(|number| key(random(number as u64) as usize, number, (1 + random(10_000)) as f64))
                    .collect();
                for _ in 0..random(3) {
                    let (a, b) = (random(relations as u64) as usize, random(relations as u64) as usize);
                    if a != b {
                        classes.push(key(a, b, (1 + random(100)) as f64));
                    }
                }
                let graph = Graph::new(rows, classes, vec![Edge { on: 1, part: 0.1, sides: None, scope: 0 }]);
                let found = cheapest(&graph);
                let least = all(&graph, found.relations())
                    .iter()
                    .map(|shape| graph.cost(shape))
                    .fold(f64::INFINITY, f64::min);
                assert_eq!(found.relations().count_ones() as usize, relations);
                assert!((graph.cost(&found) - least).abs() <= 1e-9 * least, "{found:?}");
            }
        }
    }

    #[test]
    fn a_chain_of_many_relations_is_joined_without_cross_products() {
        let rows = (0..40).map(|number| 1000.0 + f64::from(number)).collect();
        let graph = Graph::new(rows, (1..40).map(|number| key(number - 1, number, 1000.0)).collect(), vec![]);
        let found = cheapest(&graph);
        assert_eq!(found.relations(), (1 << 40) - 1);
        fn is_connected(graph: &Graph, shape: &Shape) -> bool {
            match shape {
                Shape::Relation(_) => true,
                Shape::Join(inputs, _) => {
                    graph.by(inputs[0].relations(), inputs[1].relations()).is_some()
                        && inputs.iter().all(|input| is_connected(graph, input))
                }
            }
        }
        assert!(is_connected(&graph, &found));
    }

    #[test]
    fn parts_that_nothing_connects_are_joined_last() {
        let classes = vec![key(0, 1, 10.0), key(2, 3, 10.0)];
        let graph = Graph::new(vec![10.0, 1000.0, 10.0, 10.0], classes, vec![]);
        let Shape::Join(inputs, 0b1111) = cheapest(&graph) else { panic!("it joins all") };
        assert_eq!([inputs[0].relations(), inputs[1].relations()], [0b1100, 0b0011]);
    }
}
