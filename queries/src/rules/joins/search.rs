//! From a graph of relations and predicates to the cheapest tree of joins.
//!
//! Up to [`MOST_EXACT`] relations, every tree without cross products is looked at, bushy ones too, by dynamic programming over
//! sets of relations (Selinger et al. 1979; Moerkotte and Neumann, VLDB 2006, section 2.2, whose DPsub this is). Beyond, the
//! two inputs whose join is the smallest are joined first, again and again (Fegaras, DEXA 1998). Parts of the graph that no
//! predicate connects are joined last, the smaller ones first.
//!
//! Keys are classes of equal columns. A set of relations of which some have a member of a class has as many rows as their
//! product, divided by the numbers of values of all these members but the smallest one: all values of a column are taken to
//! be in one that has more. Where these numbers are not known of all members, it is divided by the smallest one each time:
//! that of a foreign key is then mostly taken for the number of its rows.

use std::collections::BTreeMap;

/// A set of relations: bit i is the one with the number i.
pub type Relations = u64;

/// The most relations of a graph.
pub const MOST_RELATIONS: usize = 64;
/// The most relations over which all trees are looked at: there are 3^10 pairs of sets.
const MOST_EXACT: usize = 10;

/// A row of the build side costs as much as so many of the probe side.
const BUILD: f64 = 2.0;

/// More rows than that count as that many: their number stays finite.
const MOST_ROWS: f64 = 1e200;

/// What is joined, and by what.
pub struct Graph {
    rows: Vec<f64>,
    classes: Vec<Class>,
    edges: Vec<Edge>,
    /// Relations that have members of several classes in common, those of the most classes first, and these classes.
    pairs: Vec<(usize, usize, Vec<usize>)>,
}

/// Columns of different relations that are equal.
#[derive(Debug)]
pub struct Class {
    /// One of each relation that has any.
    members: Vec<Member>,
    on: Relations,
}

/// A column of a class.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// The relation that has it.
    pub relation: usize,
    /// About how many values it has where nothing is filtered.
    pub whole: f64,
    /// Whether that is more than a bound.
    pub is_counted: bool,
    /// Which part of them filters have left.
    pub kept: f64,
}

/// Another predicate.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The relations that it names.
    pub on: Relations,
    /// About which part of the pairs of rows it keeps.
    pub part: f64,
}

/// A tree of joins.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// The relation with this number.
    Relation(usize),
    /// A join of two trees, and the relations of both.
    Join(Box<[Shape; 2]>, Relations),
}

impl Shape {
    /// A join of both.
    pub fn join(left: Shape, right: Shape) -> Shape {
        let relations = left.relations() | right.relations();
        Shape::Join(Box::new([left, right]), relations)
    }

    /// Its relations.
    pub fn relations(&self) -> Relations {
        match self {
            Shape::Relation(number) => 1 << number,
            Shape::Join(_, relations) => *relations,
        }
    }
}

impl Class {
    /// A class of these columns, of which the first one of each relation counts.
    pub fn new(all: Vec<Member>) -> Class {
        let (mut members, mut on): (Vec<Member>, Relations) = (Vec::new(), 0);
        for member in all {
            if on >> member.relation & 1 == 0 {
                on |= 1 << member.relation;
                members.push(member);
            }
        }
        Class { members, on }
    }

    /// By what the rows of a set are divided as its members become equal, one after the other.
    fn divisors(&self, set: Relations) -> impl Iterator<Item = f64> + use<> {
        let own: Vec<&Member> =
            self.members.iter().filter(|member| set >> member.relation & 1 == 1).collect();
        let kept = own.iter().map(|member| member.kept).fold(0.0, f64::max);
        let mut wholes: Vec<f64> = own.iter().map(|member| member.whole).collect();
        wholes.sort_by(|a, b| b.total_cmp(a));
        let least = wholes.pop().unwrap_or(1.0);
        let are_counted = own.iter().all(|member| member.is_counted);
        wholes.into_iter().map(move |whole| (if are_counted { whole } else { least } * kept).max(1.0))
    }
}

impl Graph {
    /// A graph of relations with so many rows.
    pub fn new(rows: Vec<f64>, classes: Vec<Class>, edges: Vec<Edge>) -> Graph {
        let mut shared: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (number, class) in classes.iter().enumerate() {
            for (at, a) in class.members.iter().enumerate() {
                for b in class.members.iter().skip(at + 1) {
                    let pair = (a.relation.min(b.relation), a.relation.max(b.relation));
                    shared.entry(pair).or_default().push(number);
                }
            }
        }
        let pairs = shared.into_iter().filter(|(_, classes)| classes.len() > 1);
        let mut pairs: Vec<_> = pairs.map(|((a, b), classes)| (a, b, classes)).collect();
        pairs.sort_by_key(|(_, _, classes)| std::cmp::Reverse(classes.len()));
        Graph { rows, classes, edges, pairs }
    }

