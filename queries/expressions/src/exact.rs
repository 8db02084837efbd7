//! Casts between decimals, floats and integers, and of timestamps to coarser ones, which give the nearest value. The
//! kernels of Arrow go by way of floats that are not exact, and cut.
//!
//! Halfway between two integers a decimal goes away from zero, and a float to the even one, as in PostgreSQL and DuckDB.
//! A timestamp goes away from 1970.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, DecimalType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Decimal128Array, Float32Array, Float64Array, PrimitiveArray,
};
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, TimeUnit};
use datafusion_common::{DataFusionError, Result, ScalarValue, exec_err, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use schema::instants::per_second;

use crate::text::shown;
use crate::values::decimals::{from_f64, to_f32, to_f64};

/// Whether a cast from one type to another is one of these.
pub fn is_exact(from: &DataType, to: &DataType) -> bool {
    let float = |t: &DataType| matches!(t, DataType::Float32 | DataType::Float64);
    let decimal = |t: &DataType| matches!(t, DataType::Decimal128(..));
    float(from) && decimal(to)
        || decimal(from) && float(to)
        || (float(from) || decimal(from)) && to.is_integer()
        || lost_digits(from, to).is_some_and(|lost| lost > 0)
}

/// The digits behind the seconds that timestamps of one type have, and those of another do not; `None` of other types.
fn lost_digits(from: &DataType, to: &DataType) -> Option<i8> {
    let (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) = (from, to) else { return None };
    let digits = |unit: &TimeUnit| per_second(*unit).ilog10() as i8;
    Some(digits(from) - digits(to))
}

/// The cast to a type as a function of one argument. If it is `safe`, what is no such value becomes NULL.
pub fn to(to: DataType, safe: bool) -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Exact { to, safe, signature }))
}

/// The cast of decimals, or of floats, to numbers of a type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    to: DataType,
    /// Whether what is no such number becomes NULL.
    safe: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Exact {
    fn name(&self) -> &str {
        match &self.to {
            DataType::Float64 => "to_double",
            DataType::Float32 => "to_float",
            DataType::Timestamp(..) => "to_timestamp",
            to if to.is_integer() => "to_integer",
            _ => "to_decimal",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = self.safe || args.arg_fields.iter().any(|f| f.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.to.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match args.args.first() {
            Some(ColumnarValue::Array(values)) => ColumnarValue::Array(cast(values, &self.to, self.safe)?),
            Some(ColumnarValue::Scalar(value)) => {
                let value = cast(&value.to_array()?, &self.to, self.safe)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?)
            }
            None => return internal_err!("a cast has one argument"),
        })
    }
}

fn cast(values: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    Ok(match (values.data_type(), to) {
        (DataType::Decimal128(_, scale), DataType::Float64) => {
            let floats: Float64Array = values.as_primitive::<Decimal128Type>().unary(to_f64(*scale));
            Arc::new(floats)
        }
        (DataType::Decimal128(_, scale), DataType::Float32) => {
            let floats: Float32Array = values.as_primitive::<Decimal128Type>().unary(to_f32(*scale));
            Arc::new(floats)
        }
        (DataType::Float64, DataType::Decimal128(precision, scale)) => {
            let floats = values.as_primitive::<Float64Type>().iter();
            Arc::new(decimals(floats, *precision, *scale, safe)?)
        }
        (DataType::Float32, DataType::Decimal128(precision, scale)) => {
            let floats = values.as_primitive::<Float32Type>().iter().map(|v| v.map(f64::from));
            Arc::new(decimals(floats, *precision, *scale, safe)?)
        }
        (DataType::Float64, to) => {
            let nearest = Nearest { of: of_float, shown: |value| format!("{value:?}"), safe };
            nearest.integers(values.as_primitive::<Float64Type>(), to)?
        }
        (DataType::Float32, to) => {
            let of = |value: f32| of_float(value.into());
            let nearest = Nearest { of, shown: |value| format!("{value:?}"), safe };
            nearest.integers(values.as_primitive::<Float32Type>(), to)?
        }
        (DataType::Decimal128(precision, scale), to) => {
            let shown = |units| Decimal128Type::format_decimal(units, *precision, *scale);
            let nearest = Nearest { of: of_decimal(*scale), shown, safe };
            nearest.integers(values.as_primitive::<Decimal128Type>(), to)?
        }
        (from @ DataType::Timestamp(..), to) => {
            let Some(lost) = lost_digits(from, to) else {
                return internal_err!("{from} to {to} is no cast of timestamps");
            };
            let of_counts = of_decimal(lost);
            let nearest = Nearest {
                of: |count: i64| of_counts(count.into()),
                shown: |count: i64| count.to_string(),
                safe,
            };
            let counts = arrow_cast::cast(values, &DataType::Int64)?;
            let counts = nearest.integers(counts.as_primitive::<Int64Type>(), &DataType::Int64)?;
            arrow_cast::cast(&counts, to)?
        }
        (from, to) => return internal_err!("{from} to {to} is no cast of decimals, floats and integers"),
    })
}

/// The integer that is nearest to a float; `None` of what is none or far beyond 64 bits.
fn of_float(value: f64) -> Option<i128> {
    // Exact: a power of two.
    whole(value).filter(|whole| whole.unsigned_abs() < 1 << 100)
}

