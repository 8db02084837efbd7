//! CASE: branches that are never taken, and what a condition asks of it.

use arrow_schema::DataType;

use super::{Simplifier, terms};
use crate::algebra::{Expr, Kind};
use crate::error::Result;

impl Simplifier<'_> {
    /// A CASE whose parts are not yet simplified.
    pub(super) fn case(
        &self,
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        data_type: DataType,
        condition: bool,
    ) -> Result<Expr> {
        let operand = operand.map(|e| self.value(*e)).transpose()?;
        let mut kept: Vec<(Expr, Expr)> = Vec::with_capacity(branches.len());
        let mut last = otherwise;
        for (when, then) in branches {
            let when = self.simplified(when, operand.is_none())?;
            match when.as_bool() {
                Some(Some(true)) if operand.is_none() => {
                    last = Some(Box::new(then));
                    break;
                }
                Some(_) if operand.is_none() => {}
                _ => kept.push((when, self.simplified(then, condition)?)),
            }
        }
        let last = last.map(|e| self.simplified(*e, condition)).transpose()?;
        let last = last.filter(|e| !e.as_literal().is_some_and(|value| value.is_null()));
        if kept.is_empty() {
            return Ok(last.unwrap_or_else(|| Expr::null(&data_type)));
        }
        let is = |e: &Expr, value: bool| e.as_bool() == Some(Some(value));
        // Where NULL counts as false: true if one of the conditions is.
        if condition
            && operand.is_none()
            && kept.iter().all(|(_, then)| is(then, true))
            && last.as_ref().is_none_or(|e| is(e, false))
        {
            return terms::or(self, kept.into_iter().map(|(when, _)| when).collect(), condition);
        }
        let (operand, otherwise) = (operand.map(Box::new), last.map(Box::new));
        Ok(self.types.folded(Expr { kind: Kind::Case { operand, branches: kept, otherwise }, data_type }))
    }
}

#[cfg(test)]
mod tests {
    use crate::algebra::{Expr, Kind};
    use crate::rules::testing::{Sample, int};

    #[test]
    fn branches_that_are_never_taken_go() {
        let mut sample = Sample::default();
        let (a, b) = (sample.condition("a"), sample.condition("b"));
        let case = |branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>| {
            let data_type = branches[0].1.data_type.clone();
            Expr {
                kind: Kind::Case { operand: None, branches, otherwise: otherwise.map(Box::new) },
                data_type,
            }
        };
        let [yes, no] = [true, false].map(Expr::boolean);
        sample.simplifies(case(vec![(no.clone(), int(1)), (yes.clone(), int(2))], None), "2");
        sample.simplifies(case(vec![(no.clone(), int(1))], None), "NULL");
        let both = case(vec![(a.clone(), yes.clone()), (b.clone(), yes)], Some(no));
        sample.simplifies(both.clone(), "CASE WHEN a#0 THEN true WHEN b#1 THEN true ELSE false END");
        sample.keeps(both, "a#0 OR b#1");
    }
}
