//! What all terms of an OR have in common: `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
//!
//! The keys of a join may stand in each branch of an OR, as in query 19 of TPC-H. What stands in all of them alone can
//! be a key. It holds in three-valued logic. What is pulled out can't fail and is not volatile, so that it may be
//! evaluated first.

use crate::algebra::{Expr, Kind};
use crate::compile::fails;
use crate::rules::hash::Seen;

/// What all terms have in common, and what is left of them, nothing if that is true. It is the terms again if they have
/// nothing in common.
pub fn pulled(terms: Vec<Expr>) -> Result<(Vec<Expr>, Vec<Expr>), Vec<Expr>> {
    let common = common(&terms);
    if common.is_empty() {
        return Err(terms);
    }
    let mut seen = Seen::default();
    common.iter().for_each(|e| {
        seen.add(e);
    });
    let mut left = Vec::with_capacity(terms.len());
    for term in terms {
        let own: Vec<Expr> = term.split().into_iter().filter(|e| !seen.has(e)).collect();
        if own.is_empty() {
            return Ok((common, vec![]));
        }
        left.push(Expr::and(own));
    }
    Ok((common, left))
}

/// The conjuncts that all terms have, each once.
fn common(terms: &[Expr]) -> Vec<Expr> {
    let [first, others @ ..] = terms else { return vec![] };
    if others.is_empty() {
        return vec![];
    }
    let mut common: Vec<&Expr> = Vec::new();
    let mut seen = Seen::default();
    for e in conjuncts(first) {
        if seen.add(e) {
            common.push(e);
        }
    }
    for other in others {
        let mut seen = Seen::default();
        conjuncts(other).iter().for_each(|e| {
            seen.add(e);
        });
        common.retain(|e| seen.has(e));
        if common.is_empty() {
            return vec![];
        }
    }
    common.into_iter().filter(|e| !fails(e) && !e.is_volatile()).cloned().collect()
}

fn conjuncts(e: &Expr) -> &[Expr] {
    match &e.kind {
        Kind::And(terms) => terms,
        _ => std::slice::from_ref(e),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::Sample;

    #[test]
    fn what_all_branches_ask_for_is_asked_for_once() {
        let mut sample = Sample::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| sample.condition(name));
        let both = |x, y| crate::algebra::Expr::and([x, y]);
        let or = |x, y| crate::algebra::Expr::or([x, y]);
        sample.simplifies(or(both(a.clone(), b.clone()), both(c.clone(), a.clone())), "a#0 AND (b#1 OR c#2)");
        sample.simplifies(or(both(a.clone(), b.clone()), a.clone()), "a#0");
        sample.simplifies(or(both(a.clone(), b.clone()), c.clone()), "(a#0 AND b#1) OR c#2");
    }
}
