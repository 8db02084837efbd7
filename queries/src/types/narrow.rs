//! Comparisons with constants, whose casts are taken off the other side: zone maps are asked of columns, and no value is
//! cast for each row.
//!
//! - A cast under which different values stay different, in their order, and which never fails: `CAST(i AS BIGINT) = 5`
//!   is what `i = 5` says. The constant is cast instead.
//! - A cast to a decimal of more digits: `i > 0.5` is what `i > 0` says.
//! - A date, or a timestamp, to a finer timestamp: `d > TIMESTAMP '2024-01-01 10:00:00'` is what `d > DATE '2024-01-01'`
//!   says. The cast fails beyond the years 1677 to 2262, and what is compared in days does not.
//! - Constants of one value become one constant. `x = 0.0 AND x = -0.0` holds of 0.0, and a day is 24 hours: a rule that
//!   asks whether two are equal, or which is greater, compares their representations.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use expressions::compare::is_ambiguous;
use expressions::values::normal::normalised;
use schema::instants::per_second;
use schema::zones::is_utc;

use super::numbers::is_decimal;
use crate::algebra::{Expr, Kind};
use crate::compile::{is_text, widens};

/// A literal as the one that stands for all equal ones; others as they are.
pub(super) fn normal(mut e: Expr) -> Expr {
    if let Kind::Literal(value) = &mut e.kind
        && is_ambiguous(&value.data_type())
        && let Ok(array) = value.to_array()
        && let Ok(one) = ScalarValue::try_from_array(&normalised(&array), 0)
    {
        *value = one;
    }
    e
}

/// A comparison without the casts that can be taken off. A constant stands on the right side.
pub(super) fn comparison(mut left: Expr, mut op: Operator, mut right: Expr) -> (Expr, Operator, Expr) {
    loop {
        if let Some((narrowed, bound)) = bound(&left, op, &right) {
            (left, op, right) = (uncast(left), narrowed, bound);
        } else if let Some(swapped) = op.swap()
            && let Some((narrowed, bound)) = bound(&right, swapped, &left)
        {
            (left, op, right) = (uncast(right), narrowed, bound);
        } else {
            break;
        }
    }
    if let Some((end, is_last)) = end_of_time(&right) {
        (op, right) = (beyond(op, is_last), end);
    } else if let (Some((end, is_last)), Some(swapped)) = (end_of_time(&left), op.swap()) {
        (left, op, right) = (right, beyond(swapped, is_last), end);
    }
    match op.swap() {
        Some(swapped) if left.as_literal().is_some() && right.as_literal().is_none() => {
            (right, swapped, left)
        }
        _ => (left, op, right),
    }
}

/// A list of constants, and the value compared with them, without the casts that can be taken off. At least one item is
/// left.
pub(super) fn list(mut value: Expr, mut items: Vec<Expr>) -> (Expr, Vec<Expr>) {
    while let Some(t) = cast_of(&value) {
        let Some(kept) = items_in(t, &value.data_type, &items) else { break };
        (value, items) = (uncast(value), kept);
    }
    (value, items)
}

/// A range of constants, and the value, without the casts that can be taken off.
pub(super) fn between(mut value: Expr, mut low: Expr, mut high: Expr) -> (Expr, Expr, Expr) {
    while let Some(t) = cast_of(&value) {
        let Some(range) = range_in(t, &value.data_type, &low, &high) else { break };
        (value, (low, high)) = (uncast(value), range);
    }
    for end in [&mut low, &mut high] {
        if let Some((last, _)) = end_of_time(end) {
            *end = last;
        }
    }
    (value, low, high)
}

/// Where one side is a date, or a timestamp, cast to a finer timestamp, and the other a constant between two values of its
/// type: that date or timestamp, and a range without values, from the greater one to the lesser one.
pub(super) fn between_values(left: &Expr, right: &Expr) -> Option<(Expr, Expr, Expr)> {
    [(left, right), (right, left)].into_iter().find_map(|(cast, constant)| {
        let (t, value) = (cast_of(cast)?, constant_of(constant)?);
        let is_time = cast.data_type.is_temporal() && has_bounds(t, &cast.data_type);
        let bound = Bound::of(value, t).filter(|bound| is_time && !bound.exact)?;
        Some((uncast(cast.clone()), bound.value(t, 1)?, bound.value(t, 0)?))
    })
}

