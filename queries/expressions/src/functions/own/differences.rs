//! Differences of dates and times in a unit. `date_diff` counts the borders of the unit between two, `date_sub` the
//! whole units that have passed, and `age` all of them.

use arrow_array::ArrayRef;
use arrow_array::types::{IntervalMonthDayNano, Time64NanosecondType};
use arrow_schema::DataType;
use chrono::{Datelike, Months};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, exec_err};

use super::super::parts::part_of;
use super::arguments::{Call, DAY, Texts, known};
use super::calendar::{date_of, day_of, days_of_month};
use super::{Own, ResultType, Takes};

const PAIR: &[&[Takes]] =
    &[&[Takes::OnlyText, Takes::Instant, Takes::Instant], &[Takes::OnlyText, Takes::Time, Takes::Time]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "date_diff",
        takes: PAIR,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: |call| difference(call, borders),
    },
    Own {
        name: "date_sub",
        takes: PAIR,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: |call| difference(call, whole_units),
    },
    Own {
        name: "age",
        takes: &[&[Takes::Instant, Takes::Instant]],
        more: None,
        gives: ResultType::Interval,
        total: false,
        compute: age,
    },
];

/// An instant: days since 1970, and nanoseconds of the day.
type Instant = (i64, i64);

/// A unit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    /// So many months.
    Months(i64),
    /// A year that begins on a Monday.
    IsoYear,
    /// So many days.
    Days(i64),
    /// So many nanoseconds.
    Nanos(i64),
}

/// The unit of a name.
fn unit(name: &str) -> Result<Unit> {
    Ok(match part_of(Some(&ScalarValue::from(name)))?.as_str() {
        "millennium" => Unit::Months(12_000),
        "century" => Unit::Months(1_200),
        "decade" => Unit::Months(120),
        "year" => Unit::Months(12),
        "quarter" => Unit::Months(3),
        "month" => Unit::Months(1),
        "isoyear" => Unit::IsoYear,
        "week" | "yearweek" => Unit::Days(7),
        "day" | "dow" | "isodow" | "doy" | "julian" => Unit::Days(1),
        "hour" => Unit::Nanos(3_600_000_000_000),
        "minute" => Unit::Nanos(60_000_000_000),
        "second" | "epoch" => Unit::Nanos(1_000_000_000),
        "millisecond" => Unit::Nanos(1_000_000),
        "microsecond" => Unit::Nanos(1_000),
        "nanosecond" => Unit::Nanos(1),
        _ => {
            return exec_err!(
                "'{name}' is no unit of a difference; there are millennium, century, decade, year, isoyear, quarter, \
                 month, week, day, hour, minute, second, millisecond, microsecond and nanosecond"
            );
        }
    })
}

/// The units of the rows.
struct Units {
    names: Texts,
    /// Of the row before.
    last: Option<(String, Unit)>,
}

impl Units {
    fn get(&mut self, row: usize) -> Result<Option<Unit>> {
        let name = known!(self.names.get(row));
        if let Some((last, unit)) = &self.last
            && last == name
        {
            return Ok(Some(*unit));
        }
        let unit = unit(name)?;
        self.last = Some((name.to_string(), unit));
        Ok(Some(unit))
    }
}

fn difference(call: &Call, of: fn(&Call, Unit, Instant, Instant) -> Result<i128>) -> Result<ArrayRef> {
    let mut units = Units { names: call.text(0)?, last: None };
    let beyond = |_| exec_datafusion_err!("the result of {}() is out of range", call.name);
    if matches!(call.type_of(1), DataType::Time64(_)) {
        let (from, to) = (call.numbers::<Time64NanosecondType>(1)?, call.numbers::<Time64NanosecondType>(2)?);
        return call.give_integers(|row| {
            let unit = known!(units.get(row)?);
            let (from, to) = (known!(from.get(row)), known!(to.get(row)));
            if !matches!(unit, Unit::Nanos(_)) {
                return exec_err!("times of day differ in hours and less");
            }
            i64::try_from(of(call, unit, (0, from), (0, to))?).map(Some).map_err(beyond)
        });
    }
    let (from, to) = (call.instants(1)?, call.instants(2)?);
    call.give_integers(|row| {
        let unit = known!(units.get(row)?);
        let (from, to) = (known!(from.get(row)), known!(to.get(row)));
        i64::try_from(of(call, unit, from, to)?).map(Some).map_err(beyond)
    })
}

