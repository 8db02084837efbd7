//! About how many rows joins give.

use crate::algebra::{Expr, Join, JoinKind};

use super::values::Spread;
use super::{Estimate, equality, kept};

/// The part of the left rows without a match that is given where the keys say that each has one.
const LEAST_UNMATCHED: f64 = 0.1;

/// What is known of the rows that match.
#[derive(Debug)]
pub struct Matching {
    /// What is known of both sides of each key, the left one's first.
    keys: Vec<(Spread, Spread)>,
    /// The part of the pairs that have equal keys.
    equal: f64,
    /// The part of these that the other predicates keep.
    others: f64,
}

impl Matching {
    /// What is known if these are the predicates of a join of such rows.
    pub fn of(predicates: &[Expr], left: &Estimate, right: &Estimate) -> Matching {
        let keys: Vec<(Spread, Spread)> = predicates.iter().filter_map(|e| key(e, left, right)).collect();
        let part = keys.iter().map(|(a, b)| 1.0 / a.shared(*b)).product::<f64>();
        let equal = together(part, &keys, left, right);
        let others = others(predicates, &keys, left, right);
        Matching { keys, equal, others }
    }

    /// About which part of the pairs match.
    pub fn part(&self) -> f64 {
        self.equal * self.others
    }

    /// About which part of the left rows have a match among so many right ones.
    pub fn matched(&self, right_rows: f64) -> f64 {
        if self.keys.is_empty() {
            return 0.5;
        }
        let part = |(a, b): &(Spread, Spread)| (b.values().min(right_rows) / a.shared(*b)).min(1.0);
        self.keys.iter().map(part).fold(1.0, f64::min) * self.others
    }

    /// About which part of the left rows have none.
    pub fn unmatched(&self, right_rows: f64) -> f64 {
        (1.0 - self.matched(right_rows)).max(LEAST_UNMATCHED)
    }
}

/// About how many rows a join gives, and how many if nothing was filtered below it.
pub fn rows(node: &Join, left: &Estimate, right: &Estimate) -> (f64, f64) {
    let matching = Matching::of(&node.predicates, left, right);
    let whole = |of_pairs: f64| of_pairs.max(pairs_of_whole(&matching.keys, left, right));
    let pairs = left.rows * right.rows * matching.part();
    match node.kind {
        JoinKind::Inner => (pairs, whole(1.0)),
        JoinKind::Left => (pairs.max(left.rows), whole(left.whole)),
        JoinKind::Full => (pairs.max(left.rows + right.rows), whole(left.whole + right.whole)),
        JoinKind::Semi => (left.rows * matching.matched(right.rows), left.whole),
        JoinKind::Anti | JoinKind::AntiNullAware => (left.rows * matching.unmatched(right.rows), left.whole),
        JoinKind::Mark(_) | JoinKind::Single => (left.rows, left.whole),
    }
}

/// What is known of both sides of an equality between the inputs of a join, the left one's first.
fn key(e: &Expr, left: &Estimate, right: &Estimate) -> Option<(Spread, Spread)> {
    let (a, b) = equality(e)?;
    let (a, b) = if reads(a, left) && reads(b, right) {
        (a, b)
    } else if reads(b, left) && reads(a, right) {
        (b, a)
    } else {
        return None;
    };
    let spread = |e: &Expr, side: &Estimate| side.spread(e).unwrap_or(Spread::of_values(side.rows));
    Some((spread(a, left), spread(b, right)))
}

/// Whether an expression reads columns, and those of an input alone.
fn reads(e: &Expr, input: &Estimate) -> bool {
    let columns = e.columns();
    !columns.is_empty() && columns.iter().all(|id| input.has(*id))
}

/// About how many pairs have equal keys where nothing is filtered.
fn pairs_of_whole(keys: &[(Spread, Spread)], left: &Estimate, right: &Estimate) -> f64 {
    let part = keys.iter().map(|(a, b)| 1.0 / a.shared_whole(*b).max(1.0)).product::<f64>();
    left.whole * right.whole * together(part, keys, left, right)
}

/// The part of the pairs that several keys keep, where they would keep `part` if they had nothing to do with each other.
///
/// They depend on each other: where nothing is filtered, they keep together no less than one row for each row of the larger
/// side. Filters leave the same part of the pairs on each side.
fn together(part: f64, keys: &[(Spread, Spread)], left: &Estimate, right: &Estimate) -> f64 {
    if keys.len() > 1 { part.max(1.0 / left.whole.min(right.whole).max(1.0)) } else { part }
}

/// About which part of the pairs with equal keys the other predicates keep.
fn others(predicates: &[Expr], keys: &[(Spread, Spread)], left: &Estimate, right: &Estimate) -> f64 {
    // Keys are equalities; as many as were found are left out.
    let mut left_out = keys.len();
    let rest = predicates.iter().filter(|e| {
        let is_key = left_out > 0 && equality(e).is_some();
        left_out -= usize::from(is_key);
        !is_key
    });
    let both = Estimate::pairs([left, right]);
    rest.map(|e| kept::part(e, &both)).product()
}
