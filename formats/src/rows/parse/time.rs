//! Dates, timestamps and times of day.

use arrow_schema::TimeUnit;
use schema::instants::per_second;

use super::number::{magnitude, sign};

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar; `None` if there is no such day.
fn days(year: i64, month: u32, day: u32) -> Option<i64> {
    // The calendar repeats every 400 years, which have 146,097 days.
    let days = days_of_era(year.rem_euclid(400) as u32, month, day)?;
    Some(year.div_euclid(400) * 146_097 + i64::from(days))
}

/// The same for the years 0 to 9999.
#[inline(always)]
fn days_of_era(year: u32, month: u32, day: u32) -> Option<i32> {
    const LENGTHS: [u32; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let leap =
        month == 2 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = *LENGTHS.get(month as usize)? + u32::from(leap);
    if day.wrapping_sub(1) >= length {
        return None;
    }
    // Years that begin in March put the leap day at the end (H. Hinnant, "chrono-compatible low-level date
    // algorithms", days_from_civil); 400 years more make all of them positive.
    let year = year + 400 - u32::from(month <= 2);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let since_march = year * 365 + year / 4 - year / 100 + year / 400 + of_year;
    Some(since_march as i32 - 146_097 - 719_468)
}

/// Two digits.
#[inline]
fn two(text: &[u8]) -> Option<u32> {
    let (tens, ones) = (text.first()?.wrapping_sub(b'0'), text.get(1)?.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| u32::from(tens) * 10 + u32::from(ones))
}

/// The year and month of `YYYY-MM-`, all eight bytes at once.
#[inline(always)]
fn year_month(text: [u8; 8]) -> Option<(u32, u32)> {
    // A digit becomes its value and a dash becomes 0; adding 6 carries every value above 9 into the upper four bits.
    let values = u64::from_le_bytes(text) ^ u64::from_le_bytes(*b"0000-00-");
    let above = values.wrapping_add(0x0006_0600_0606_0606);
    if (values | above) & 0xfff0_f0ff_f0f0_f0f0 != 0 {
        return None;
    }
    let [y1, y2, y3, y4, _, m1, m2, _] = values.to_le_bytes().map(u32::from);
    Some((y1 * 1000 + y2 * 100 + y3 * 10 + y4, m1 * 10 + m2))
}

/// The day that a text begins with, and what follows it.
#[inline]
fn leading_date(text: &[u8]) -> Option<(i64, &[u8])> {
    if let Some((head, [d1, d2, rest @ ..])) = text.split_first_chunk::<8>()
        && let Some((year, month)) = year_month(*head)
        && let Some(day) = two(&[*d1, *d2])
    {
        return Some((i64::from(days_of_era(year, month, day)?), rest));
    }
    // Years of other lengths carry a sign or more digits; months and days may lack the leading zero.
    let (negative, unsigned) = sign(text);
    let first = unsigned.iter().position(|&b| b == b'-')?;
    let second = first + 1 + unsigned[first + 1..].iter().position(|&b| b == b'-')?;
    let digits = unsigned[second + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
    if !(4..=12).contains(&first) || digits > 2 {
        return None;
    }
    let year = i64::try_from(magnitude(&unsigned[..first])?).ok()?;
    let month = u32::try_from(magnitude(&unsigned[first + 1..second])?).ok()?;
    let day = u32::try_from(magnitude(&unsigned[second + 1..second + 1 + digits])?).ok()?;
    let days = days(if negative { -year } else { year }, month, day)?;
    Some((days, &unsigned[second + 1 + digits..]))
}

/// A date `YYYY-MM-DD` in days since 1970-01-01. Years beyond 9999 and before 0 carry a sign.
#[inline]
pub fn date(text: &[u8]) -> Option<i32> {
    let (days, rest) = leading_date(text)?;
    if rest.is_empty() { i32::try_from(days).ok() } else { None }
}

/// The time of day that a text begins with, in seconds and nanoseconds, and what follows it.
fn leading_time(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let (hour, minute) = (two(text)?, two(text.get(3..)?)?);
    if text[2] != b':' || hour > 23 || minute > 59 {
        return None;
    }
    let mut rest = &text[5..];
    let mut second = 0;
    let mut nanos = 0;
    if let [b':', tail @ ..] = rest {
        second = two(tail)?;
        rest = &tail[2..];
        if second > 59 {
            return None;
        }
        if let [b'.' | b',', fraction @ ..] = rest {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 || fraction[..digits].iter().skip(9).any(|&b| b != b'0') {
                return None;
            }
            let padded = fraction[..digits].iter().copied().chain(std::iter::repeat(b'0'));
            nanos = padded.take(9).fold(0, |nanos, digit| nanos * 10 + i64::from(digit - b'0'));
            rest = &fraction[digits..];
        }
    }
    Some((i64::from(hour * 3600 + minute * 60 + second), nanos, rest))
}

/// A zone: `Z` or `±HH`, `±HHMM`, `±HH:MM`, in seconds east of Greenwich.
fn zone(text: &[u8]) -> Option<i64> {
    let (east, digits) = match text {
        [b'Z' | b'z'] => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let minutes = match digits {
        [_, _] => 0,
        [_, _, b':', minutes @ ..] | [_, _, minutes @ ..] if minutes.len() == 2 => two(minutes)?,
        _ => return None,
    };
    let hours = two(digits)?;
    (hours <= 23 && minutes <= 59).then(|| east * i64::from(hours * 3600 + minutes * 60))
}

/// What a text of a timestamp holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// The day since 1970-01-01.
    pub days: i64,
    /// Seconds of that day, as the text says them.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: i64,
    /// The seconds by which they are ahead of UTC, if the text says so.
    pub offset: Option<i64>,
}

/// A date, or a date and a time `HH:MM[:SS[.fraction]]` behind a `T` or a space, with an optional zone.
pub fn instant(text: &[u8]) -> Option<Instant> {
    let (days, rest) = leading_date(text)?;
    let [b'T' | b't' | b' ', time @ ..] = rest else {
        return rest.is_empty().then_some(Instant { days, seconds: 0, nanos: 0, offset: None });
    };
    let (seconds, nanos, rest) = leading_time(time)?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let offset = if rest.is_empty() { None } else { Some(zone(rest)?) };
    Some(Instant { days, seconds, nanos, offset })
}

/// A timestamp in `unit`s since 1970-01-01. An instant (where it is `zoned`) is in UTC. Another one is as the text
/// says it, whatever its offset. Digits finer than the unit must be zeros.
pub fn timestamp(text: &[u8], unit: TimeUnit, zoned: bool) -> Option<i64> {
    let at = instant(text)?;
    let per_second = per_second(unit);
    let nanos_per_unit = 1_000_000_000 / per_second;
    if at.nanos % nanos_per_unit != 0 {
        return None;
    }
    // In 128 bits, because the earliest timestamps that fit begin on a day whose midnight does not.
    let offset = if zoned { at.offset.unwrap_or(0) } else { 0 };
    let seconds = i128::from(at.days) * 86_400 + i128::from(at.seconds - offset);
    let value = seconds * i128::from(per_second) + i128::from(at.nanos / nanos_per_unit);
    i64::try_from(value).ok()
}

/// A day since 1970-01-01 and nanoseconds of it in `unit`s since then. Digits finer than the unit must be zeros.
pub fn moment(day: i64, nanos: i64, unit: TimeUnit) -> Option<i64> {
    let per_second = per_second(unit);
    let nanos_per_unit = 1_000_000_000 / per_second;
    if nanos % nanos_per_unit != 0 {
        return None;
    }
    let value = i128::from(day) * 86_400 * i128::from(per_second) + i128::from(nanos / nanos_per_unit);
    i64::try_from(value).ok()
}

/// A time of day `HH:MM[:SS[.fraction]]` in `unit`s since midnight. Digits finer than the unit must be zeros.
pub fn time_of_day(text: &[u8], unit: TimeUnit) -> Option<i64> {
    let (seconds, nanos, rest) = leading_time(text)?;
    let per_second = per_second(unit);
    let nanos_per_unit = 1_000_000_000 / per_second;
    let whole = rest.is_empty() && nanos % nanos_per_unit == 0;
    whole.then(|| seconds * per_second + nanos / nanos_per_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_exist_or_fail() {
        assert_eq!(date(b"1970-01-01"), Some(0));
        assert_eq!(date(b"1969-12-31"), Some(-1));
        assert_eq!(date(b"2000-02-29"), Some(11_016));
        assert_eq!(date(b"1900-02-29"), None);
        assert_eq!(date(b"2023-13-01"), None);
        assert_eq!(date(b"2023-04-31"), None);
        assert_eq!(date(b"2023-4-3"), date(b"2023-04-03"));
        assert_eq!(date(b"+10000-01-01"), Some(2_932_897));
        assert_eq!(date(b"-0001-12-31"), Some(-719_529));
        assert_eq!(date(b"+5881580-07-11"), Some(i32::MAX));
        assert_eq!(date(b"+5881580-07-12"), None);
        for bad in ["", "2023", "2023-01", "2023-01-01x", "2023-01-011", "20230101", "23-01-01", "----"] {
            assert_eq!(date(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn timestamps_with_and_without_zone() {
        let us = |text: &str| timestamp(text.as_bytes(), TimeUnit::Microsecond, true);
        assert_eq!(us("1970-01-01T00:00:01"), Some(1_000_000));
        assert_eq!(us("1970-01-01 00:00:01.5"), Some(1_500_000));
        assert_eq!(us("1969-12-31 23:59:59.999999"), Some(-1));
        assert_eq!(us("1970-01-01 01:00+01:00"), Some(0));
        assert_eq!(us("1970-01-01 00:00:00 -0130"), Some(5_400_000_000));
        assert_eq!(us("1970-01-02"), Some(86_400_000_000));
        assert_eq!(us("1970-01-01T00:00:00.0000001"), None);
        assert_eq!(timestamp(b"1970-01-01T00:00:00.0000001", TimeUnit::Nanosecond, false), Some(100));
        assert_eq!(timestamp(b"1677-09-21T00:12:43.145224192", TimeUnit::Nanosecond, false), Some(i64::MIN));
        assert_eq!(timestamp(b"2262-04-11T23:47:16.854775808", TimeUnit::Nanosecond, false), None);
        for bad in ["1970-01-01T", "1970-01-01T24:00", "1970-01-01T1:00", "1970-01-01T00:00:60", "x"] {
            assert_eq!(us(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_of_day() {
        assert_eq!(time_of_day(b"00:00:00", TimeUnit::Second), Some(0));
        assert_eq!(time_of_day(b"23:59", TimeUnit::Second), Some(86_340));
        assert_eq!(time_of_day(b"01:00:00.000001", TimeUnit::Microsecond), Some(3_600_000_001));
        assert_eq!(time_of_day(b"01:00:00.000001", TimeUnit::Millisecond), None);
        for bad in ["", "24:00:00", "1:00", "10:00:00Z", "10", "-01:00:00"] {
            assert_eq!(time_of_day(bad.as_bytes(), TimeUnit::Nanosecond), None, "{bad}");
        }
    }
}
