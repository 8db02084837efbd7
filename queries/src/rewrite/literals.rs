//! Numbers that a 64-bit integer or float can't hold in all their digits.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, UnaryOperator, Value};

use crate::error::Error;

/// The most digits of a decimal.
const DIGITS: usize = 38;

/// Makes a number a decimal with its digits where the planner would make it a float that has others. A number with an
/// exponent is a float in any case, and so is one with a point and more digits than a decimal has.
pub fn exact(expr: &mut Expr) -> ControlFlow<Error> {
    let (text, negative) = match &*expr {
        Expr::Value(v) => (number(&v.value), false),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match inner.as_ref() {
            Expr::Value(v) => (number(&v.value), true),
            _ => return ControlFlow::Continue(()),
        },
        _ => return ControlFlow::Continue(()),
    };
    let Some(text) = text else { return ControlFlow::Continue(()) };
    let signed = if negative { format!("-{text}") } else { text.to_string() };
    let Some((precision, scale)) = decimal(text, &signed)? else { return ControlFlow::Continue(()) };
    *expr = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(Value::SingleQuotedString(signed).into())),
        data_type: DataType::Decimal(ExactNumberInfo::PrecisionAndScale(precision as u64, scale as i64)),
        array: false,
        format: None,
    };
    ControlFlow::Continue(())
}

/// The text of a number without an exponent.
pub fn number(value: &Value) -> Option<&str> {
    match value {
        Value::Number(text, _) if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') => Some(text),
        _ => None,
    }
}

/// Precision and scale of the decimal that a number has to be.
fn decimal(text: &str, signed: &str) -> ControlFlow<Error, Option<(usize, usize)>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.trim_start_matches('0');
    let digits = whole.len() + fraction.len();
    if !text.contains('.') {
        if signed.parse::<i64>().is_ok() || signed.parse::<u64>().is_ok() {
            return ControlFlow::Continue(None);
        }
        if digits > DIGITS {
            return ControlFlow::Break(Error::Invalid(format!(
                "the number {signed} has {digits} digits; {DIGITS} are the most\n  help: write it with an exponent \
                 (1e{}) for a DOUBLE",
                digits - 1
            )));
        }
        return ControlFlow::Continue(Some((digits, 0)));
    }
    let held = digits > DIGITS || significant(text) == float_digits(text);
    ControlFlow::Continue(if held { None } else { Some((digits, fraction.len())) })
}

/// The digits of a number from its first to its last one that is not 0.
fn significant(text: &str) -> String {
    text.replace('.', "").trim_matches('0').to_string()
}

/// The fewest digits that give the number's float back.
fn float_digits(text: &str) -> String {
    let float: f64 = text.parse().unwrap_or(f64::NAN);
    let shortest = format!("{float:e}");
    significant(shortest.split('e').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(usize, usize)> {
        match decimal(text.trim_start_matches('-'), text) {
            ControlFlow::Continue(found) => found,
            ControlFlow::Break(e) => panic!("{e}"),
        }
    }

    #[test]
    fn only_numbers_that_would_lose_digits_are_decimals() {
        for kept in ["0", "1", "007", "18446744073709551615", "-9223372036854775808", "0.1", "0.10", "100.0"]
        {
            assert_eq!(of(kept), None, "{kept}");
        }
        for kept in ["0.30000000000000004", "1.7976931348623157", "0.000000000000000000001", "0.0"] {
            assert_eq!(of(kept), None, "{kept}");
        }
        assert_eq!(of("18446744073709551616"), Some((20, 0)));
        assert_eq!(of("-9223372036854775809"), Some((19, 0)));
        assert_eq!(of("99999999999999.99"), Some((16, 2)));
        assert_eq!(of("3.14159265358979323846"), Some((21, 20)));
        assert_eq!(of("0.1234567890123456789"), Some((19, 19)));
        assert_eq!(of(&"9".repeat(38)), Some((38, 0)));
        assert!(decimal(&"9".repeat(39), &"9".repeat(39)).is_break());
        assert_eq!(of(&format!("0.{}", "123456789".repeat(5))), None);
    }
}
