//! Text to times of day and to timestamps, with spaces around it.
//!
//! ```text
//! time      = hours ":" minutes (":" seconds ("." digits?)?)?      one or two digits each
//! timestamp = date ((" " | "T") time (" "? offset)?)?
//! date      = year "-" month "-" day " (BC)"?                      four digits, and one or two; or all with "/"
//! offset    = "Z" | "UTC" | ("+" | "-") hours (":"? minutes)?      two digits each; and seconds behind a colon
//! ```

use chrono::{Datelike, NaiveDate};

/// A timestamp as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970 of the date and the time of day, whatever the offset.
    pub seconds: i64,
    /// Nanoseconds behind them.
    pub nanos: i64,
    /// The seconds by which the clock was before UTC.
    pub offset: Option<i64>,
}

/// The timestamp that a text says, or `None`. Digits behind the ninth are cut.
pub fn timestamp(text: &str) -> Option<Timestamp> {
    // Years before the first one are counted from it.
    if let Some((date, behind)) = text.split_once(" (BC)") {
        let after = after_christ(&format!("{date}{behind}"))?;
        let days = after.seconds.div_euclid(86_400);
        let date = NaiveDate::from_epoch_days(i32::try_from(days).ok()?)?;
        let before = NaiveDate::from_ymd_opt(1 - date.year(), date.month(), date.day())?;
        let moved = i64::from(before.to_epoch_days()) - days;
        return Some(Timestamp { seconds: after.seconds + moved * 86_400, ..after });
    }
    after_christ(text)
}

/// The same of a text without `(BC)`.
fn after_christ(text: &str) -> Option<Timestamp> {
    let text = text.trim_ascii();
    let end = text.find([' ', 'T', 't']).unwrap_or(text.len());
    let separator = if text[..end].contains('/') { '/' } else { '-' };
    let mut parts = text[..end].split(separator);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (month, day) = (u32::try_from(small(month, 12)?).ok()?, u32::try_from(small(day, 31)?).ok()?);
    let date = NaiveDate::from_ymd_opt(year.parse().ok()?, month, day)?;
    let midnight = i64::from(date.to_epoch_days()) * 86_400;
    if end == text.len() {
        return Some(Timestamp { seconds: midnight, nanos: 0, offset: None });
    }
    let behind = text[end + 1..].trim_ascii_start();
    let end = behind.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(behind.len());
    let nanos = time(&behind[..end])?;
    let offset = behind[end..].trim_ascii_start();
    let offset = if offset.is_empty() { None } else { Some(offset_of(offset)?) };
    Some(Timestamp { seconds: midnight + nanos / 1_000_000_000, nanos: nanos % 1_000_000_000, offset })
}

fn offset_of(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z" | "UTC" | "utc") {
        return Some(0);
    }
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 if digits.is_ascii() => digits.split_at(2),
        _ => digits.split_once(':')?,
    };
    // Clocks of towns before there were zones.
    let (minutes, seconds) = minutes.split_once(':').unwrap_or((minutes, "00"));
    if hours.len() != 2 || minutes.len() != 2 || seconds.len() != 2 {
        return None;
    }
    Some(sign * (small(hours, 15)? * 3_600 + small(minutes, 59)? * 60 + small(seconds, 59)?))
}

/// The nanoseconds since midnight that a text says, or `None`. Digits behind the ninth are cut.
pub fn time(text: &str) -> Option<i64> {
    let mut parts = text.trim_ascii().split(':');
    let hours = small(parts.next()?, 23)?;
    let minutes = small(parts.next()?, 59)?;
    let seconds = parts.next();
    if parts.next().is_some() {
        return None;
    }
    let (seconds, nanos) = match seconds {
        None => (0, 0),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
            if !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let kept = &fraction[..fraction.len().min(9)];
            (small(whole, 59)?, format!("{kept:0<9}").parse().ok()?)
        }
    };
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

/// A number of one or two digits that is at most so much.
fn small(digits: &str, most: i64) -> Option<i64> {
    let plain = matches!(digits.len(), 1 | 2) && digits.bytes().all(|b| b.is_ascii_digit());
    let value: i64 = if plain { digits.parse().ok()? } else { return None };
    (value <= most).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_before_the_first_one() {
        let of = |text: &str| timestamp(text).map(|found| found.seconds);
        let first = of("0001-01-01").expect("a date");
        assert_eq!(of("0001-12-31 (BC)"), Some(first - 86_400));
        assert_eq!(of("0001-12-31 (BC) 10:00:00"), Some(first - 86_400 + 36_000));
        // More than one of them is none, however many.
        assert_eq!(of("0001-12-31 (BC) (BC)"), None);
        assert_eq!(of(&" (BC)".repeat(1_000_000)), None);
    }

    #[test]
    fn a_timestamp_may_lack_its_time_and_have_an_offset() {
        let day = 19_753 * 86_400;
        let of = |seconds, nanos, offset| Some(Timestamp { seconds, nanos, offset });
        for (text, expected) in [
            ("2024-01-31", of(day, 0, None)),
            (" 2024-1-31 ", of(day, 0, None)),
            ("2024-01-31 1:2", of(day + 3_720, 0, None)),
            ("2024-01-31T01:02:03.25", of(day + 3_723, 250_000_000, None)),
            ("2024-01-31 01:02:03Z", of(day + 3_723, 0, Some(0))),
            ("2024-01-31 01:02:03 UTC", of(day + 3_723, 0, Some(0))),
            ("2024-01-31 01:02:03+02", of(day + 3_723, 0, Some(7_200))),
            ("2024-01-31 01:02:03-0230", of(day + 3_723, 0, Some(-9_000))),
            ("2024-01-31T01:02:03.5 +05:30", of(day + 3_723, 500_000_000, Some(19_800))),
            ("2024-01-31 01:02:03+00:53:28", of(day + 3_723, 0, Some(3_208))),
            ("1969-12-31 23:59:59.5", of(-1, 500_000_000, None)),
        ] {
            assert_eq!(timestamp(text), expected, "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-01",
            "24-01-31",
            "2024-02-30",
            "2024-01-31 ",
            "2024-01-31 25:00",
            "2024-01-31 10",
            "2024-01-31 01:02:03+2",
            "2024-01-31 01:02:03 Europe/Berlin",
            "2024-01-31x",
            "2024-01-31 01:02:03+02:0é",
        ] {
            assert_eq!(timestamp(text).is_some(), text == "2024-01-31 ", "{text}");
        }
    }

    #[test]
    fn a_time_has_hours_and_minutes_at_least() {
        let s = 1_000_000_000;
        for (text, expected) in [
            ("11:12", 40_320 * s),
            (" 1:2:3 ", 3_723 * s),
            ("01:02:03.5", 3_723 * s + s / 2),
            ("01:02:03.", 3_723 * s),
            ("01:02:03.1234567891", 3_723 * s + 123_456_789),
            ("23:59:59", 86_399 * s),
        ] {
            assert_eq!(time(text), Some(expected), "{text}");
        }
        for text in [
            "", "11", "24:00", "25:00", "1:60", "1:00:60", "11:12 PM", "-1:00", "1:2:3:4", "1::3", "1200",
            "1:+2",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
