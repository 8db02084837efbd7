//! `date_part(part, x)` and `EXTRACT(part FROM x)`.
//!
//! Of dates, times and timestamps DataFusion computes most parts. Those of intervals, and of the differences of
//! timestamps, are computed here. DataFusion's forget the rest of a second. An interval's parts are those that are
//! printed: 100 hours are 100 hours and no days, and 100 minutes an hour and 40 minutes. All parts are `BIGINT`, but
//! for `epoch` and `julian`. Parts that a column names are `DOUBLE`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{ArrayRef, Float64Array, Int64Array, UInt32Array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use arrow_select::take::take;
use datafusion_common::{Result, ScalarValue, exec_err, internal_err, plan_err};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use schema::durations::to_intervals;
use schema::instants::per_second;

use super::of_general;

/// The function.
pub fn date_part() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(DatePart { general: datafusion_functions::datetime::date_part() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    general: Arc<ScalarUDF>,
}

/// The name of a part in the one spelling of it that is looked at below.
pub fn part_of(value: Option<&ScalarValue>) -> Result<String> {
    match value.and_then(|v| v.try_as_str().flatten()) {
        Some(name) => Ok(spelled(name)),
        None => plan_err!("the part of a date is a constant, such as 'year'"),
    }
}

/// A name of a part in that spelling.
fn spelled(name: &str) -> String {
    let name = name.trim_matches(['\'', '"']).to_ascii_lowercase();
    let one = match name.as_str() {
        "years" | "yr" | "yrs" | "y" => "year",
        "months" | "mon" | "mons" => "month",
        "days" | "d" | "dayofmonth" => "day",
        "hours" | "hr" | "hrs" | "h" => "hour",
        "minutes" | "min" | "mins" | "m" => "minute",
        "seconds" | "sec" | "secs" | "s" => "second",
        "milliseconds" | "msec" | "msecs" | "ms" => "millisecond",
        "microseconds" | "usec" | "usecs" | "us" => "microsecond",
        "nanoseconds" | "nsec" | "nsecs" | "ns" => "nanosecond",
        "quarters" | "qtr" => "quarter",
        "weeks" | "w" | "weekofyear" => "week",
        "decades" | "dec" | "decs" => "decade",
        "centuries" | "cent" | "c" => "century",
        "millennia" | "millenniums" | "mil" | "mils" => "millennium",
        "dayofweek" | "weekday" => "dow",
        "dayofyear" => "doy",
        other => other,
    };
    one.to_string()
}

/// Whether a part is no whole number.
fn is_float(part: &str) -> bool {
    matches!(part, "epoch" | "julian")
}

impl DatePart {
    /// A part that DataFusion knows, as 64 bits.
    fn general(&self, part: &str, value: &ArrayRef, args: &ScalarFunctionArgs) -> Result<Int64Array> {
        let mut args = args.clone();
        args.args = vec![ColumnarValue::Scalar(ScalarValue::from(part)), ColumnarValue::Array(value.clone())];
        let computed = self.general.invoke_with_args(args)?.into_array(value.len())?;
        Ok(cast(&computed, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    /// The seconds since 1970. Those of timestamps are computed here: DataFusion divides a number that has more digits
    /// than a float.
    fn epoch(&self, value: &ArrayRef, args: &ScalarFunctionArgs) -> Result<ArrayRef> {
        if let DataType::Timestamp(unit, _) = value.data_type() {
            let per_second = per_second(*unit);
            let seconds = |value: i64| {
                value.div_euclid(per_second) as f64 + value.rem_euclid(per_second) as f64 / per_second as f64
            };
            let values = cast(value, &DataType::Int64)?;
            return Ok(Arc::new(values.as_primitive::<Int64Type>().unary::<_, Float64Type>(seconds)));
        }
        let mut args = args.clone();
        args.args =
            vec![ColumnarValue::Scalar(ScalarValue::from("epoch")), ColumnarValue::Array(value.clone())];
        self.general.invoke_with_args(args)?.into_array(value.len())
    }

    /// The parts that a column names, those of one name at once.
    fn of_each(&self, parts: &ArrayRef, value: &ArrayRef, args: &ScalarFunctionArgs) -> Result<ArrayRef> {
        let names = cast(parts, &DataType::Utf8View)?;
        let mut rows: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (row, name) in (0_u32..).zip(names.as_string_view()) {
            let Some(name) = name else { continue };
            rows.entry(name).or_default().push(row);
        }
        let mut all: Vec<Option<f64>> = vec![None; value.len()];
        for (name, rows) in rows {
            let rows = UInt32Array::from(rows);
            let some = self.of(&spelled(name), &take(value, &rows, None)?, args)?;
            let some = cast(&some, &DataType::Float64)?;
            for (row, part) in rows.values().iter().zip(some.as_primitive::<Float64Type>()) {
                all[*row as usize] = part;
            }
        }
        Ok(Arc::new(Float64Array::from(all)))
    }

    fn of(&self, part: &str, value: &ArrayRef, args: &ScalarFunctionArgs) -> Result<ArrayRef> {
        match value.data_type() {
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                return of_interval(part, value.as_primitive::<IntervalMonthDayNanoType>().iter());
            }
            DataType::Duration(_) => return self.of(part, &to_intervals(value), args),
            // NULL without a type: as of a timestamp.
            DataType::Null => {
                let timestamps = cast(value, &DataType::Timestamp(TimeUnit::Nanosecond, None))?;
                return self.of(part, &timestamps, args);
            }
            DataType::Time32(_) | DataType::Time64(_)
                if !matches!(
                    part,
                    "hour" | "minute" | "second" | "millisecond" | "microsecond" | "nanosecond" | "epoch"
                ) =>
            {
                return exec_err!("a TIME has no part '{part}'");
            }
            _ => {}
        }
        let year = || self.general("year", value, args);
        // There is no year 0: the first year of an era is 1, and the year before it 0 here.
        let era = |of: i64| move |year: i64| if year > 0 { (year - 1) / of + 1 } else { year / of - 1 };
        let computed: Int64Array = match part {
            "epoch" => return self.epoch(value, args),
            // The day of the Julian calendar, which begins at midnight.
            "julian" => {
                let seconds = self.epoch(value, args)?;
                let days =
                    seconds.as_primitive::<Float64Type>().unary(|seconds| seconds / 86_400.0 + 2_440_588.0);
                let days: Float64Array = days;
                return Ok(Arc::new(days));
            }
            "decade" => year()?.unary(|year| year / 10),
            "century" => year()?.unary(era(100)),
            "millennium" => year()?.unary(era(1000)),
            // Of an instant in another zone the planner knows it.
            "timezone" | "timezone_hour" | "timezone_minute" => year()?.unary(|_| 0),
            "era" => year()?.unary(|year| i64::from(year > 0)),
            "yearweek" => {
                let (year, week) =
                    (self.general("isoyear", value, args)?, self.general("week", value, args)?);
                let both = year.iter().zip(&week).map(|(year, week)| {
                    year.zip(week).map(|(year, week)| year * 100 + if year > 0 { week } else { -week })
                });
                both.collect()
            }
            other => self.general(other, value, args)?,
        };
        Ok(Arc::new(computed))
    }
}

/// A part of intervals.
fn of_interval(
    part: &str,
    intervals: impl Iterator<Item = Option<IntervalMonthDayNano>>,
) -> Result<ArrayRef> {
    const SECOND: i64 = 1_000_000_000;
    let months = |of: fn(i32) -> i32| -> Box<dyn Fn(IntervalMonthDayNano) -> i64> {
        Box::new(move |i| of(i.months).into())
    };
    let nanos = |of: fn(i64) -> i64| -> Box<dyn Fn(IntervalMonthDayNano) -> i64> {
        Box::new(move |i| of(i.nanoseconds))
    };
    let one: Box<dyn Fn(IntervalMonthDayNano) -> i64> = match part {
        "millennium" => months(|m| m / 12_000),
        "century" => months(|m| m / 1_200),
        "decade" => months(|m| m / 120),
        "year" => months(|m| m / 12),
        "quarter" => months(|m| m % 12 / 3 + 1),
        "month" => months(|m| m % 12),
        "day" => Box::new(|i: IntervalMonthDayNano| i.days.into()),
        "hour" => nanos(|n| n / (3_600 * SECOND)),
        "minute" => nanos(|n| n % (3_600 * SECOND) / (60 * SECOND)),
        "second" => nanos(|n| n % (60 * SECOND) / SECOND),
        "millisecond" => nanos(|n| n % (60 * SECOND) / 1_000_000),
        "microsecond" => nanos(|n| n % (60 * SECOND) / 1_000),
        "nanosecond" => nanos(|n| n % (60 * SECOND)),
        "epoch" => {
            // A year has 365.25 days, a month beyond whole years 30.
            let seconds = |i: IntervalMonthDayNano| {
                let days =
                    f64::from(i.months / 12) * 365.25 + f64::from(i.months % 12 * 30) + f64::from(i.days);
                days * 86_400.0 + i.nanoseconds as f64 / 1e9
            };
            let all = intervals.map(|interval| interval.map(seconds));
            return Ok(Arc::new(all.collect::<Float64Array>()));
        }
        _ => return exec_err!("an INTERVAL has no part '{part}'"),
    };
    Ok(Arc::new(intervals.map(|interval| interval.map(&one)).collect::<Int64Array>()))
}

impl ScalarUDFImpl for DatePart {
    of_general!();

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type depends on the part")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let part = args.scalar_arguments.first().copied().flatten().filter(|part| !part.is_null());
        let is_whole = match part {
            Some(part) => !is_float(&part_of(Some(part))?),
            None => false,
        };
        let data_type = if is_whole { DataType::Int64 } else { DataType::Float64 };
        Ok(Arc::new(Field::new(self.name(), data_type, part.is_none() || args.arg_fields[1].is_nullable())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, value] = args.args.as_slice() else {
            return internal_err!("a part has a name and a value");
        };
        let part = match part {
            ColumnarValue::Scalar(part) if part.is_null() => {
                return Ok(ColumnarValue::Scalar(ScalarValue::try_from(args.return_field.data_type())?));
            }
            ColumnarValue::Scalar(part) => part_of(Some(part))?,
            ColumnarValue::Array(parts) => {
                let value = value.to_array(parts.len())?;
                return Ok(ColumnarValue::Array(self.of_each(parts, &value, &args)?));
            }
        };
        match value {
            ColumnarValue::Array(value) => Ok(ColumnarValue::Array(self.of(&part, value, &args)?)),
            ColumnarValue::Scalar(value) => {
                let one = self.of(&part, &value.to_array()?, &args)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&one, 0)?))
            }
        }
    }
}