/// In the place of a constant that is beyond all timestamps of nanoseconds the last one of these, or the first one, and
/// whether it is the last.
fn end_of_time(e: &Expr) -> Option<(Expr, bool)> {
    let Kind::Cast { expr, safe: false } = &e.kind else { return None };
    let DataType::Timestamp(TimeUnit::Nanosecond, zone) = &e.data_type else { return None };
    let count = match *expr.as_literal()? {
        ScalarValue::Date32(count) => i64::from(count?),
        ScalarValue::TimestampSecond(count, _)
        | ScalarValue::TimestampMillisecond(count, _)
        | ScalarValue::TimestampMicrosecond(count, _) => count?,
        _ => return None,
    };
    let is_last = count > 0;
    let end = if is_last { i64::MAX } else { i64::MIN };
    Some((Expr::literal(ScalarValue::TimestampNanosecond(Some(end), zone.clone())), is_last))
}

/// How a timestamp is compared with the last one, or the first one, in place of one that is beyond it.
fn beyond(op: Operator, is_last: bool) -> Operator {
    match (op, is_last) {
        (Operator::Lt, true) => Operator::LtEq,
        (Operator::GtEq, true) => Operator::Gt,
        (Operator::Gt, false) => Operator::GtEq,
        (Operator::LtEq, false) => Operator::Lt,
        (op, _) => op,
    }
}

/// The type of what is cast. A constant under a cast is one that can't be cast. What is NULL where it can't be cast is no
/// time that is compared.
fn cast_of(e: &Expr) -> Option<&DataType> {
    match &e.kind {
        Kind::Cast { safe: true, .. } if e.data_type.is_temporal() => None,
        Kind::Cast { expr, .. } => Some(&expr.data_type),
        _ => None,
    }
}

/// A constant, or one that can't be cast to a finer timestamp, as it is.
fn constant_of(e: &Expr) -> Option<&ScalarValue> {
    match &e.kind {
        Kind::Cast { expr, safe: false }
            if has_bounds(&expr.data_type, &e.data_type) && e.data_type.is_temporal() =>
        {
            expr.as_literal()
        }
        _ => e.as_literal(),
    }
}

/// Whether a cast keeps the order of values of which one of the new type may lie between two: [`Bound`].
fn has_bounds(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Date32, DataType::Timestamp(_, zone)) => zone.as_deref().is_none_or(is_utc),
        // Without a zone it is in UTC here. Of another zone there is no cast.
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, to_zone)) => {
            let in_utc = zone.is_none() && to_zone.as_deref().is_some_and(is_utc);
            (zone == to_zone || in_utc) && digits(from) < digits(to)
        }
        _ => widens(from, to),
    }
}

fn uncast(e: Expr) -> Expr {
    match e.kind {
        Kind::Cast { expr, .. } => *expr,
        kind => Expr { kind, data_type: e.data_type },
    }
}

/// With what, and how, the inside of a cast is compared in place of the cast and a constant.
fn bound(cast: &Expr, op: Operator, constant: &Expr) -> Option<(Operator, Expr)> {
    let (t, value) = (cast_of(cast)?, constant_of(constant)?);
    if has_bounds(t, &cast.data_type)
        && let Some(bound) = Bound::of(value, t)
    {
        let op = match op {
            _ if bound.exact => op,
            // Between two values of the type.
            Operator::Lt | Operator::LtEq => Operator::LtEq,
            Operator::Gt | Operator::GtEq => Operator::Gt,
            _ => return None,
        };
        return Some((op, bound.value(t, 0)?));
    }
    let value = constant.as_literal()?;
    // Texts of numbers have another order.
    if is_text(&cast.data_type) && !is_text(t) && !matches!(op, Operator::Eq | Operator::NotEq) {
        return None;
    }
    Some((op, Expr::literal(inside(value, t, &cast.data_type)?)))
}

