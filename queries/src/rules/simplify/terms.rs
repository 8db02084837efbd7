//! AND and OR: constants, and terms that stand twice.
//!
//! `x AND false` is false though x fails on some row: what can't fail is evaluated first, and no row is left. In a
//! condition NULL is what false is; elsewhere `x AND NULL` stays, which is false or NULL.

use super::{Simplifier, factors, lists, ranges};
use crate::algebra::{Expr, Kind};
use crate::error::Result;
use crate::rules::hash;

/// A conjunction of terms that are simplified.
pub fn and(terms: Vec<Expr>, condition: bool) -> Expr {
    match decided(Expr::and(terms).split(), true, condition) {
        Ok(terms) => Expr::and(hash::distinct(terms)),
        Err(value) => value,
    }
}

/// A disjunction of terms that are simplified.
pub fn or(simplifier: &Simplifier, terms: Vec<Expr>, condition: bool) -> Result<Expr> {
    let terms = match Expr::or(terms) {
        Expr { kind: Kind::Or(terms), .. } => terms,
        one => vec![one],
    };
    let terms = match decided(terms, false, condition) {
        Ok(terms) => hash::distinct(terms),
        Err(value) => return Ok(value),
    };
    let terms = ranges::merged(lists::merged(simplifier, terms)?);
    match factors::pulled(terms) {
        Ok((common, rest)) if rest.is_empty() => Ok(and(common, condition)),
        Ok((mut common, rest)) => {
            common.push(or(simplifier, rest, condition)?);
            Ok(and(common, condition))
        }
        Err(terms) => Ok(Expr::or(terms)),
    }
}

/// The terms without `neutral` ones, or the value that a constant among them decides.
fn decided(terms: Vec<Expr>, neutral: bool, condition: bool) -> std::result::Result<Vec<Expr>, Expr> {
    if terms.iter().any(|term| term.as_bool() == Some(Some(!neutral))) {
        return Err(Expr::boolean(!neutral));
    }
    let has_null = terms.iter().any(|term| term.as_bool() == Some(None));
    if has_null && condition && neutral {
        return Err(Expr::boolean(false));
    }
    let mut open: Vec<Expr> = terms.into_iter().filter(|term| term.as_bool().is_none()).collect();
    if has_null && !condition {
        open.push(Expr::boolean(None));
    }
    if open.is_empty() { Err(Expr::boolean(neutral)) } else { Ok(open) }
}

#[cfg(test)]
mod tests {
    use crate::algebra::Expr;
    use crate::rules::testing::Sample;

    #[test]
    fn constants_decide() {
        let mut sample = Sample::default();
        let (a, b) = (sample.condition("a"), sample.condition("b"));
        let and = |e: Expr| Expr::and([a.clone(), e]);
        let or = |e: Expr| Expr::or([a.clone(), e]);
        let [yes, no, null] = [Some(true), Some(false), None].map(Expr::boolean);
        sample.simplifies(and(no.clone()), "false");
        sample.simplifies(and(yes.clone()), "a#0");
        sample.simplifies(and(null.clone()), "a#0 AND NULL");
        sample.keeps(and(null.clone()), "false");
        sample.simplifies(or(yes), "true");
        sample.simplifies(or(null.clone()), "a#0 OR NULL");
        sample.keeps(or(null), "a#0");
        sample.simplifies(Expr::and([a.clone(), b.clone(), a.clone()]), "a#0 AND b#1");
        sample.keeps(or(no), "a#0");
    }
}
