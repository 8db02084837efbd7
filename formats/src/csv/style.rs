//! Values as csv files of other programs write them: what is NULL, what stands in numbers, and formats of dates and
//! timestamps.

use std::borrow::Cow;

use arrow_schema::{DataType, TimeUnit};
use schema::FormatOptions;
use schema::time_formats::TimeFormat;

use super::decode::CsvSyntax;
use crate::error::{Error, Result};
use crate::rows::infer::Kinds;
use crate::rows::parse::{self, Decimal, Float, Half, Integer};
use crate::rows::syntax::{Syntax, Token};

/// No number is longer, with what stands between its digits.
const LONGEST_NUMBER: usize = 96;

/// How values are written.
#[derive(Debug)]
pub struct Style {
    /// The fields that are NULL, if others are than bare empty ones.
    nulls: Vec<Vec<u8>>,
    numbers: Numbers,
    date: Option<Pattern>,
    timestamp: Option<Pattern>,
}

/// What stands in numbers beside their digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Before the fraction.
    pub decimal: u8,
    /// Between groups of three digits.
    pub thousands: Option<u8>,
}

impl Numbers {
    /// Whether they are other than what palais writes.
    fn is_other(self) -> bool {
        self.decimal != b'.' || self.thousands.is_some()
    }

    /// Whether a value is a number.
    pub fn is_number(self, value: &[u8]) -> bool {
        self.printed(value).is_some_and(|number| Kinds::of_field(&number).is_number())
    }

    /// A number as palais writes it; `None` of what is no number here.
    fn printed<'a>(self, value: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if !value.iter().any(|byte| {
            matches!(*byte, b'.' | b',') || Some(*byte) == self.thousands || *byte == self.decimal
        }) {
            return Some(Cow::Borrowed(value));
        }
        if value.len() > LONGEST_NUMBER {
            return None;
        }
        let mut number = Vec::with_capacity(value.len());
        // The digits since the separator before, which are three where there is one.
        let (mut grouped, mut digits, mut whole) = (false, 0, true);
        let is_group = |grouped: bool, digits: usize| !grouped || digits == 3;
        for &byte in value {
            if whole && Some(byte) == self.thousands {
                if !(1..=3).contains(&digits) || !is_group(grouped, digits) {
                    return None;
                }
                (grouped, digits) = (true, 0);
            } else if byte == self.decimal {
                if !whole || !is_group(grouped, digits) {
                    return None;
                }
                whole = false;
                number.push(b'.');
            } else if byte == b'.' || Some(byte) == self.thousands {
                return None;
            } else {
                if whole && byte.is_ascii_digit() {
                    digits += 1;
                } else if whole && digits > 0 {
                    // An exponent.
                    if !is_group(grouped, digits) {
                        return None;
                    }
                    whole = false;
                }
                number.push(byte);
            }
        }
        (!whole || is_group(grouped, digits)).then_some(Cow::Owned(number))
    }
}

/// A format of dates or timestamps.
#[derive(Debug)]
pub struct Pattern {
    format: TimeFormat,
    /// It has a year of four digits.
    has_year: bool,
    /// It reads texts that ISO 8601 reads otherwise, so that only one of the two can be meant.
    alone: bool,
}

impl Pattern {
    /// The format of an option of this name.
    ///
    /// # Errors
    /// It has a specifier that is none.
    pub fn new(option: &str, text: &str) -> Result<Pattern> {
        let format = TimeFormat::parse(text).map_err(|specifier| {
            Error::Unsupported(format!("{option} '{text}': there is no specifier '{specifier}'"))
        })?;
        let alone = ["2001-02-03", "2001-02-03 04:05:06"].into_iter().any(|iso| format.read(iso).is_some());
        Ok(Pattern { has_year: text.contains("%Y"), format, alone })
    }

    /// The days since 1970 and the nanoseconds of the day.
    pub fn read(&self, value: &[u8]) -> Option<(i64, i64)> {
        // A year is not cut: `1.2.3` is the number of a version.
        if self.has_year && !value.windows(4).any(|four| four.iter().all(u8::is_ascii_digit)) {
            return None;
        }
        self.format.read(std::str::from_utf8(value).ok()?)
    }
}

