//! From a graph of relations and predicates to the cheapest tree of joins.
//!
//! Up to [`MOST_EXACT`] relations, every tree without cross products is looked at, bushy ones too, by dynamic programming over
//! sets of relations (Selinger et al. 1979; Moerkotte and Neumann, VLDB 2006, section 2.2, whose DPsub this is). Beyond, the
//! two inputs whose join is the smallest are joined first, again and again (Fegaras, DEXA 1998). Parts of the graph that no
//! predicate connects are joined last, the smaller ones first.

/// A set of relations: bit i is the one with the number i.
pub type Relations = u64;

/// The most relations of a graph.
pub const MOST_RELATIONS: usize = 64;
/// The most relations over which all trees are looked at: there are 3^10 pairs of sets.
const MOST_EXACT: usize = 10;

/// A row of the build side costs as much as so many of the probe side.
const BUILD: f64 = 2.0;

/// What is joined, and by what.
pub struct Graph {
    /// About how many rows each relation has.
    pub rows: Vec<f64>,
    /// The predicates.
    pub edges: Vec<Edge>,
}

/// A predicate.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The relations that it names.
    pub on: Relations,
    /// About which part of the pairs of rows it keeps.
    pub part: f64,
    /// Whether it says that a column of one relation equals one of another.
    pub is_key: bool,
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

impl Graph {
    /// About how many rows the join of these relations has.
    fn rows(&self, set: Relations) -> f64 {
        let mut rows = members(set).map(|number| self.rows[number]).product::<f64>();
        // Keys between the same two relations depend on each other: together they keep no less than one row for each row of
        // the smaller relation.
        let mut keys: Vec<(Relations, f64)> = Vec::new();
        for edge in self.edges.iter().filter(|edge| edge.on & !set == 0) {
            match keys.iter_mut().find(|(on, _)| edge.is_key && *on == edge.on) {
                Some((_, part)) => *part *= edge.part,
                None if edge.is_key => keys.push((edge.on, edge.part)),
                None => rows *= edge.part,
            }
        }
        for (on, part) in keys {
            let smaller = members(on).map(|number| self.rows[number]).fold(f64::INFINITY, f64::min);
            rows *= part.max(1.0 / smaller.max(1.0));
        }
        rows.max(1.0)
    }

    /// The cost of a join of two sets with so many rows, without what they cost themselves: rows that are kept, looked up,
    /// and given. Without a key every row is compared with every other.
    fn cost_of_join(&self, a: (Relations, f64), b: (Relations, f64), rows: f64) -> f64 {
        let ((set_a, rows_a), (set_b, rows_b)) = (a, b);
        let is_key = |edge: &Edge| edge.is_key && connects(edge, set_a, set_b);
        let compared = if self.edges.iter().any(is_key) { rows } else { rows_a * rows_b };
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
        self.edges.iter().any(|edge| connects(edge, a, b))
    }

    /// The sets of relations that predicates connect, each as large as it can be.
    fn parts(&self) -> Vec<Relations> {
        let mut parts: Vec<Relations> = (0..self.rows.len()).map(|number| 1 << number).collect();
        for edge in &self.edges {
            let (touched, rest): (Vec<_>, Vec<_>) = parts.iter().partition(|part| **part & edge.on != 0);
            parts = rest;
            parts.push(touched.into_iter().fold(0, |all, part| all | part));
        }
        parts.sort_unstable();
        parts
    }
}

fn connects(edge: &Edge, a: Relations, b: Relations) -> bool {
    edge.on & a != 0 && edge.on & b != 0 && edge.on & !(a | b) == 0
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
    loop {
        let mut found: Option<(f64, usize, usize)> = None;
        for a in 0..trees.len() {
            for b in a + 1..trees.len() {
                let (left, right) = (trees[a].relations(), trees[b].relations());
                if graph.connects(left, right) {
                    let rows = graph.rows(left | right);
                    if found.is_none_or(|(least, ..)| rows < least) {
                        found = Some((rows, a, b));
                    }
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

    fn key(a: usize, b: usize, values: f64) -> Edge {
        Edge { on: 1 << a | 1 << b, part: 1.0 / values, is_key: true }
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
                let mut edges: Vec<Edge> = (1..relations)
                    .map(|number| key(random(number as u64) as usize, number, (1 + random(10_000)) as f64))
                    .collect();
                edges.push(Edge { on: 1, part: 0.1, is_key: false });
                for _ in 0..random(3) {
                    let (a, b) = (random(relations as u64) as usize, random(relations as u64) as usize);
                    if a != b {
                        edges.push(key(a, b, (1 + random(100)) as f64));
                    }
                }
                let graph = Graph { rows, edges };
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
        let graph = Graph {
            rows: (0..40).map(|number| 1000.0 + f64::from(number)).collect(),
            edges: (1..40).map(|number| key(number - 1, number, 1000.0)).collect(),
        };
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
        let graph =
            Graph { rows: vec![10.0, 1000.0, 10.0, 10.0], edges: vec![key(0, 1, 10.0), key(2, 3, 10.0)] };
        let Shape::Join(inputs, 0b1111) = cheapest(&graph) else { panic!("it joins all") };
        assert_eq!([inputs[0].relations(), inputs[1].relations()], [0b1100, 0b0011]);
    }

    #[test]
    fn two_keys_between_the_same_relations_are_not_independent() {
        // partsupp and lineitem of TPC-H by part and supplier.
        let graph = Graph {
            rows: vec![800_000.0, 6_000_000.0],
            edges: vec![key(0, 1, 200_000.0), key(0, 1, 10_000.0)],
        };
        assert_eq!(graph.rows(0b11).round(), 6_000_000.0);
    }
}
