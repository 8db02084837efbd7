//! From a graph of relations and predicates to the cheapest tree of joins.
//!
//! Up to [`MOST_EXACT`] relations, every tree without cross products is looked at, bushy ones too, by dynamic programming over
//! sets of relations (Selinger et al. 1979; Moerkotte and Neumann, VLDB 2006, section 2.2, whose DPsub this is). Beyond, the
//! two inputs whose join is the smallest are joined first, again and again (Fegaras, DEXA 1998). Parts of the graph that no
//! predicate connects are joined last, the smaller ones first.
//!
//! Joins other than inner ones are [`Operator`]s of the graph. Two sets are joined either by predicates of inner joins or by
//! one operator, and only if conflict rules are kept ([`super::conflicts`]). So the rows of a set are the same whatever the
//! tree, and so is the estimate of their number: that of the text's joins of these relations.
//!
//! Keys are classes of equal columns. A set of relations of which some have a member of a class has as many rows as their
//! product, divided by the numbers of values of all these members but the smallest one: all values of a column are taken to
//! be in one that has more. Where these numbers are not known of all members, it is divided by the smallest one each time:
//! that of a foreign key is then mostly taken for the number of its rows.

use std::collections::BTreeMap;

use super::LEAST_RELATIONS;
use super::conflicts::Rule;
use super::region::Tree;
use crate::algebra::JoinKind;
use crate::estimates::joined::Matching;

/// A set of relations: bit i is the one with the number i.
pub type Relations = u64;

/// The most relations of a graph.
pub const MOST_RELATIONS: usize = 64;
/// The most relations over which all trees are looked at: there are 3^10 pairs of sets.
const MOST_EXACT: usize = 10;

/// A tree that was found replaces another one if its cost is at most this part of the other's.
const CLEARLY: f64 = 0.9;

/// A row of the build side costs as much as so many of the probe side.
const BUILD: f64 = 2.0;

/// More rows than that count as that many: their number stays finite.
const MOST_ROWS: f64 = 1e200;

/// What is joined, and by what.
pub struct Graph {
    rows: Vec<f64>,
    /// How many rows there are where nothing is filtered.
    whole: Vec<f64>,
    classes: Vec<Class>,
    edges: Vec<Edge>,
    operators: Vec<Operator>,
    /// The first one is that of the top.
    scopes: Vec<Scope>,
    /// Relations that have members of several classes in common, those of the most classes first, and these classes.
    pairs: Vec<(usize, usize, Vec<usize>)>,
}

/// Columns of different relations that are equal.
#[derive(Debug)]
pub struct Class {
    /// One of each relation that has any.
    members: Vec<Member>,
    on: Relations,
    /// The scope that they are equal in.
    scope: usize,
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
    /// The relations that have to be there when it is asked.
    pub on: Relations,
    /// About which part of the pairs of rows it keeps.
    pub part: f64,
    /// The relations of each side, if it is an equality of two sides.
    pub sides: Option<[Relations; 2]>,
    /// The scope in which it holds.
    pub scope: usize,
}

/// A join other than an inner one.
#[derive(Debug)]
pub struct Operator {
    /// Which rows are given.
    pub kind: JoinKind,
    /// The relations below in the text, on the left side and on the right one.
    pub sides: [Relations; 2],
    /// The relations that have to be there when it is made.
    pub on: Relations,
    /// What else has to be there.
    pub rules: Vec<Rule>,
    /// What is known of the rows that match.
    pub matching: Matching,
    /// Whether rows are found by a key.
    pub has_key: bool,
    /// The scopes of the right side and, of a full join, of the left one.
    pub scopes: (usize, Option<usize>),
}

/// Relations over which predicates of inner joins hold, whichever of these joins has them: what inner joins stand between,
/// and the left sides of joins that give no row but left ones and what these match.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The relations in it, without those of the scopes below.
    pub own: Relations,
    /// The operators between it and the scopes below, by their numbers, lower ones first.
    pub operators: Vec<usize>,
    /// What inner joins keep.
    pub rules: Vec<Rule>,
}

