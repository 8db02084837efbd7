//! `time_bucket(width, time)`: the begin of the part of so much time in which a date or a timestamp lies. Parts of
//! months begin at 2000-01-01, others at the Monday 2000-01-03, or where a third argument says. That is an origin, or
//! an interval by which all begins are moved.

use arrow_array::ArrayRef;
use arrow_array::types::IntervalMonthDayNano;
use arrow_schema::DataType;
use chrono::{Datelike, NaiveDate};
use datafusion_common::{Result, exec_datafusion_err, exec_err};

use super::arguments::{Call, DAY, Instants, Numbers, known};
use super::calendar::{date_of, day_of};
use super::{Own, ResultType, Takes};

pub(super) const FUNCTIONS: &[Own] = &[Own {
    name: "time_bucket",
    takes: &[
        &[Takes::Interval, Takes::Instant],
        &[Takes::Interval, Takes::Instant, Takes::Instant],
        &[Takes::Interval, Takes::Instant, Takes::Interval],
    ],
    more: None,
    gives: ResultType::Argument(1),
    total: false,
    compute: bucket,
}];

/// The days from 1970 to the Monday 2000-01-03.
const MONDAY: i64 = 10_959;

/// The months from year 0 to 2000-01-01.
const JANUARY: i64 = 24_000;

enum Third {
    None,
    Origin(Instants),
    Offset(Numbers<arrow_array::types::IntervalMonthDayNanoType>),
}

fn bucket(call: &Call) -> Result<ArrayRef> {
    let (widths, instants) = (call.intervals(0)?, call.instants(1)?);
    let third = match (call.given(), call.type_of(2)) {
        (3, DataType::Interval(_) | DataType::Duration(_)) => Third::Offset(call.intervals(2)?),
        (3, _) => Third::Origin(call.instants(2)?),
        _ => Third::None,
    };
    call.give_instants(|row| {
        let (width, instant) = (known!(widths.get(row)), known!(instants.get(row)));
        let result = match &third {
            Third::None => begin(call, width, instant, None)?,
            Third::Origin(origins) => begin(call, width, instant, Some(known!(origins.get(row))))?,
            Third::Offset(offsets) => {
                let offset = known!(offsets.get(row));
                let back = IntervalMonthDayNano::new(
                    offset.months.checked_neg().ok_or_else(|| beyond(call))?,
                    offset.days.checked_neg().ok_or_else(|| beyond(call))?,
                    offset.nanoseconds.checked_neg().ok_or_else(|| beyond(call))?,
                );
                let at = begin(call, width, moved(call, instant, back)?, None)?;
                moved(call, at, offset)?
            }
        };
        Ok(Some(result))
    })
}

fn beyond(call: &Call) -> datafusion_common::DataFusionError {
    exec_datafusion_err!("the result of {}() is out of range", call.name)
}

/// The begin of the part in which an instant lies.
fn begin(
    call: &Call,
    width: IntervalMonthDayNano,
    instant: (i64, i64),
    origin: Option<(i64, i64)>,
) -> Result<(i64, i64)> {
    let nanos = |(day, nanos): (i64, i64)| i128::from(day) * i128::from(DAY) + i128::from(nanos);
    let time = i128::from(width.days) * i128::from(DAY) + i128::from(width.nanoseconds);
    if width.months != 0 && time != 0 {
        return exec_err!("a width of time_bucket() that has months has no days and no hours");
    }
    if width.months < 0 || time < 0 || width.months == 0 && time == 0 {
        return exec_err!("a width of time_bucket() is greater than 0");
    }
    if width.months > 0 {
        let month = |day: i64| -> Result<i64> {
            let date = date_of(call, day)?;
            Ok(i64::from(date.year()) * 12 + i64::from(date.month0()))
        };
        let origin = origin.map_or(Ok(JANUARY), |(day, _)| month(day))?;
        let width = i64::from(width.months);
        let at = (month(instant.0)? - origin).div_euclid(width) * width + origin;
        let year = i32::try_from(at.div_euclid(12)).ok();
        let first = year.and_then(|year| NaiveDate::from_ymd_opt(year, at.rem_euclid(12) as u32 + 1, 1));
        return first.map(|first| (day_of(first), 0)).ok_or_else(|| beyond(call));
    }
    let origin = nanos(origin.unwrap_or((MONDAY, 0)));
    let at = (nanos(instant) - origin).div_euclid(time) * time + origin;
    let day = i64::try_from(at.div_euclid(i128::from(DAY))).map_err(|_| beyond(call))?;
    Ok((day, at.rem_euclid(i128::from(DAY)) as i64))
}

/// An instant moved by an interval.
fn moved(call: &Call, (day, nanos): (i64, i64), by: IntervalMonthDayNano) -> Result<(i64, i64)> {
    let date = date_of(call, day)?;
    let months = chrono::Months::new(by.months.unsigned_abs());
    let date = match by.months {
        0.. => date.checked_add_months(months),
        _ => date.checked_sub_months(months),
    };
    let day = day_of(date.ok_or_else(|| beyond(call))?) + i64::from(by.days);
    let time = i128::from(nanos) + i128::from(by.nanoseconds);
    let more = i64::try_from(time.div_euclid(i128::from(DAY))).map_err(|_| beyond(call))?;
    Ok((day + more, time.rem_euclid(i128::from(DAY)) as i64))
}
