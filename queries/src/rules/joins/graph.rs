//! From the predicates of inner joins to classes of equal expressions and edges, and from a tree over these to joins.
//!
//! `a.x = b.y` and `b.y = c.z` make one class of the three: any two of them may be a join's key. A join of two sets of
//! relations that have members of a class gets one equality of it, which with those below says what the text does.

use std::collections::BTreeMap;

use datafusion_expr::Operator;

use super::region::{Tree, joined, relation};
use super::search::{Class, Edge, Graph, Member, Relations, Shape};
use crate::algebra::{Expr, Filter, Rel};
use crate::estimates::values::{Number, Spread};
use crate::estimates::{self, Estimate, equality, kept};
use crate::rules::hash::hash;

/// The predicates of a region as what equals what, and the rest.
#[derive(Default)]
pub struct Parts {
    classes: Vec<Equal>,
    /// The other predicates, and the relations that each of them is over as a set.
    others: Vec<(Relations, Expr)>,
    /// For each predicate, in the order of [`Tree::predicates`], whether it is one of the others.
    is_other: Vec<bool>,
}

/// A side of an equality: the place of the relation that it is over, and the expression.
type Side<'a> = (usize, &'a Expr);

/// Expressions over one relation each that are equal.
#[derive(Default)]
struct Equal {
    /// The places of relations, and expressions over them.
    members: Vec<(usize, Expr)>,
    /// Members that the text says are equal.
    said: Vec<(usize, usize)>,
}

impl Parts {
    /// Takes the predicates of a tree for what they are. `owners` gives the relations that an expression reads; `None` if
    /// it does not know them.
    pub fn of(tree: &Tree, owners: &dyn Fn(&Expr) -> Option<Vec<usize>>) -> Option<Parts> {
        let mut parts = Parts::default();
        let mut equal: Vec<[Side; 2]> = Vec::new();
        for e in tree.predicates() {
            let key = equality(e).and_then(|(a, b)| {
                let one = |e: &Expr| owners(e).filter(|on| on.len() == 1).and_then(|on| on.first().copied());
                let (of_a, of_b) = (one(a)?, one(b)?);
                (of_a != of_b && a.data_type == b.data_type).then_some([(of_a, a), (of_b, b)])
            });
            parts.is_other.push(key.is_none());
            match key {
                Some(key) => equal.push(key),
                None => {
                    let on = owners(e)?.iter().fold(0, |set, place| set | 1 << place);
                    parts.others.push((on, e.clone()));
                }
            }
        }
        parts.classes = classes(&equal);
        Some(parts)
    }

    /// The graph of relations with these estimates.
    pub fn graph(&self, relations: &[Estimate]) -> Graph {
        let classes = self.classes.iter().map(|class| {
            let member = |(place, e): &(usize, Expr)| {
                let estimate = relations.get(*place)?;
                let spread = estimate.spread(e).unwrap_or(Spread::of_values(estimate.rows));
                let is_counted = spread.number == Number::Counted;
                Some(Member { relation: *place, whole: spread.whole, is_counted, kept: spread.kept })
            };
            Class::new(class.members.iter().filter_map(member).collect())
        });
        let edges = self.others.iter().map(|(on, e)| {
            let named = relations.iter().enumerate().filter(|(place, _)| on >> place & 1 == 1);
            Edge { on: *on, part: kept::part(e, &Estimate::pairs(named.map(|(_, estimate)| estimate))) }
        });
        let rows = relations.iter().map(|estimate| estimate.rows).collect();
        Graph::new(rows, classes.collect(), edges.collect())
    }

    /// The joins of a shape.
    pub fn build(
        &self,
        tree: Tree,
        shape: &Shape,
        relations: Vec<Option<(Rel, Estimate)>>,
    ) -> (Rel, Estimate) {
        let others =
            tree.into_predicates().into_iter().zip(&self.is_other).filter(|(_, is_other)| **is_other);
        let others = others.zip(&self.others).map(|((e, _), (on, _))| (*on, e)).collect();
        Builder { parts: self, relations, others }.build(shape)
    }
}

