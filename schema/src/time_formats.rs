//! Dates and times as text by a format, and back: what `strftime` and `strptime` do. The specifiers are DuckDB's, which
//! are those of C, with fractions of a second (`%g` has three digits, `%f` six and `%n` nine). There are numbers
//! without zeros before them, too (`%-d`).

use chrono::{Datelike, NaiveDate, TimeDelta, Weekday};

use crate::zones::{Clocks, push_offset};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The days of a week, from Monday on.
pub const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The months of a year.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A format of dates and times.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeFormat(Vec<Item>);

impl TimeFormat {
    /// The format that a text spells.
    ///
    /// # Errors
    /// The specifier in it that is none.
    pub fn parse(format: &str) -> Result<TimeFormat, String> {
        items(format).map(TimeFormat)
    }

    /// Whether it has a zone, so that what it reads are instants.
    pub fn is_zoned(&self) -> bool {
        self.0.iter().any(|item| matches!(item, Item::Specifier('z' | 'Z', _)))
    }

    /// Whether it has a part of a day.
    pub fn has_time(&self) -> bool {
        let is_time = |item: &Item| {
            matches!(item, Item::Specifier('H' | 'I' | 'M' | 'S' | 'f' | 'g' | 'n' | 'p' | 'z' | 'Z', _))
        };
        self.0.iter().any(is_time)
    }

    /// The days since 1970 and the nanoseconds of the day that a text says. `None` if it does not have the format, or
    /// there is no such day.
    pub fn read(&self, text: &str) -> Option<(i64, i64)> {
        Reading::new(text).all(&self.0)
    }

    /// Appends a date and the nanoseconds of its day. Of an instant, `zone` has the name of the zone whose clocks show
    /// that, and by how many seconds they are before UTC.
    pub fn write(&self, date: NaiveDate, nanos: i64, zone: Option<(&str, i64)>, out: &mut String) {
        for item in &self.0 {
            match item {
                Item::Text(text) => out.push_str(text),
                Item::Specifier(specifier, zeros) => write_one(*specifier, *zeros, date, nanos, zone, out),
            }
        }
    }
}

/// A part of a format.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Text(String),
    /// A specifier, and whether zeros stand before its number.
    Specifier(char, bool),
}

/// The parts of a format, or the specifier in it that is none.
fn items(format: &str) -> Result<Vec<Item>, String> {
    let mut items: Vec<Item> = Vec::new();
    let text = |c: char, items: &mut Vec<Item>| match items.last_mut() {
        Some(Item::Text(text)) => text.push(c),
        _ => items.push(Item::Text(c.into())),
    };
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text(c, &mut items);
            continue;
        }
        let refused = |before: &str, c: Option<char>| {
            Err(format!("{before}{}", c.map(String::from).unwrap_or_default()))
        };
        match chars.next() {
            Some('%') => text('%', &mut items),
            Some('x') => items.extend(self::items("%Y-%m-%d")?),
            Some('X') => items.extend(self::items("%H:%M:%S")?),
            Some('c') => items.extend(self::items("%Y-%m-%d %H:%M:%S")?),
            Some('-') => match chars.next() {
                Some(c @ ('d' | 'm' | 'y' | 'H' | 'I' | 'M' | 'S' | 'j')) => {
                    items.push(Item::Specifier(c, false));
                }
                other => return refused("%-", other),
            },
            Some(
                c @ ('a' | 'A' | 'b' | 'B' | 'd' | 'f' | 'g' | 'G' | 'H' | 'I' | 'j' | 'm' | 'M' | 'n' | 'p'
                | 'S' | 'u' | 'U' | 'V' | 'w' | 'W' | 'y' | 'Y' | 'z' | 'Z'),
            ) => items.push(Item::Specifier(c, true)),
            other => return refused("%", other),
        }
    }
    Ok(items)
}

/// Weeks of a year that have begun on a weekday, its first ones included.
fn week_from(date: NaiveDate, first: Weekday) -> i64 {
    (i64::from(date.ordinal0()) + 7 - i64::from(date.weekday().days_since(first))) / 7
}