/// The items of a list in the type of what is cast. What has digits behind those of the type equals no value of it.
fn items_in(t: &DataType, cast: &DataType, items: &[Expr]) -> Option<Vec<Expr>> {
    let values = items.iter().map(Expr::as_literal).collect::<Option<Vec<_>>>()?;
    if has_bounds(t, cast)
        && let Some(bounds) = values.iter().map(|value| Bound::of(value, t)).collect::<Option<Vec<_>>>()
    {
        let exact = bounds.iter().filter(|bound| bound.exact).map(|bound| bound.value(t, 0));
        return exact.collect::<Option<Vec<_>>>().filter(|items| !items.is_empty());
    }
    values.into_iter().map(|value| inside(value, t, cast).map(Expr::literal)).collect()
}

/// A range in the type of what is cast.
fn range_in(t: &DataType, cast: &DataType, low: &Expr, high: &Expr) -> Option<(Expr, Expr)> {
    if has_bounds(t, cast)
        && let (Some(low), Some(high)) = (Bound::of(constant_of(low)?, t), Bound::of(constant_of(high)?, t))
    {
        return Some((low.value(t, if low.exact { 0 } else { 1 })?, high.value(t, 0)?));
    }
    let (low, high) = (low.as_literal()?, high.as_literal()?);
    if is_text(cast) && !is_text(t) {
        return None;
    }
    Some((Expr::literal(inside(low, t, cast)?), Expr::literal(inside(high, t, cast)?)))
}

/// The constant of the type `t` that is cast to a constant. There is one if different values of `t` stay different in
/// the cast, and in their order.
fn inside(value: &ScalarValue, t: &DataType, cast: &DataType) -> Option<ScalarValue> {
    if !is_injection(t, cast) {
        return None;
    }
    let inner = value.cast_to(t).ok()?;
    // What has no value in the type may have become another one, or NULL.
    (inner.cast_to(cast).ok()? == *value && inner.is_null() == value.is_null()).then_some(inner)
}

/// Whether every value of one type has one of its own in the other, in the same order, but for texts of integers.
fn is_injection(from: &DataType, to: &DataType) -> bool {
    let width = |t: &DataType| t.primitive_width().unwrap_or(0);
    match (from, to) {
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, to_zone)) => {
            zone == to_zone && digits(from) <= digits(to)
        }
        _ if from == to || is_text(from) && is_text(to) => true,
        _ if from.is_integer() && to.is_integer() => {
            width(from) < width(to) && (from.is_unsigned_integer() || to.is_signed_integer())
        }
        _ => from.is_integer() && is_text(to) || is_decimal(to) && widens(from, to),
    }
}

