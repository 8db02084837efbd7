//! What can be told of a date or a timestamp, and numbers as intervals.

use arrow_array::ArrayRef;
use arrow_array::types::{Float64Type, IntervalMonthDayNano, Time64NanosecondType};
use arrow_schema::DataType;
use chrono::{Datelike, NaiveDate};
use datafusion_common::{Result, exec_datafusion_err};
use schema::time_formats::{DAYS, MONTHS};

use super::arguments::{Call, DAY, known};
use super::{Own, ResultType, Takes};

const INSTANT: &[&[Takes]] = &[&[Takes::Instant]];
const INTEGER: &[&[Takes]] = &[&[Takes::Integer]];
const DOUBLE: &[&[Takes]] = &[&[Takes::Double]];
const COUNTED: &[&[Takes]] = &[&[Takes::Instant], &[Takes::Interval], &[Takes::Time], &[Takes::Integer]];
const COUNTED_ONLY: &[&[Takes]] = &[&[Takes::Instant], &[Takes::Interval], &[Takes::Time]];

/// An interval of months.
macro_rules! months {
    ($name:literal, $months:literal) => {
        Own {
            name: $name,
            takes: INTEGER,
            more: None,
            gives: ResultType::Interval,
            total: false,
            compute: |call| interval(call, |n| Some((n.checked_mul($months)?, 0, 0))),
        }
    };
}

/// An interval of nanoseconds.
macro_rules! nanoseconds {
    ($name:literal, $nanoseconds:literal) => {
        Own {
            name: $name,
            takes: INTEGER,
            more: None,
            gives: ResultType::Interval,
            total: false,
            compute: |call| interval(call, |n| Some((0, 0, n.checked_mul($nanoseconds)?))),
        }
    };
}

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "dayname",
        takes: INSTANT,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: day_name,
    },
    Own {
        name: "monthname",
        takes: INSTANT,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: month_name,
    },
    Own {
        name: "last_day",
        takes: INSTANT,
        more: None,
        gives: ResultType::Date,
        total: false,
        compute: last_day,
    },
    Own {
        name: "days_in_month",
        takes: INSTANT,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: days_in_month,
    },
    Own {
        name: "julian",
        takes: INSTANT,
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: julian,
    },
    Own {
        name: "epoch_ms",
        takes: COUNTED,
        more: None,
        gives: ResultType::Types(counted),
        total: false,
        compute: |call| epoch(call, 1_000_000),
    },
    Own {
        name: "epoch_us",
        takes: COUNTED_ONLY,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: |call| epoch(call, 1_000),
    },
    Own {
        name: "epoch_ns",
        takes: COUNTED_ONLY,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: |call| epoch(call, 1),
    },
    Own {
        name: "normalized_interval",
        takes: &[&[Takes::Interval]],
        more: None,
        gives: ResultType::Interval,
        total: false,
        compute: normalized,
    },
    months!("to_months", 1),
    months!("to_quarters", 3),
    months!("to_years", 12),
    months!("to_decades", 120),
    months!("to_centuries", 1_200),
    months!("to_millennia", 12_000),
    Own {
        name: "to_days",
        takes: INTEGER,
        more: None,
        gives: ResultType::Interval,
        total: false,
        compute: |call| interval(call, |n| Some((0, n, 0))),
    },
    Own {
        name: "to_weeks",
        takes: INTEGER,
        more: None,
        gives: ResultType::Interval,
        total: false,
        compute: |call| interval(call, |n| Some((0, n.checked_mul(7)?, 0))),
    },
    nanoseconds!("to_hours", 3_600_000_000_000),
    nanoseconds!("to_minutes", 60_000_000_000),
    nanoseconds!("to_microseconds", 1_000),
    Own {
        name: "to_seconds",
        takes: DOUBLE,
        more: None,
        gives: ResultType::Interval,
        total: false,
        compute: |call| fraction(call, 1e6),
    },
    Own {
        name: "to_milliseconds",
        takes: DOUBLE,
        more: None,
        gives: ResultType::Interval,
        total: false,
        compute: |call| fraction(call, 1e3),
    },
];

/// The date of days since 1970.
pub(super) fn date_of(call: &Call, day: i64) -> Result<NaiveDate> {
    let date = i32::try_from(day).ok().and_then(NaiveDate::from_epoch_days);
    date.ok_or_else(|| exec_datafusion_err!("a date of {}() is out of range", call.name))
}

/// The days since 1970 of a date.
pub(super) fn day_of(date: NaiveDate) -> i64 {
    i64::from(date.to_epoch_days())
}