/// Classes of equal expressions, in the order in which the text names them.
fn classes(equal: &[[Side; 2]]) -> Vec<Equal> {
    let mut known = Known::default();
    let pairs: Vec<(usize, usize)> =
        equal.iter().map(|[a, b]| (known.number(*a), known.number(*b))).collect();
    for (a, b) in &pairs {
        known.join(*a, *b);
    }
    let mut found: BTreeMap<usize, Equal> = BTreeMap::new();
    let mut places = Vec::with_capacity(known.members.len());
    for ((place, e), class) in known.members.iter().zip(&known.classes) {
        let equal = found.entry(*class).or_default();
        places.push((*class, equal.members.len()));
        equal.members.push((*place, (*e).clone()));
    }
    for (a, b) in pairs {
        if let (Some((class, a)), Some((_, b))) = (places.get(a), places.get(b))
            && let Some(equal) = found.get_mut(class)
        {
            equal.said.push((*a, *b));
        }
    }
    found.into_values().collect()
}

/// Expressions over relations, each once, and the number of the class that each is in.
#[derive(Default)]
struct Known<'a> {
    members: Vec<Side<'a>>,
    classes: Vec<usize>,
    by_hash: BTreeMap<u64, Vec<usize>>,
}

impl<'a> Known<'a> {
    /// The number of an expression.
    fn number(&mut self, member: Side<'a>) -> usize {
        let same = self.by_hash.entry(hash(member.1)).or_default();
        if let Some(at) = same.iter().find(|at| self.members.get(**at) == Some(&member)) {
            return *at;
        }
        let at = self.members.len();
        same.push(at);
        self.members.push(member);
        self.classes.push(at);
        at
    }

    /// Makes one class of those of two expressions.
    fn join(&mut self, a: usize, b: usize) {
        let of = |at: usize| self.classes.get(at).copied().unwrap_or(at);
        let (a, b) = (of(a), of(b));
        if a != b {
            self.classes.iter_mut().filter(|class| **class == a.max(b)).for_each(|class| *class = a.min(b));
        }
    }
}

impl Equal {
    fn is_in(&self, member: usize, set: Relations) -> bool {
        self.members.get(member).is_some_and(|(place, _)| set >> place & 1 == 1)
    }

    /// An equality between two sets of relations: one that the text has, if there is one.
    fn between(&self, left: Relations, right: Relations) -> Option<Expr> {
        let said = self.said.iter().find(|(a, b)| {
            self.is_in(*a, left) && self.is_in(*b, right) || self.is_in(*b, left) && self.is_in(*a, right)
        });
        let first = |set| (0..self.members.len()).find(|member| self.is_in(*member, set));
        let (a, b) = said.copied().or_else(|| first(left).zip(first(right)))?;
        Some(Expr::compare(self.members.get(a)?.1.clone(), Operator::Eq, self.members.get(b)?.1.clone()))
    }

    /// What the members over one relation have to be to each other.
    fn within(&self, place: usize) -> Vec<Expr> {
        let mut own = self.members.iter().filter(|(of, _)| *of == place).map(|(_, e)| e);
        let Some(first) = own.next() else { return vec![] };
        own.map(|e| Expr::compare(first.clone(), Operator::Eq, e.clone())).collect()
    }
}

/// Builds the joins of a shape.
struct Builder<'a> {
    parts: &'a Parts,
    relations: Vec<Option<(Rel, Estimate)>>,
    /// Predicates that no join has yet.
    others: Vec<(Relations, Expr)>,
}

impl Builder<'_> {
    fn build(&mut self, shape: &Shape) -> (Rel, Estimate) {
        match shape {
            Shape::Relation(place) => {
                let (input, estimate) = relation(&mut self.relations, *place);
                let predicates: Vec<Expr> =
                    self.parts.classes.iter().flat_map(|class| class.within(*place)).collect();
                if predicates.is_empty() {
                    return (input, estimate);
                }
                let rel = Rel::Filter(Filter { input: Box::new(input), predicates });
                let filtered = estimates::of(&rel, &[&estimate]);
                (rel, filtered)
            }
            Shape::Join(inputs, whole) => {
                let (left, right) = (inputs[0].relations(), inputs[1].relations());
                let sides = (self.build(&inputs[0]), self.build(&inputs[1]));
                let keys = self.parts.classes.iter().filter_map(|class| class.between(left, right));
                let mut predicates: Vec<Expr> = keys.collect();
                let own = self.others.extract_if(.., |(on, _)| *on & !whole == 0);
                predicates.extend(own.map(|(_, e)| e));
                joined(sides.0, sides.1, predicates)
            }
        }
    }
}