/// The integer that is nearest to a float; `None` of what is none or beyond 127 bits.
fn whole(value: f64) -> Option<i128> {
    let rounded = value.round_ties_even();
    (rounded.abs() < 2_f64.powi(127)).then_some(rounded as i128)
}

/// The integer that is nearest to a decimal of so many digits behind the point, by its units.
fn of_decimal(scale: i8) -> impl Fn(i128) -> Option<i128> {
    let power = 10_i128.checked_pow(scale.unsigned_abs().into());
    move |units| {
        let power = power?;
        if scale < 0 {
            return units.checked_mul(power);
        }
        let (whole, rest) = (units / power, units % power);
        // Twice the rest may have more than 128 bits.
        let is_half = rest != 0 && rest.abs() >= power - rest.abs();
        Some(if is_half { whole + units.signum() } else { whole })
    }
}

/// How values become the nearest integers.
struct Nearest<F, S> {
    /// The nearest integer to a value, if it has one.
    of: F,
    /// A value as text.
    shown: S,
    /// Whether what is no integer of the type becomes NULL.
    safe: bool,
}

impl<F, S> Nearest<F, S> {
    /// Integers of a type.
    fn integers<T>(&self, values: &PrimitiveArray<T>, to: &DataType) -> Result<ArrayRef>
    where
        T: ArrowPrimitiveType,
        F: Fn(T::Native) -> Option<i128>,
        S: Fn(T::Native) -> String,
    {
        Ok(match to {
            DataType::Int8 => Arc::new(self.all::<T, Int8Type>(values, to)?),
            DataType::Int16 => Arc::new(self.all::<T, Int16Type>(values, to)?),
            DataType::Int32 => Arc::new(self.all::<T, Int32Type>(values, to)?),
            DataType::Int64 => Arc::new(self.all::<T, Int64Type>(values, to)?),
            DataType::UInt8 => Arc::new(self.all::<T, UInt8Type>(values, to)?),
            DataType::UInt16 => Arc::new(self.all::<T, UInt16Type>(values, to)?),
            DataType::UInt32 => Arc::new(self.all::<T, UInt32Type>(values, to)?),
            DataType::UInt64 => Arc::new(self.all::<T, UInt64Type>(values, to)?),
            other => return internal_err!("{other} is no type of integers"),
        })
    }

    fn all<T, I>(&self, values: &PrimitiveArray<T>, to: &DataType) -> Result<PrimitiveArray<I>>
    where
        T: ArrowPrimitiveType,
        I: ArrowPrimitiveType<Native: TryFrom<i128>>,
        F: Fn(T::Native) -> Option<i128>,
        S: Fn(T::Native) -> String,
    {
        let integer =
            |value: T::Native| (self.of)(value).and_then(|nearest| I::Native::try_from(nearest).ok());
        if self.safe {
            return Ok(values.unary_opt(integer));
        }
        values.try_unary(|value| match integer(value) {
            Some(integer) => Ok(integer),
            None => exec_err!(
                "cannot cast {} to {}: it is out of range\n  help: TRY_CAST gives NULL instead",
                (self.shown)(value),
                shown(to)
            ),
        })
    }
}

fn decimals(
    floats: impl Iterator<Item = Option<f64>>,
    precision: u8,
    scale: i8,
    safe: bool,
) -> Result<Decimal128Array> {
    // HUGEINT, and so an integer.
    let is_integer = scale == 0 && precision == DECIMAL128_MAX_PRECISION;
    let one = |value: f64| {
        let units = if is_integer { whole(value) } else { from_f64(value, scale) };
        let units = units
            .filter(|units| Decimal128Type::validate_decimal_precision(*units, precision, scale).is_ok());
        match units {
            None if !safe => {
                let text = format!("cannot cast {value} to DECIMAL({precision}, {scale})");
                Err(DataFusionError::Execution(format!("{text}\n  help: TRY_CAST gives NULL instead")))
            }
            units => Ok(units),
        }
    };
    let decimals = floats.map(|value| value.map_or(Ok(None), one)).collect::<Result<Decimal128Array>>()?;
    Ok(decimals.with_precision_and_scale(precision, scale)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_decimals_go_away_from_zero_and_those_of_floats_to_the_even_one() {
        for (units, scale, nearest) in [
            (25, 1, Some(3)),
            (-25, 1, Some(-3)),
            (24, 1, Some(2)),
            (-4, 1, Some(0)),
            (5, 0, Some(5)),
            (5, -2, Some(500)),
            (i128::MAX, -2, None),
            (5 * 10_i128.pow(37), 38, Some(1)),
            (-(5 * 10_i128.pow(37)), 38, Some(-1)),
            (5 * 10_i128.pow(37) - 1, 38, Some(0)),
        ] {
            assert_eq!(of_decimal(scale)(units), nearest, "{units}, {scale}");
        }
        for (value, nearest) in [
            (2.5, Some(2)),
            (3.5, Some(4)),
            (-2.5, Some(-2)),
            (-0.6, Some(-1)),
            (0.49999999999999994, Some(0)),
            (1e300, None),
            (f64::NAN, None),
            (f64::NEG_INFINITY, None),
        ] {
            assert_eq!(of_float(value), nearest, "{value}");
        }
    }
}
