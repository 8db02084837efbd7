//! Expressions that say the same with less.
//!
//! Each rule holds in three-valued logic. NULL counts as false in a filter, in what makes two rows of a join match, in
//! FILTER, and in conditions of a CASE. There an expression is a *condition*, of which only what is true matters.
//!
//! What can fail is evaluated on no other rows than before, or on fewer. Terms of AND and OR that can't fail come first
//! wherever they stand, and nothing is put before a term that can.
//!
//! - [`terms`]: AND and OR: constants, and terms that stand twice.
//! - [`factors`]: what all terms of an OR have in common.
//! - [`lists`]: equalities with constants as one list.
//! - [`ranges`]: ranges of one column that overlap.
//! - [`not`]: NOT down to comparisons.
//! - [`compared`]: comparisons, IN, BETWEEN and LIKE.
//! - [`spans`]: years and dates as ranges of columns.
//! - [`cases`] of CASE.
//! - [`nodes`]: the expressions of relations.

pub mod cases;
pub mod compared;
pub mod factors;
pub mod lists;
pub mod nodes;
pub mod not;
pub mod ranges;
pub mod spans;
pub mod terms;

use datafusion_expr::Operator;

use crate::algebra::{Expr, Kind};
use crate::compile::is_comparison;
use crate::error::Result;
use crate::types::Types;

/// Simplifies the expressions of a query.
#[derive(Debug)]
pub struct Simplifier<'a> {
    types: &'a Types,
}

impl<'a> Simplifier<'a> {
    /// Constants are computed with these types.
    pub fn new(types: &'a Types) -> Simplifier<'a> {
        Simplifier { types }
    }

    /// An expression with the same value for all rows.
    ///
    /// # Errors
    /// Those of building expressions, which don't occur where the given one has its types.
    pub fn value(&self, e: Expr) -> Result<Expr> {
        self.simplified(e, false)
    }

    /// An expression that is true of the same rows.
    ///
    /// # Errors
    /// As [`Simplifier::value`].
    pub fn condition(&self, e: Expr) -> Result<Expr> {
        self.simplified(e, true)
    }

    fn simplified(&self, e: Expr, condition: bool) -> Result<Expr> {
        let Expr { kind, data_type } = e;
        let values = |terms: Vec<Expr>| terms.into_iter().map(|e| self.value(e)).collect::<Result<Vec<_>>>();
        let terms = |terms: Vec<Expr>| {
            terms.into_iter().map(|e| self.simplified(e, condition)).collect::<Result<Vec<_>>>()
        };
        let kind = match kind {
            Kind::And(all) => return Ok(terms::and(terms(all)?, condition)),
            Kind::Or(all) => return terms::or(self, terms(all)?, condition),
            Kind::Not(inner) => return self.not(*inner, condition),
            Kind::Case { operand, branches, otherwise } => {
                return self.case(operand, branches, otherwise, data_type, condition);
            }
            Kind::Binary(op, left, right) => {
                let (left, right) = (self.value(*left)?, self.value(*right)?);
                if is_comparison(op) {
                    return self.comparison(left, op, right, condition);
                }
                if is_strict(op) && (is_null(&left) || is_null(&right)) {
                    return Ok(Expr::null(&data_type));
                }
                Kind::Binary(op, Box::new(left), Box::new(right))
            }
            Kind::InList { expr, list, negated } => {
                let is_constant = list.iter().all(|item| item.as_literal().is_some());
                let list = if is_constant { list } else { values(list)? };
                return self.in_list(self.value(*expr)?, list, negated, condition);
            }
            Kind::Between { expr, low, high, negated } => {
                let (expr, low, high) = (self.value(*expr)?, self.value(*low)?, self.value(*high)?);
                return match spans::between(&expr, &low, &high) {
                    Some(range) if !negated => Ok(range),
                    _ => self.types.between(expr, low, high, negated),
                };
            }
            Kind::Like { expr, pattern, negated, case_insensitive } => {
                let (expr, pattern) = (self.value(*expr)?, self.value(*pattern)?);
                return self.like(expr, pattern, (negated, case_insensitive), condition);
            }
            Kind::IsNull(inner) => {
                let inner = self.value(*inner)?;
                return Ok(match is_known(&inner) {
                    true => Expr::boolean(false),
                    false => self.types.is_null(inner, false),
                });
            }
            Kind::Negative(inner) => Kind::Negative(Box::new(self.value(*inner)?)),
            Kind::Cast { expr, safe } => {
                let inner = self.value(*expr)?;
                if inner.data_type == data_type {
                    return Ok(inner);
                }
                Kind::Cast { expr: Box::new(inner), safe }
            }
            Kind::Call { function, args } => {
                let args = values(args)?;
                let choice = matches!(function.name(), "coalesce" | "nvl");
                if choice && args.iter().any(|arg| arg.as_literal().is_some()) {
                    let chosen = self.types.call(&function, args.clone())?;
                    if chosen.data_type == data_type {
                        return Ok(chosen);
                    }
                }
                Kind::Call { function, args }
            }
            kind @ (Kind::Column(_) | Kind::Literal(_) | Kind::Stage(_) | Kind::Subquery(_)) => kind,
        };
        Ok(self.types.folded(Expr { kind, data_type }))
    }
}

/// Whether an expression is the constant NULL.
fn is_null(e: &Expr) -> bool {
    e.as_literal().is_some_and(|value| value.is_null())
}

/// Whether an expression is never NULL, whatever it is computed over. Of a column that is not known: an outer join fills
/// it up.
fn is_known(e: &Expr) -> bool {
    match &e.kind {
        Kind::Literal(value) => !value.is_null(),
        Kind::IsNull(_) | Kind::Binary(Operator::IsDistinctFrom | Operator::IsNotDistinctFrom, ..) => true,
        Kind::And(terms) | Kind::Or(terms) => terms.iter().all(is_known),
        Kind::Not(inner) => is_known(inner),
        _ => false,
    }
}

/// Whether an operator that does not compare gives NULL where one side is NULL.
fn is_strict(op: Operator) -> bool {
    op.is_numerical_operators()
        || matches!(
            op,
            Operator::RegexMatch
                | Operator::RegexIMatch
                | Operator::RegexNotMatch
                | Operator::RegexNotIMatch
                | Operator::BitwiseAnd
                | Operator::BitwiseOr
                | Operator::BitwiseXor
                | Operator::BitwiseShiftLeft
                | Operator::BitwiseShiftRight
                | Operator::StringConcat
        )
}
