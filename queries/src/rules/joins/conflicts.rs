//! Which joins may change places (Moerkotte, Fender and Eich, On the correct and complete enumeration of the core search
//! space, SIGMOD 2013).
//!
//! Three properties of two joins say whether one may be made before the other:
//!
//! | property | from | to |
//! |---|---|---|
//! | associative | (1 ∘a 2) ∘b 3 | 1 ∘a (2 ∘b 3) |
//! | left asscom | (1 ∘a 2) ∘b 3 | (1 ∘b 3) ∘a 2 |
//! | right asscom | 1 ∘a (2 ∘b 3) | 2 ∘b (1 ∘a 3) |
//!
//! A join that stands above another one and lacks a property with it gets a *conflict rule*. Once the join is made over
//! some relation of a certain set, the other join has been made. This is the paper's CD-C, but for two differences. The
//! predicates of inner joins are taken one by one, so that relations may be connected in more than one way. So a rule
//! asks for all relations of the other join, where the paper asks for those on one side. And a join has to be made as
//! soon as its relations are there. A join that can't be made then makes the whole tree one that is not looked at.

use super::graph::Relations;
use crate::algebra::{Expr, JoinKind};

/// A join of a tree, with what it says of the others.
#[derive(Debug)]
pub struct Placed {
    /// Which rows are given.
    pub kind: JoinKind,
    /// The relations below, on the left side and on the right one.
    pub sides: [Relations; 2],
    /// The relations that have to be there when it is made.
    pub on: Relations,
    /// What makes two rows a match.
    pub predicates: Vec<Expr>,
}

impl Placed {
    fn left(&self) -> Relations {
        self.sides[0]
    }

    fn right(&self) -> Relations {
        self.sides[1]
    }

    /// What has to be kept of it by what is made above.
    fn rule(&self, trigger: Relations) -> Rule {
        Rule { trigger, needs: self.on }
    }

    /// What inner joins above it have to keep. No property with an inner join lets one move below its right side, nor
    /// below any side of a full join.
    pub fn rules_of_inner(&self) -> impl Iterator<Item = Rule> {
        let of_left = (self.kind == JoinKind::Full).then(|| self.rule(self.left()));
        let of_right = (self.kind != JoinKind::Inner).then(|| self.rule(self.right()));
        of_left.into_iter().chain(of_right)
    }
}

/// A conflict rule: a join over some of the relations of `trigger` is made where those of `needs` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Any of these.
    pub trigger: Relations,
    /// All of these.
    pub needs: Relations,
}

impl Rule {
    /// Whether a join of these relations keeps it.
    pub fn is_kept(&self, set: Relations) -> bool {
        set & self.trigger == 0 || self.needs & !set == 0
    }
}

/// Whether predicates are true of no row in which all columns of these relations are NULL.
pub type Rejects<'a> = dyn Fn(&[Expr], Relations) -> bool + 'a;

/// Whether the first of two joins and the second one, which stands above it, are associative. `rejects` says it of the
/// first and of the second one. It is whether the predicate is true of no row in which the columns of the relation
/// between them are NULL.
pub(super) fn are_associative(a: JoinKind, b: JoinKind, rejects: [bool; 2]) -> bool {
    match (a, b) {
        (JoinKind::Inner, b) => b != JoinKind::Full,
        (JoinKind::Left | JoinKind::Full, JoinKind::Left) => rejects[1],
        (JoinKind::Full, JoinKind::Full) => rejects[0] && rejects[1],
        _ => false,
    }
}

/// Whether two joins with the same left side can change places. `rejects` is about the columns of that side.
pub(super) fn are_left_asscom(a: JoinKind, b: JoinKind, rejects: [bool; 2]) -> bool {
    match (a, b) {
        (JoinKind::Full, JoinKind::Full) => rejects[0] && rejects[1],
        (JoinKind::Left, JoinKind::Full) => rejects[0],
        (JoinKind::Full, JoinKind::Left) => rejects[1],
        (JoinKind::Full, _) | (_, JoinKind::Full) => false,
        _ => true,
    }
}

/// Whether two joins with the same right side can change places. `rejects` is about the columns of that side.
pub(super) fn are_right_asscom(a: JoinKind, b: JoinKind, rejects: [bool; 2]) -> bool {
    match (a, b) {
        (JoinKind::Inner, JoinKind::Inner) => true,
        (JoinKind::Full, JoinKind::Full) => rejects[0] && rejects[1],
        _ => false,
    }
}

/// The relations that have to be there when a join is made, and the rules that are left. They are those of the joins on
/// its left side and on its right one.
pub fn of_join(join: &Placed, below: [&[Placed]; 2], rejects: &Rejects) -> (Relations, Vec<Rule>) {
    let rejected = |a: &Placed, b: &Placed, of| [rejects(&a.predicates, of), rejects(&b.predicates, of)];
    let mut rules = Vec::new();
    for a in below[0] {
        if !are_associative(a.kind, join.kind, rejected(a, join, a.right())) {
            rules.push(a.rule(a.right()));
        }
        if !are_left_asscom(a.kind, join.kind, rejected(a, join, a.left())) {
            rules.push(a.rule(a.left()));
        }
    }
    for b in below[1] {
        if !are_associative(join.kind, b.kind, rejected(join, b, b.left())) {
            rules.push(b.rule(b.left()));
        }
        if !are_right_asscom(join.kind, b.kind, rejected(join, b, b.right())) {
            rules.push(b.rule(b.right()));
        }
    }
    let on = needed(join.on, &rules);
    rules.retain(|rule| rule.needs & !on != 0);
    (on, rules)
}

/// Relations with those that rules ask for wherever the former are.
pub fn needed(mut on: Relations, rules: &[Rule]) -> Relations {
    loop {
        let more = rules.iter().filter(|rule| rule.trigger & on != 0).fold(on, |on, rule| on | rule.needs);
        if more == on {
            return on;
        }
        on = more;
    }
}
