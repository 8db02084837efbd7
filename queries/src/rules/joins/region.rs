//! A tree of joins, taken apart: what is joined, and the shape that the text has.

use super::graph::Shape;
use crate::algebra::{ColumnId, Expr, Join, JoinKind, Rel};
use crate::estimates::{self, Estimate};
use crate::rules::filters::origins::Origins;

/// What is joined, with the numbers that the relations have in the tree, and in which shape.
pub struct Region {
    /// The relations, and their numbers, which grow.
    pub relations: Vec<(Rel, usize)>,
    /// The joins.
    pub tree: Tree,
}

/// Joins of relations, which are known by their places in a list.
#[derive(Debug)]
pub enum Tree {
    /// A relation.
    Relation(usize),
    /// A join of two trees.
    Join(Box<Joined>),
}

/// A join of two trees.
#[derive(Debug)]
pub struct Joined {
    /// Which rows are given.
    pub kind: JoinKind,
    /// The left and the right side.
    pub sides: [Tree; 2],
    /// What makes two rows a match.
    pub predicates: Vec<Expr>,
    /// The number that the join has in the tree of relations.
    pub at: usize,
}

impl Region {
    /// The joins that are as `is_part` says, from a relation with the number `at` down.
    pub fn of(rel: Rel, at: usize, origins: &Origins, is_part: &dyn Fn(&Join) -> bool) -> Region {
        let mut relations = Vec::new();
        let tree = collect(rel, at, origins, is_part, &mut relations);
        Region { relations, tree }
    }
}

fn collect(
    rel: Rel,
    at: usize,
    origins: &Origins,
    is_part: &dyn Fn(&Join) -> bool,
    relations: &mut Vec<(Rel, usize)>,
) -> Tree {
    match rel {
        Rel::Join(join) if is_part(&join) => {
            let right_at = at + 1 + origins.size(at + 1);
            let left = collect(*join.left, at + 1, origins, is_part, relations);
            let right = collect(*join.right, right_at, origins, is_part, relations);
            let Join { kind, predicates, .. } = join;
            Tree::Join(Box::new(Joined { kind, sides: [left, right], predicates, at }))
        }
        other => {
            relations.push((other, at));
            Tree::Relation(relations.len() - 1)
        }
    }
}

/// The place of the relation that gives a column, by the numbers of the relations, which grow.
pub fn owner(id: ColumnId, starts: &[usize], origins: &Origins) -> Option<usize> {
    let maker = origins.maker(id)?;
    let place = starts.partition_point(|start| *start <= maker).checked_sub(1)?;
    let start = *starts.get(place)?;
    (maker < start + origins.size(start)).then_some(place)
}

/// The places of the relations whose columns an expression reads, in their order; `None` if a column is of none of them.
pub fn owners(e: &Expr, starts: &[usize], origins: &Origins) -> Option<Vec<usize>> {
    let mut owners: Vec<usize> =
        e.columns().into_iter().map(|id| owner(id, starts, origins)).collect::<Option<_>>()?;
    owners.sort_unstable();
    owners.dedup();
    Some(owners)
}

impl Joined {
    /// Whether it leaves out left rows, each by itself.
    pub fn is_asking(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware)
    }
}

impl Tree {
    /// The joins as they are, of these relations.
    pub fn built(self, relations: &mut [Option<(Rel, Estimate)>]) -> (Rel, Estimate) {
        match self {
            Tree::Relation(place) => relation(relations, place),
            Tree::Join(join) => {
                let Joined { kind, sides: [left, right], predicates, .. } = *join;
                let left = left.built(relations);
                joined(kind, left, right.built(relations), predicates)
            }
        }
    }

    /// Its shape. There are no more than [`super::graph::MOST_RELATIONS`].
    pub fn shape(&self) -> Shape {
        match self {
            Tree::Relation(place) => Shape::Relation(*place),
            Tree::Join(join) => Shape::join(join.sides[0].shape(), join.sides[1].shape()),
        }
    }

    /// The number of its top in the tree of relations, of which these are the numbers of those that are joined.
    pub fn at(&self, starts: &[usize]) -> usize {
        match self {
            Tree::Relation(place) => starts.get(*place).copied().unwrap_or_default(),
            Tree::Join(join) => join.at,
        }
    }

    /// Whether all its joins are inner joins.
    pub fn is_inner(&self) -> bool {
        match self {
            Tree::Relation(_) => true,
            Tree::Join(join) => join.kind == JoinKind::Inner && join.sides.iter().all(Tree::is_inner),
        }
    }

    /// The predicates of all joins, those below first.
    pub fn predicates(&self) -> Vec<&Expr> {
        let mut all = Vec::new();
        self.collect_predicates(&mut all);
        all
    }

    fn collect_predicates<'a>(&'a self, all: &mut Vec<&'a Expr>) {
        if let Tree::Join(join) = self {
            join.sides.iter().for_each(|side| side.collect_predicates(all));
            all.extend(&join.predicates);
        }
    }

    /// The same, taken out.
    pub fn into_predicates(self) -> Vec<Expr> {
        let mut all = Vec::new();
        self.take_predicates(&mut all);
        all
    }

    fn take_predicates(self, all: &mut Vec<Expr>) {
        if let Tree::Join(join) = self {
            join.sides.into_iter().for_each(|side| side.take_predicates(all));
            all.extend(join.predicates);
        }
    }
}

/// Takes a relation out of the list. Each is taken once.
pub fn relation(relations: &mut [Option<(Rel, Estimate)>], place: usize) -> (Rel, Estimate) {
    let taken = relations.get_mut(place).and_then(Option::take);
    taken.unwrap_or_else(|| {
        let one = crate::algebra::Values::one();
        let estimate = estimates::of(&one, &[]);
        (one, estimate)
    })
}

/// A join and its estimate.
pub fn joined(
    kind: JoinKind,
    (left, of_left): (Rel, Estimate),
    (right, of_right): (Rel, Estimate),
    predicates: Vec<Expr>,
) -> (Rel, Estimate) {
    let (left, right) = (Box::new(left), Box::new(right));
    let rel = Rel::Join(Join { kind, left, right, predicates });
    let estimate = estimates::of(&rel, &[&of_left, &of_right]);
    (rel, estimate)
}
