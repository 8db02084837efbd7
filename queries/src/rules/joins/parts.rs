//! From the predicates of joins to classes of equal expressions, edges and operators, and from a tree over these to joins.
//!
//! `a.x = b.y` and `b.y = c.z` make one class of the three: any two of them may be a join's key. A join of two sets of
//! relations that have members of a class gets one equality of it. With those below, it says what the text does.
//!
//! That holds within a *scope* ([`Scope`]): a row that an outer join fills up does not have what the predicates of its
//! other side say. So the members of a class are of relations of one scope. An equality with a column of a scope below
//! is an edge like other predicates.

use std::collections::BTreeMap;

use datafusion_expr::Operator as Op;

use super::conflicts::{self, Placed, Rejects, Rule};
use super::graph::{By, Class, Edge, Graph, Member, Operator, Relations, Scope, Shape};
use super::region::{Joined, Tree, joined, relation};
use crate::algebra::{ColumnId, Expr, Filter, JoinKind, Kind, Rel};
use crate::estimates::joined::Matching;
use crate::estimates::values::{Number, Spread};
use crate::estimates::{self, Estimate, equality, kept};
use crate::rules::filters::nulls;
use crate::rules::hash::hash;

/// The predicates of a region as what equals what, the joins other than inner ones, and the rest.
#[derive(Default)]
pub struct Parts {
    classes: Vec<Equal>,
    others: Vec<Other>,
    /// Joins other than inner ones, and the rules of each.
    operators: Vec<(Placed, Vec<Rule>)>,
    /// The scopes below each of them.
    below: Vec<(usize, Option<usize>)>,
    /// The first one is that of the top.
    scopes: Vec<Scope>,
}

/// A predicate of an inner join that makes no class.
struct Other {
    /// The relations that it is over.
    over: Relations,
    /// Those that have to be there when it is asked.
    on: Relations,
    /// `None` for a join without predicates, which is made once all its relations are there.
    expr: Option<Expr>,
    /// The relations of each side of an equality.
    sides: Option<[Relations; 2]>,
    scope: usize,
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
    scope: usize,
}

/// Takes a tree apart.
struct Collect<'a, 't> {
    /// The place of the relation that gives a column.
    owner: &'a dyn Fn(ColumnId) -> Option<usize>,
    /// Whether there are joins other than inner ones.
    has_operators: bool,
    parts: Parts,
    /// All joins so far: those below first, those of a left side before those of the right one.
    joins: Vec<Placed>,
    /// For each scope what equals what.
    equal: Vec<Vec<[Side<'t>; 2]>>,
}

impl<'t> Collect<'_, 't> {
    /// The relations that an expression reads; `None` if it reads a column of none of them.
    fn over(&self, e: &Expr) -> Option<Relations> {
        e.columns().into_iter().try_fold(0, |set, id| Some(set | 1 << (self.owner)(id)?))
    }

    fn new_scope(&mut self) -> usize {
        self.parts.scopes.push(Scope::default());
        self.equal.push(vec![]);
        self.parts.scopes.len() - 1
    }

    /// Takes a tree in a scope apart; gives its relations.
    fn tree(&mut self, tree: &'t Tree, scope: usize) -> Option<Relations> {
        match tree {
            Tree::Relation(place) => {
                self.parts.scopes.get_mut(scope)?.own |= 1 << place;
                Some(1 << place)
            }
            Tree::Join(join) if join.kind == JoinKind::Inner => self.inner(join, scope),
            Tree::Join(join) => self.operator(join, scope),
        }
    }

    /// A tree that is a scope of its own, and the number of that.
    fn apart(&mut self, tree: &'t Tree) -> Option<(Relations, usize)> {
        let (scope, first) = (self.new_scope(), self.joins.len());
        let set = self.tree(tree, scope)?;
        self.close(scope, first);
        Some((set, scope))
    }

    /// Notes what inner joins of a scope keep: the joins in it are those from the number `first` on.
    fn close(&mut self, scope: usize, first: usize) {
        let joins = self.joins.get(first..).unwrap_or_default();
        if let Some(scope) = self.parts.scopes.get_mut(scope) {
            scope.rules = joins.iter().flat_map(Placed::rules_of_inner).collect();
        }
    }

