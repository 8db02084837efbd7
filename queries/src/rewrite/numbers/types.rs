//! The type that numbers of several types have in common.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable, cast};
use expressions::values::decimals::{to_f32, to_f64};

/// The most digits of a DECIMAL.
pub const DIGITS: u8 = 38;

/// The digits before the point, and those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    whole: u8,
    scale: u8,
}

impl Digits {
    fn of(data_type: &DataType) -> Option<Digits> {
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

    /// Those of an expression: a whole number in the text of a query has as many as stand there.
    fn of_expr(e: &Expr, data_type: &DataType) -> Option<Digits> {
        let of_type = Digits::of(data_type)?;
        let Expr::Literal(value, _) = e else { return Some(of_type) };
        let Ok(ScalarValue::Decimal128(Some(value), _, 0)) = value.cast_to(&DataType::Decimal128(DIGITS, 0))
        else {
            return Some(of_type);
        };
        let whole = value.unsigned_abs().checked_ilog10().map_or(1, |digits| digits as u8 + 1);
        Some(if data_type.is_integer() { Digits { whole, scale: 0 } } else { of_type })
    }

    fn decimal(self) -> DataType {
        DataType::Decimal128((self.whole + self.scale).clamp(1, DIGITS), self.scale as i8)
    }
}

/// Whether a type is a decimal.
pub fn is_decimal(t: &DataType) -> bool {
    matches!(t, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// What becomes of values that are brought to one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// They are compared, in as many digits as that takes.
    Compared,
    /// They are values of one column: a value with more digits than a DECIMAL has is an error.
    Result,
}

/// The common type of expressions of which one is a decimal: a float type if there is a float, else a decimal. `None` if
/// there is no decimal, or something that is no number.
pub fn common(all: &[(&Expr, DataType)], purpose: Use) -> Option<DataType> {
    let types = || all.iter().map(|(_, t)| t);
    if types().any(|t| matches!(t, DataType::Struct(_))) {
        return common_struct(&types().collect::<Vec<_>>(), purpose);
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
    for (e, t) in all.iter().filter(|(_, t)| !t.is_null()) {
        let digits = Digits::of_expr(e, t)?;
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

/// The common type of structs, field by field in their order, if a field is a decimal in one and another number in others.
fn common_struct(all: &[&DataType], purpose: Use) -> Option<DataType> {
    let of_struct = |t: &&DataType| match t {
        DataType::Struct(fields) => Some(fields.clone()),
        _ => None,
    };
    let structs: Vec<_> = all.iter().filter(|t| !t.is_null()).map(of_struct).collect::<Option<_>>()?;
    let first = structs.first()?;
    if structs.iter().any(|fields| fields.len() != first.len()) {
        return None;
    }
    let nothing = Expr::Literal(ScalarValue::Null, None);
    let mut differ = false;
    let mut fields = Vec::new();
    for (i, field) in first.iter().enumerate() {
        let typed: Vec<_> = structs.iter().map(|fields| (&nothing, fields[i].data_type().clone())).collect();
        let same = typed.iter().all(|(_, t)| t == field.data_type());
        let found = if same { None } else { common(&typed, purpose) };
        differ |= found.is_some();
        let data_type = found.unwrap_or_else(|| field.data_type().clone());
        fields.push(field.as_ref().clone().with_data_type(data_type).with_nullable(true));
    }
    differ.then(|| DataType::Struct(fields.into()))
}

/// A whole number as a decimal; others as they are.
pub fn as_decimal(e: Expr, data_type: &DataType) -> DfResult<Expr> {
    match Digits::of_expr(&e, data_type) {
        Some(digits) if data_type.is_integer() => to(e, &digits.decimal()),
        _ => Ok(e),
    }
}

/// An expression cast to a type of numbers, a literal at once.
pub fn to(e: Expr, target: &DataType) -> DfResult<Expr> {
    let Expr::Literal(value, metadata) = &e else { return Ok(cast(e, target.clone())) };
    let value = match (value, target) {
        (ScalarValue::Decimal128(units, _, scale), DataType::Float64) => {
            ScalarValue::Float64(units.map(to_f64(*scale)))
        }
        (ScalarValue::Decimal128(units, _, scale), DataType::Float32) => {
            ScalarValue::Float32(units.map(to_f32(*scale)))
        }
        (value, target) => match value.cast_to(target) {
            Ok(value) => value,
            // It may stand in a branch that is never taken.
            Err(_) => return Ok(cast(e, target.clone())),
        },
    };
    Ok(Expr::Literal(value, metadata.clone()))
}

/// Brings expressions to the type that they have in common, if one of them is a decimal; whether there was something to
/// be cast.
pub fn align(all: &mut [(&mut Expr, &DFSchema)], purpose: Use) -> DfResult<bool> {
    let types: Vec<DataType> = all.iter().map(|(e, schema)| e.get_type(*schema)).collect::<DfResult<_>>()?;
    let typed: Vec<_> = all.iter().map(|(e, _)| &**e).zip(types.iter().cloned()).collect();
    let Some(target) = common(&typed, purpose) else { return Ok(false) };
    let mut found = false;
    for ((e, _), t) in all.iter_mut().zip(types) {
        if t != target && !t.is_null() {
            **e = to(std::mem::take(*e), &target)?;
            found = true;
        }
    }
    Ok(found)
}
