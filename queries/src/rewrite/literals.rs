//! Numbers with a point, which are decimals, and whole numbers that 64 bits don't hold.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, UnaryOperator, Value};

use crate::error::Error;

/// The most digits of a decimal.
const DIGITS: usize = 38;

/// Makes a number a decimal with its digits where the planner would make it a float. A number with an exponent is a
/// float, and so is one with a point and more digits than a decimal has.
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
    let text = text.replace('_', "");
    let signed = if negative { format!("-{text}") } else { text.clone() };
    let Some((precision, scale)) = decimal(&text, &signed)? else { return ControlFlow::Continue(()) };
    *expr = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Value(Value::SingleQuotedString(signed).into())),
        data_type: DataType::Decimal(ExactNumberInfo::PrecisionAndScale(precision as u64, scale as i64)),
        array: false,
        format: None,
    };
    ControlFlow::Continue(())
}

/// Makes the number of `INTERVAL 1.5 DAY` a text, which the planner reads alike.
pub fn of_interval(expr: &mut Expr) {
    let Expr::Interval(interval) = expr else { return };
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
pub fn number(value: &Value) -> Option<&str> {
    match value {
        Value::Number(text, _) if text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'_') => {
            Some(text)
        }
        _ => None,
    }
}

/// Precision and scale of the decimal that a number has to be: all digits that stand there count, zeros too.
fn decimal(text: &str, signed: &str) -> ControlFlow<Error, Option<(usize, usize)>> {
    if let Some((whole, fraction)) = text.split_once('.') {
        let digits = whole.len() + fraction.len();
        return ControlFlow::Continue((1..=DIGITS).contains(&digits).then_some((digits, fraction.len())));
    }
    if signed.parse::<i64>().is_ok() || signed.parse::<u64>().is_ok() {
        return ControlFlow::Continue(None);
    }
    let digits = text.trim_start_matches('0').len();
    if digits > DIGITS {
        return ControlFlow::Break(Error::Invalid(format!(
            "the number {signed} has {digits} digits; {DIGITS} are the most\n  help: write it with an exponent \
             (1e{}) for a DOUBLE",
            digits - 1
        )));
    }
    ControlFlow::Continue(Some((digits, 0)))
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
    fn a_number_with_a_point_has_the_digits_that_stand_there() {
        for (text, precision, scale) in [
            ("0.1", 2, 1),
            ("00.10", 4, 2),
            (".5", 1, 1),
            ("5.", 1, 0),
            ("0.0", 2, 1),
            ("-0.5", 2, 1),
            ("100.0", 4, 1),
            ("99999999999999.99", 16, 2),
            ("3.14159265358979323846", 21, 20),
        ] {
            assert_eq!(of(text), Some((precision, scale)), "{text}");
        }
        let nines = "9".repeat(37);
        assert_eq!(of(&format!("{nines}.9")), Some((38, 1)));
        assert_eq!(of(&format!("0.{nines}")), Some((38, 37)));
        assert_eq!(of(&format!("0.9{nines}")), None);
        assert_eq!(of(&format!("{nines}99.")), None);
    }

    #[test]
    fn a_whole_number_that_64_bits_do_not_hold_is_a_decimal() {
        for kept in ["0", "1", "007", "18446744073709551615", "-9223372036854775808"] {
            assert_eq!(of(kept), None, "{kept}");
        }
        assert_eq!(of("18446744073709551616"), Some((20, 0)));
        assert_eq!(of("-9223372036854775809"), Some((19, 0)));
        assert_eq!(of(&"9".repeat(38)), Some((38, 0)));
        assert!(decimal(&"9".repeat(39), &"9".repeat(39)).is_break());
    }
}