    fn inner(&mut self, join: &'t Joined, scope: usize) -> Option<Relations> {
        let first = self.joins.len();
        let sides = [self.tree(&join.sides[0], scope)?, self.tree(&join.sides[1], scope)?];
        let both = sides[0] | sides[1];
        let below = self.joins.get(first..).unwrap_or_default();
        let rules: Vec<Rule> = below.iter().flat_map(Placed::rules_of_inner).collect();
        let mut on = 0;
        for e in &join.predicates {
            let over = self.over(e)?;
            let is_of_both = sides.iter().all(|side| over & side != 0);
            if let Some(key) = self.key(e, scope) {
                on |= if is_of_both { over } else { 0 };
                self.equal.get_mut(scope)?.push(key);
                continue;
            }
            // What says nothing of both sides is asked where the text does.
            let needed = match is_of_both || !self.has_operators {
                true => conflicts::needed(over, &rules),
                false => both,
            };
            on |= needed;
            let sides = equality_of_sides(e).and_then(|(a, b)| {
                let sides = [self.over(a)?, self.over(b)?];
                (sides[0] & sides[1] == 0 && !sides.contains(&0)).then_some(sides)
            });
            self.parts.others.push(Other { over, on: needed, expr: Some(e.clone()), sides, scope });
        }
        if on == 0 && self.has_operators {
            on = both;
            self.parts.others.push(Other { over: 0, on, expr: None, sides: None, scope });
        }
        let predicates = join.predicates.clone();
        self.joins.push(Placed { kind: JoinKind::Inner, sides, on, predicates });
        Some(both)
    }

    /// Both sides of an equality that makes a class of a scope.
    fn key(&self, e: &'t Expr, scope: usize) -> Option<[Side<'t>; 2]> {
        let own = self.parts.scopes.get(scope)?.own;
        let (a, b) = equality(e)?;
        let one = |e: &Expr| {
            let over = self.over(e)?;
            (over.count_ones() == 1 && over & !own == 0).then_some(over.trailing_zeros() as usize)
        };
        let (of_a, of_b) = (one(a)?, one(b)?);
        (of_a != of_b && a.data_type == b.data_type).then_some([(of_a, a), (of_b, b)])
    }

    fn operator(&mut self, join: &'t Joined, scope: usize) -> Option<Relations> {
        let first = self.joins.len();
        let (left, left_scope) = match join.kind {
            JoinKind::Full => self.apart(&join.sides[0]).map(|(set, scope)| (set, Some(scope)))?,
            _ => (self.tree(&join.sides[0], scope)?, None),
        };
        let middle = self.joins.len();
        let (right, right_scope) = self.apart(&join.sides[1])?;
        let sides = [left, right];
        let over = join.predicates.iter().try_fold(0, |set, e| Some(set | self.over(e)?))?;
        // A side of which nothing is said is there as a whole.
        let on = sides.iter().fold(over, |on, side| if on & side == 0 { on | side } else { on });
        let mut placed = Placed { kind: join.kind, sides, on, predicates: join.predicates.clone() };
        let owner = self.owner;
        let rejects: &Rejects = &|predicates, set| {
            let is_null = |id| owner(id).is_some_and(|place| set >> place & 1 == 1);
            predicates.iter().any(|e| nulls::rejects(e, &is_null))
        };
        let below = [self.joins.get(first..middle)?, self.joins.get(middle..)?];
        let (on, rules) = conflicts::of_join(&placed, below, rejects);
        placed.on = on;
        self.parts.scopes.get_mut(scope)?.operators.push(self.parts.operators.len());
        self.parts.below.push((right_scope, left_scope));
        self.joins.push(Placed { predicates: placed.predicates.clone(), ..placed });
        self.parts.operators.push((placed, rules));
        Some(left | right)
    }
}

/// Both sides of a predicate that may be a key: NULL may equal NULL.
fn equality_of_sides(e: &Expr) -> Option<(&Expr, &Expr)> {
    match &e.kind {
        Kind::Binary(Op::Eq | Op::IsNotDistinctFrom, left, right) => Some((left, right)),
        _ => None,
    }
}

