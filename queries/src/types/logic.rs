//! AND, OR, NOT, IS NULL, IS TRUE, and conditions.

use arrow_schema::DataType;
use datafusion_expr::Operator;
use expressions::text::shown;

use super::Types;
use super::mismatch::no_operation;
use crate::algebra::{Expr, Kind};
use crate::error::{Error, Result};

impl Types {
    /// A conjunction, with the terms of those inside in their places. TRUE is left out; with FALSE it is false.
    ///
    /// # Errors
    /// A term is no BOOLEAN.
    pub fn and(&self, terms: Vec<Expr>) -> Result<Expr> {
        let all = Expr::and(self.booleans(terms, Operator::And)?);
        Ok(self.decided(all, true))
    }

    /// A disjunction, with the terms of those inside in their places. FALSE is left out; with TRUE it is true.
    ///
    /// # Errors
    /// A term is no BOOLEAN.
    pub fn or(&self, terms: Vec<Expr>) -> Result<Expr> {
        let all = Expr::or(self.booleans(terms, Operator::Or)?);
        Ok(self.decided(all, false))
    }

    /// Not true.
    ///
    /// # Errors
    /// It is no BOOLEAN.
    pub fn not(&self, e: Expr) -> Result<Expr> {
        Ok(self.folded(boolean(e, "NOT")?.not()))
    }

    /// What WHERE, HAVING, ON and FILTER ask for.
    ///
    /// # Errors
    /// It is no BOOLEAN.
    pub fn condition(&self, e: Expr) -> Result<Expr> {
        match e.data_type {
            DataType::Boolean => Ok(e),
            DataType::Null => Ok(Expr::boolean(None)),
            other => Err(Error::Invalid(format!(
                "a condition must be true or false, and this is {}, no BOOLEAN\n  help: compare it with something",
                shown(&other)
            ))),
        }
    }

    /// `IS [NOT] NULL`.
    pub fn is_null(&self, e: Expr, negated: bool) -> Expr {
        if let Some(value) = e.as_literal() {
            return Expr::boolean(value.is_null() != negated);
        }
        let is_null = e.is_null();
        if negated { is_null.not() } else { is_null }
    }

    /// `IS [NOT] TRUE`, `IS [NOT] FALSE`, and without a value `IS [NOT] UNKNOWN`.
    ///
    /// # Errors
    /// It is no BOOLEAN.
    pub fn is(&self, e: Expr, value: Option<bool>, negated: bool) -> Result<Expr> {
        let what = match value {
            Some(true) => "IS TRUE",
            Some(false) => "IS FALSE",
            None => "IS UNKNOWN",
        };
        let e = boolean(e, what)?;
        match value {
            None => Ok(self.is_null(e, negated)),
            Some(value) => {
                let op = if negated { Operator::IsDistinctFrom } else { Operator::IsNotDistinctFrom };
                self.compared(e, op, Expr::boolean(value))
            }
        }
    }

    fn booleans(&self, mut terms: Vec<Expr>, op: Operator) -> Result<Vec<Expr>> {
        let is_boolean = |t: &DataType| matches!(t, DataType::Boolean | DataType::Null);
        if let Some(wrong) = terms.iter().position(|term| !is_boolean(&term.data_type)) {
            let first = wrong.saturating_sub(1);
            let (left, right) = (terms.get(first), terms.get(first + 1));
            let of = |e: Option<&Expr>| e.map_or(DataType::Boolean, |e| e.data_type.clone());
            return Err(no_operation(&of(left), op, &of(right)));
        }
        for term in terms.iter_mut().filter(|term| term.data_type.is_null()) {
            *term = Expr::boolean(None);
        }
        Ok(terms)
    }

    /// A conjunction, or a disjunction, of which `neutral` is left out. It has the opposite for its value if that is
    /// one of its terms.
    fn decided(&self, e: Expr, neutral: bool) -> Expr {
        let (Kind::And(terms) | Kind::Or(terms)) = &e.kind else { return e };
        let is = |term: &Expr, value: bool| term.as_bool() == Some(Some(value));
        if terms.iter().any(|term| is(term, !neutral)) {
            return Expr::boolean(!neutral);
        }
        let undecided = |term: &Expr| !is(term, neutral);
        let e = match terms.iter().all(undecided) {
            true => e,
            false => match e.kind {
                Kind::And(terms) => Expr::and(terms.into_iter().filter(undecided)),
                Kind::Or(terms) => Expr::or(terms.into_iter().filter(undecided)),
                kind => Expr { kind, ..e },
            },
        };
        self.folded(e)
    }
}

/// What takes a BOOLEAN takes NULL; `what` takes it.
fn boolean(e: Expr, what: &str) -> Result<Expr> {
    match &e.data_type {
        DataType::Boolean => Ok(e),
        DataType::Null => Ok(Expr::boolean(None)),
        other => Err(Error::Invalid(format!(
            "{what} takes a BOOLEAN, and this is {}\n  help: compare it with something",
            shown(other)
        ))),
    }
}
