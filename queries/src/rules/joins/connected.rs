//! The order of the text without needless cross products.
//!
//! `FROM a, c, b WHERE a.x = b.x AND b.y = c.y` joins `a` and `c` first, and no key connects them. Relations are taken
//! in the order of the text, but each waits until an equality connects it with those before it. If none will, it waits
//! until another predicate does. What nothing connects with the rest is joined by itself, and then with the rest. The
//! order is changed only if fewer joins are without keys then.
//!
//! This needs no estimates, and has no bound but that of the text. A key that can fail connects as well: without it every
//! pair of rows would be looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::region::{Joined, Region, Tree, owners};
use crate::algebra::{Expr, Join, JoinKind, Rel, Values};
use crate::estimates::equality;
use crate::rules::filters::origins::Origins;
use crate::rules::simplify::nodes::taken;

/// Puts joins without keys off in a tree.
pub fn connect(rel: Rel) -> Rel {
    let origins = Origins::of(&rel);
    connected(rel, 0, &origins)
}

fn is_part(join: &Join) -> bool {
    join.kind == JoinKind::Inner && !join.predicates.iter().any(Expr::is_volatile)
}

fn connected(mut rel: Rel, at: usize, origins: &Origins) -> Rel {
    if let Rel::Join(join) = &rel
        && is_part(join)
    {
        let Region { relations, tree } = Region::of(rel, at, origins, &is_part);
        let starts: Vec<usize> = relations.iter().map(|(_, at)| *at).collect();
        let relations = relations.into_iter().map(|(rel, at)| Some(connected(rel, at, origins)));
        let mut relations: Vec<Option<Rel>> = relations.collect();
        return match better(&tree, &starts, origins) {
            Some(order) => left_deep(order, tree.into_predicates(), &starts, origins, &mut relations),
            None => rebuilt(tree, &mut relations),
        };
    }
    let mut number = at + 1;
    for input in rel.inputs_mut() {
        let size = origins.size(number);
        *input = connected(taken(input), number, origins);
        number += size;
    }
    rel
}

/// A predicate over relations of a region.
struct Edge {
    on: Vec<usize>,
    /// The relations of each side of an equality.
    sides: Option<[Vec<usize>; 2]>,
}

impl Edge {
    fn of(e: &Expr, starts: &[usize], origins: &Origins) -> Option<Edge> {
        let on = owners(e, starts, origins)?;
        let sides = equality(e).and_then(|(a, b)| {
            let sides = [owners(a, starts, origins)?, owners(b, starts, origins)?];
            let is_key = sides.iter().all(|side| !side.is_empty())
                && sides[0].iter().all(|place| sides[1].binary_search(place).is_err());
            is_key.then_some(sides)
        });
        (on.len() > 1).then_some(Edge { on, sides })
    }

    /// Whether it is a key of the join of a relation with all others that it is over.
    fn is_key_of(&self, place: usize) -> bool {
        self.sides.as_ref().is_some_and(|sides| sides.iter().any(|side| side == &[place]))
    }
}

/// The relations of each part that nothing connects with the others, in the order in which they are joined. `None` if
/// the order of the text has as many keys.
fn better(tree: &Tree, starts: &[usize], origins: &Origins) -> Option<Vec<Vec<usize>>> {
    let keyless = keyless(tree, starts, origins).1;
    if starts.len() < 3 || keyless == 0 {
        return None;
    }
    let edges: Vec<Edge> =
        tree.predicates().into_iter().filter_map(|e| Edge::of(e, starts, origins)).collect();
    let (order, with_keys) = order(starts.len(), &edges);
    (starts.len() - 1 - with_keys < keyless).then_some(order)
}

/// The relations of a tree, and how many of its joins have no key.
fn keyless(tree: &Tree, starts: &[usize], origins: &Origins) -> (BTreeSet<usize>, usize) {
    match tree {
        Tree::Relation(place) => (BTreeSet::from([*place]), 0),
        Tree::Join(join) => {
            let [(mut left, of_left), (mut right, of_right)] =
                [keyless(&join.sides[0], starts, origins), keyless(&join.sides[1], starts, origins)];
            let is_key = |e: &Expr| {
                let Some([a, b]) = Edge::of(e, starts, origins).and_then(|edge| edge.sides) else {
                    return false;
                };
                let is_in =
                    |side: &[usize], set: &BTreeSet<usize>| side.iter().all(|place| set.contains(place));
                is_in(&a, &left) && is_in(&b, &right) || is_in(&b, &left) && is_in(&a, &right)
            };
            let own = usize::from(!join.predicates.iter().any(is_key));
            // The larger set takes the smaller one.
            if left.len() < right.len() {
                std::mem::swap(&mut left, &mut right);
            }
            left.extend(right);
            (left, of_left + of_right + own)
        }
    }
}

