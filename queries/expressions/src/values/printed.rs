//! The text that a cast gives timestamps, dates, times of day and floats, as PostgreSQL and DuckDB write them.

use std::fmt::Write;

use chrono::{Datelike, NaiveDate};
use schema::durations::push_clock;

const SECOND: u64 = 1_000_000_000;

/// Appends `2024-01-31 10:00:00.5`: a timestamp in so many units a second, without zeros at the end of its fraction. An
/// instant has `+00` behind it. Years before the first one are counted with `(BC)`.
pub fn timestamp(value: i64, per_second: i64, is_instant: bool, out: &mut String) {
    let (seconds, units) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    date(seconds.div_euclid(86_400), " ", out);
    push_clock(seconds.rem_euclid(86_400) as u64, units as u64 * (SECOND / per_second as u64), out);
    if is_instant {
        out.push_str("+00");
    }
}

/// Appends `2024-01-31`, of days since 1970, and what stands behind it. Years before the first one are counted with
/// `(BC)`.
pub fn date(days: i64, behind: &str, out: &mut String) {
    let date = i32::try_from(days).ok().and_then(NaiveDate::from_epoch_days);
    match date {
        Some(date) if date.year() > 0 => {
            push(out, format_args!("{:04}-{:02}-{:02}{behind}", date.year(), date.month(), date.day()))
        }
        Some(date) => {
            let year = 1 - date.year();
            push(out, format_args!("{year:04}-{:02}-{:02} (BC){behind}", date.month(), date.day()));
        }
        // A day that chrono does not know, thousands of centuries from now.
        None => push(out, format_args!("{days} days{behind}")),
    }
}

/// Appends `10:00:00.5`: a time of day in nanoseconds, without zeros at the end of its fraction.
pub fn time(nanos: i64, out: &mut String) {
    let nanos = nanos.unsigned_abs();
    push_clock(nanos / SECOND, nanos % SECOND, out);
}

/// Appends the digits of a float that tell it from others: `0.1`, `1e-05`, `1.5e+16`, `inf`, `nan`. `exponential` is its
/// text with an exponent.
pub fn float(value: f64, exponential: &str, out: &mut String) {
    if !value.is_finite() {
        out.push_str(if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
        return;
    }
    let (digits, exponent) = exponential.split_once('e').unwrap_or((exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        push(out, format_args!("{digits}e{sign}{:02}", exponent.unsigned_abs()));
        return;
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    out.push_str(sign);
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let whole = exponent + 1;
            let padded = format!("{digits:0<whole$}");
            let (whole, fraction) = padded.split_at(whole);
            push(out, format_args!("{whole}.{}", if fraction.is_empty() { "0" } else { fraction }));
        }
        Err(_) => push(out, format_args!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1))),
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes all that is written.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn timestamps_have_a_space_and_no_zeros_at_the_end() {
        for (value, per_second, text) in [
            (0, 1, "1970-01-01 00:00:00"),
            (-1, 1_000, "1969-12-31 23:59:59.999"),
            (1_704_103_200_500_000, 1_000_000, "2024-01-01 10:00:00.5"),
            (1_704_103_200_123_456_789, 1_000_000_000, "2024-01-01 10:00:00.123456789"),
            (-62_135_596_800, 1, "0001-01-01 00:00:00"),
            (-62_135_596_801, 1, "0001-12-31 (BC) 23:59:59"),
            (317_216_304_000, 1, "12022-03-09 00:00:00"),
        ] {
            assert_eq!(of(|out| timestamp(value, per_second, false, out)), text);
        }
        assert_eq!(of(|out| timestamp(0, 1, true, out)), "1970-01-01 00:00:00+00");
        assert_eq!(of(|out| timestamp(i64::MAX, 1, false, out)), "106751991167300 days 15:30:07");
    }

    #[test]
    fn dates_have_the_years_before_the_first_one() {
        for (days, text) in [(0, "1970-01-01"), (-719_162, "0001-01-01"), (-719_163, "0001-12-31 (BC)")] {
            assert_eq!(of(|out| date(days, "", out)), text);
        }
        for (nanos, text) in [(36_000_500_000_000, "10:00:00.5"), (0, "00:00:00"), (1, "00:00:00.000000001")]
        {
            assert_eq!(of(|out| time(nanos, out)), text);
        }
    }

    #[test]
    fn floats_have_an_exponent_where_they_are_long() {
        for (value, text) in [
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (-1234567890123456.8, "-1234567890123456.8"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(of(|out| float(value, &format!("{value:e}"), out)), text);
        }
        assert_eq!(of(|out| float(f64::from(0.1_f32), &format!("{:e}", 0.1_f32), out)), "0.1");
    }
}
