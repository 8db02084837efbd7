//! Comparisons, BETWEEN, IN and LIKE.

use arrow_schema::{DataType, TimeUnit};
use datafusion_expr::Operator;
use datafusion_expr::type_coercion::binary::{BinaryTypeCoercer, comparison_coercion, like_coercion};

use super::Types;
use super::mismatch::{no_operation, nothing_in_common};
use super::narrow::{self, normal};
use super::numbers::{Use, are_apart, is_time, wider};
use crate::algebra::{Expr, Kind};
use crate::compile::is_text;
use crate::error::Result;

impl Types {
    /// A comparison.
    pub(super) fn compared(&self, mut left: Expr, op: Operator, mut right: Expr) -> Result<Expr> {
        if left.data_type != right.data_type {
            self.align(&mut [&mut left, &mut right], Use::Compared)?;
            let (of_left, of_right) = compared_in(&left.data_type, op, &right.data_type)?;
            (left, right) = (self.coerced(left, &of_left)?, self.coerced(right, &of_right)?);
        }
        let takes_null = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if !takes_null && self.is_unknown(&left, &right) {
            return Ok(Expr::boolean(None));
        }
        let (left, right) = (normal(left), normal(right));
        if matches!(op, Operator::Eq | Operator::NotEq)
            && let Some((value, low, high)) = narrow::between_values(&left, &right)
        {
            // No value equals the constant: the range has none in it.
            let (expr, low, high) = (Box::new(value), Box::new(low), Box::new(high));
            let negated = op == Operator::NotEq;
            return Ok(self.folded(Expr::condition(Kind::Between { expr, low, high, negated })));
        }
        let (left, op, right) = narrow::comparison(left, op, right);
        Ok(self.folded(Expr::compare(left, op, right)))
    }

    /// `e [NOT] IN (…)`.
    ///
    /// # Errors
    /// An item can't be compared with the value.
    pub fn in_list(&self, mut e: Expr, mut list: Vec<Expr>, negated: bool) -> Result<Expr> {
        if list.is_empty() {
            return Ok(Expr::boolean(negated));
        }
        let mut all: Vec<&mut Expr> = list.iter_mut().chain([&mut e]).collect();
        self.align(&mut all, Use::Compared)?;
        let common =
            list.iter().try_fold(e.data_type.clone(), |common, item| match common == item.data_type {
                true => Some(common),
                false => wider(&common, &item.data_type, Use::Compared, coercion),
            });
        let Some(common) = common else {
            let types = std::iter::once(&e).chain(&list).map(|e| &e.data_type);
            return Err(nothing_in_common(types, "IN"));
        };
        let value = normal(self.coerced(e, &common)?);
        let items = self.all_coerced(list, &common)?.into_iter().map(normal).collect();
        let (value, mut items) = narrow::list(value, items);
        if items.len() == 1 {
            let op = if negated { Operator::NotEq } else { Operator::Eq };
            return self.compared(value, op, items.swap_remove(0));
        }
        Ok(self.folded(Expr::condition(Kind::InList { expr: Box::new(value), list: items, negated })))
    }

    /// `e [NOT] BETWEEN low AND high`.
    ///
    /// # Errors
    /// The three can't be compared.
    pub fn between(&self, mut e: Expr, mut low: Expr, mut high: Expr, negated: bool) -> Result<Expr> {
        let is_moment = e.as_literal().is_some() && e.data_type.is_temporal();
        if is_moment && (low.as_literal().is_none() || high.as_literal().is_none()) {
            // `now() BETWEEN valid_from AND valid_to`: each side is compared in its own unit.
            let within =
                vec![self.compared(low, Operator::LtEq, e.clone())?, self.compared(e, Operator::LtEq, high)?];
            let within = self.and(within)?;
            return if negated { self.not(within) } else { Ok(within) };
        }
        self.align(&mut [&mut e, &mut low, &mut high], Use::Compared)?;
        let (value, of_low, of_high) = (&e.data_type, &low.data_type, &high.data_type);
        let with_low = compared_in(value, Operator::GtEq, of_low)?.0;
        let with_high = compared_in(value, Operator::LtEq, of_high)?.0;
        let common = match wider(&with_low, &with_high, Use::Compared, coercion) {
            Some(common) => common,
            None => compared_in(&with_low, Operator::LtEq, &with_high)?.0,
        };
        let side = |e| Ok::<_, crate::Error>(normal(self.coerced(e, &common)?));
        let (e, low, high) = narrow::between(side(e)?, side(low)?, side(high)?);
        let (expr, low, high) = (Box::new(e), Box::new(low), Box::new(high));
        Ok(self.folded(Expr::condition(Kind::Between { expr, low, high, negated })))
    }

    /// `e [NOT] LIKE pattern`, or ILIKE.
    ///
    /// # Errors
    /// One of them is no text.
    pub fn like(&self, e: Expr, pattern: Expr, negated: bool, case_insensitive: bool) -> Result<Expr> {
        let Some(text) = like_in(&e.data_type, &pattern.data_type) else {
            let op = if case_insensitive { "ILIKE" } else { "LIKE" };
            return Err(no_operation(&e.data_type, op, &pattern.data_type));
        };
        if self.is_unknown(&e, &pattern) {
            return Ok(Expr::boolean(None));
        }
        let (expr, pattern) = (Box::new(self.coerced(e, &text)?), Box::new(self.coerced(pattern, &text)?));
        Ok(self.folded(Expr::condition(Kind::Like { expr, pattern, negated, case_insensitive })))
    }
}

/// Whether a type is that of bytes. Those of files and those that are computed have different ones.
pub(super) fn is_bytes(t: &DataType) -> bool {
    matches!(t, DataType::Binary | DataType::BinaryView | DataType::LargeBinary)
}

/// The text type in which a value is compared with a pattern.
fn like_in(value: &DataType, pattern: &DataType) -> Option<DataType> {
    like_coercion(value, pattern).filter(is_text)
}

/// The types in which values of two types are compared.
pub(super) fn compared_in(left: &DataType, op: Operator, right: &DataType) -> Result<(DataType, DataType)> {
    if left == right {
        return Ok((left.clone(), left.clone()));
    }
    if are_apart(left, right) {
        return Err(no_operation(left, op, right));
    }
    let of_times = (is_time(left) && is_time(right)).then_some(DataType::Time64(TimeUnit::Nanosecond));
    match truth(left, right).or(of_times) {
        Some(common) => Ok((common.clone(), common)),
        None => BinaryTypeCoercer::new(left, &op, right)
            .get_input_types()
            .map_err(|_| no_operation(left, op, right)),
    }
}

/// The type in which values of two types are compared.
fn coercion(one: &DataType, other: &DataType) -> Option<DataType> {
    truth(one, other).or_else(|| comparison_coercion(one, other))
}

/// BOOLEAN for a BOOLEAN and a text, which is read as one.
fn truth(one: &DataType, other: &DataType) -> Option<DataType> {
    let is_truth = |t: &DataType| *t == DataType::Boolean;
    (is_truth(one) && is_text(other) || is_text(one) && is_truth(other)).then_some(DataType::Boolean)
}
