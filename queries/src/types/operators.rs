//! Arithmetic, bits and `||`.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion_expr::type_coercion::{is_interval, is_signed_numeric, is_timestamp};
use expressions::functions::{decimal_rounding, interval_product};
use expressions::text::shown;
use expressions::values::decimals::Rounding;

use super::Types;
use super::mismatch::{no_operation, of_nested};
use super::numbers::is_decimal;
use crate::algebra::{Expr, Kind};
use crate::compile::is_comparison;
use crate::error::{Error, Result};

/// Whether both are integers; one may be NULL.
pub(super) fn are_integers(left: &Expr, right: &Expr) -> bool {
    let (l, r) = (&left.data_type, &right.data_type);
    let is = |t: &DataType| t.is_integer() || t.is_null();
    is(l) && is(r) && !(l.is_null() && r.is_null())
}

impl Types {
    /// A binary operator.
    ///
    /// # Errors
    /// There is no such operation on values of these types.
    pub fn binary(&self, left: Expr, op: Operator, right: Expr) -> Result<Expr> {
        match op {
            Operator::And => self.and(vec![left, right]),
            Operator::Or => self.or(vec![left, right]),
            op if is_comparison(op) => self.compared(left, op, right),
            Operator::Divide if !self.integer_division && are_integers(&left, &right) => {
                let side = |e: Expr| self.coerced(e, &DataType::Float64);
                Ok(self.operation(side(left)?, op, side(right)?, None))
            }
            op if op.is_numerical_operators() => self.arithmetic(left, op, right),
            Operator::BitwiseAnd
            | Operator::BitwiseOr
            | Operator::BitwiseXor
            | Operator::BitwiseShiftLeft
            | Operator::BitwiseShiftRight
                if is_decimal(&left.data_type) || is_decimal(&right.data_type) =>
            {
                // DataFusion would cut them.
                Err(no_operation(&left.data_type, op, &right.data_type))
            }
            Operator::StringConcat if left.data_type.is_nested() || right.data_type.is_nested() => {
                Err(of_nested("||"))
            }
            Operator::StringConcat => {
                // DataFusion knows no `||` of NULL with what is neither text nor BLOB.
                let is_text = !(left.data_type.is_binary() || right.data_type.is_binary());
                let side = |e: Expr| match is_text && e.data_type.is_null() {
                    true => self.coerced(e, &DataType::Utf8View),
                    false => Ok(e),
                };
                self.general(side(left)?, op, side(right)?)
            }
            op => self.general(left, op, right),
        }
    }

    /// The quotient of two integers, cut toward zero. By zero it is an error.
    ///
    /// # Errors
    /// The operands are no integers.
    pub fn integer_quotient(&self, left: Expr, right: Expr) -> Result<Expr> {
        let left = match left.data_type.is_null() && right.data_type.is_null() {
            true => self.coerced(left, &DataType::Int64)?,
            false => left,
        };
        if !are_integers(&left, &right) {
            return Err(Error::Invalid(format!(
                "// divides integers, and these are {} and {}\n  help: trunc(a / b) cuts any quotient",
                shown(&left.data_type),
                shown(&right.data_type)
            )));
        }
        self.arithmetic(left, Operator::Divide, right)
    }

    /// The negative number, interval or difference.
    ///
    /// # Errors
    /// The type has no negative values.
    pub fn negative(&self, e: Expr) -> Result<Expr> {
        let t = &e.data_type;
        if !(t.is_null() || is_signed_numeric(t) || is_interval(t) || is_timestamp(t)) {
            let what = "- takes a signed number, an interval or a timestamp";
            return Err(Error::Invalid(format!(
                "{what}, and this is {}\n  help: CAST it to BIGINT",
                shown(t)
            )));
        }
        let data_type = t.clone();
        Ok(self.folded(Expr { kind: Kind::Negative(Box::new(e)), data_type }))
    }

    /// `~e`: all bits are the other ones.
    ///
    /// # Errors
    /// It is no integer.
    pub fn bits_inverted(&self, e: Expr) -> Result<Expr> {
        let data_type = e.data_type.clone();
        if data_type.is_null() {
            return Ok(e);
        }
        let all = match data_type {
            DataType::UInt8 => ScalarValue::UInt8(Some(u8::MAX)),
            DataType::UInt16 => ScalarValue::UInt16(Some(u16::MAX)),
            DataType::UInt32 => ScalarValue::UInt32(Some(u32::MAX)),
            DataType::UInt64 => ScalarValue::UInt64(Some(u64::MAX)),
            DataType::Int8 => ScalarValue::Int8(Some(-1)),
            DataType::Int16 => ScalarValue::Int16(Some(-1)),
            DataType::Int32 => ScalarValue::Int32(Some(-1)),
            DataType::Int64 => ScalarValue::Int64(Some(-1)),
            other => {
                return Err(Error::Invalid(format!("~ takes an integer, and this is {}", shown(&other))));
            }
        };
        Ok(self.operation(e, Operator::BitwiseXor, Expr::literal(all), None))
    }

