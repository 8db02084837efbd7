//! Text to intervals.
//!
//! ```text
//! interval = "@"? (number unit)* (number | clock)? "ago"?      at least one of them
//! number   = "-"? digits ("." digits?)?                        without a unit: seconds
//! clock    = "-"? hours ":" minutes (":" seconds ("." digits?)?)?
//! ```
//!
//! A fraction of a year is rounded to months. That of a month, a week or a day goes on into days of 24 hours, 30 to a
//! month. Case and spaces between parts don't matter.

use arrow_array::types::IntervalMonthDayNano;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// What one of a unit is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    /// So many months, to which a fraction is rounded.
    Years(i128),
    /// So many months, whose fractions are days.
    Months(i128),
    /// So many days.
    Days(i128),
    /// So many nanoseconds.
    Nanos(i128),
}

impl Unit {
    fn of(name: &str) -> Option<Unit> {
        Some(match name {
            "millennium" | "millennia" | "millenniums" | "mil" | "mils" => Unit::Years(12_000),
            "century" | "centuries" | "cent" | "c" => Unit::Years(1_200),
            "decade" | "decades" | "dec" | "decs" => Unit::Years(120),
            "year" | "years" | "yr" | "yrs" | "y" => Unit::Years(12),
            "quarter" | "quarters" => Unit::Months(3),
            "month" | "months" | "mon" | "mons" => Unit::Months(1),
            "week" | "weeks" | "w" => Unit::Days(7),
            "day" | "days" | "d" => Unit::Days(1),
            "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Nanos(3_600 * SECOND),
            "minute" | "minutes" | "min" | "mins" | "m" => Unit::Nanos(60 * SECOND),
            "second" | "seconds" | "sec" | "secs" | "s" => Unit::Nanos(SECOND),
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Unit::Nanos(1_000_000),
            "microsecond" | "microseconds" | "usec" | "usecs" | "us" => Unit::Nanos(1_000),
            "nanosecond" | "nanoseconds" | "nsec" | "nsecs" | "ns" => Unit::Nanos(1),
            _ => return None,
        })
    }
}

/// A number with its fraction in units of 10⁻¹⁸.
#[derive(Debug, Clone, Copy)]
struct Number {
    whole: i128,
    fraction: i128,
}

/// The denominator of a fraction.
const ONE: i128 = 1_000_000_000_000_000_000;

/// The interval that a text says, or `None`.
pub fn interval(text: &str) -> Option<IntervalMonthDayNano> {
    let mut sum = Sum::default();
    let mut rest = text.trim_ascii();
    rest = rest.strip_prefix('@').unwrap_or(rest).trim_ascii_start();
    let mut any = false;
    while !rest.is_empty() {
        if any && rest.eq_ignore_ascii_case("ago") {
            return sum.times(-1).interval();
        }
        let (negative, digits) = match rest.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, rest),
        };
        let (number, behind) = number(digits)?;
        let mut one = Sum::default();
        if let Some(minutes) = behind.strip_prefix(':') {
            if number.fraction != 0 || digits[..digits.len() - behind.len()].contains('.') {
                return None;
            }
            rest = one.clock(number.whole, minutes)?;
            // Nothing but "ago" stands behind a clock.
            if !rest.is_empty() && !rest.eq_ignore_ascii_case("ago") {
                return None;
            }
        } else {
            let behind = behind.trim_ascii_start();
            let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
            let (name, after) = behind.split_at(end);
            // A number alone is seconds.
            let unit = match name {
                "" if after.is_empty() && !any => Unit::Nanos(SECOND),
                name => Unit::of(&name.to_ascii_lowercase())?,
            };
            one.add(number, unit)?;
            rest = after.trim_ascii_start();
        }
        sum = sum.plus(one.times(if negative { -1 } else { 1 }));
        any = true;
    }
    if any { sum.interval() } else { None }
}

/// A number that a text begins with, and what is behind it.
fn number(text: &str) -> Option<(Number, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    // 18 digits are more than any unit holds, and a product with the largest one fits.
    if whole.is_empty() || whole.trim_start_matches('0').len() > 19 {
        return None;
    }
    let Some(behind) = rest.strip_prefix('.') else {
        return Some((Number { whole: whole.parse().ok()?, fraction: 0 }, rest));
    };
    let (fraction, rest) = behind.split_at(digits(behind));
    let kept = &fraction[..fraction.len().min(18)];
    let fraction = format!("{kept:0<18}").parse().ok()?;
    Some((Number { whole: whole.parse().ok()?, fraction }, rest))
}

/// Parts of an interval before they are known to fit.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    months: i128,
    days: i128,
    nanos: i128,
}

