//! Casts in comparisons.
//!
//! The optimiser takes the cast off a column that is compared with a literal, and casts the literal instead:
//! `CAST(dec AS INT) = 1` becomes `dec = 1.00`. That is right only of a cast under which different values stay
//! different, in their order, and which never fails.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{Cast, Expr, ExprSchemable, TryCast};

/// Whether a cast can be taken off and the literals that it is compared with be cast instead.
pub fn is_removable(cast: &Expr, others: &[&Expr], schema: &DFSchema) -> bool {
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = cast else {
        return false;
    };
    match (expr.get_type(schema), field.data_type()) {
        (Ok(DataType::Timestamp(from, zone)), DataType::Timestamp(to, to_zone)) => {
            // The optimiser truncates the literal.
            zone == *to_zone && decimals(from) <= decimals(*to) && others.iter().all(|e| is_exact(e, from))
        }
        (Ok(from), to) => is_injection(&from, to),
        (Err(_), _) => false,
    }
}

/// Whether a timestamp is a literal that the unit `coarse` can hold.
fn is_exact(e: &Expr, coarse: TimeUnit) -> bool {
    let (value, digits) = match e {
        Expr::Literal(ScalarValue::TimestampSecond(Some(v), _), _) => (v, 0),
        Expr::Literal(ScalarValue::TimestampMillisecond(Some(v), _), _) => (v, 3),
        Expr::Literal(ScalarValue::TimestampMicrosecond(Some(v), _), _) => (v, 6),
        Expr::Literal(ScalarValue::TimestampNanosecond(Some(v), _), _) => (v, 9),
        _ => return false,
    };
    let more = digits - decimals(coarse);
    u32::try_from(more).map_or(true, |more| value % 10_i64.pow(more) == 0)
}

fn decimals(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Whether every value of one type has one of its own in the other, in the same order. The optimiser asks itself
/// whether a literal of the other type is one of these.
fn is_injection(from: &DataType, to: &DataType) -> bool {
    let text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let width = |t: &DataType| t.primitive_width().unwrap_or(0);
    if from == to || text(from) && text(to) {
        return true;
    }
    if from.is_integer() && to.is_integer() {
        return width(from) < width(to) && (from.is_unsigned_integer() || to.is_signed_integer());
    }
    if from.is_integer() && text(to) {
        // Only = and <> are asked of a text, and the text of an integer is one.
        return true;
    }
    matches!(to, DataType::Decimal128(..)) && widens(from, to)
}

/// Whether a type is a decimal that holds every integer or decimal of another type.
pub fn widens(from: &DataType, to: &DataType) -> bool {
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
    let decimal = matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..));
    match (digits(from), digits(to)) {
        (Some((whole, scale)), Some((to_whole, to_scale))) => {
            decimal && whole <= to_whole && scale <= to_scale
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType::{Date32, Decimal128, Int8, Int32, Int64, UInt32, UInt64, Utf8View};

    use super::*;

    #[test]
    fn only_a_cast_that_keeps_values_apart_is_taken_off() {
        for (from, to) in [
            (Int32, Int64),
            (UInt32, Int64),
            (Int32, Utf8View),
            (Int64, Decimal128(20, 0)),
            (Int32, Decimal128(12, 2)),
            (Decimal128(5, 2), Decimal128(6, 3)),
        ] {
            assert!(is_injection(&from, &to), "{from} to {to}");
        }
        for (from, to) in [
            (Int64, Int8),
            (UInt64, Int64),
            (Int32, UInt32),
            (Date32, Int32),
            (Decimal128(5, 2), Int64),
            (Decimal128(5, 2), Decimal128(5, 1)),
            (Decimal128(5, 2), Decimal128(5, 3)),
            (Int64, Decimal128(20, 2)),
            (Utf8View, Int64),
        ] {
            assert!(!is_injection(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn a_timestamp_is_exact_if_nothing_is_behind_its_last_digit() {
        let literal = |v| Expr::Literal(ScalarValue::TimestampNanosecond(Some(v), None), None);
        assert!(is_exact(&literal(5_000_000), TimeUnit::Millisecond));
        assert!(!is_exact(&literal(5_000_001), TimeUnit::Millisecond));
        assert!(is_exact(&literal(5_000_001), TimeUnit::Nanosecond));
    }
}
