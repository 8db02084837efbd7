//! What can fail on a row: overflow, division by zero, a value that can't be cast.

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use expressions::functions::json::OfJson;
use expressions::functions::lists::{self, aggregated, lambda};
use expressions::functions::{attempt, groups, own, structs};

use crate::algebra::{Expr, Kind};

/// Functions that give a value for any arguments, if those after the first are constants.
const TOTAL: [&str; 26] = [
    "btrim",
    "character_length",
    "coalesce",
    "concat",
    "contains",
    "date_part",
    "date_trunc",
    "ends_with",
    "get_field",
    "greatest",
    "isnan",
    "iszero",
    "least",
    "lower",
    "ltrim",
    "now",
    "nullif",
    "nvl",
    "octet_length",
    "regexp_like",
    "reverse",
    "rtrim",
    "starts_with",
    "strpos",
    "substr",
    "upper",
];

/// Whether evaluating an expression can fail on some row.
pub fn fails(e: &Expr) -> bool {
    e.any(&mut fails_itself)
}

/// Whether an expression can fail though its parts don't.
pub(super) fn fails_itself(e: &Expr) -> bool {
    let is_constant = |e: &Expr| e.as_literal().is_some_and(|value| !value.is_null());
    match &e.kind {
        Kind::Binary(op, left, right) => match op {
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                !(e.data_type.is_floating() || has_room(*op, &left.data_type, &right.data_type))
            }
            Operator::Divide | Operator::Modulo => {
                let divides = right.as_literal().is_some_and(always_divides);
                !(e.data_type.is_floating() || divides && e.data_type.is_integer())
            }
            Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight => true,
            Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch => !is_constant(right),
            _ => false,
        },
        Kind::Negative(inner) => !inner.data_type.is_floating(),
        Kind::Cast { expr, safe } => !safe && !cast_is_total(&expr.data_type, &e.data_type),
        Kind::Call { function, args } => {
            let name = function.name();
            if OfJson::of(function).is_some_and(OfJson::is_total) {
                return false;
            }
            let is_total_list = lists::find(name).is_some_and(|function| function.total);
            let is_total_own = own::find(name).is_some_and(|own| own.total);
            let is_total_made = lambda::is_total(function)
                || aggregated::is_total(function)
                || structs::is_made(function)
                || groups::is_one(function)
                || attempt::of(function).is_some();
            if is_total_list || is_total_own || is_total_made {
                return false;
            }
            let of_any_number =
                matches!(name, "coalesce" | "concat" | "greatest" | "least" | "nullif" | "nvl");
            let constants = match name {
                "date_part" | "date_trunc" => args.first().is_none_or(is_constant),
                _ => args.iter().skip(1).all(is_constant),
            };
            !(TOTAL.contains(&name) && (of_any_number || constants))
        }
        _ => false,
    }
}

/// Whether every integer can be divided by a number: it is not 0, and not -1, by which the least one can't.
fn always_divides(value: &ScalarValue) -> bool {
    match value.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(Some(n))) => n != 0 && n != -1,
        _ => false,
    }
}

/// Whether the result of an operation on decimals has all the digits that it may need.
fn has_room(op: Operator, left: &DataType, right: &DataType) -> bool {
    let (&DataType::Decimal128(p1, s1), &DataType::Decimal128(p2, s2)) = (left, right) else {
        return false;
    };
    let whole = |p: u8, s: i8| i16::from(p) - i16::from(s);
    let digits = match op {
        Operator::Multiply => i16::from(p1) + i16::from(p2) + 1,
        _ => whole(p1, s1).max(whole(p2, s2)) + i16::from(s1.max(s2)) + 1,
    };
    digits <= i16::from(DECIMAL128_MAX_PRECISION)
}

/// Whether every value of one type has one of the other.
fn cast_is_total(from: &DataType, to: &DataType) -> bool {
    use DataType::{Boolean, Date32, Float64, Null, Timestamp, Utf8, Utf8View};
    let width = |t: &DataType| t.primitive_width().unwrap_or(0);
    let text = |t: &DataType| matches!(t, Utf8 | Utf8View | DataType::LargeUtf8);
    from == to
        || matches!(from, Null)
        || text(to)
        || to.is_floating()
            && (from.is_integer() || from.is_floating() || matches!(from, DataType::Decimal128(..)))
        || matches!((from, to), (Timestamp(..), Date32) | (Float64, Boolean))
        || widens(from, to)
        || from.is_integer() && to == &Boolean
        || from == &Boolean && to.is_integer()
        || from.is_integer()
            && to.is_integer()
            && width(from) < width(to)
            && (from.is_unsigned_integer() || to.is_signed_integer())
        || from.is_integer()
            && width(from) == width(to)
            && from.is_unsigned_integer() == to.is_unsigned_integer()
}

/// Whether a type is a decimal that holds every integer or decimal of another type.
pub(crate) fn widens(from: &DataType, to: &DataType) -> bool {
    // The digits before the point, and those behind it.
    let digits = |t: &DataType| match *t {
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            Some((i16::from(precision) - i16::from(scale), i16::from(scale)))
        }
        _ => None,
    };
    let is_decimal = matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..));
    match (digits(from), digits(to)) {
        (Some((whole, scale)), Some((to_whole, to_scale))) => {
            is_decimal && whole <= to_whole && scale <= to_scale
        }
        _ => false,
    }
}
