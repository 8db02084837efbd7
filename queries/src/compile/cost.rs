//! About how long expressions take for a row, so that what is quick and leaves few rows is evaluated first.

use arrow_schema::DataType;
use datafusion_expr::Operator;
use expressions::functions::json::OfJson;

use super::casts::is_text;
use super::operators::is_comparison;
use crate::algebra::{Expr, Kind};

/// A number is compared in so many nanoseconds.
const NUMBER: f64 = 0.4;
/// A number of 128 bits.
const LONG_NUMBER: f64 = 1.0;
/// A text, with a constant most of the time.
const TEXT: f64 = 2.5;
/// A value is looked up in a table by its hash.
const LOOK_UP: f64 = 15.0;
/// A call of a function.
const CALL: f64 = 20.0;
/// A text is looked for that is a beginning, an end, or a part of another one.
const PART_OF_TEXT: f64 = 15.0;
/// A text of JSON is read.
const JSON: f64 = 300.0;
/// A regular expression, and a pattern that becomes one.
const REGULAR: f64 = 100.0;

/// About how many nanoseconds an expression takes for a row, once its parts are computed.
pub(super) fn itself(e: &Expr) -> f64 {
    match &e.kind {
        Kind::Column(_) | Kind::Literal(_) | Kind::Stage(_) | Kind::Subquery(_) => 0.0,
        Kind::And(_) | Kind::Or(_) | Kind::Not(_) | Kind::IsNull(_) => 0.1,
        Kind::Binary(op, left, _) => match op {
            op if is_comparison(*op) => compared(&left.data_type),
            Operator::Plus | Operator::Minus => 2.0 * compared(&e.data_type),
            Operator::Multiply | Operator::Divide | Operator::Modulo => 5.0 * compared(&e.data_type),
            Operator::BitwiseAnd | Operator::BitwiseOr | Operator::BitwiseXor => NUMBER,
            Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight => NUMBER,
            Operator::StringConcat => CALL,
            _ => REGULAR,
        },
        Kind::Between { expr, .. } => 2.0 * compared(&expr.data_type),
        Kind::InList { expr, list, .. } => (compared(&expr.data_type) * list.len() as f64).min(LOOK_UP),
        Kind::Like { pattern, .. } => match pattern.as_literal().and_then(|p| p.try_as_str().flatten()) {
            Some(pattern) if !is_regular(pattern) => PART_OF_TEXT,
            _ => REGULAR,
        },
        Kind::Negative(_) => NUMBER,
        Kind::Cast { expr, .. } if is_text(&expr.data_type) || is_text(&e.data_type) => CALL,
        Kind::Cast { .. } => 2.0 * LONG_NUMBER,
        Kind::Case { branches, .. } => 5.0 * branches.len() as f64,
        Kind::Call { function, .. } if OfJson::of(function).is_some() => JSON,
        Kind::Call { .. } => CALL,
    }
}

/// About how many nanoseconds it takes to compare two values of a type.
pub(super) fn compared(t: &DataType) -> f64 {
    match t.primitive_width() {
        Some(..=8) => NUMBER,
        Some(_) => LONG_NUMBER,
        None if t == &DataType::Boolean => NUMBER,
        None => TEXT,
    }
}

/// Whether a pattern has other wildcards than those between which texts are looked for.
fn is_regular(pattern: &str) -> bool {
    pattern.contains(['_', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_between_wildcards_are_no_regular_expression() {
        for (pattern, is) in [("%a%", false), ("a", false), ("%", false), ("a%b", false), ("%a_%", true)] {
            assert_eq!(is_regular(pattern), is, "{pattern}");
        }
    }
}
