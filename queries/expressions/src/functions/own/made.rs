//! Dates and times that are made of numbers.

use arrow_array::ArrayRef;
use arrow_array::types::{Float64Type, Time64NanosecondType};
use chrono::NaiveDate;
use datafusion_common::{Result, exec_datafusion_err, exec_err};

use super::arguments::{Call, DAY, known};
use super::calendar::day_of;
use super::{Own, ResultType, Takes};

const SECOND: i64 = 1_000_000_000;
const INTEGER: &[&[Takes]] = &[&[Takes::Integer]];
const PARTS: &[Takes] =
    &[Takes::Integer, Takes::Integer, Takes::Integer, Takes::Integer, Takes::Integer, Takes::Double];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "make_date",
        takes: &[&[Takes::Integer], &[Takes::Integer, Takes::Integer, Takes::Integer]],
        more: None,
        gives: ResultType::Date,
        total: false,
        compute: date,
    },
    Own {
        name: "make_time",
        takes: &[&[Takes::Integer, Takes::Integer, Takes::Double]],
        more: None,
        gives: ResultType::Time,
        total: false,
        compute: time,
    },
    Own {
        name: "make_timestamp",
        takes: &[&[Takes::Integer], PARTS],
        more: None,
        gives: ResultType::Timestamp,
        total: false,
        compute: |call| timestamp(call, 1_000),
    },
    Own {
        name: "make_timestamp_ms",
        takes: INTEGER,
        more: None,
        gives: ResultType::Timestamp,
        total: false,
        compute: |call| timestamp(call, 1_000_000),
    },
    Own {
        name: "make_timestamp_ns",
        takes: INTEGER,
        more: None,
        gives: ResultType::Timestamp,
        total: false,
        compute: |call| timestamp(call, 1),
    },
    Own {
        name: "make_timestamptz",
        takes: &[&[Takes::Integer], PARTS],
        more: None,
        gives: ResultType::Instant,
        total: false,
        compute: |call| timestamp(call, 1_000),
    },
];

/// The days since 1970 of a date by its parts.
fn day(year: i64, month: i64, day: i64) -> Result<i64> {
    let date = i32::try_from(year).ok().zip(u32::try_from(month).ok()).zip(u32::try_from(day).ok());
    let date = date.and_then(|((year, month), day)| NaiveDate::from_ymd_opt(year, month, day));
    date.map(day_of).ok_or_else(|| exec_datafusion_err!("there is no date {year}-{month}-{day}"))
}

fn date(call: &Call) -> Result<ArrayRef> {
    if call.given() == 1 {
        let days = call.integers(0)?;
        return call.give_instants(|row| Ok(Some((known!(days.get(row)), 0))));
    }
    let (years, months, days) = (call.integers(0)?, call.integers(1)?, call.integers(2)?);
    call.give_instants(|row| {
        let (year, month) = (known!(years.get(row)), known!(months.get(row)));
        Ok(Some((day(year, month, known!(days.get(row)))?, 0)))
    })
}

/// The nanoseconds of a time by its parts. Seconds have microseconds; a 60th one is the first of the next minute.
fn nanos(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let micros = (second * 1e6).round();
    let is_time = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros);
    let nanos = (hour.clamp(0, 24) * 60 + minute.clamp(0, 59)) * 60 * SECOND + micros as i64 * 1_000;
    if !is_time || nanos > DAY {
        return exec_err!("there is no time {hour}:{minute}:{second}");
    }
    Ok(nanos)
}

fn time(call: &Call) -> Result<ArrayRef> {
    let (hours, minutes, seconds) = (call.integers(0)?, call.integers(1)?, call.numbers::<Float64Type>(2)?);
    call.give::<Time64NanosecondType>(|row| {
        let (hour, minute) = (known!(hours.get(row)), known!(minutes.get(row)));
        let second = known!(seconds.get(row));
        match nanos(hour, minute, second)? {
            DAY => exec_err!("there is no time {hour}:{minute}:{second}"),
            nanos => Ok(Some(nanos)),
        }
    })
}

/// The timestamp of parts, or of units of so many nanoseconds since 1970.
fn timestamp(call: &Call, unit: i64) -> Result<ArrayRef> {
    if call.given() == 1 {
        let counts = call.integers(0)?;
        return call.give_instants(|row| {
            let (count, a_day) = (known!(counts.get(row)), DAY / unit);
            Ok(Some((count.div_euclid(a_day), count.rem_euclid(a_day) * unit)))
        });
    }
    let parts = (0..5).map(|at| call.integers(at)).collect::<Result<Vec<_>>>()?;
    let seconds = call.numbers::<Float64Type>(5)?;
    call.give_instants(|row| {
        let mut known = [0; 5];
        for (known, part) in known.iter_mut().zip(&parts) {
            *known = known!(part.get(row));
        }
        let [year, month, day_of_month, hour, minute] = known;
        let nanos = nanos(hour, minute, known!(seconds.get(row)))?;
        // The end of a day is the begin of the next one.
        Ok(Some((day(year, month, day_of_month)? + nanos / DAY, nanos % DAY)))
    })
}
