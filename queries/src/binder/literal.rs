//! Constants: numbers, texts, intervals, typed texts.

use datafusion_common::ScalarValue;
use expressions::values::interval_text::interval;
use sqlparser::ast::{Expr as Ast, Interval, Value};

use crate::algebra::Expr;
use crate::error::{Error, Result};

/// The most digits of a decimal.
const DIGITS: usize = 38;

/// A text.
pub fn text(text: &str) -> Expr {
    Expr::literal(ScalarValue::Utf8View(Some(text.to_string())))
}

/// A constant.
///
/// # Errors
/// A number has too many digits, or the constant is of a kind that is not supported.
pub fn value(value: &Value) -> Result<Expr> {
    Ok(match value {
        Value::Number(digits, _) => number(digits, false)?,
        Value::SingleQuotedString(s) | Value::DoubleQuotedString(s) | Value::EscapedStringLiteral(s) => {
            text(s)
        }
        Value::DollarQuotedString(s) => text(&s.value),
        Value::Null => Expr::literal(ScalarValue::Null),
        Value::Boolean(b) => Expr::boolean(*b),
        Value::HexStringLiteral(s) => Expr::literal(ScalarValue::Binary(Some(bytes(s)?))),
        other => return Err(Error::Unsupported(format!("the constant {other}"))),
    })
}

/// A number. With a point and no exponent it is a decimal of the digits that stand there. With an exponent it is a
/// float, else a whole number.
///
/// # Errors
/// It has more digits than a decimal.
pub fn number(digits: &str, is_negative: bool) -> Result<Expr> {
    let digits = digits.replace('_', "");
    let signed = if is_negative { format!("-{digits}") } else { digits.clone() };
    let float = || {
        let value = signed.parse::<f64>();
        value
            .map(|v| Expr::literal(ScalarValue::Float64(Some(v))))
            .map_err(|_| Error::Invalid(format!("'{signed}' is not a number")))
    };
    if !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return float();
    }
    if let Some((whole, fraction)) = digits.split_once('.') {
        let count = whole.len() + fraction.len();
        return if (1..=DIGITS).contains(&count) { decimal(&signed, count, fraction.len()) } else { float() };
    }
    if let Ok(n) = signed.parse::<i64>() {
        return Ok(Expr::literal(ScalarValue::Int64(Some(n))));
    }
    if let Ok(n) = signed.parse::<u64>() {
        return Ok(Expr::literal(ScalarValue::UInt64(Some(n))));
    }
    let count = digits.trim_start_matches('0').len();
    if count > DIGITS {
        return Err(Error::Invalid(format!(
            "the number {signed} has {count} digits; {DIGITS} are the most\n  help: write it with an exponent \
             (1e{}) for a DOUBLE",
            count - 1
        )));
    }
    decimal(&signed, count, 0)
}

fn decimal(text: &str, precision: usize, scale: usize) -> Result<Expr> {
    let units = text.replace('.', "").parse::<i128>();
    match (units, u8::try_from(precision), i8::try_from(scale)) {
        (Ok(units), Ok(precision), Ok(scale)) => {
            Ok(Expr::literal(ScalarValue::Decimal128(Some(units), precision, scale)))
        }
        _ => Err(Error::Invalid(format!("'{text}' is not a number"))),
    }
}

/// The bytes that hexadecimal digits are.
fn bytes(digits: &str) -> Result<Vec<u8>> {
    let wrong = || Error::Invalid(format!("x'{digits}' is not a number of hexadecimal digits, two a byte"));
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(wrong());
    }
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).map_err(|_| wrong()))
        .collect()
}

/// An interval, whose text has been put into one form ([`super::syntax::intervals`]).
///
/// # Errors
/// It is computed, or its text is none.
pub fn of_interval(literal: &Interval) -> Result<Expr> {
    let text = match literal.value.as_ref() {
        Ast::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text,
            _ => return Err(Error::Unsupported("an INTERVAL of this kind".into())),
        },
        _ => return Err(Error::Unsupported("an INTERVAL that is computed".into())),
    };
    match interval(text) {
        Some(value) => Ok(Expr::literal(ScalarValue::IntervalMonthDayNano(Some(value)))),
        None => Err(Error::Invalid(format!("cannot cast '{text}' to INTERVAL"))),
    }
}
