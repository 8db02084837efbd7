//! Intervals times numbers, and divided by them.
//!
//! An integer multiplies months, days and nanoseconds each. A fraction of a month becomes days of a month of 30, and a
//! fraction of a day hours of a day of 24, as PostgreSQL and DuckDB have it (`interval_mul` and `interval_div` of
//! PostgreSQL's `timestamp.c`). What is smaller than a microsecond is rounded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray};
use arrow_schema::{DataType, IntervalUnit};
use datafusion_common::{Result, exec_datafusion_err, exec_err, internal_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use schema::durations::to_intervals;

const DAYS_OF_MONTH: f64 = 30.0;
const SECONDS_OF_DAY: f64 = 86_400.0;
/// In a second. A smaller part of a day or a second is an error of floats.
const MICROS: f64 = 1e6;
/// About 2⁶³ nanoseconds.
const MOST_MICROS: f64 = 9.2e15;

/// The function of an interval, or a difference of timestamps, and an integer or a float, of which the latter alone `divides`.
pub fn function(divides: bool) -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(IntervalProduct { divides, signature }))
}

/// The product or the quotient as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalProduct {
    divides: bool,
    signature: Signature,
}

/// Each part times an integer.
fn times(interval: IntervalMonthDayNano, by: i64) -> Option<IntervalMonthDayNano> {
    let part = |part: i32| i32::try_from(i64::from(part).checked_mul(by)?).ok();
    let nanoseconds = interval.nanoseconds.checked_mul(by)?;
    Some(IntervalMonthDayNano::new(part(interval.months)?, part(interval.days)?, nanoseconds))
}

/// A whole number of 32 bits; none if it has more, or is no number.
fn whole(value: f64) -> Option<i32> {
    let value = value.trunc();
    (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value).then_some(value as i32)
}

fn rounded(value: f64) -> f64 {
    (value * MICROS).round() / MICROS
}

/// The interval whose parts `scaled` gives, with fractions of months as days and those of days as time.
fn of_fractions(interval: IntervalMonthDayNano, scaled: impl Fn(f64) -> f64) -> Option<IntervalMonthDayNano> {
    let (months, days) = (scaled(f64::from(interval.months)), scaled(f64::from(interval.days)));
    let days_of_months = rounded((months - months.trunc()) * DAYS_OF_MONTH);
    let mut days_in_all = days.trunc() + days_of_months.trunc();
    let fraction = days - days.trunc() + days_of_months - days_of_months.trunc();
    let mut seconds = rounded(fraction * SECONDS_OF_DAY);
    let of_seconds = (seconds / SECONDS_OF_DAY).trunc();
    days_in_all += of_seconds;
    seconds -= of_seconds * SECONDS_OF_DAY;
    let micros = (scaled(interval.nanoseconds as f64 / 1e3) + seconds * MICROS).round_ties_even();
    let nanoseconds = (micros.abs() < MOST_MICROS).then_some(micros as i64 * 1_000)?;
    Some(IntervalMonthDayNano::new(whole(months)?, whole(days_in_all)?, nanoseconds))
}

impl IntervalProduct {
    fn of_rows(&self, intervals: &ArrayRef, numbers: &ArrayRef) -> Result<ArrayRef> {
        let intervals = to_intervals(intervals);
        let by_integer = numbers.as_primitive_opt::<Int64Type>();
        let by_float = numbers.as_primitive_opt::<Float64Type>();
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        let made = intervals.iter().enumerate().map(|(row, interval)| {
            let Some(interval) = interval.filter(|_| numbers.is_valid(row)) else { return Ok(None) };
            let made = match (by_integer, by_float) {
                (Some(numbers), _) if !self.divides => times(interval, numbers.value(row)),
                (_, Some(numbers)) => match numbers.value(row) {
                    0.0 if self.divides => return exec_err!("division by zero"),
                    by if self.divides => of_fractions(interval, |part| part / by),
                    by => of_fractions(interval, |part| part * by),
                },
                _ => return internal_err!("an interval is multiplied by a number"),
            };
            made.map(Some).ok_or_else(|| exec_datafusion_err!("the interval is too large"))
        });
        Ok(Arc::new(made.collect::<Result<IntervalMonthDayNanoArray>>()?))
    }
}

impl ScalarUDFImpl for IntervalProduct {
    fn name(&self) -> &str {
        if self.divides { "interval_quotient" } else { "interval_product" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match ColumnarValue::values_to_arrays(&args.args)?.as_slice() {
            [intervals, numbers] => Ok(ColumnarValue::Array(self.of_rows(intervals, numbers)?)),
            _ => internal_err!("an interval is multiplied by a number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    fn parts(interval: Option<IntervalMonthDayNano>) -> Option<(i32, i32, i64)> {
        interval.map(|interval| (interval.months, interval.days, interval.nanoseconds))
    }

    #[test]
    fn parts_are_multiplied() {
        let interval = IntervalMonthDayNano::new(1, 1, HOUR);
        assert_eq!(parts(times(interval, -3)), Some((-3, -3, -3 * HOUR)));
        assert_eq!(parts(times(interval, 3_000_000_000)), None);
        assert_eq!(parts(times(IntervalMonthDayNano::new(0, 0, i64::MAX), 2)), None);
    }

    #[test]
    fn fractions_are_carried_down() {
        let of = |months, days, nanos, by: f64| {
            parts(of_fractions(IntervalMonthDayNano::new(months, days, nanos), |part| part * by))
        };
        assert_eq!(of(1, 0, 0, 0.5), Some((0, 15, 0)));
        assert_eq!(of(0, 1, 0, 1.5), Some((0, 1, 12 * HOUR)));
        assert_eq!(of(-1, 0, 0, 0.25), Some((0, -7, -12 * HOUR)));
        assert_eq!(of(1, 0, 0, 1.05), Some((1, 1, 12 * HOUR)));
        assert_eq!(of(13, 0, 0, 0.2), Some((2, 18, 0)));
        assert_eq!(of(0, 0, HOUR, f64::NAN), None);
        assert_eq!(of(1, 0, 0, 1e10), None);
    }
}