    fn arithmetic(&self, mut left: Expr, op: Operator, mut right: Expr) -> Result<Expr> {
        let is_moment = |e: &Expr| e.data_type == DataType::Date32 || is_timestamp(&e.data_type);
        if op == Operator::Minus && is_moment(&left) {
            right = self.text_as_time(right);
        } else if op == Operator::Minus && is_moment(&right) {
            left = self.text_as_time(left);
        }
        let (mut left, mut right) = match self.days(left, op, right)? {
            Ok(date) => return Ok(date),
            Err(operands) => operands,
        };
        if let Some(zone) = &self.zone {
            (left, right) = match self.sum_in_zone(left, op, right, zone)? {
                Ok(sum) => return Ok(sum),
                Err(operands) => operands,
            };
        }
        let is_time = |t: &DataType| matches!(t, DataType::Interval(_) | DataType::Duration(_));
        let is_number = |t: &DataType| t.is_numeric() || t.is_null();
        match op {
            Operator::Multiply | Operator::Divide
                if is_time(&left.data_type) && is_number(&right.data_type) =>
            {
                return self.interval_times(left, op, right);
            }
            Operator::Multiply if is_number(&left.data_type) && is_time(&right.data_type) => {
                return self.interval_times(right, op, left);
            }
            _ => {}
        }
        if matches!(op, Operator::Modulo | Operator::Divide) {
            (left, right) = unsigned(left, right);
        }
        let (l, r) = (&left.data_type, &right.data_type);
        if l == r && (l.is_integer() || l.is_floating()) {
            return Ok(self.operation(left, op, right, None));
        }
        if !(is_decimal(l) || is_decimal(r)) || !is_number(l) || !is_number(r) {
            return self.general(left, op, right);
        }
        let float = match (l, r) {
            (DataType::Float32, _) | (_, DataType::Float32) => Some(DataType::Float32),
            _ if l.is_floating() || r.is_floating() || op == Operator::Divide => Some(DataType::Float64),
            _ => None,
        };
        let side = |e: Expr, other: &DataType| match &float {
            Some(float) => self.coerced(e, float),
            None if e.data_type.is_null() => self.coerced(e, other),
            None => self.as_decimal(e),
        };
        let (of_left, of_right) = (l.clone(), r.clone());
        self.general(side(left, &of_right)?, op, side(right, &of_left)?)
    }

    /// An interval, or the difference of two timestamps, times a number or divided by one.
    fn interval_times(&self, interval: Expr, op: Operator, number: Expr) -> Result<Expr> {
        let divides = op == Operator::Divide;
        let is_whole = !divides && (number.data_type.is_integer() || number.data_type.is_null());
        let number = self.coerced(number, if is_whole { &DataType::Int64 } else { &DataType::Float64 })?;
        self.typed_call(interval_product::function(divides), vec![interval, number])
    }

    /// An operation by DataFusion's rules.
    fn general(&self, left: Expr, op: Operator, right: Expr) -> Result<Expr> {
        let from = (left.data_type.clone(), right.data_type.clone());
        let wrong = |_| no_operation(&from.0, op, &from.1);
        let inputs = BinaryTypeCoercer::new(&from.0, &op, &from.1).get_input_types();
        let (of_left, of_right) = inputs.map_err(wrong)?;
        let left = self.operand(left, op, &of_left, &of_right)?;
        let right = self.operand(right, op, &of_right, &of_left)?;
        let result = BinaryTypeCoercer::new(&of_left, &op, &of_right).get_result_type().map_err(wrong)?;
        let cuts = op == Operator::Divide
            && from.0.is_integer()
            && from.1.is_integer()
            && is_decimal(&of_left)
            && is_decimal(&of_right);
        let value = self.operation(left, op, right, Some(result));
        if !cuts {
            return Ok(value);
        }
        // The quotient of an unsigned and a signed integer of 64 bits is one of decimals, and has four digits behind the
        // point: a quotient of integers has none.
        self.call(&decimal_rounding::function(Rounding::Cut, Some(0)), vec![value])
    }

    /// The operation on operands that have their types. Without a type of its own the result has that of the left side.
    pub(super) fn operation(&self, left: Expr, op: Operator, right: Expr, result: Option<DataType>) -> Expr {
        let data_type = result.unwrap_or_else(|| left.data_type.clone());
        if self.is_unknown(&left, &right) {
            return Expr::null(&data_type);
        }
        self.folded(Expr { kind: Kind::Binary(op, Box::new(left), Box::new(right)), data_type })
    }
}

/// A literal that is not negative beside an unsigned integer of 64 bits as such a one, so that the quotient and what is
/// left of it are no decimals.
fn unsigned(left: Expr, right: Expr) -> (Expr, Expr) {
    let literal = |e: &Expr| match e.as_literal() {
        Some(ScalarValue::Int64(Some(value))) => u64::try_from(*value).ok(),
        _ => None,
    };
    let as_literal = |value| Expr::literal(ScalarValue::UInt64(Some(value)));
    match (literal(&left), literal(&right)) {
        (_, Some(value)) if left.data_type == DataType::UInt64 => (left, as_literal(value)),
        (Some(value), _) if right.data_type == DataType::UInt64 => (as_literal(value), right),
        _ => (left, right),
    }
}
