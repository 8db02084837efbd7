//! INTERVAL literals, by the same rules as casts of text.

use std::ops::ControlFlow;

use expressions::values::interval_text::interval;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, Expr, Interval, UnaryOperator, Value,
};

use crate::error::{Error, Result};

/// Puts a literal into one form: months, days and seconds. A computed number of a unit becomes a cast of its text.
pub fn normalise(expr: &mut Expr) -> ControlFlow<Error> {
    let Expr::Interval(literal) = expr else { return ControlFlow::Continue(()) };
    as_text(literal);
    if let (Expr::Nested(number), Some(unit), None) =
        (literal.value.as_ref(), &literal.leading_field, &literal.last_field)
    {
        let number = number.as_ref().clone();
        let number = if has_fractions(unit) { number } else { cast(cut(number), DataType::BigInt(None)) };
        let text = Expr::BinaryOp {
            left: Box::new(cast(number, DataType::Varchar(None))),
            op: BinaryOperator::StringConcat,
            right: Box::new(Expr::Value(Value::SingleQuotedString(format!(" {unit}")).into())),
        };
        *expr = cast(text, DataType::Interval { fields: None, precision: None });
        return ControlFlow::Continue(());
    }
    match text(literal).and_then(|text| text.map(|text| parts(&text)).transpose()) {
        Err(e) => ControlFlow::Break(e),
        // What is computed otherwise is refused where it is bound.
        Ok(None) => ControlFlow::Continue(()),
        Ok(Some(parts)) => {
            *literal = Interval {
                value: Box::new(Expr::Value(Value::SingleQuotedString(parts).into())),
                leading_field: None,
                leading_precision: None,
                last_field: None,
                fractional_seconds_precision: None,
            };
            ControlFlow::Continue(())
        }
    }
}

/// Makes the number of `INTERVAL 1.5 DAY` a text.
fn as_text(interval: &mut Interval) {
    let text = match interval.value.as_ref() {
        Expr::Value(v) => number(&v.value).map(str::to_string),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match inner.as_ref() {
            Expr::Value(v) => number(&v.value).map(|text| format!("-{text}")),
            _ => None,
        },
        _ => None,
    };
    if let Some(text) = text {
        *interval.value = Expr::Value(Value::SingleQuotedString(text).into());
    }
}

/// The text of a number without an exponent.
pub(super) fn number(value: &Value) -> Option<&str> {
    match value {
        Value::Number(text, _) if text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'_') => {
            Some(text)
        }
        _ => None,
    }
}

/// Whether a unit beside a number keeps the number's fraction; others cut it.
fn has_fractions(unit: &DateTimeField) -> bool {
    use DateTimeField::{Millisecond, Milliseconds, Second, Seconds};
    matches!(unit, Second | Seconds | Millisecond | Milliseconds)
}

/// A number that is written with a point, without what stands behind it.
fn cut(mut number: Expr) -> Expr {
    let literal = match &mut number {
        Expr::UnaryOp { expr, .. } => expr.as_mut(),
        other => other,
    };
    if let Expr::Value(value) = literal
        && let Value::Number(digits, _) = &mut value.value
        && !digits.contains(['e', 'E'])
        && let Some((whole, _)) = digits.split_once('.')
    {
        *digits = if whole.is_empty() { "0".into() } else { whole.into() };
    }
    number
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// The text of a literal with its unit.
fn text(literal: &Interval) -> Result<Option<String>> {
    if literal.last_field.is_some() || literal.leading_precision.is_some() {
        return Err(Error::Unsupported("an INTERVAL of two units (YEAR TO MONTH)".into()));
    }
    let value = match literal.value.as_ref() {
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(text) => text.clone(),
            Value::Number(text, _) => text.clone(),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(field) = &literal.leading_field else { return Ok(Some(value)) };
    let number = value.trim();
    let digits = number.strip_prefix('-').unwrap_or(number);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) {
        return Err(Error::Invalid(format!("an INTERVAL of {field} takes a number, and '{value}' is none")));
    }
    let end = if has_fractions(field) { number.len() } else { number.find('.').unwrap_or(number.len()) };
    Ok(Some(format!("{} {field}", &number[..end])))
}

/// The parts of an interval as text.
fn parts(text: &str) -> Result<String> {
    let Some(parts) = interval(text) else {
        return Err(Error::Invalid(format!("cannot cast '{text}' to INTERVAL")));
    };
    let (sign, nanos) = (if parts.nanoseconds < 0 { "-" } else { "" }, parts.nanoseconds.unsigned_abs());
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Ok(format!("{} months {} days {sign}{seconds}.{nanos:09} seconds", parts.months, parts.days))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_exact() {
        assert_eq!(parts("1 day 2:00").unwrap(), "0 months 1 days 7200.000000000 seconds");
        assert_eq!(parts("-0.5 seconds").unwrap(), "0 months 0 days -0.500000000 seconds");
        assert!(parts("1 foo").is_err());
    }
}
