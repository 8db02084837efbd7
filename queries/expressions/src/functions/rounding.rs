//! `round` and `trunc` of floats to a number of digits. DataFusion's multiply by a power of ten that may be infinite;
//! those of other numbers are DataFusion's.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float32Array, Float64Array};
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::{of_general, type_of_general};

/// Floats of this size and above are whole.
const WHOLE: f64 = (1_u64 << 52) as f64;

/// The powers of ten that a float holds, each the nearest float. `powi` multiplies and is off by several bits, so that
/// a quotient that is whole falls below it and `trunc` loses a unit.
static POWERS: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=f64::MAX_10_EXP).filter_map(|n| format!("1e{n}").parse().ok()).collect());

/// The power of ten, or infinity where no float holds it.
fn power_of_ten(exponent: u64) -> f64 {
    let known = usize::try_from(exponent).ok().and_then(|exponent| POWERS.get(exponent));
    known.copied().unwrap_or(f64::INFINITY)
}

/// `round` or `trunc`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rounding {
    general: Arc<ScalarUDF>,
    cuts: bool,
}

/// The two functions.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    let function = |general, cuts| Arc::new(ScalarUDF::new_from_impl(Rounding { general, cuts }));
    [
        function(datafusion_functions::math::round(), false),
        function(datafusion_functions::math::trunc(), true),
    ]
}

impl Rounding {
    /// A float at so many digits behind the point, or if that is negative before it.
    fn at(&self, value: f64, digits: i64) -> f64 {
        let whole = |v: f64| if self.cuts { v.trunc() } else { v.round() };
        let power = power_of_ten(digits.unsigned_abs());
        if !value.is_finite() || digits == 0 {
            return whole(value);
        }
        if digits < 0 {
            return if power.is_finite() { whole(value / power) * power } else { 0.0 };
        }
        let moved = value * power;
        // It has no digits behind those.
        if moved.abs() < WHOLE { whole(moved) / power } else { value }
    }
}

impl ScalarUDFImpl for Rounding {
    of_general!();
    type_of_general!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, digits] = args.args.as_slice() else { return self.general.invoke_with_args(args) };
        if !matches!(value.data_type(), DataType::Float32 | DataType::Float64) {
            return self.general.invoke_with_args(args);
        }
        let values = value.to_array(args.number_rows)?;
        let digits = cast(&digits.to_array(args.number_rows)?, &DataType::Int64)?;
        let digits = digits.as_primitive::<Int64Type>().iter();
        let rounded: ArrayRef = match values.data_type() {
            DataType::Float32 => {
                let pairs = values.as_primitive::<Float32Type>().iter().zip(digits);
                let one = |(value, digits): (Option<f32>, _)| Some(self.at(value?.into(), digits?) as f32);
                Arc::new(pairs.map(one).collect::<Float32Array>())
            }
            _ => {
                let pairs = values.as_primitive::<Float64Type>().iter().zip(digits);
                Arc::new(
                    pairs.map(|(value, digits)| Some(self.at(value?, digits?))).collect::<Float64Array>(),
                )
            }
        };
        Ok(ColumnarValue::Array(rounded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_power_of_ten_overflows() {
        let [round, cut] =
            [false, true].map(|cuts| Rounding { general: datafusion_functions::math::round(), cuts });
        for rounding in [&round, &cut] {
            assert_eq!(rounding.at(42.0, 308), 42.0);
            assert_eq!(rounding.at(1e300, 10), 1e300);
            assert_eq!(rounding.at(1.5, 400), 1.5);
            assert_eq!(rounding.at(1.5, i64::MAX), 1.5);
            assert_eq!(rounding.at(1e300, -400), 0.0);
            assert_eq!(rounding.at(1.5, i64::MIN), 0.0);
            assert_eq!(rounding.at(f64::INFINITY, -2), f64::INFINITY);
            assert!(rounding.at(f64::NAN, 2).is_nan());
        }
        assert_eq!(round.at(-2.345, 1), -2.3);
        assert_eq!(round.at(1250.0, -2), 1300.0);
        assert_eq!(cut.at(-1299.99, -2), -1200.0);
        assert_eq!(cut.at(1.99, 1), 1.9);
        for digits in 0..=308 {
            let power = power_of_ten(digits);
            assert_eq!(cut.at(power, -(digits as i64)), power);
        }
        assert_eq!(cut.at(-1e308, -307), -1e308);
    }
}
