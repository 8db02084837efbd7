//! `date_trunc(part, x)`. DataFusion's knows no part above a year, and cuts fractions of a second before 1970 towards it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use chrono::{Datelike, NaiveDate};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use schema::instants::per_second;

use super::of_general;
use super::parts::part_of;

/// The function.
pub fn date_trunc() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(DateTrunc { general: datafusion_functions::datetime::date_trunc() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    general: Arc<ScalarUDF>,
}

/// Timestamps, each cut down by `cut`, which is given and gives values of its unit.
fn each(values: &ArrayRef, cut: impl Fn(i64) -> Option<i64>) -> Result<ArrayRef> {
    let integers = cast(values, &DataType::Int64)?;
    let out_of_range = || exec_datafusion_err!("the result of date_trunc() is out of range");
    let cut: Int64Array =
        integers.as_primitive::<Int64Type>().try_unary(|value| cut(value).ok_or_else(out_of_range))?;
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(&cut, values.data_type(), &strict)?)
}

/// The first day of the `years` in which an instant lies.
fn years(value: i64, unit: TimeUnit, years: i32) -> Option<i64> {
    let day = 86_400 * per_second(unit);
    let date = NaiveDate::from_epoch_days(i32::try_from(value.div_euclid(day)).ok()?)?;
    let first = NaiveDate::from_ymd_opt(date.year() - date.year() % years, 1, 1)?;
    i64::from(first.to_epoch_days()).checked_mul(day)
}

impl ScalarUDFImpl for DateTrunc {
    of_general!();

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type is that of the argument's field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.general.return_field_from_args(args)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(part), value] = args.args.as_slice() else {
            return self.general.invoke_with_args(args);
        };
        let part = part_of(Some(part))?;
        if let DataType::Timestamp(unit, _) = value.data_type() {
            let step = |parts: i64| (per_second(unit) / parts).max(1);
            let down = |step: i64| move |value: i64| value.checked_sub(value.rem_euclid(step));
            let is_scalar = matches!(value, ColumnarValue::Scalar(_));
            let values = value.to_array(args.number_rows.max(1))?;
            let values = if is_scalar { values.slice(0, 1) } else { values };
            let cut = match part.as_str() {
                "millennium" => Some(each(&values, |value| years(value, unit, 1_000))?),
                "century" => Some(each(&values, |value| years(value, unit, 100))?),
                "decade" => Some(each(&values, |value| years(value, unit, 10))?),
                "second" => Some(each(&values, down(step(1)))?),
                "millisecond" => Some(each(&values, down(step(1_000)))?),
                "microsecond" => Some(each(&values, down(step(1_000_000)))?),
                _ => None,
            };
            if let Some(cut) = cut {
                return Ok(match is_scalar {
                    true => ColumnarValue::Scalar(ScalarValue::try_from_array(&cut, 0)?),
                    false => ColumnarValue::Array(cut),
                });
            }
        }
        args.args[0] = ColumnarValue::Scalar(ScalarValue::from(part));
        self.general.invoke_with_args(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_are_cut_to_the_first_of_their_kind() {
        let day = |y: i32| i64::from(NaiveDate::from_ymd_opt(y, 1, 1).unwrap().to_epoch_days()) * 86_400;
        assert_eq!(years(day(2024) + 5, TimeUnit::Second, 10), Some(day(2020)));
        assert_eq!(years(day(1969) - 1, TimeUnit::Second, 100), Some(day(1900)));
        assert_eq!(years(i64::MIN, TimeUnit::Nanosecond, 1_000), None);
    }
}