impl Sum {
    fn add(&mut self, number: Number, unit: Unit) -> Option<()> {
        let Number { whole, fraction } = number;
        // What is left behind whole days, of a fraction of `days` days.
        let mut days = |of: i128| {
            self.days += of / ONE;
            self.nanos += of % ONE * DAY / ONE;
        };
        match unit {
            Unit::Years(months) => {
                self.months += whole.checked_mul(months)? + (fraction * months + ONE / 2) / ONE;
            }
            Unit::Months(months) => {
                let of = fraction * months;
                self.months += whole.checked_mul(months)? + of / ONE;
                days(of % ONE * 30);
            }
            Unit::Days(n) => {
                days(fraction * n);
                self.days += whole.checked_mul(n)?;
            }
            Unit::Nanos(n) => {
                self.nanos += whole.checked_mul(n)? + fraction * n / ONE;
            }
        }
        Some(())
    }

    /// Adds hours, and the minutes and seconds that a text begins with; gives what is behind them.
    fn clock<'a>(&mut self, hours: i128, text: &'a str) -> Option<&'a str> {
        let (minutes, rest) = number(text)?;
        let (seconds, rest) = match rest.strip_prefix(':') {
            Some(seconds) => number(seconds)?,
            None => (Number { whole: 0, fraction: 0 }, rest),
        };
        if minutes.fraction != 0 || minutes.whole > 59 || seconds.whole > 59 {
            return None;
        }
        self.nanos += ((hours * 60 + minutes.whole) * 60 + seconds.whole) * SECOND;
        self.nanos += seconds.fraction * SECOND / ONE;
        Some(rest.trim_ascii_start())
    }

    fn plus(self, other: Sum) -> Sum {
        Sum {
            months: self.months + other.months,
            days: self.days + other.days,
            nanos: self.nanos + other.nanos,
        }
    }

    fn times(self, sign: i128) -> Sum {
        Sum { months: self.months * sign, days: self.days * sign, nanos: self.nanos * sign }
    }

    fn interval(self) -> Option<IntervalMonthDayNano> {
        let (months, days) = (i32::try_from(self.months).ok()?, i32::try_from(self.days).ok()?);
        Some(IntervalMonthDayNano::new(months, days, i64::try_from(self.nanos).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(i32, i32, i64)> {
        interval(text).map(|i| (i.months, i.days, i.nanoseconds))
    }

    const S: i64 = 1_000_000_000;

    #[test]
    fn every_form_is_read() {
        for (text, expected) in [
            ("100", (0, 0, 100 * S)),
            ("1.5", (0, 0, S + S / 2)),
            ("1 day 2 hours", (0, 1, 7_200 * S)),
            ("1day2hours", (0, 1, 7_200 * S)),
            ("3:04:05", (0, 0, 11_045 * S)),
            ("-1:00", (0, 0, -3_600 * S)),
            ("2 mons 3 days -04:05:06.7", (2, 3, -14_706_700_000_000)),
            ("1y", (12, 0, 0)),
            (" 1   DAY ", (0, 1, 0)),
            ("-1 day", (0, -1, 0)),
            ("3 days 1 hour ago", (0, -3, -3_600 * S)),
            ("@ 1 day", (0, 1, 0)),
            ("5. days", (0, 5, 0)),
            ("1.5 days", (0, 1, 43_200 * S)),
            ("-1.5 months", (-1, -15, 0)),
            ("1.55 months", (1, 16, 43_200 * S)),
            ("1.99 years", (24, 0, 0)),
            ("0.001 years", (0, 0, 0)),
            ("1.05 centuries", (1_260, 0, 0)),
            ("1.5 quarters", (4, 15, 0)),
            ("1.5 weeks", (0, 10, 43_200 * S)),
            ("3000000000 seconds", (0, 0, 3_000_000_000 * S)),
            ("100:02:03", (0, 0, 360_123 * S)),
            ("1:02:03.1234567 ago", (0, 0, -3_723_123_456_700)),
        ] {
            assert_eq!(parts(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_interval_is_none() {
        for text in [
            "",
            " ",
            "abc",
            "ago",
            "+1 day",
            ".5 days",
            "- 1 day",
            "--1 day",
            "1 2 days",
            "1 day 2",
            "2 1:00",
            "1 day,2 hours",
            "P1D",
            "1-2",
            "1e3 seconds",
            "1:60:00",
            "1:02:60",
            "1:00 2 days",
            "1 day ago 1 day",
            "99999999999 days",
            "9223372036854775807 seconds",
            "1 foo",
            "1 µs",
            "1.5:00",
            "99999999999999999999999999999999999999999 days",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