impl Style {
    /// The style that the options say; `None` if it is that of palais.
    pub fn new(format: &FormatOptions) -> Result<Option<Style>> {
        let Some(dialect) = &format.dialect else { return Ok(None) };
        let (decimal, thousands) = (dialect.decimal_separator, dialect.thousands);
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'\n' | b'\r');
        if is_part(decimal) || thousands.is_some_and(is_part) || thousands == Some(decimal) {
            return Err(Error::Unsupported(
                "decimal_separator and thousands must be two characters that are no parts of numbers".into(),
            ));
        }
        let pattern = |option: &str, text: &Option<String>| {
            text.as_deref().map(|text| Pattern::new(option, text)).transpose()
        };
        let style = Style {
            nulls: dialect.nulls.iter().map(|null| null.clone().into_bytes()).collect(),
            numbers: Numbers { decimal, thousands },
            date: pattern("dateformat", &dialect.date_format)?,
            timestamp: pattern("timestampformat", &dialect.timestamp_format)?,
        };
        let is_usual = style.nulls.is_empty()
            && !style.numbers.is_other()
            && style.date.is_none()
            && style.timestamp.is_none();
        Ok((!is_usual).then_some(style))
    }

    /// The kinds of a field: by a format of dates or timestamps, if one reads it, and else.
    pub fn kinds(&self, text: &[u8]) -> (Option<Kinds>, Kinds) {
        let text = text.trim_ascii();
        let read = |pattern: &Option<Pattern>| pattern.as_ref().and_then(|pattern| pattern.read(text));
        let formatted = match (read(&self.date), read(&self.timestamp)) {
            (Some((_, 0)), _) => Some(Kinds::DATE),
            (_, Some((day, nanos))) => {
                let zoned = self.timestamp.as_ref().is_some_and(|pattern| pattern.format.is_zoned());
                let zone = if zoned { Kinds::ZONED } else { Kinds::LOCAL };
                Some(zone.and(Kinds::of_moment(day.saturating_mul(86_400), nanos % 1000 != 0)))
            }
            _ => None,
        };
        let other = match self.numbers.is_other().then(|| self.numbers.printed(text)) {
            None => Kinds::of_field(text),
            Some(Some(number)) => Kinds::of_field(&number),
            Some(None) => match Kinds::of_field(text) {
                kinds if kinds.is_number() => Kinds::TEXT,
                kinds => kinds,
            },
        };
        let other = match other {
            Kinds::DATE if self.date.as_ref().is_some_and(|pattern| pattern.alone) => Kinds::TEXT,
            kinds if kinds.is_moment() && self.timestamp.as_ref().is_some_and(|pattern| pattern.alone) => {
                Kinds::TEXT
            }
            kinds => kinds,
        };
        (formatted, other)
    }
}

/// Fields of csv whose values have a style.
#[derive(Clone, Copy)]
pub struct Styled<'a> {
    /// Fields as they stand.
    pub plain: CsvSyntax,
    /// How their values are written.
    pub style: &'a Style,
}

impl Syntax for Styled<'_> {
    const UTF8: bool = true;

    fn token(&self, bytes: &[u8], start: usize, end: usize) -> Token {
        let nulls = &self.style.nulls;
        match self.plain.token(bytes, start, end) {
            Token::Null if start <= end && !nulls.is_empty() && !nulls.iter().any(Vec::is_empty) => {
                Token::Empty
            }
            Token::Plain(from, to) if nulls.iter().any(|null| *null == bytes[from..to]) => Token::Null,
            token => token,
        }
    }

    fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        self.plain.unescape(raw, out)
    }

    fn refusal(&self, value: &[u8]) -> Option<&'static str> {
        self.plain.refusal(value)
    }

    fn cure(&self, value: &[u8], data_type: &DataType) -> Option<&'static str> {
        self.plain.cure(value, data_type)
    }

    fn integer<T: Integer>(&self, value: &[u8]) -> Option<T> {
        self.plain.integer(&self.style.numbers.printed(value)?)
    }

    fn half(&self, value: &[u8]) -> Option<Half> {
        self.plain.half(&self.style.numbers.printed(value)?)
    }

    fn float<T: Float>(&self, value: &[u8]) -> Option<T> {
        self.plain.float(&self.style.numbers.printed(value)?)
    }

    fn decimal<T: Decimal>(&self, value: &[u8], precision: u8, scale: i8) -> Option<T> {
        self.plain.decimal(&self.style.numbers.printed(value)?, precision, scale)
    }

    fn date(&self, value: &[u8]) -> Option<i32> {
        let Some(pattern) = &self.style.date else { return parse::date(value) };
        match pattern.read(value) {
            Some((day, 0)) => i32::try_from(day).ok(),
            Some(_) => None,
            None if pattern.alone => None,
            None => parse::date(value),
        }
    }

    fn timestamp(&self, value: &[u8], unit: TimeUnit, zoned: bool) -> Option<i64> {
        let Style { date, timestamp, .. } = self.style;
        let patterns = [timestamp, date];
        let mut patterns = patterns.into_iter().flatten();
        match patterns.clone().find_map(|pattern| pattern.read(value)) {
            Some((day, nanos)) => parse::moment(day, nanos, unit),
            None if patterns.any(|pattern| pattern.alone) => None,
            None => parse::timestamp(value, unit, zoned),
        }
    }
}