/// What joins two sets of relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Predicates of inner joins.
    Predicates,
    /// The operator of this number.
    Operator(usize),
    /// The same, whose left side is the second set.
    Turned(usize),
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
    /// A class of these columns in a scope, of which the first one of each relation counts.
    pub fn new(all: Vec<Member>, scope: usize) -> Class {
        let (mut members, mut on): (Vec<Member>, Relations) = (Vec::new(), 0);
        for member in all {
            if on >> member.relation & 1 == 0 {
                on |= 1 << member.relation;
                members.push(member);
            }
        }
        Class { members, on, scope }
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
        let scopes = vec![Scope { own: all_of(rows.len()), ..Scope::default() }];
        Graph { whole: rows.clone(), rows, classes, edges, operators: vec![], scopes, pairs }
    }

    /// The same of relations that have so many rows where nothing is filtered.
    pub fn of_whole(self, whole: Vec<f64>) -> Graph {
        Graph { whole, ..self }
    }

    /// The same with joins other than inner ones.
    pub fn with_operators(self, operators: Vec<Operator>, scopes: Vec<Scope>) -> Graph {
        Graph { operators, scopes, ..self }
    }

    /// How many relations there are.
    pub fn relations(&self) -> usize {
        self.rows.len()
    }

    /// About how many rows the join of all relations has.
    pub fn rows_of_all(&self) -> f64 {
        self.rows(all_of(self.rows.len()))
    }

    /// About how many rows the join of these relations has.
    fn rows(&self, set: Relations) -> f64 {
        let mut number = 0;
        loop {
            let Some(scope) = self.scopes.get(number) else { return 1.0 };
            match scope.operators.iter().find_map(|at| self.operators.get(*at)?.scope_of(set)) {
                Some(below) => number = below,
                None => return self.rows_in(scope, number, set),
            }
        }
    }

    /// About how many rows those relations of a set have that are in a scope, and in those below.
    fn rows_in(&self, scope: &Scope, number: usize, set: Relations) -> f64 {
        let edges = self.edges.iter().filter(|edge| edge.scope == number && edge.on & !set == 0);
        let mut rows = self.rows_of_inner(set & scope.own, edges.map(|edge| edge.part).product());
        for operator in scope.operators.iter().filter_map(|at| self.operators.get(*at)) {
            let below = |side: Relations, at: usize| {
                let scope = self.scopes.get(at).filter(|_| set & side != 0)?;
                Some(self.rows_in(scope, at, set & side))
            };
            rows *= operator.factor(set, &below);
        }
        rows.clamp(1.0, MOST_ROWS)
    }

    /// About how many rows inner joins of these relations give, of whose pairs other predicates keep a part.
    fn rows_of_inner(&self, set: Relations, part: f64) -> f64 {
        let of = |number: usize| self.rows.get(number).copied().unwrap_or(1.0).max(1.0);
        let mut rows = members(set).map(of).fold(1.0, |all, rows| (all * rows).min(MOST_ROWS));
        rows *= part;
        // The relations of each class that no key connects yet.
        let mut open: Vec<Vec<Relations>> = self
            .classes
            .iter()
            .map(|class| members(class.on & set).map(|number| 1 << number).collect())
            .collect();
        let mut divisors: Vec<_> = self.classes.iter().map(|class| class.divisors(set)).collect();
        // Keys between the same two relations depend on each other: where nothing is filtered, they keep together no less
        // than one row for each row of the larger relation.
        let whole = |number: usize| self.whole.get(number).copied().unwrap_or(1.0).max(1.0);
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
                rows *= part.max(1.0 / whole(*a).min(whole(*b)));
            }
        }
        for (divisors, open) in divisors.into_iter().zip(open) {
            divisors.take(open.len().saturating_sub(1)).for_each(|values| rows /= values);
        }
        rows.max(1.0)
    }

    /// The cost of a join of two sets with so many rows, without what they cost themselves: rows that are kept, looked up,
    /// and given. Without a key every row is compared with every other. A semi or anti join makes no pairs: it gives rows
    /// that it has.
    fn cost_of_join(&self, a: (Relations, f64), b: (Relations, f64), rows: f64) -> f64 {
        let ((set_a, rows_a), (set_b, rows_b)) = (a, b);
        let mut own = self.operators.iter().filter(|operator| is_between(operator.on, set_a, set_b));
        let made = if own.any(|operator| !operator.kind.gives_right()) { 0.0 } else { rows };
        let compared = if self.has_key(set_a, set_b) { made } else { rows_a * rows_b };
        BUILD * rows_a.min(rows_b) + rows_a.max(rows_b) + compared.max(made)
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

    /// Whether a join of two sets finds rows by a key.
    fn has_key(&self, a: Relations, b: Relations) -> bool {
        let parts = |[left, right]: [Relations; 2]| {
            left & !a == 0 && right & !b == 0 || left & !b == 0 && right & !a == 0
        };
        self.classes.iter().any(|class| class.on & a != 0 && class.on & b != 0)
            || self.edges.iter().any(|edge| is_between(edge.on, a, b) && edge.sides.is_some_and(parts))
            || self.operators.iter().any(|operator| operator.has_key && is_between(operator.on, a, b))
    }

    /// What joins two sets, if anything does and may.
    pub fn by(&self, a: Relations, b: Relations) -> Option<By> {
        let classes = self.classes.iter().filter(|class| class.on & a != 0 && class.on & b != 0);
        let edges = self.edges.iter().filter(|edge| is_between(edge.on, a, b));
        let mut scopes = classes.map(|class| class.scope).chain(edges.map(|edge| edge.scope)).peekable();
        let is_inner = scopes.peek().is_some();
        if self.operators.is_empty() {
            return is_inner.then_some(By::Predicates);
        }
        // What could be asked or made, and is not, never is.
        let own = self.operators.iter().enumerate().filter(|(_, operator)| is_between(operator.on, a, b));
        match (is_inner, own.collect::<Vec<_>>().as_slice()) {
            (true, []) => {
                let rules = scopes.filter_map(|scope| self.scopes.get(scope)).flat_map(|scope| &scope.rules);
                rules.into_iter().all(|rule| rule.is_kept(a | b)).then_some(By::Predicates)
            }
            (false, [(number, operator)]) => operator.by(*number, a, b),
            _ => None,
        }
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

impl Operator {
    /// The scope below that all of these relations are in.
    fn scope_of(&self, set: Relations) -> Option<usize> {
        let is_below = |side: Relations| set & !side == 0;
        if is_below(self.sides[1]) {
            return Some(self.scopes.0);
        }
        self.scopes.1.filter(|_| is_below(self.sides[0]))
    }

    /// By how much it changes the number of rows of those relations of a set that are around it. `below` tells how many rows
    /// there are on a side and in its scope. Where it is not made yet, its right side stands for itself.
    fn factor(&self, set: Relations, below: &dyn Fn(Relations, usize) -> Option<f64>) -> f64 {
        let right = below(self.sides[1], self.scopes.0);
        let left = self.scopes.1.and_then(|scope| below(self.sides[0], scope));
        let Some(right) = right else { return left.unwrap_or(1.0) };
        if self.on & !set != 0 {
            return left.unwrap_or(1.0) * right;
        }
        match self.kind {
            JoinKind::Semi => self.matching.matched(right),
            JoinKind::Anti | JoinKind::AntiNullAware => self.matching.unmatched(right),
            JoinKind::Full => {
                let left = left.unwrap_or(1.0);
                (left * right * self.matching.part()).max(left + right)
            }
            _ => (right * self.matching.part()).max(1.0),
        }
    }

    /// How it joins two sets, if it may.
    fn by(&self, number: usize, a: Relations, b: Relations) -> Option<By> {
        let [left, right] = self.sides.map(|side| self.on & side);
        let is_kept = self.rules.iter().all(|rule| rule.is_kept(a | b));
        if !is_kept {
            None
        } else if left & !a == 0 && right & !b == 0 {
            Some(By::Operator(number))
        } else {
            (left & !b == 0 && right & !a == 0).then_some(By::Turned(number))
        }
    }
}

/// Whether a join of two sets has all relations of a third one, which neither of the two has.
fn is_between(on: Relations, a: Relations, b: Relations) -> bool {
    on & !(a | b) == 0 && on & !a != 0 && on & !b != 0
}

/// The set of so many relations.
fn all_of(relations: usize) -> Relations {
    (0..relations).fold(0, |set, number| set | 1 << number)
}

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

/// A tree in which outer joins keep their place: inner joins between them come in the order that costs least, and each semi
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

fn members(set: Relations) -> impl Iterator<Item = usize> {
    (0..MOST_RELATIONS).filter(move |number| set >> number & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class<const N: usize>(members: [(usize, f64); N]) -> Class {
        let member = |(relation, whole)| Member { relation, whole, is_counted: false, kept: 1.0 };
        Class::new(members.map(member).to_vec(), 0)
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

    #[test]
    fn values_that_are_known_are_in_the_column_that_has_more() {
        let rows = |is_counted, set| {
            let member = |(relation, whole)| Member { relation, whole, is_counted, kept: 1.0 };
            let members = [(0, 10_000.0), (1, 1_000_000.0), (2, 10_000.0)].map(member);
            let rows = vec![5_000_000.0, 1_000_000.0, 20_000.0];
            Graph::new(rows, vec![Class::new(members.to_vec(), 0)], vec![]).rows(set)
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
        // Of a pair of which one side is filtered fewer rows are left.
        let filtered = vec![8_000.0, 6_000_000.0, 200_000.0];
        let classes = vec![class([(0, 200_000.0), (1, 200_000.0)]), key(0, 1, 10_000.0)];
        let graph = Graph::new(filtered, classes, vec![]).of_whole(vec![800_000.0, 6_000_000.0, 200_000.0]);
        assert_eq!(graph.rows(0b011).round(), 60_000.0);
        // What a foreign key's column has for values is not known.
        let graph = Graph::new(vec![100.0, 1e6, 1e6], vec![class([(0, 100.0), (1, 1e6), (2, 1e6)])], vec![]);
        assert_eq!(graph.rows(0b011).round(), 1e6);
        assert_eq!(graph.rows(0b111).round(), 1e10);
    }
}