fn write_one(
    specifier: char,
    zeros: bool,
    date: NaiveDate,
    nanos: i64,
    zone: Option<(&str, i64)>,
    out: &mut String,
) {
    let (hour, minute, second) = (nanos / (3_600 * SECOND), nanos / (60 * SECOND) % 60, nanos / SECOND % 60);
    let fraction = nanos % SECOND;
    let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    let day_name = DAYS[date.weekday().num_days_from_monday() as usize];
    let month_name = MONTHS[date.month0() as usize];
    let mut number = |value: i64, width: usize| {
        let width = if zeros { width } else { 0 };
        out.push_str(&format!("{value:0width$}"));
    };
    match specifier {
        'd' => number(date.day().into(), 2),
        'm' => number(date.month().into(), 2),
        'y' => number(i64::from(date.year().rem_euclid(100)), 2),
        'Y' => number(date.year().into(), 4),
        'G' => number(date.iso_week().year().into(), 4),
        'H' => number(hour, 2),
        'I' => number(hour12, 2),
        'M' => number(minute, 2),
        'S' => number(second, 2),
        'f' => number(fraction / 1_000, 6),
        'g' => number(fraction / 1_000_000, 3),
        'n' => number(fraction, 9),
        'j' => number(date.ordinal().into(), 3),
        'u' => number(date.weekday().number_from_monday().into(), 1),
        'w' => number(date.weekday().num_days_from_sunday().into(), 1),
        'V' => number(date.iso_week().week().into(), 2),
        'U' => number(week_from(date, Weekday::Sun), 2),
        'W' => number(week_from(date, Weekday::Mon), 2),
        'a' => out.push_str(&day_name[..3]),
        'A' => out.push_str(day_name),
        'b' => out.push_str(&month_name[..3]),
        'B' => out.push_str(month_name),
        'p' => out.push_str(if hour < 12 { "AM" } else { "PM" }),
        'z' => push_offset(zone.map_or(0, |(_, offset)| offset), false, out),
        // A timestamp without a zone has no name of one.
        _ => out.push_str(zone.map_or("", |(name, _)| name)),
    }
}