    /// How many relations there are.
    pub fn relations(&self) -> usize {
        self.rows.len()
    }

    /// Gives a relation another number of rows.
    pub fn set_rows(&mut self, relation: usize, rows: f64) {
        if let Some(known) = self.rows.get_mut(relation) {
            *known = rows;
        }
    }

    /// About how many rows the join of all relations has.
    pub fn rows_of_all(&self) -> f64 {
        self.rows((0..self.rows.len()).fold(0, |set, number| set | 1 << number))
    }

    /// About how many rows the join of these relations has.
    fn rows(&self, set: Relations) -> f64 {
        let of = |number: usize| self.rows.get(number).copied().unwrap_or(1.0).max(1.0);
        let mut rows = members(set).map(of).fold(1.0, |all, rows| (all * rows).min(MOST_ROWS));
        rows *= self.edges.iter().filter(|edge| edge.on & !set == 0).map(|edge| edge.part).product::<f64>();
        // The relations of each class that no key connects yet.
        let mut open: Vec<Vec<Relations>> = self
            .classes
            .iter()
            .map(|class| members(class.on & set).map(|number| 1 << number).collect())
            .collect();
        let mut divisors: Vec<_> = self.classes.iter().map(|class| class.divisors(set)).collect();
        // Keys between the same two relations depend on each other: together they keep no less than one row for each row of
        // the larger relation.
        for (a, b, classes) in &self.pairs {
            if set >> a & 1 == 0 || set >> b & 1 == 0 {
                continue;
            }
            let both = 1 << a | 1 << b;
            let mut part = 1.0;
            for number in classes {
                let (Some(divisors), Some(open)) = (divisors.get_mut(*number), open.get_mut(*number)) else {
                    continue;
                };
                if !open.iter().any(|part| part & both == both) {
                    part /= divisors.next().unwrap_or(1.0);
                    let joined =
                        open.extract_if(.., |part| *part & both != 0).fold(0, |all, part| all | part);
                    open.push(joined);
                }
            }
            if part < 1.0 {
                rows *= part.max(1.0 / of(*a).min(of(*b)));
            }
        }
        for (divisors, open) in divisors.into_iter().zip(open) {
            divisors.take(open.len().saturating_sub(1)).for_each(|values| rows /= values);
        }
        rows.max(1.0)
    }

    /// The cost of a join of two sets with so many rows, without what they cost themselves: rows that are kept, looked up,
    /// and given. Without a key every row is compared with every other.
    fn cost_of_join(&self, a: (Relations, f64), b: (Relations, f64), rows: f64) -> f64 {
        let ((set_a, rows_a), (set_b, rows_b)) = (a, b);
        let has_key = self.classes.iter().any(|class| class.on & set_a != 0 && class.on & set_b != 0);
        let compared = if has_key { rows } else { rows_a * rows_b };
        BUILD * rows_a.min(rows_b) + rows_a.max(rows_b) + compared.max(rows)
    }

    /// The cost of a tree.
    pub fn cost(&self, shape: &Shape) -> f64 {
        match shape {
            Shape::Relation(_) => 0.0,
            Shape::Join(inputs, relations) => {
                let [left, right] = inputs.as_ref();
                let of = |shape: &Shape| (shape.relations(), self.rows(shape.relations()));
                let own = self.cost_of_join(of(left), of(right), self.rows(*relations));
                self.cost(left) + self.cost(right) + own
            }
        }
    }

    /// Whether a predicate connects two sets.
    fn connects(&self, a: Relations, b: Relations) -> bool {
        self.classes.iter().any(|class| class.on & a != 0 && class.on & b != 0)
            || self.edges.iter().any(|edge| edge.on & a != 0 && edge.on & b != 0 && edge.on & !(a | b) == 0)
    }

    /// The sets of relations that predicates connect, each as large as it can be.
    fn parts(&self) -> Vec<Relations> {
        let mut parts: Vec<Relations> = (0..self.rows.len()).map(|number| 1 << number).collect();
        for on in self.classes.iter().map(|class| class.on).chain(self.edges.iter().map(|edge| edge.on)) {
            let (touched, rest): (Vec<_>, Vec<_>) = parts.iter().partition(|part| **part & on != 0);
            parts = rest;
            if !touched.is_empty() {
                parts.push(touched.into_iter().fold(0, |all, part| all | part));
            }
        }
        parts.sort_unstable();
        parts
    }
}

/// The cheapest tree over all relations.
pub fn cheapest(graph: &Graph) -> Shape {
    let mut parts: Vec<Shape> = graph
        .parts()
        .into_iter()
        .flat_map(|part| match part.count_ones() as usize {
            ..=MOST_EXACT => exact(graph, part),
            _ => greedy(graph, part),
        })
        .collect();
    parts.sort_by(|a, b| graph.rows(a.relations()).total_cmp(&graph.rows(b.relations())));
    parts.into_iter().reduce(Shape::join).unwrap_or(Shape::Relation(0))
}