/// The days of the month of a date.
pub(super) fn days_of_month(date: NaiveDate) -> u32 {
    let (year, month) = (date.year(), date.month());
    match month {
        2 if NaiveDate::from_ymd_opt(year, 2, 29).is_some() => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn day_name(call: &Call) -> Result<ArrayRef> {
    let instants = call.instants(0)?;
    call.give_text(|row, out| {
        let Some((day, _)) = instants.get(row) else { return Ok(false) };
        out.push_str(DAYS[date_of(call, day)?.weekday().num_days_from_monday() as usize]);
        Ok(true)
    })
}

fn month_name(call: &Call) -> Result<ArrayRef> {
    let instants = call.instants(0)?;
    call.give_text(|row, out| {
        let Some((day, _)) = instants.get(row) else { return Ok(false) };
        out.push_str(MONTHS[date_of(call, day)?.month0() as usize]);
        Ok(true)
    })
}

fn last_day(call: &Call) -> Result<ArrayRef> {
    let instants = call.instants(0)?;
    call.give_instants(|row| {
        let (day, _) = known!(instants.get(row));
        let date = date_of(call, day)?;
        Ok(Some((day + i64::from(days_of_month(date)) - i64::from(date.day()), 0)))
    })
}

fn days_in_month(call: &Call) -> Result<ArrayRef> {
    let instants = call.instants(0)?;
    call.give_integers(|row| Ok(Some(days_of_month(date_of(call, known!(instants.get(row)).0)?).into())))
}

/// The days since noon of November 24th, 4714 BC, half a day more at midnight, as DuckDB and PostgreSQL have it.
fn julian(call: &Call) -> Result<ArrayRef> {
    const OF_1970: f64 = 2_440_588.0;
    let instants = call.instants(0)?;
    call.give::<Float64Type>(|row| {
        let (day, nanos) = known!(instants.get(row));
        Ok(Some(OF_1970 + day as f64 + nanos as f64 / DAY as f64))
    })
}

/// The type of `epoch_ms`: of a number it is the timestamp of so many milliseconds.
fn counted(types: &[DataType]) -> DataType {
    match types.first() {
        Some(DataType::Int64) => ResultType::Timestamp.of(&[], &[]),
        _ => DataType::Int64,
    }
}

/// How many units of so many nanoseconds have passed since 1970, midnight, or in an interval. A part of one is cut.
fn epoch(call: &Call, unit: i64) -> Result<ArrayRef> {
    let whole = |nanos: i128| {
        let beyond = |_| exec_datafusion_err!("the result of {}() is out of range", call.name);
        i64::try_from(nanos / i128::from(unit)).map(Some).map_err(beyond)
    };
    match call.type_of(0) {
        DataType::Int64 => {
            let counts = call.integers(0)?;
            call.give_instants(|row| {
                let count = known!(counts.get(row));
                let a_day = DAY / unit;
                Ok(Some((count.div_euclid(a_day), count.rem_euclid(a_day) * unit)))
            })
        }
        DataType::Interval(_) | DataType::Duration(_) => {
            let intervals = call.intervals(0)?;
            call.give_integers(|row| {
                let interval = known!(intervals.get(row));
                let days = i128::from(interval.months) * 30 + i128::from(interval.days);
                whole(days * i128::from(DAY) + i128::from(interval.nanoseconds))
            })
        }
        DataType::Time64(_) => {
            let times = call.numbers::<Time64NanosecondType>(0)?;
            call.give_integers(|row| whole(known!(times.get(row)).into()))
        }
        _ => {
            let instants = call.instants(0)?;
            call.give_integers(|row| {
                let (day, nanos) = known!(instants.get(row));
                let nanos = i128::from(day) * i128::from(DAY) + i128::from(nanos);
                // Rounded, halves away from 1970, as DuckDB has it.
                whole(nanos + nanos.signum() * i128::from(unit / 2))
            })
        }
    }
}

/// An interval with as many days of its hours, and months of its days, as there are: 24 hours and 30 days.
fn normalized(call: &Call) -> Result<ArrayRef> {
    let intervals = call.intervals(0)?;
    call.give_intervals(|row| {
        let interval = known!(intervals.get(row));
        let days = i64::from(interval.days) + interval.nanoseconds / DAY;
        let months = i64::from(interval.months) + days / 30;
        let beyond = |_| exec_datafusion_err!("the result of {}() is out of range", call.name);
        let months = i32::try_from(months).map_err(beyond)?;
        Ok(Some(IntervalMonthDayNano::new(months, (days % 30) as i32, interval.nanoseconds % DAY)))
    })
}

/// Numbers as months, days and nanoseconds.
fn interval(call: &Call, of: fn(i64) -> Option<(i64, i64, i64)>) -> Result<ArrayRef> {
    let numbers = call.integers(0)?;
    call.give_intervals(|row| {
        let number = known!(numbers.get(row));
        let made = of(number).and_then(|(months, days, nanos)| {
            let (months, days) = (i32::try_from(months).ok()?, i32::try_from(days).ok()?);
            Some(IntervalMonthDayNano::new(months, days, nanos))
        });
        let beyond = || exec_datafusion_err!("the interval {}({number}) is out of range", call.name);
        made.ok_or_else(beyond).map(Some)
    })
}

/// Numbers of so many microseconds each, to the nearest microsecond.
fn fraction(call: &Call, micros: f64) -> Result<ArrayRef> {
    let numbers = call.numbers::<Float64Type>(0)?;
    call.give_intervals(|row| {
        let number = known!(numbers.get(row));
        let nanos = (number * micros).round() * 1e3;
        let fits = nanos.abs() < i64::MAX as f64;
        if !fits {
            return Err(exec_datafusion_err!("the interval {}({number}) is out of range", call.name));
        }
        Ok(Some(IntervalMonthDayNano::new(0, 0, nanos as i64)))
    })
}
