//! The expressions of relations.
//!
//! The one equality of a null-aware anti join is left as it is: there NULL does not count as false.

use super::Simplifier;
use crate::algebra::{Expr, JoinKind, Rel, SortKey, Values};
use crate::error::Result;
use crate::rules::hash;

impl Simplifier<'_> {
    /// Simplifies all expressions of a relation and of those below it.
    ///
    /// # Errors
    /// As [`Simplifier::value`].
    pub fn relation(&self, rel: &mut Rel) -> Result<()> {
        match rel {
            Rel::Filter(node) => node.predicates = self.conditions(std::mem::take(&mut node.predicates))?,
            Rel::Join(node) if node.kind != JoinKind::AntiNullAware => {
                node.predicates = self.conditions(std::mem::take(&mut node.predicates))?;
            }
            Rel::Join(_) => {}
            Rel::Aggregate(node) => {
                for (_, call) in &mut node.calls {
                    call.args.iter_mut().try_for_each(|e| self.change(e))?;
                    call.order_by.iter_mut().try_for_each(|key| self.change(&mut key.expr))?;
                    keep_first(&mut call.order_by);
                    let filter = call.filter.take().map(|e| self.condition(e)).transpose()?;
                    call.filter = filter.filter(|e| e.as_bool() != Some(Some(true)));
                }
            }
            Rel::Sort(node) => {
                node.keys.iter_mut().try_for_each(|key| self.change(&mut key.expr))?;
                keep_first(&mut node.keys);
                // All rows are equal by a constant.
                node.keys.retain(|key| key.expr.as_literal().is_none());
            }
            _ => rel.exprs_mut().into_iter().try_for_each(|e| self.change(e))?,
        }
        rel.inputs_mut().into_iter().try_for_each(|input| self.relation(input))
    }

    /// The terms of a conjunction of which NULL counts as false: false alone if that is one of them.
    ///
    /// # Errors
    /// As [`Simplifier::value`].
    pub fn conditions(&self, terms: Vec<Expr>) -> Result<Vec<Expr>> {
        let mut all = Vec::with_capacity(terms.len());
        for term in terms {
            let term = self.condition(term)?;
            match term.as_bool() {
                Some(Some(true)) => {}
                Some(_) => return Ok(vec![Expr::boolean(false)]),
                None => all.extend(term.split()),
            }
        }
        Ok(hash::distinct(all))
    }

    fn change(&self, e: &mut Expr) -> Result<()> {
        let nothing = Expr::boolean(None);
        *e = self.value(std::mem::replace(e, nothing))?;
        Ok(())
    }
}

/// Leaves out keys of an order by which rows are sorted already.
fn keep_first(keys: &mut Vec<SortKey>) {
    *keys = hash::distinct_by(std::mem::take(keys), |key| &key.expr);
}

/// The relation, of which nothing is left in its place.
pub(crate) fn taken(rel: &mut Rel) -> Rel {
    std::mem::replace(rel, Values::one())
}