/// The order of relations in each connected part, and how many joins have a key.
fn order(relations: usize, edges: &[Edge]) -> (Vec<Vec<usize>>, usize) {
    let mut of_relation: Vec<Vec<usize>> = vec![vec![]; relations];
    for (number, edge) in edges.iter().enumerate() {
        edge.on.iter().for_each(|place| of_relation[*place].push(number));
    }
    let parts = parts(relations, edges);
    let mut missing: Vec<usize> = edges.iter().map(|edge| edge.on.len()).collect();
    let mut is_placed = vec![false; relations];
    let mut with_keys = 0;
    let mut all = Vec::new();
    for part in parts {
        let mut open: BTreeSet<usize> = part.into_iter().collect();
        // Relations that an equality connects, and those that another predicate does.
        let mut candidates = [BTreeSet::new(), BTreeSet::new()];
        let mut order = Vec::new();
        while let Some(first) = open.first().copied() {
            let next =
                candidates.iter().find_map(|set: &BTreeSet<usize>| set.first().copied()).unwrap_or(first);
            with_keys += usize::from(candidates[0].contains(&next));
            open.remove(&next);
            candidates.iter_mut().for_each(|set| {
                set.remove(&next);
            });
            is_placed[next] = true;
            order.push(next);
            for number in &of_relation[next] {
                missing[*number] -= 1;
                if missing[*number] == 1
                    && let Some(last) = edges[*number].on.iter().find(|place| !is_placed[**place])
                {
                    candidates[usize::from(!edges[*number].is_key_of(*last))].insert(*last);
                }
            }
        }
        all.push(order);
    }
    (all, with_keys)
}

/// The relations that predicates connect, part by part, in the order of their first ones.
fn parts(relations: usize, edges: &[Edge]) -> Vec<Vec<usize>> {
    let mut parent: Vec<usize> = (0..relations).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for edge in edges {
        for pair in edge.on.windows(2) {
            let (a, b) = (root(&mut parent, pair[0]), root(&mut parent, pair[1]));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in 0..relations {
        parts.entry(root(&mut parent, place)).or_default().push(place);
    }
    parts.into_values().collect()
}

/// The tree of the text again.
fn rebuilt(tree: Tree, relations: &mut [Option<Rel>]) -> Rel {
    match tree {
        Tree::Relation(place) => take(relations, place),
        Tree::Join(join) => {
            let Joined { sides: [left, right], predicates, .. } = *join;
            let left = rebuilt(left, relations);
            joined(left, rebuilt(right, relations), predicates)
        }
    }
}

/// Joins of relations one after the other. Each predicate goes to the first join that has all its relations.
fn left_deep(
    order: Vec<Vec<usize>>,
    predicates: Vec<Expr>,
    starts: &[usize],
    origins: &Origins,
    relations: &mut [Option<Rel>],
) -> Rel {
    let places_in_order: BTreeMap<usize, usize> =
        order.iter().flatten().enumerate().map(|(step, place)| (*place, step)).collect();
    let mut at_step: BTreeMap<usize, Vec<Expr>> = BTreeMap::new();
    for e in predicates {
        let on = owners(&e, starts, origins).unwrap_or_else(|| (0..starts.len()).collect());
        let step = on.iter().filter_map(|place| places_in_order.get(place)).max().copied().unwrap_or(0);
        at_step.entry(step).or_default().push(e);
    }
    let mut step = 0;
    let mut whole: Option<Rel> = None;
    // What reads no relation, or the first one of a part alone, is asked by the next join.
    let mut waiting: Vec<Expr> = Vec::new();
    for part in order {
        let mut tree: Option<Rel> = None;
        for place in part {
            let relation = take(relations, place);
            waiting.extend(at_step.remove(&step).into_iter().flatten());
            step += 1;
            tree = Some(match tree {
                None => relation,
                Some(left) => joined(left, relation, std::mem::take(&mut waiting)),
            });
        }
        whole = match (whole, tree) {
            (Some(left), Some(right)) => Some(joined(left, right, std::mem::take(&mut waiting))),
            (left, right) => left.or(right),
        };
    }
    let whole = whole.unwrap_or_else(Values::one);
    match waiting.is_empty() {
        true => whole,
        false => joined(whole, Values::one(), waiting),
    }
}

fn take(relations: &mut [Option<Rel>], place: usize) -> Rel {
    relations.get_mut(place).and_then(Option::take).unwrap_or_else(Values::one)
}

fn joined(left: Rel, right: Rel, predicates: Vec<Expr>) -> Rel {
    let (left, right) = (Box::new(left), Box::new(right));
    Rel::Join(Join { kind: JoinKind::Inner, left, right, predicates })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(a: usize, b: usize) -> Edge {
        Edge { on: vec![a.min(b), a.max(b)], sides: Some([vec![a], vec![b]]) }
    }

    #[test]
    fn a_relation_waits_for_its_key() {
        assert_eq!(order(3, &[key(0, 2), key(2, 1)]), (vec![vec![0, 2, 1]], 2));
        assert_eq!(order(4, &[key(0, 2), key(1, 3)]), (vec![vec![0, 2], vec![1, 3]], 2));
        let sum = Edge { on: vec![0, 1, 2], sides: Some([vec![0, 1], vec![2]]) };
        assert_eq!(order(3, &[sum]), (vec![vec![0, 1, 2]], 1));
    }
}
