//! About how many rows joins give.

use crate::algebra::{Expr, Join, JoinKind};

use super::values::Spread;
use super::{Estimate, equality, kept};

/// The part of the left rows without a match that is given where the keys say that each has one.
const LEAST_UNMATCHED: f64 = 0.1;

/// About how many rows a join gives.
pub fn rows(node: &Join, left: &Estimate, right: &Estimate) -> f64 {
    let keys: Vec<(Spread, Spread)> = node.predicates.iter().filter_map(|e| key(e, left, right)).collect();
    match node.kind {
        JoinKind::Inner => pairs(node, &keys, left, right),
        JoinKind::Left => pairs(node, &keys, left, right).max(left.rows),
        JoinKind::Full => pairs(node, &keys, left, right).max(left.rows + right.rows),
        JoinKind::Semi => left.rows * matched(node, &keys, left, right),
        JoinKind::Anti | JoinKind::AntiNullAware => {
            left.rows * (1.0 - matched(node, &keys, left, right)).max(LEAST_UNMATCHED)
        }
        JoinKind::Mark(_) | JoinKind::Single => left.rows,
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

/// About how many pairs match.
fn pairs(node: &Join, keys: &[(Spread, Spread)], left: &Estimate, right: &Estimate) -> f64 {
    let mut part = keys.iter().map(|(a, b)| 1.0 / a.shared(*b)).product::<f64>();
    if keys.len() > 1 {
        // Keys depend on each other: together they keep no less than one row for each row of the larger side.
        part = part.max(1.0 / left.rows.min(right.rows).max(1.0));
    }
    left.rows * right.rows * part * others(node, keys, left, right)
}

/// About which part of the left rows have a match.
fn matched(node: &Join, keys: &[(Spread, Spread)], left: &Estimate, right: &Estimate) -> f64 {
    if keys.is_empty() {
        return 0.5;
    }
    let part = |(a, b): &(Spread, Spread)| (b.values().min(right.rows) / a.shared(*b)).min(1.0);
    keys.iter().map(part).fold(1.0, f64::min) * others(node, keys, left, right)
}

/// About which part of the pairs with equal keys the other predicates keep.
fn others(node: &Join, keys: &[(Spread, Spread)], left: &Estimate, right: &Estimate) -> f64 {
    // Keys are equalities; as many as were found are left out.
    let mut left_out = keys.len();
    let rest = node.predicates.iter().filter(|e| {
        let is_key = left_out > 0 && equality(e).is_some();
        left_out -= usize::from(is_key);
        !is_key
    });
    let both = Estimate::pairs([left, right]);
    rest.map(|e| kept::part(e, &both)).product()
}
