//! Equalities with constants as one list: `x = 1 OR x = 2` is `x IN (1, 2)`, which also says from where to where x goes.
//!
//! The list stands where the first of its terms stood. If x can fail, it fails there on the same rows.

use std::collections::BTreeMap;

use datafusion_expr::Operator;

use super::Simplifier;
use crate::algebra::{Expr, Kind};
use crate::error::Result;
use crate::rules::hash::hash;

/// The terms of an OR, of which those that compare one value with constants are one.
pub fn merged(simplifier: &Simplifier, terms: Vec<Expr>) -> Result<Vec<Expr>> {
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, term) in terms.iter().enumerate() {
        if let Some(value) = compared(term) {
            groups.entry(hash(value)).or_default().push(at);
        }
    }
    groups.retain(|_, places| {
        // Of one hash are equal values, but for the rarest case.
        let first = places.first().and_then(|at| compared(&terms[*at]));
        places.retain(|at| compared(&terms[*at]) == first);
        places.len() > 1 && first.is_some_and(|value| !value.is_volatile())
    });
    if groups.is_empty() {
        return Ok(terms);
    }
    let mut terms: Vec<Option<Expr>> = terms.into_iter().map(Some).collect();
    for places in groups.into_values() {
        let mut all = places.iter().filter_map(|at| terms[*at].take()).filter_map(parts);
        let Some((value, mut items)) = all.next() else { continue };
        all.for_each(|(_, more)| items.extend(more));
        terms[places[0]] = Some(simplifier.in_list(value, items, false, false)?);
    }
    Ok(terms.into_iter().flatten().collect())
}

/// The value that a term compares with constants.
fn compared(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        Kind::Binary(Operator::Eq, value, item) => {
            (value.as_literal().is_none() && item.as_literal().is_some()).then_some(value)
        }
        Kind::InList { expr, list, negated: false } => (expr.as_literal().is_none()
            && list.iter().all(|item| item.as_literal().is_some()))
        .then_some(expr),
        _ => None,
    }
}

/// The value and the constants.
fn parts(e: Expr) -> Option<(Expr, Vec<Expr>)> {
    match e.kind {
        Kind::Binary(Operator::Eq, value, item) => Some((*value, vec![*item])),
        Kind::InList { expr, list, .. } => Some((*expr, list)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion_expr::Operator;

    use crate::algebra::Expr;
    use crate::rules::testing::{Sample, int};

    #[test]
    fn equalities_with_constants_are_one_list() {
        let mut sample = Sample::default();
        let (x, y) = (sample.number("x"), sample.number("y"));
        let is = |x: &Expr, n| Expr::compare(x.clone(), Operator::Eq, int(n));
        sample.simplifies(
            Expr::or([is(&x, 1), is(&y, 1), is(&x, 2), is(&x, 1)]),
            "(x#0 IN (1, 2)) OR (y#1 = 1)",
        );
        sample.simplifies(Expr::or([is(&x, 1), is(&y, 2)]), "(x#0 = 1) OR (y#1 = 2)");
    }
}