/// The digits behind the seconds.
fn digits(unit: &TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The greatest value of a type of whole numbers, decimals, dates or timestamps that is not above a constant.
struct Bound {
    units: i128,
    /// Whether it is the constant.
    exact: bool,
}

impl Bound {
    fn of(constant: &ScalarValue, t: &DataType) -> Option<Bound> {
        if let ScalarValue::Date32(Some(days)) = constant {
            let days = i128::from(*days);
            let units = match t {
                DataType::Date32 => days,
                DataType::Timestamp(own, _) => days * 86_400 * i128::from(per_second(*own)),
                _ => return None,
            };
            return Some(Bound { units, exact: true });
        }
        if let DataType::Timestamp(unit, _) = constant.data_type() {
            let ScalarValue::Int64(Some(count)) = constant.cast_to(&DataType::Int64).ok()? else {
                return None;
            };
            let by = match t {
                DataType::Date32 => i128::from(per_second(unit)) * 86_400,
                DataType::Timestamp(own, _) if per_second(*own) > per_second(unit) => return None,
                DataType::Timestamp(own, _) => i128::from(per_second(unit) / per_second(*own)),
                _ => return None,
            };
            if count == i64::MAX || count == i64::MIN {
                // It stands for what is beyond.
                return None;
            }
            let units = i128::from(count);
            return Some(Bound { units: units.div_euclid(by), exact: units.rem_euclid(by) == 0 });
        }
        let (units, scale) = match *constant {
            ScalarValue::Decimal128(Some(units), _, scale) => (units, scale),
            ScalarValue::Decimal256(Some(units), _, scale) => (units.to_i128()?, scale),
            _ => return None,
        };
        let kept = if let DataType::Decimal128(_, scale) = t { *scale } else { 0 };
        let by = 10_i128.checked_pow(u32::try_from(i32::from(scale) - i32::from(kept)).ok()?)?;
        Some(Bound { units: units.div_euclid(by), exact: units.rem_euclid(by) == 0 })
    }

    /// The value, or one that is so many above it, as a literal of the type; `None` if the type does not hold it.
    fn value(&self, t: &DataType, above: i128) -> Option<Expr> {
        let units = self.units.checked_add(above)?;
        let value = match t {
            DataType::Date32 => ScalarValue::Date32(Some(i32::try_from(units).ok()?)),
            DataType::Timestamp(..) => {
                ScalarValue::Int64(Some(i64::try_from(units).ok()?)).cast_to(t).ok()?
            }
            DataType::Decimal128(precision, scale) => {
                let fits = units.unsigned_abs() < 10_u128.checked_pow(u32::from(*precision))?;
                fits.then_some(ScalarValue::Decimal128(Some(units), *precision, *scale))?
            }
            _ if units.unsigned_abs() >= 10_u128.pow(38) => return None,
            _ => ScalarValue::Decimal128(Some(units), 38, 0).cast_to(t).ok()?,
        };
        Some(Expr::literal(value))
    }
}

#[cfg(test)]
mod tests {
    use DataType::{Date32, Decimal128, Int8, Int32, Int64, UInt32, UInt64, Utf8View};

    use super::*;

    #[test]
    fn a_bound_is_the_value_at_or_below() {
        let of = |units, scale, t| {
            Bound::of(&ScalarValue::Decimal128(Some(units), 38, scale), &t).map(|b| (b.units, b.exact))
        };
        assert_eq!(of(5, 1, Int64), Some((0, false)));
        assert_eq!(of(-5, 1, Int64), Some((-1, false)));
        assert_eq!(of(10, 1, Int64), Some((1, true)));
        assert_eq!(of(71, 3, Decimal128(15, 2)), Some((7, false)));
        assert_eq!(of(70, 3, Decimal128(15, 2)), Some((7, true)));
        assert_eq!(of(7, 1, Decimal128(15, 2)), None);
    }

    #[test]
    fn a_type_does_not_hold_every_bound() {
        let bound = |units| Bound { units, exact: true };
        assert!(bound(127).value(&Int8, 0).is_some());
        assert!(bound(127).value(&Int8, 1).is_none());
        assert!(bound(-1).value(&UInt64, 0).is_none());
        assert!(bound(1000).value(&Decimal128(3, 1), 0).is_none());
        assert!(bound(999).value(&Decimal128(3, 1), 0).is_some());
    }

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
    fn a_constant_without_a_value_in_the_type_stays() {
        let text = |text: &str| ScalarValue::Utf8View(Some(text.into()));
        assert_eq!(inside(&text("12"), &Int32, &Utf8View), Some(ScalarValue::Int32(Some(12))));
        assert_eq!(inside(&text("012"), &Int32, &Utf8View), None);
        assert_eq!(inside(&ScalarValue::Int64(Some(1 << 40)), &Int32, &Int64), None);
        assert_eq!(inside(&ScalarValue::Int64(None), &Int32, &Int64), Some(ScalarValue::Int32(None)));
        let nanoseconds = |v| ScalarValue::TimestampNanosecond(Some(v), None);
        let of = |unit| DataType::Timestamp(unit, None);
        let (milli, nano) = (of(TimeUnit::Millisecond), of(TimeUnit::Nanosecond));
        let five = ScalarValue::TimestampMillisecond(Some(5), None);
        assert_eq!(inside(&nanoseconds(5_000_000), &milli, &nano), Some(five));
        assert_eq!(inside(&nanoseconds(5_000_001), &milli, &nano), None);
        let day = |constant: i64, above| {
            let bound = Bound::of(&nanoseconds(constant), &Date32).expect("a timestamp");
            (bound.value(&Date32, above).and_then(|e| e.as_literal().cloned()), bound.exact)
        };
        let days = |days| Some(ScalarValue::Date32(Some(days)));
        assert_eq!(day(86_400_000_000_000, 0), (days(1), true));
        assert_eq!(day(86_400_000_000_001, 1), (days(2), false));
        assert_eq!(day(-1, 0), (days(-1), false));
    }
}
