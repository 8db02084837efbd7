//! Time zones by their names in the IANA database, and what their clocks show.
//!
//! When clocks are put back an hour is shown twice, and the later one is meant. When they are put forward, an hour is
//! not shown, and counts as if they had not been put forward. PostgreSQL and DuckDB do the same.

use std::fmt::Write;

use arrow_array::timezone::Tz;
use chrono::{DateTime, Datelike, MappedLocalTime, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::TZ_VARIANTS;

use crate::instants::UTC;
use crate::names::nearest;

/// The last year whose summers the tables of zones know.
const LAST_YEAR: i32 = 2099;

/// The name of a zone as the database spells it, whatever the case of its letters.
///
/// # Errors
/// There is no such zone: the message, with the nearest names.
pub fn named(name: &str) -> Result<&'static str, String> {
    let mut names = TZ_VARIANTS.iter().map(|zone| zone.name());
    if let Some(found) = names.find(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(found);
    }
    let all = || TZ_VARIANTS.iter().map(|zone| zone.name());
    let mut near = nearest(name, all());
    if near.is_empty() {
        // A city without its continent.
        let city = |known: &str| known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(name));
        near = all().filter(|known| city(known)).map(String::from).collect();
    }
    let help = match near.as_slice() {
        [] => "names are those of the IANA database, such as Europe/Berlin or UTC".to_string(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err(format!("there is no time zone '{name}'\n  help: {help}"))
}

/// Whether a zone of this name is UTC by another name.
pub fn is_utc(name: &str) -> bool {
    let last = name.strip_prefix("Etc/").unwrap_or(name);
    [UTC, "UCT", "Universal", "Zulu"].contains(&last)
}

/// The clocks of a zone.
#[derive(Debug, Clone, Copy)]
pub struct Clocks(Tz);

impl Clocks {
    /// Those of the zone of a name, or of an offset such as `+05:30`; `None` if it is neither.
    pub fn of(zone: &str) -> Option<Clocks> {
        zone.parse().ok().map(Clocks)
    }

    /// How many seconds they are before UTC at an instant, in seconds since 1970. `None` beyond all dates.
    pub fn offset_at(&self, seconds: i64) -> Option<i64> {
        let at = self.in_tables(DateTime::from_timestamp(seconds, 0)?.naive_utc());
        Some(i64::from(self.0.offset_from_utc_datetime(&at).fix().local_minus_utc()))
    }

    /// The same where they show a date and time, in seconds since 1970 of that.
    pub fn offset_shown(&self, seconds: i64) -> Option<i64> {
        let shown: NaiveDateTime = DateTime::from_timestamp(seconds, 0)?.naive_utc();
        // In a gap it is what it was before: clocks were put forward by a day at most.
        [0, 3, 27].into_iter().find_map(|hours| {
            let before = self.in_tables(shown.checked_sub_signed(TimeDelta::hours(hours))?);
            let offset = match self.0.offset_from_local_datetime(&before) {
                MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => offset,
                MappedLocalTime::None => return None,
            };
            Some(i64::from(offset.fix().local_minus_utc()))
        })
    }

    /// A time with the same offset that the tables of zones cover, which say nothing of summers after 2099: the same time
    /// of the last year there whose days fall on the same weekdays.
    fn in_tables(&self, at: NaiveDateTime) -> NaiveDateTime {
        let starts_on = |year| Some(NaiveDate::from_ymd_opt(year, 1, 1)?.weekday());
        let is_leap = |year| NaiveDate::from_ymd_opt(year, 2, 29).is_some();
        let (year, last) = (at.year(), LAST_YEAR);
        // The years begin on the same weekday again after 28, as no century is between them.
        let is_like = |known: &i32| (starts_on(*known), is_leap(*known)) == (starts_on(year), is_leap(year));
        let offset = |month| {
            let noon = NaiveDate::from_ymd_opt(last, month, 1)?.and_hms_opt(12, 0, 0)?;
            Some(self.0.offset_from_utc_datetime(&noon).fix())
        };
        // A zone whose last year has no summer time had rules before that do not come again.
        if year <= last || offset(1) == offset(7) {
            return at;
        }
        (last - 27..=last).rev().find(is_like).and_then(|known| at.with_year(known)).unwrap_or(at)
    }

    /// The same, and `like` if they show the time with that offset too.
    pub fn offset_shown_like(&self, seconds: i64, like: i64) -> Option<i64> {
        match self.offset_at(seconds.checked_sub(like)?) {
            Some(offset) if offset == like => Some(like),
            _ => self.offset_shown(seconds),
        }
    }
}

/// Appends an offset from UTC: `+02`, `+05:30`, `-00:01:15`; with minutes in any case if it is `long`.
pub fn push_offset(seconds: i64, long: bool, out: &mut String) {
    let (sign, whole) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60);
    // Writing to a text does not fail.
    let _ = write!(out, "{sign}{hours:02}");
    if long || minutes != 0 || rest != 0 {
        let _ = write!(out, ":{minutes:02}");
    }
    if rest != 0 {
        let _ = write!(out, ":{rest:02}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_database() {
        assert_eq!(named("Europe/Berlin"), Ok("Europe/Berlin"));
        assert_eq!(named("asia/kolkata"), Ok("Asia/Kolkata"));
        assert_eq!(named("utc"), Ok("UTC"));
        for (wrong, near) in [("Europe/Berln", "Europe/Berlin"), ("berlin", "Europe/Berlin")] {
            assert!(named(wrong).is_err_and(|said| said.contains(near)), "{wrong}");
        }
        for wrong in ["", "+02:00", "nowhere at all", "Europe/"] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
        assert!(is_utc("Etc/UTC") && is_utc("Zulu") && !is_utc("GMT") && !is_utc("Europe/London"));
    }

    #[test]
    fn hours_that_are_shown_twice_or_never() {
        let berlin = Clocks::of("Europe/Berlin").expect("a zone");
        let seconds = |text: &str| text.parse::<NaiveDateTime>().expect("a time").and_utc().timestamp();
        let shown = |text: &str| berlin.offset_shown(seconds(text));
        assert_eq!(shown("2024-06-01T00:00:00"), Some(7_200));
        assert_eq!(shown("2024-10-27T02:30:00"), Some(3_600));
        assert_eq!(shown("2024-03-31T02:30:00"), Some(3_600));
        let like = |text: &str, like| berlin.offset_shown_like(seconds(text), like);
        assert_eq!(like("2024-10-27T02:30:00", 7_200), Some(7_200));
        assert_eq!(like("2024-10-27T03:30:00", 7_200), Some(3_600));
        assert_eq!(like("2024-03-31T02:30:00", 7_200), Some(3_600));
        assert_eq!(berlin.offset_at(seconds("2024-10-27T00:59:59")), Some(7_200));
        assert_eq!(berlin.offset_at(i64::MAX), None);
    }

    #[test]
    fn summers_after_the_tables_are_as_those_in_them() {
        let seconds = |text: &str| text.parse::<NaiveDateTime>().expect("a time").and_utc().timestamp();
        let berlin = Clocks::of("Europe/Berlin").expect("a zone");
        // The last Sundays of March and October.
        for (at, offset) in [
            ("2101-03-27T00:59:59", 3_600),
            ("2101-03-27T01:00:00", 7_200),
            ("2104-07-01T00:00:00", 7_200),
            ("2104-10-26T01:00:00", 3_600),
            ("2400-02-29T12:00:00", 3_600),
            ("9999-07-01T00:00:00", 7_200),
        ] {
            assert_eq!(berlin.offset_at(seconds(at)), Some(offset), "{at}");
        }
        assert_eq!(berlin.offset_shown(seconds("2101-03-27T02:30:00")), Some(3_600));
        assert_eq!(berlin.offset_shown(seconds("2101-07-01T00:00:00")), Some(7_200));
        let sydney = Clocks::of("Australia/Sydney").expect("a zone");
        assert_eq!(sydney.offset_at(seconds("2150-12-31T23:00:00")), Some(39_600));
        let casablanca = Clocks::of("Africa/Casablanca").expect("a zone");
        assert_eq!(casablanca.offset_at(seconds("2104-02-01T00:00:00")), Some(3_600));
    }

    #[test]
    fn offsets_are_as_short_as_they_may_be() {
        for (seconds, short, long) in [
            (0, "+00", "+00:00"),
            (7_200, "+02", "+02:00"),
            (19_800, "+05:30", "+05:30"),
            (-12_600, "-03:30", "-03:30"),
            (3_208, "+00:53:28", "+00:53:28"),
        ] {
            for (is_long, expected) in [(false, short), (true, long)] {
                let mut out = String::new();
                push_offset(seconds, is_long, &mut out);
                assert_eq!(out, expected);
            }
        }
    }
}