/// What has been read of a text.
struct Reading<'a> {
    rest: &'a str,
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    /// Whether the hour is one of 12, and which half of the day it is in.
    afternoon: Option<bool>,
    ordinal: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    /// A week of the year, and the day with which weeks begin.
    week: Option<(i64, Weekday)>,
    /// Days since Monday.
    weekday: Option<i64>,
    /// By how much the clock was before UTC.
    offset: Option<i64>,
    zone: Option<Clocks>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str) -> Reading<'a> {
        Reading {
            rest: text.trim_ascii_start(),
            year: 1900,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            nanos: 0,
            afternoon: None,
            ordinal: None,
            iso_year: None,
            iso_week: None,
            week: None,
            weekday: None,
            offset: None,
            zone: None,
        }
    }

    /// The instant of a text that has all items of a format.
    fn all(mut self, items: &[Item]) -> Option<(i64, i64)> {
        for item in items {
            match item {
                Item::Text(text) => self.literal(text)?,
                Item::Specifier(specifier, _) => self.one(*specifier)?,
            }
        }
        self.rest.trim_ascii_end().is_empty().then_some(())?;
        self.instant()
    }

    /// Text of a format. A space stands for any number of them.
    fn literal(&mut self, text: &str) -> Option<()> {
        for c in text.chars() {
            let first = self.rest.chars().next()?;
            if c.is_ascii_whitespace() && first.is_ascii_whitespace() {
                self.rest = self.rest.trim_ascii_start();
            } else if c == first {
                self.rest = &self.rest[c.len_utf8()..];
            } else {
                return None;
            }
        }
        Some(())
    }

    /// A number of at most so many digits, and how many it has.
    fn digits(&mut self, most: usize) -> Option<(i64, usize)> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number = self.rest[..count].parse().ok()?;
        self.rest = &self.rest[count..];
        Some((number, count))
    }

    /// A number within bounds.
    fn number(&mut self, most: usize, low: i64, high: i64) -> Option<i64> {
        let number = self.digits(most)?.0;
        (low..=high).contains(&number).then_some(number)
    }

    /// The place of the name that the text begins with, of which the first letters are enough if it is `short`.
    fn name(&mut self, names: &[&str], short: bool) -> Option<i64> {
        let matched = |name: &str| {
            let name = if short { &name[..3] } else { name };
            let begin = self.rest.get(..name.len())?;
            begin.eq_ignore_ascii_case(name).then_some(name.len())
        };
        let (place, length) =
            names.iter().enumerate().find_map(|(place, name)| Some((place, matched(name)?)))?;
        self.rest = &self.rest[length..];
        Some(place as i64)
    }

    /// The digits of a fraction of a second.
    fn fraction(&mut self, most: u32) -> Option<i64> {
        let (number, count) = self.digits(most as usize)?;
        Some(number * 10_i64.pow(9 - count as u32))
    }

    fn one(&mut self, specifier: char) -> Option<()> {
        match specifier {
            'Y' => self.year = self.number(4, 0, 9999)?,
            'y' => {
                let year = self.number(2, 0, 99)?;
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
            }
            'm' => self.month = self.number(2, 1, 12)?,
            'd' => self.day = self.number(2, 1, 31)?,
            'H' => self.hour = self.number(2, 0, 23)?,
            'I' => self.hour = self.number(2, 1, 12)?,
            'M' => self.minute = self.number(2, 0, 59)?,
            'S' => self.second = self.number(2, 0, 59)?,
            'f' => self.nanos = self.fraction(6)?,
            'g' => self.nanos = self.fraction(3)?,
            'n' => self.nanos = self.fraction(9)?,
            'j' => self.ordinal = Some(self.number(3, 1, 366)?),
            'G' => self.iso_year = Some(self.number(4, 0, 9999)?),
            'V' => self.iso_week = Some(self.number(2, 1, 53)?),
            'U' => self.week = Some((self.number(2, 0, 53)?, Weekday::Sun)),
            'W' => self.week = Some((self.number(2, 0, 53)?, Weekday::Mon)),
            'u' => self.weekday = Some(self.number(1, 1, 7)? - 1),
            'w' => self.weekday = Some((self.number(1, 0, 6)? + 6) % 7),
            // The name of a day says nothing that the date does not.
            'a' => self.name(&DAYS, true).map(|_| ())?,
            'A' => self.name(&DAYS, false).map(|_| ())?,
            'b' => self.month = self.name(&MONTHS, true)? + 1,
            'B' => self.month = self.name(&MONTHS, false)? + 1,
            'p' => self.afternoon = Some(self.name(&["AM", "PM"], false)? == 1),
            'z' => self.offset = Some(self.offset()?),
            _ => self.zone = Some(self.zone()?),
        }
        Some(())
    }

    /// `+02`, `-0330` or `+05:45`, in seconds.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.rest.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let (hours, digits) = self.digits(2)?;
        if digits < 2 || hours > 15 {
            return None;
        }
        self.rest = self.rest.strip_prefix(':').unwrap_or(self.rest);
        let minutes = match self.rest.as_bytes().first() {
            Some(digit) if digit.is_ascii_digit() => self.number(2, 0, 59)?,
            _ => 0,
        };
        Some(sign * (hours * 60 + minutes) * 60)
    }

    /// The name of a zone.
    fn zone(&mut self) -> Option<Clocks> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '+' | '-');
        let end = self.rest.find(|c: char| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Clocks::of(name)
    }

    /// The date of what has been read.
    fn date(&self) -> Option<NaiveDate> {
        let year = i32::try_from(self.iso_year.unwrap_or(self.year)).ok()?;
        let from_january =
            |days: i64| NaiveDate::from_ymd_opt(year, 1, 1)?.checked_add_signed(TimeDelta::days(days));
        if let Some(week) = self.iso_week {
            let day = Weekday::try_from(self.weekday.unwrap_or(0) as u8).ok()?;
            return NaiveDate::from_isoywd_opt(year, u32::try_from(week).ok()?, day);
        }
        if let Some((week, first)) = self.week {
            let january = i64::from(from_january(0)?.weekday().days_since(first));
            let day =
                self.weekday.map_or(0, |day| (day - i64::from(first.num_days_from_monday())).rem_euclid(7));
            // Week 1 begins with the first such day; those before it are week 0.
            let begin = if january == 0 { (week - 1) * 7 } else { week * 7 - january };
            let days = begin + day;
            return if week == 0 && days < 0 { None } else { from_january(days) };
        }
        match self.ordinal {
            Some(ordinal) => from_january(ordinal - 1),
            None => NaiveDate::from_ymd_opt(year, self.month as u32, self.day as u32),
        }
    }

    /// The days since 1970 and the nanoseconds of the day.
    fn instant(&self) -> Option<(i64, i64)> {
        let hour = match self.afternoon {
            None => self.hour,
            // The hour 12 is the first of its half.
            Some(_) if self.hour > 12 => return None,
            Some(afternoon) => self.hour % 12 + 12 * i64::from(afternoon),
        };
        let mut day = i64::from(self.date()?.to_epoch_days());
        let mut seconds = (hour * 60 + self.minute) * 60 + self.second;
        let mut offset = self.offset.unwrap_or(0);
        if let Some(zone) = &self.zone {
            offset += zone.offset_shown(day * 86_400 + seconds)?;
        }
        seconds -= offset;
        day += seconds.div_euclid(86_400);
        Some((day, seconds.rem_euclid(86_400) * SECOND + self.nanos.min(DAY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: &str) -> Option<String> {
        let (day, nanos) = TimeFormat::parse(format).unwrap().read(text)?;
        let date = NaiveDate::from_epoch_days(day as i32).unwrap();
        let mut out = String::new();
        TimeFormat::parse("%Y-%m-%d %H:%M:%S.%f").unwrap().write(date, nanos, None, &mut out);
        Some(out.trim_end_matches(".000000").trim_end_matches(" 00:00:00").to_string())
    }

    #[test]
    fn texts_are_read_by_their_format() {
        for (text, format, expected) in [
            ("2024-02-29", "%Y-%m-%d", "2024-02-29"),
            (" 2024-1-1 ", "%Y-%m-%d", "2024-01-01"),
            ("Wed, 1 January 1992 - 08:38:40 PM", "%a, %-d %B %Y - %I:%M:%S %p", "1992-01-01 20:38:40"),
            ("2024 60", "%Y %j", "2024-02-29"),
            ("2024-W05-3", "%G-W%V-%u", "2024-01-31"),
            ("2024 5 3", "%Y %U %w", "2024-02-07"),
            ("2024 5", "%Y %W", "2024-01-29"),
            ("12 AM", "%I %p", "1900-01-01"),
            ("2024-01-01 00:00:00+0130", "%Y-%m-%d %H:%M:%S%z", "2023-12-31 22:30:00"),
            ("2024-07-01 Europe/Berlin", "%x %Z", "2024-06-30 22:00:00"),
            ("69", "%y", "1969-01-01"),
            ("1:2:3.5", "%H:%M:%S.%f", "1900-01-01 01:02:03.500000"),
        ] {
            assert_eq!(read(text, format).as_deref(), Some(expected), "{text} {format}");
        }
        for (text, format) in
            [("2024-02-30", "%x"), ("24", "%H"), ("2024", "%Y "), ("2024x", "%Y"), ("13 PM", "%H %p")]
        {
            assert_eq!(read(text, format), None, "{text} {format}");
        }
        assert!(items("%e").is_err() && items("100%").is_err());
    }
}
