//! Casts between decimals and floats, which give the nearest value. The kernels of Arrow go by way of floats that are
//! not exact.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, DecimalType, Float32Type, Float64Type};
use arrow_array::{ArrayRef, Decimal128Array, Float32Array, Float64Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::values::decimals::{from_f64, to_f32, to_f64};

/// Whether a cast from one type to another is one of these.
pub fn is_exact(from: &DataType, to: &DataType) -> bool {
    let float = |t: &DataType| matches!(t, DataType::Float32 | DataType::Float64);
    let decimal = |t: &DataType| matches!(t, DataType::Decimal128(..));
    float(from) && decimal(to) || decimal(from) && float(to)
}

/// The cast to a type as a function of one argument. If it is `safe`, what is no such value becomes NULL.
pub fn to(to: DataType, safe: bool) -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Exact { to, safe, signature }))
}

/// The cast of decimals to floats of a type, or of floats to decimals of a type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    to: DataType,
    /// Whether what is no decimal becomes NULL.
    safe: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Exact {
    fn name(&self) -> &str {
        match self.to {
            DataType::Float64 => "to_double",
            DataType::Float32 => "to_float",
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
        (from, to) => return internal_err!("{from} to {to} is no cast of decimals and floats"),
    })
}

fn decimals(
    floats: impl Iterator<Item = Option<f64>>,
    precision: u8,
    scale: i8,
    safe: bool,
) -> Result<Decimal128Array> {
    let one = |value: f64| {
        let units = from_f64(value, scale)
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
