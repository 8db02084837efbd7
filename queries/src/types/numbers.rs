//! The type that numbers of several types have in common.
//!
//! - A decimal beside a DOUBLE is a DOUBLE, beside a FLOAT a FLOAT. DataFusion would make both decimals of 15 digits
//!   behind the point, in which 1e-20 is 0 and 1e30 is out of range.
//! - Decimals and whole numbers of different digits are compared in as many digits as that takes.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::binary::type_union_resolution;
use schema::instants::per_second;

use super::Types;
use super::compared::is_bytes;
use crate::algebra::Expr;
use crate::error::Result;

/// The most digits of a DECIMAL.
const DIGITS: u8 = 38;

/// What becomes of values that are brought to one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// They are compared, in as many digits as that takes.
    Compared,
    /// They are values of one column: a value with more digits than a DECIMAL has is an error.
    Result,
}

/// A type, and the value if it is constant.
pub(super) type Typed<'a> = (Option<&'a ScalarValue>, &'a DataType);

/// The type and the value of an expression.
pub(super) fn typed(e: &Expr) -> Typed<'_> {
    (e.as_literal(), &e.data_type)
}

/// Whether a type is a decimal.
pub(super) fn is_decimal(t: &DataType) -> bool {
    matches!(t, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// The digits before the point, and those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digits {
    whole: u8,
    scale: u8,
}

impl Digits {
    fn of_type(data_type: &DataType) -> Option<Digits> {
        let (whole, scale) = match *data_type {
            DataType::Int8 | DataType::UInt8 => (3, 0),
            DataType::Int16 | DataType::UInt16 => (5, 0),
            DataType::Int32 | DataType::UInt32 => (10, 0),
            DataType::Int64 => (19, 0),
            DataType::UInt64 => (20, 0),
            DataType::Decimal128(precision, scale) => (
                u8::try_from(i16::from(precision) - i16::from(scale)).unwrap_or(0),
                u8::try_from(scale).unwrap_or(0),
            ),
            _ => return None,
        };
        Some(Digits { whole, scale })
    }

    /// A whole number in the text of a query has as many as stand there.
    fn of((value, data_type): Typed) -> Option<Digits> {
        let of_type = Digits::of_type(data_type)?;
        let is_written = matches!(data_type, DataType::Int64 | DataType::UInt64);
        let Some(value) = value.filter(|_| is_written) else { return Some(of_type) };
        let Ok(ScalarValue::Decimal128(Some(value), _, 0)) = value.cast_to(&DataType::Decimal128(DIGITS, 0))
        else {
            return Some(of_type);
        };
        let whole = value.unsigned_abs().checked_ilog10().map_or(1, |digits| digits as u8 + 1);
        Some(Digits { whole, scale: 0 })
    }

    fn decimal(self) -> DataType {
        DataType::Decimal128((self.whole + self.scale).clamp(1, DIGITS), self.scale as i8)
    }
}

/// The common type of values of which one is a decimal: a float type if there is a float, else a decimal. Beside numbers
/// truth values are numbers. `None` if there is neither, or something that is no number.
pub(super) fn common(all: &[Typed], purpose: Use) -> Option<DataType> {
    let types = || all.iter().map(|(_, t)| *t);
    if types().any(|t| matches!(t, DataType::Struct(_))) {
        return common_struct(&types().collect::<Vec<_>>(), purpose);
    }
    if types().any(|t| *t == DataType::Boolean) {
        return common_truth(all, purpose);
    }
    if !types().any(is_decimal) {
        return None;
    }
    if types().any(|t| t == &DataType::Float64) {
        return types().all(|t| t.is_numeric() || t.is_null()).then_some(DataType::Float64);
    }
    if types().any(DataType::is_floating) {
        return types().all(|t| t.is_numeric() || t.is_null()).then_some(DataType::Float32);
    }
    let (mut whole, mut scale) = (0, 0);
    for value in all.iter().filter(|(_, t)| !t.is_null()) {
        let digits = Digits::of(*value)?;
        whole = digits.whole.max(whole);
        scale = digits.scale.max(scale);
    }
    let precision = whole + scale;
    Some(match purpose {
        _ if precision <= DIGITS => DataType::Decimal128(precision.max(1), scale as i8),
        Use::Compared => DataType::Decimal256(precision, scale as i8),
        Use::Result => DataType::Decimal128(DIGITS, scale as i8),
    })
}

/// The common type of truth values and numbers, if all are one of the two: that of the numbers, of which 1 is true.
fn common_truth(all: &[Typed], purpose: Use) -> Option<DataType> {
    let is_truth = |t: &DataType| *t == DataType::Boolean;
    let numbers: Vec<Typed> = all.iter().copied().filter(|(_, t)| !is_truth(t) && !t.is_null()).collect();
    if !numbers.iter().all(|(_, t)| t.is_numeric()) {
        return None;
    }
    let rules = |one: &DataType, other: &DataType| type_union_resolution(&[one.clone(), other.clone()]);
    let (_, first) = numbers.first()?;
    common(&numbers, purpose).or_else(|| {
        let mut types = numbers.iter().map(|(_, t)| *t);
        types.try_fold((*first).clone(), |one, other| wider(&one, other, purpose, rules))
    })
}

/// The common type of structs, field by field in their order, if a field is a decimal in one and another number in others.
fn common_struct(all: &[&DataType], purpose: Use) -> Option<DataType> {
    let fields_of = |t: &&&DataType| match t {
        DataType::Struct(fields) => Some(fields.clone()),
        _ => None,
    };
    let typed = all.iter().filter(|t| !t.is_null());
    let structs: Vec<_> = typed.map(|t| fields_of(&t)).collect::<Option<_>>()?;
    let first = structs.first()?;
    if structs.iter().any(|fields| fields.len() != first.len()) {
        return None;
    }
    let mut differ = false;
    let mut fields = Vec::with_capacity(first.len());
    for (i, field) in first.iter().enumerate() {
        let typed: Vec<Typed> = structs.iter().map(|fields| (None, fields[i].data_type())).collect();
        let same = typed.iter().all(|(_, t)| *t == field.data_type());
        let found = if same { None } else { common(&typed, purpose) };
        differ |= found.is_some();
        let data_type = found.unwrap_or_else(|| field.data_type().clone());
        fields.push(field.as_ref().clone().with_data_type(data_type).with_nullable(true));
    }
    differ.then(|| DataType::Struct(fields.into()))
}

/// The common type of two types. It is found by the rules of this module if one is a decimal, which two integers may
/// have become, else by others.
pub(super) fn wider(
    one: &DataType,
    other: &DataType,
    purpose: Use,
    rules: fn(&DataType, &DataType) -> Option<DataType>,
) -> Option<DataType> {
    if one == other {
        return Some(one.clone());
    }
    if are_apart(one, other) {
        return None;
    }
    if is_bytes(one) && is_bytes(other) {
        return Some(DataType::BinaryView);
    }
    if is_time(one) && is_time(other) {
        return Some(DataType::Time64(TimeUnit::Nanosecond));
    }
    if let Some(instant) = instant_of(one, other).or_else(|| instant_of(other, one)) {
        return Some(instant);
    }
    common(&[(None, one), (None, other)], purpose).or_else(|| rules(one, other))
}

/// The type of instants that a timestamp or a date becomes beside one: local time in the zone of the session.
fn instant_of(instant: &DataType, other: &DataType) -> Option<DataType> {
    let DataType::Timestamp(unit, Some(zone)) = instant else { return None };
    match other {
        DataType::Timestamp(finer, None) if per_second(*finer) > per_second(*unit) => {
            Some(DataType::Timestamp(*finer, Some(zone.clone())))
        }
        DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64 => Some(instant.clone()),
        _ => None,
    }
}

/// Whether a type is that of times of day, which have other units in files.
pub(super) fn is_time(t: &DataType) -> bool {
    matches!(t, DataType::Time32(_) | DataType::Time64(_))
}

/// Whether one is a number or a truth value, and the other a date, a time or an interval, within lists and structs too.
/// DataFusion takes an integer for the days since 1970.
pub(super) fn are_apart(one: &DataType, other: &DataType) -> bool {
    use DataType::{List, Map, Struct};
    let is_number = |t: &DataType| t.is_numeric() || *t == DataType::Boolean;
    match (one, other) {
        (List(one), List(other)) | (Map(one, _), Map(other, _)) => {
            are_apart(one.data_type(), other.data_type())
        }
        (Struct(one), Struct(other)) if one.len() == other.len() => {
            one.iter().zip(other).any(|(one, other)| are_apart(one.data_type(), other.data_type()))
        }
        _ => is_number(one) && other.is_temporal() || one.is_temporal() && is_number(other),
    }
}

impl Types {
    /// Brings expressions to the type that they have in common, if one of them is a decimal, or a truth value beside
    /// numbers.
    pub(super) fn align(&self, all: &mut [&mut Expr], purpose: Use) -> Result<()> {
        let typed: Vec<Typed> = all.iter().map(|e| typed(e)).collect();
        let Some(target) = common(&typed, purpose) else { return Ok(()) };
        for e in all.iter_mut().filter(|e| e.data_type != target && !e.data_type.is_null()) {
            let value = std::mem::replace(&mut **e, Expr::boolean(None));
            **e = self.coerced(value, &target)?;
        }
        Ok(())
    }

    /// A whole number as a decimal; others as they are.
    pub(super) fn as_decimal(&self, e: Expr) -> Result<Expr> {
        match Digits::of(typed(&e)) {
            Some(digits) if e.data_type.is_integer() => self.coerced(e, &digits.decimal()),
            _ => Ok(e),
        }
    }

    /// Decimals as DOUBLEs.
    pub(super) fn doubles(&self, all: Vec<Expr>) -> Result<Vec<Expr>> {
        let double = |e: Expr| match is_decimal(&e.data_type) {
            true => self.coerced(e, &DataType::Float64),
            false => Ok(e),
        };
        all.into_iter().map(double).collect()
    }
}