fn nanos((day, nanos): Instant) -> i128 {
    i128::from(day) * i128::from(DAY) + i128::from(nanos)
}

/// How many borders of a unit lie between two instants. Weeks are whole ones.
fn borders(call: &Call, unit: Unit, from: Instant, to: Instant) -> Result<i128> {
    Ok(match unit {
        Unit::Months(months) => {
            let count = |day: i64| -> Result<i64> {
                let date = date_of(call, day)?;
                Ok(match months {
                    // Years are cut toward the year 0, decades and centuries too.
                    12.. => i64::from(date.year()) / (months / 12),
                    _ => (i64::from(date.year()) * 12 + i64::from(date.month0())).div_euclid(months),
                })
            };
            i128::from(count(to.0)?) - i128::from(count(from.0)?)
        }
        Unit::IsoYear => {
            let year = |day: i64| -> Result<i128> { Ok(date_of(call, day)?.iso_week().year().into()) };
            year(to.0)? - year(from.0)?
        }
        Unit::Days(days) => (i128::from(to.0) - i128::from(from.0)) / i128::from(days),
        Unit::Nanos(unit) => {
            nanos(to).div_euclid(i128::from(unit)) - nanos(from).div_euclid(i128::from(unit))
        }
    })
}

/// How many whole units have passed between two instants; less than 0 if the first is the later one.
fn whole_units(call: &Call, unit: Unit, from: Instant, to: Instant) -> Result<i128> {
    if from > to {
        return Ok(-whole_units(call, unit, to, from)?);
    }
    Ok(match unit {
        Unit::Months(months) => i128::from(whole_months(call, from, to)? / months),
        Unit::IsoYear => i128::from(whole_months(call, from, to)? / 12),
        Unit::Days(days) => (nanos(to) - nanos(from)) / (i128::from(DAY) * i128::from(days)),
        Unit::Nanos(unit) => (nanos(to) - nanos(from)) / i128::from(unit),
    })
}

/// The most months that, added to an instant, give none behind another. A month later than the 31st is the last day of a
/// month that has none.
fn whole_months(call: &Call, from: Instant, to: Instant) -> Result<i64> {
    let (first, last) = (date_of(call, from.0)?, date_of(call, to.0)?);
    let months = (i64::from(last.year()) - i64::from(first.year())) * 12 + i64::from(last.month0())
        - i64::from(first.month0());
    let later = first.checked_add_months(Months::new(u32::try_from(months).unwrap_or(0)));
    let later = later.ok_or_else(|| exec_datafusion_err!("a date of {}() is out of range", call.name))?;
    Ok(if (day_of(later), from.1) > to { months - 1 } else { months })
}

/// The years, months, days and time from the second instant to the first.
fn age(call: &Call) -> Result<ArrayRef> {
    let (later, earlier) = (call.instants(0)?, call.instants(1)?);
    call.give_intervals(|row| {
        let (later, earlier) = (known!(later.get(row)), known!(earlier.get(row)));
        let (sign, from, to) = if later < earlier { (-1, later, earlier) } else { (1, earlier, later) };
        let (first, last) = (date_of(call, from.0)?, date_of(call, to.0)?);
        let mut months = (last.year() - first.year()) * 12 + last.month0() as i32 - first.month0() as i32;
        let mut days = last.day() as i32 - first.day() as i32;
        let mut nanos = to.1 - from.1;
        if nanos < 0 {
            nanos += DAY;
            days -= 1;
        }
        if days < 0 {
            // The days of the month in which the earlier one lies.
            days += days_of_month(first) as i32;
            months -= 1;
        }
        Ok(Some(IntervalMonthDayNano::new(sign * months, sign * days, i64::from(sign) * nanos)))
    })
}
