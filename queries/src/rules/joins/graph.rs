//! What is joined, and by what: relations, classes of equal columns, predicates, and joins other than inner ones. About how
//! many rows a set of relations has, what its joins cost, and which sets may be joined.
//!
//! Two sets are joined either by predicates of inner joins or by one [`Operator`], and only if conflict rules are kept
//! ([`super::conflicts`]). So the rows of a set are the same whatever the tree. So is the estimate of their number:
//! that of the text's joins of these relations.
//!
//! Keys are classes of equal columns. Take a set of relations of which some have a member of a class. It has as many
//! rows as their product, divided by the numbers of values of all these members but the smallest one. All values of a
//! column are taken to be in one that has more. Where these numbers are not known of all members, it is divided by the
//! smallest one each time. That of a foreign key is then mostly taken for the number of its rows.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use super::conflicts::Rule;
use crate::algebra::JoinKind;
use crate::estimates::joined::Matching;

/// A set of relations: bit i is the one with the number i.
pub type Relations = u64;

/// The most relations of a graph.
pub const MOST_RELATIONS: usize = 64;

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
    /// Joins other than inner ones.
    pub operators: Vec<Operator>,
    /// The first one is that of the top.
    scopes: Vec<Scope>,
    /// Relations that have members of several classes in common, those of the most classes first, and these classes.
    pairs: Vec<(usize, usize, Vec<usize>)>,
    /// The rows of sets that have been asked for: a search asks for those of a set once for each tree.
    known: RefCell<HashMap<Relations, f64>>,
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

/// Relations over which predicates of inner joins hold, whichever of these joins has them. They are what inner joins
/// stand between, and the left sides of joins that give no row but left ones and what these match.
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
        let known = RefCell::default();
        Graph { whole: rows.clone(), rows, classes, edges, operators: vec![], scopes, pairs, known }
    }

    /// The same of relations that have so many rows where nothing is filtered.
    pub fn of_whole(self, whole: Vec<f64>) -> Graph {
        Graph { whole, known: RefCell::default(), ..self }
    }

    /// The same with joins other than inner ones.
    pub fn with_operators(self, operators: Vec<Operator>, scopes: Vec<Scope>) -> Graph {
        Graph { operators, scopes, known: RefCell::default(), ..self }
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
    pub fn rows(&self, set: Relations) -> f64 {
        let known = self.known.borrow().get(&set).copied();
        known.unwrap_or_else(|| {
            let rows = self.rows_of_set(set);
            self.known.borrow_mut().insert(set, rows);
            rows
        })
    }

    fn rows_of_set(&self, set: Relations) -> f64 {
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
    pub fn cost_of_join(&self, a: (Relations, f64), b: (Relations, f64), rows: f64) -> f64 {
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
    pub fn parts(&self) -> Vec<Relations> {
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

/// The numbers of the relations of a set.
pub fn members(set: Relations) -> impl Iterator<Item = usize> {
    (0..MOST_RELATIONS).filter(move |number| set >> number & 1 == 1)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn class<const N: usize>(members: [(usize, f64); N]) -> Class {
        let member = |(relation, whole)| Member { relation, whole, is_counted: false, kept: 1.0 };
        Class::new(members.map(member).to_vec(), 0)
    }

    pub(in crate::rules::joins) fn key(a: usize, b: usize, values: f64) -> Class {
        class([(a, values), (b, values)])
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