impl Parts {
    /// Takes a tree apart. `owner` gives the place of the relation that gives a column; `None` if it does not know it.
    pub fn of(tree: &Tree, owner: &dyn Fn(ColumnId) -> Option<usize>) -> Option<Parts> {
        let has_operators = !tree.is_inner();
        let (parts, joins, equal) = (Parts::default(), vec![], vec![]);
        let mut all = Collect { owner, has_operators, parts, joins, equal };
        all.apart(tree)?;
        let Collect { mut parts, equal, .. } = all;
        for (scope, equal) in equal.iter().enumerate() {
            let own = classes(equal).into_iter().map(|class| Equal { scope, ..class });
            parts.classes.extend(own);
        }
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
            Class::new(class.members.iter().filter_map(member).collect(), class.scope)
        });
        let pairs = |set: Relations| {
            let named = relations.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1);
            Estimate::pairs(named.map(|(_, estimate)| estimate))
        };
        let edges = self.others.iter().map(|Other { over, on, expr, sides, scope }| {
            let part = expr.as_ref().map_or(1.0, |e| kept::part(e, &pairs(*over)));
            Edge { on: *on, part, sides: *sides, scope: *scope }
        });
        let operators = self.operators.iter().zip(&self.below).map(|((placed, rules), scopes)| {
            let Placed { kind, sides, on, predicates } = placed;
            let [left, right] = sides.map(|side| pairs(on & side));
            let has_key = predicates.iter().filter_map(equality_of_sides).any(|(a, b)| {
                let is_of = |e: &Expr, side: &Estimate| {
                    let columns = e.columns();
                    !columns.is_empty() && columns.iter().all(|id| side.has(*id))
                };
                is_of(a, &left) && is_of(b, &right) || is_of(b, &left) && is_of(a, &right)
            });
            let matching = Matching::of(predicates, &left, &right);
            let (rules, scopes) = (rules.clone(), *scopes);
            Operator { kind: *kind, sides: *sides, on: *on, rules, matching, has_key, scopes }
        });
        let rows = relations.iter().map(|estimate| estimate.rows).collect();
        let whole = relations.iter().map(|estimate| estimate.whole).collect();
        let graph = Graph::new(rows, classes.collect(), edges.collect()).of_whole(whole);
        match self.operators.is_empty() {
            true => graph,
            false => graph.with_operators(operators.collect(), self.scopes.clone()),
        }
    }

    /// The joins of a shape of a graph of these.
    pub fn build(
        self,
        graph: &Graph,
        shape: &Shape,
        relations: Vec<Option<(Rel, Estimate)>>,
    ) -> (Rel, Estimate) {
        let others = self.others.into_iter().filter_map(|other| Some((other.on, other.expr?))).collect();
        let operators = self.operators.into_iter().map(|(placed, _)| placed).collect();
        Builder { graph, classes: self.classes, relations, others, operators }.build(shape)
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
        Some(Expr::compare(self.members.get(a)?.1.clone(), Op::Eq, self.members.get(b)?.1.clone()))
    }

    /// What the members over one relation have to be to each other.
    fn within(&self, place: usize) -> Vec<Expr> {
        let mut own = self.members.iter().filter(|(of, _)| *of == place).map(|(_, e)| e);
        let Some(first) = own.next() else { return vec![] };
        own.map(|e| Expr::compare(first.clone(), Op::Eq, e.clone())).collect()
    }
}

/// Builds the joins of a shape.
struct Builder<'a> {
    graph: &'a Graph,
    classes: Vec<Equal>,
    relations: Vec<Option<(Rel, Estimate)>>,
    /// Predicates that no join has yet.
    others: Vec<(Relations, Expr)>,
    operators: Vec<Placed>,
}

impl Builder<'_> {
    fn build(&mut self, shape: &Shape) -> (Rel, Estimate) {
        match shape {
            Shape::Relation(place) => {
                let (input, estimate) = relation(&mut self.relations, *place);
                let predicates: Vec<Expr> =
                    self.classes.iter().flat_map(|class| class.within(*place)).collect();
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
                let (number, sides) = match self.graph.by(left, right) {
                    Some(By::Operator(number)) => (number, sides),
                    Some(By::Turned(number)) => (number, (sides.1, sides.0)),
                    Some(By::Predicates) | None => return self.inner(sides, [left, right], *whole),
                };
                let operator = self.operators.get_mut(number);
                let (kind, predicates) = operator.map_or((JoinKind::Inner, vec![]), |operator| {
                    (operator.kind, std::mem::take(&mut operator.predicates))
                });
                joined(kind, sides.0, sides.1, predicates)
            }
        }
    }

    fn inner(
        &mut self,
        sides: ((Rel, Estimate), (Rel, Estimate)),
        [left, right]: [Relations; 2],
        whole: Relations,
    ) -> (Rel, Estimate) {
        let keys = self.classes.iter().filter_map(|class| class.between(left, right));
        let mut predicates: Vec<Expr> = keys.collect();
        let own = self.others.extract_if(.., |(on, _)| *on & !whole == 0);
        predicates.extend(own.map(|(_, e)| e));
        joined(JoinKind::Inner, sides.0, sides.1, predicates)
    }
}
