//! NOT down to comparisons: `NOT (a = 1 OR b < 2)` is `a <> 1 AND b >= 2`, of which each term is one of its own.
//!
//! De Morgan's laws hold in three-valued logic, and the order of values is total: NaN has its place in it.

use datafusion_expr::Operator;

use super::Simplifier;
use crate::algebra::{Expr, Kind};
use crate::error::Result;

impl Simplifier<'_> {
    /// What is not true of an expression that is not yet simplified.
    pub(super) fn not(&self, e: Expr, condition: bool) -> Result<Expr> {
        let Expr { kind, data_type } = e;
        let each = |terms: Vec<Expr>| terms.into_iter().map(Expr::not).collect();
        let kind = match kind {
            Kind::Not(inner) => return self.simplified(*inner, condition),
            Kind::And(terms) => Kind::Or(each(terms)),
            Kind::Or(terms) => Kind::And(each(terms)),
            Kind::InList { expr, list, negated } => Kind::InList { expr, list, negated: !negated },
            Kind::Between { expr, low, high, negated } => {
                Kind::Between { expr, low, high, negated: !negated }
            }
            Kind::Like { expr, pattern, negated, case_insensitive } => {
                Kind::Like { expr, pattern, negated: !negated, case_insensitive }
            }
            Kind::Binary(op, left, right) => match opposite(op) {
                Some(op) => Kind::Binary(op, left, right),
                None => return self.negated(Expr { kind: Kind::Binary(op, left, right), data_type }),
            },
            kind => return self.negated(Expr { kind, data_type }),
        };
        self.simplified(Expr { kind, data_type }, condition)
    }

    fn negated(&self, e: Expr) -> Result<Expr> {
        let inner = self.value(e)?;
        match inner.kind {
            Kind::Not(inner) => Ok(*inner),
            _ => self.types.not(inner),
        }
    }
}

/// The operator that is true where another one is false.
fn opposite(op: Operator) -> Option<Operator> {
    Some(match op {
        Operator::Eq => Operator::NotEq,
        Operator::NotEq => Operator::Eq,
        Operator::Lt => Operator::GtEq,
        Operator::LtEq => Operator::Gt,
        Operator::Gt => Operator::LtEq,
        Operator::GtEq => Operator::Lt,
        Operator::IsDistinctFrom => Operator::IsNotDistinctFrom,
        Operator::IsNotDistinctFrom => Operator::IsDistinctFrom,
        Operator::RegexMatch => Operator::RegexNotMatch,
        Operator::RegexIMatch => Operator::RegexNotIMatch,
        Operator::RegexNotMatch => Operator::RegexMatch,
        Operator::RegexNotIMatch => Operator::RegexIMatch,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use datafusion_expr::Operator;

    use crate::algebra::Expr;
    use crate::rules::testing::{Sample, int};

    #[test]
    fn it_goes_down_to_comparisons() {
        let mut sample = Sample::default();
        let (x, a) = (sample.number("x"), sample.condition("a"));
        let less = Expr::compare(x.clone(), Operator::Lt, int(5));
        sample.simplifies(Expr::or([less.clone(), a.clone()]).not(), "(x#0 >= 5) AND (NOT a#1)");
        sample.simplifies(less.not().not(), "x#0 < 5");
        sample.simplifies(x.is_null().not().not().not(), "NOT (x#0 IS NULL)");
    }
}