/// The cheapest tree over connected relations.
fn exact(graph: &Graph, whole: Relations) -> Vec<Shape> {
    struct Best {
        cost: f64,
        rows: f64,
        shape: Shape,
    }
    let members: Vec<usize> = members(whole).collect();
    // Sets are numbered by the positions of their members in `members`.
    let set = |number: usize| {
        members.iter().enumerate().filter(|(at, _)| number >> at & 1 == 1).fold(0, |set, (_, m)| set | 1 << m)
    };
    let mut best: Vec<Option<Best>> = (0..1_usize << members.len()).map(|_| None).collect();
    for (at, &number) in members.iter().enumerate() {
        let rows = graph.rows(1 << number);
        best[1 << at] = Some(Best { cost: 0.0, rows, shape: Shape::Relation(number) });
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
                && graph.connects(set(half), set(number ^ half))
            {
                let rows = *rows.get_or_insert_with(|| graph.rows(set(number)));
                let own = graph.cost_of_join((set(half), a.rows), (set(number ^ half), b.rows), rows);
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
    // Predicates over three relations or more may connect what no pair of sets does.
    match best.pop().flatten() {
        Some(best) => vec![best.shape],
        None => greedy(graph, whole),
    }
}

/// A tree over relations, of which the smallest joins come first; several where predicates don't connect them by twos.
fn greedy(graph: &Graph, whole: Relations) -> Vec<Shape> {
    let mut trees: Vec<Shape> = members(whole).map(Shape::Relation).collect();
    // The rows of the join of two sets that predicates connect: most pairs are looked at many times.
    let mut known: BTreeMap<(Relations, Relations), Option<f64>> = BTreeMap::new();
    loop {
        let mut found: Option<(f64, usize, usize)> = None;
        for a in 0..trees.len() {
            for b in a + 1..trees.len() {
                let (left, right) = (trees[a].relations(), trees[b].relations());
                let rows = known
                    .entry((left, right))
                    .or_insert_with(|| graph.connects(left, right).then(|| graph.rows(left | right)));
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

fn members(set: Relations) -> impl Iterator<Item = usize> {
    (0..MOST_RELATIONS).filter(move |number| set >> number & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class<const N: usize>(members: [(usize, f64); N]) -> Class {
        let member = |(relation, whole)| Member { relation, whole, is_counted: false, kept: 1.0 };
        Class::new(members.map(member).to_vec())
    }

    fn key(a: usize, b: usize, values: f64) -> Class {
        class([(a, values), (b, values)])
    }

    /// All trees over a set without cross products, by brute force.
    fn all(graph: &Graph, set: Relations) -> Vec<Shape> {
        if set.count_ones() == 1 {
            return vec![Shape::Relation(set.trailing_zeros() as usize)];
        }
        let mut trees = Vec::new();
        let mut half = (set - 1) & set;
        while half > 0 {
            if graph.connects(half, set ^ half) {
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
                let graph = Graph::new(rows, classes, vec![Edge { on: 1, part: 0.1 }]);
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
                    graph.connects(inputs[0].relations(), inputs[1].relations())
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

    #[test]
    fn values_that_are_known_are_in_the_column_that_has_more() {
        let rows = |is_counted, set| {
            let member = |(relation, whole)| Member { relation, whole, is_counted, kept: 1.0 };
            let members = [(0, 10_000.0), (1, 1_000_000.0), (2, 10_000.0)].map(member);
            let rows = vec![5_000_000.0, 1_000_000.0, 20_000.0];
            Graph::new(rows, vec![Class::new(members.to_vec())], vec![]).rows(set)
        };
        assert_eq!(rows(true, 0b011), 5_000_000.0);
        assert_eq!(rows(true, 0b111), 10_000_000.0);
        assert_eq!(rows(true, 0b101), 10_000_000.0);
        assert_eq!(rows(false, 0b011), 500_000_000.0);
    }

    #[test]
    fn two_keys_between_the_same_relations_are_not_independent() {
        // partsupp, lineitem and part of TPC-H by part and supplier.
        let rows = vec![800_000.0, 6_000_000.0, 200_000.0];
        let parts = class([(0, 200_000.0), (1, 200_000.0), (2, 200_000.0)]);
        let graph = Graph::new(rows, vec![parts, key(0, 1, 10_000.0)], vec![]);
        assert_eq!(graph.rows(0b011).round(), 6_000_000.0);
        assert_eq!(graph.rows(0b111).round(), 6_000_000.0);
        // What a foreign key's column has for values is not known.
        let graph = Graph::new(vec![100.0, 1e6, 1e6], vec![class([(0, 100.0), (1, 1e6), (2, 1e6)])], vec![]);
        assert_eq!(graph.rows(0b011).round(), 1e6);
        assert_eq!(graph.rows(0b111).round(), 1e10);
    }
}
