//! `round`, `trunc`, `ceil` and `floor` of decimals. The result has as many digits behind the point as are wanted.

use std::sync::Arc;

use crate::values::decimals::Rounding;
use arrow_array::Decimal128Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, DecimalType, Int64Type};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// The rounding that a function does, by its name.
pub fn of_function(name: &str) -> Option<Rounding> {
    match name {
        "round" => Some(Rounding::Nearest),
        "trunc" => Some(Rounding::Cut),
        "ceil" => Some(Rounding::Up),
        "floor" => Some(Rounding::Down),
        _ => None,
    }
}

/// The function of a decimal, and of a number of digits if that is not constant.
pub fn function(rounding: Rounding, digits: Option<i64>) -> Arc<ScalarUDF> {
    let signature = Signature::any(if digits.is_some() { 1 } else { 2 }, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(RoundDecimal { rounding, digits, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundDecimal {
    rounding: Rounding,
    /// The digits behind the point, or if that is negative the zeros before it, where that is constant.
    digits: Option<i64>,
    signature: Signature,
}

impl ScalarUDFImpl for RoundDecimal {
    fn name(&self) -> &str {
        match self.rounding {
            Rounding::Nearest => "round",
            Rounding::Cut => "trunc",
            Rounding::Up => "ceil",
            Rounding::Down => "floor",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let Some(DataType::Decimal128(precision, scale)) = types.first() else {
            return internal_err!("{} of decimals has a decimal", self.name());
        };
        let more = (precision + 1).min(DECIMAL128_MAX_PRECISION);
        Ok(match self.digits {
            Some(digits) if digits >= i64::from(*scale) => DataType::Decimal128(*precision, *scale),
            // A digit behind the point that goes has left room for one before it.
            Some(digits) if *scale > 0 => DataType::Decimal128(*precision, digits.max(0) as i8),
            _ => DataType::Decimal128(more, *scale),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let &DataType::Decimal128(precision, scale) = args.return_type() else {
            return internal_err!("{} of decimals gives decimals", self.name());
        };
        let Some(values) = args.args.first() else { return internal_err!("{} has no argument", self.name()) };
        let values = values.to_array(args.number_rows)?;
        let DataType::Decimal128(_, from) = *values.data_type() else {
            return internal_err!("{} of decimals has a decimal", self.name());
        };
        let one = |units: i128, digits: i64| -> std::result::Result<i128, ArrowError> {
            let wide = || {
                let text = format!("{} does not fit DECIMAL({precision}, {scale})", self.name());
                ArrowError::ArithmeticOverflow(text)
            };
            // Behind the point the result has no more digits than its type.
            let digits = digits.min(scale.into());
            let gone = i64::from(from).saturating_sub(digits).max(0);
            let whole = self.rounding.divide(units, u32::try_from(gone).unwrap_or(u32::MAX));
            let back = u32::try_from(i64::from(scale).saturating_sub(digits)).unwrap_or(u32::MAX);
            let units = match 10_i128.checked_pow(back) {
                Some(by) => whole.checked_mul(by).ok_or_else(wide)?,
                None if whole == 0 => 0,
                None => return Err(wide()),
            };
            Decimal128Type::validate_decimal_precision(units, precision, scale).map_err(|_| wide())?;
            Ok(units)
        };
        let units = values.as_primitive::<Decimal128Type>();
        let rounded: Decimal128Array = match (self.digits, args.args.get(1)) {
            (Some(digits), _) => units.try_unary(|units| one(units, digits))?,
            (None, Some(digits)) => {
                let digits = cast(&digits.to_array(args.number_rows)?, &DataType::Int64)?;
                let pairs = units.iter().zip(digits.as_primitive::<Int64Type>().iter());
                let round = |(units, digits): (Option<i128>, Option<i64>)| {
                    units.zip(digits).map(|(units, digits)| one(units, digits)).transpose()
                };
                pairs.map(round).collect::<std::result::Result<_, _>>()?
            }
            (None, None) => return internal_err!("{} has no number of digits", self.name()),
        };
        Ok(ColumnarValue::Array(Arc::new(rounded.with_precision_and_scale(precision, scale)?)))
    }
}
