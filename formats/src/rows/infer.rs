//! Types from examples: what kinds of values a column was seen to hold, and the type that holds them all.

use std::sync::{Arc, Mutex};

use arrow_schema::{DataType, Schema, SchemaRef, TimeUnit};
use schema::{FileEntry, FormatOptions};

use super::reader::RowReader;
use super::shape::{MOST_COLUMNS, Members};
use super::{Decoder, parse};
use crate::error::{DataError, Error, Result};
use crate::reader::{Driver, Nobody};
use crate::store::input::Input;

/// The kinds of values that a column was seen to hold, as a set of bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// `true` or `false`.
    pub const BOOL: Kinds = Kinds(1);
    /// A whole number of 64 bits with a sign.
    pub const INT: Kinds = Kinds(2);
    /// A whole number that needs the 64th bit.
    pub const UINT: Kinds = Kinds(4);
    /// A whole number of more than 64 bits.
    pub const HUGE: Kinds = Kinds(8);
    /// A number below zero.
    pub const NEGATIVE: Kinds = Kinds(16);
    /// A number with a fraction or an exponent.
    pub const FLOAT: Kinds = Kinds(32);
    /// `NaN`, `Infinity` or `-Infinity`.
    pub const NOT_FINITE: Kinds = Kinds(64);
    /// A day.
    pub const DATE: Kinds = Kinds(128);
    /// A timestamp without a zone.
    pub const LOCAL: Kinds = Kinds(256);
    /// A timestamp with a zone.
    pub const ZONED: Kinds = Kinds(512);
    /// A timestamp finer than microseconds.
    pub const FINE: Kinds = Kinds(1024);
    /// Anything else.
    pub const TEXT: Kinds = Kinds(2048);
    /// Bytes that are not said to be text.
    pub const BYTES: Kinds = Kinds(4096);
    /// A whole number of more than 64 bits and at most 120, where numbers are no text.
    pub const WIDE: Kinds = Kinds(8192);
    /// Values one after another.
    pub const LIST: Kinds = Kinds(16384);
    /// Named values.
    pub const OBJECT: Kinds = Kinds(32768);
    /// A decimal: exact digits and where their point stands.
    pub const DECIMAL: Kinds = Kinds(1 << 16);
    /// A value that is neither text nor bytes.
    pub const TYPED: Kinds = Kinds(1 << 17);
    /// A timestamp beyond those that nanoseconds hold.
    pub const FAR: Kinds = Kinds(1 << 18);

    /// Both kinds at once.
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Both sets together.
    pub fn add(&mut self, other: Kinds) {
        self.0 |= other.0;
    }

    /// Whether text is among them.
    pub fn is_text(self) -> bool {
        self.has(Kinds::TEXT)
    }

    /// Whether a number is among them.
    pub fn is_number(self) -> bool {
        self.has(Kinds(Kinds::INT.0 | Kinds::UINT.0 | Kinds::HUGE.0 | Kinds::FLOAT.0))
    }

    /// Whether a day or a timestamp is among them.
    pub fn is_moment(self) -> bool {
        self.has(Kinds(Kinds::DATE.0 | Kinds::LOCAL.0 | Kinds::ZONED.0))
    }

    fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The kind of a number without spaces around it; text if it is none, or not written as numbers are
    /// ([`parse::is_printed`]).
    pub fn of_number(text: &[u8]) -> Kinds {
        if !parse::is_printed(text) {
            return Kinds::TEXT;
        }
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let sign = if text.first() == Some(&b'-') { Kinds::NEGATIVE.0 } else { 0 };
        let whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        if whole {
            let kind = if parse::integer::<i64>(text).is_some() {
                Kinds::INT
            } else if parse::integer::<u64>(text).is_some() {
                Kinds::UINT
            } else {
                Kinds::HUGE
            };
            Kinds(kind.0 | sign)
        } else if digits.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.')
            && parse::float::<f64>(text).is_some_and(|value| holds(value, digits))
        {
            Kinds(Kinds::FLOAT.0 | sign)
        } else {
            Kinds::TEXT
        }
    }

    /// The kind of a string in which numbers are only text: a day, a timestamp, NaN or an infinity, or text.
    pub fn of_string(text: &[u8]) -> Kinds {
        if matches!(text, b"NaN" | b"Infinity" | b"-Infinity") {
            return Kinds::NOT_FINITE;
        }
        if parse::date(text).is_some() {
            return Kinds::DATE;
        }
        match parse::instant(text) {
            None => Kinds::TEXT,
            Some(at) => {
                let zone = if at.offset.is_some() { Kinds::ZONED } else { Kinds::LOCAL };
                zone.and(Kinds::of_moment(at.days.saturating_mul(86_400), at.nanos % 1000 != 0))
            }
        }
    }

    /// What the unit of a moment has to hold: seconds since 1970, and whether there is more than microseconds.
    pub fn of_moment(seconds: i64, fine: bool) -> Kinds {
        /// Nanoseconds of 64 bits reach over 106,751 days.
        const NANOSECONDS_REACH: u64 = 106_751 * 86_400;
        let far = seconds.unsigned_abs() >= NANOSECONDS_REACH;
        Kinds(if fine { Kinds::FINE.0 } else { 0 } | if far { Kinds::FAR.0 } else { 0 })
    }

    /// The kind of a field in which everything is text.
    pub fn of_field(text: &[u8]) -> Kinds {
        let text = text.trim_ascii();
        let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        if [&b"nan"[..], b"inf", b"infinity"].iter().any(|word| unsigned.eq_ignore_ascii_case(word)) {
            return Kinds::NOT_FINITE;
        }
        if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") {
            return Kinds::BOOL;
        }
        match Kinds::of_number(text) {
            Kinds::TEXT => Kinds::of_string(text),
            number => number,
        }
    }

    /// The kinds that hold no others, and whether there are lists, and objects.
    pub fn split(self) -> (Kinds, bool, bool) {
        let nested = Kinds::LIST.0 | Kinds::OBJECT.0;
        (Kinds(self.0 & !nested), self.has(Kinds::LIST), self.has(Kinds::OBJECT))
    }

    /// The type that holds all that was seen and holds no others; `Null` if nothing was. `digits` are those of decimals.
    pub fn data_type(self, digits: Digits) -> DataType {
        let whole = Kinds::INT.0 | Kinds::UINT.0 | Kinds::WIDE.0 | Kinds::HUGE.0;
        let numbers = Kinds(whole | Kinds::DECIMAL.0 | Kinds::FLOAT.0 | Kinds::NOT_FINITE.0);
        let times = Kinds(Kinds::DATE.0 | Kinds::LOCAL.0 | Kinds::ZONED.0);
        let groups = [Kinds::BOOL, numbers, times, Kinds::TEXT].map(|group| self.has(group));
        if self.has(Kinds::BYTES) {
            // Any text is bytes, and so is no other value.
            return if self.has(Kinds::TYPED) { DataType::Utf8View } else { DataType::BinaryView };
        }
        match groups {
            [false, false, false, false] => DataType::Null,
            [true, false, false, false] => DataType::Boolean,
            [false, true, false, false] => self.number_type(digits),
            [false, false, true, false] => self.time_type(),
            _ => DataType::Utf8View,
        }
    }

    fn number_type(self, digits: Digits) -> DataType {
        let whole = Kinds(Kinds::INT.0 | Kinds::UINT.0 | Kinds::WIDE.0);
        let finite = self.has(Kinds(whole.0 | Kinds::DECIMAL.0 | Kinds::FLOAT.0));
        if self.has(Kinds::FLOAT) || (self.has(Kinds::NOT_FINITE) && finite) {
            DataType::Float64
        } else if self.has(Kinds::HUGE) || !finite {
            DataType::Utf8View
        } else if self.has(Kinds::DECIMAL) {
            let most = [(Kinds::WIDE, 38), (Kinds::UINT, 20), (Kinds::INT, 19)];
            let beside = most.into_iter().find(|(kind, _)| self.has(*kind)).map_or(0, |(_, most)| most);
            Digits { whole: digits.whole.max(beside), ..digits }.data_type()
        } else if self.has(Kinds::WIDE) {
            DataType::Decimal128(38, 0)
        } else if !self.has(Kinds::UINT) {
            DataType::Int64
        } else if self.has(Kinds::NEGATIVE) {
            DataType::Decimal128(20, 0)
        } else {
            DataType::UInt64
        }
    }

    fn time_type(self) -> DataType {
        if self.has(Kinds::FINE) && self.has(Kinds::FAR) {
            return DataType::Utf8View;
        }
        let unit = if self.has(Kinds::FINE) { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
        if !self.has(Kinds::ZONED) {
            if self.has(Kinds::LOCAL) { DataType::Timestamp(unit, None) } else { DataType::Date32 }
        } else if self.has(Kinds::DATE) || self.has(Kinds::LOCAL) {
            DataType::Utf8View
        } else {
            DataType::Timestamp(unit, Some("UTC".into()))
        }
    }
}

/// The most digits that decimals of a column have before the point, and behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digits {
    /// Before the point.
    pub whole: u32,
    /// Behind it.
    pub scale: u32,
}

impl Digits {
    /// The most of both.
    pub fn most(self, other: Digits) -> Digits {
        Digits { whole: self.whole.max(other.whole), scale: self.scale.max(other.scale) }
    }

    /// The decimals of so many digits, and of as many more before the point as have room; text if there are none.
    pub fn data_type(self) -> DataType {
        match (self.whole.saturating_add(self.scale), self.scale as i8) {
            (..=38, scale) => DataType::Decimal128(38, scale),
            (..=76, scale) => DataType::Decimal256(76, scale),
            _ => DataType::Utf8View,
        }
    }
}

/// Whether a float is near what was written: a number beyond its range would be an infinity, or 0.
fn holds(value: f64, digits: &[u8]) -> bool {
    let mantissa = digits.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    value.is_finite() && (value != 0.0 || mantissa.copied().all(|byte| matches!(byte, b'0' | b'.')))
}

/// The columns that were seen, in the order in which they appeared, and what was seen of their values.
pub type Seen = Arc<Mutex<Members>>;

/// The error of a file with more than [`MOST_COLUMNS`] columns.
pub fn too_many_columns() -> Error {
    let message = format!("there are more than {MOST_COLUMNS} columns, the most that a file may have");
    let help = "if the names are data, read the file with --from text and take it apart".to_string();
    Error::Data(Box::new(DataError { message, help: Some(help), ..DataError::default() }))
}

/// Reads a file from its beginning until the decoder, which fills in what it saw, gives a batch or the file ends.
/// All columns may be NULL; one without values has the type `Null`.
pub fn infer(
    file: &FileEntry,
    options: &FormatOptions,
    text: bool,
    decoder: impl FnOnce(Seen) -> Result<Box<dyn Decoder>>,
) -> Result<SchemaRef> {
    let seen = Seen::default();
    let reader = RowReader::beginning(decoder(seen.clone())?, file, options, text)?;
    let file = Arc::new(file.clone());
    Driver::new(file.clone(), Input::of(&file)?, Box::new(reader), Nobody).step()?;
    let seen = seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if seen.many() {
        return Err(too_many_columns().at(&file.path));
    }
    Ok(Arc::new(Schema::new(seen.fields())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(texts: &[&str]) -> DataType {
        let mut kinds = Kinds::default();
        texts.iter().for_each(|text| kinds.add(Kinds::of_field(text.as_bytes())));
        kinds.data_type(Digits::default())
    }

    #[test]
    fn the_type_holds_all_values() {
        use DataType::*;
        let us = |zone: Option<&str>| Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
        for (texts, expected) in [
            (&[][..], Null),
            (&["true", "FALSE"], Boolean),
            (&["1", "-2", " 3 "], Int64),
            (&["0", "10"], Int64),
            (&["1", "true"], Utf8View),
            (&["1", "2.5", "1e3", "-.5"], Float64),
            (&["1", "NaN"], Float64),
            (&["NaN", "-Infinity"], Utf8View),
            (&["inf", "nan"], Utf8View),
            (&["007"], Utf8View),
            (&["-007"], Utf8View),
            (&["00"], Utf8View),
            (&["+4930123"], Utf8View),
            (&["1", "+1"], Utf8View),
            (&["+1.5"], Utf8View),
            (&["0.07", "-0.5", ".5", "5.", "0", "-0", "0e1"], Float64),
            (&["0.07", "00.5"], Utf8View),
            (&["-01.5"], Utf8View),
            (&["00e5"], Utf8View),
            (&["1.50", "1E5", "-0.0"], Float64),
            (&["-0", "1"], Int64),
            (&["1_000"], Utf8View),
            (&["1e400"], Utf8View),
            (&["1", "-1e400"], Utf8View),
            (&["1e-400"], Utf8View),
            (&["0e-400", "0.000"], Float64),
            (&["18446744073709551615", "1"], UInt64),
            (&["18446744073709551615", "-1"], Decimal128(20, 0)),
            (&["18446744073709551616"], Utf8View),
            (&["18446744073709551616", "0.5"], Float64),
            (&["2020-01-01"], Date32),
            (&["2020-01-01", "2020-01-01 10:00"], us(None)),
            (&["2020-01-01T10:00:00Z", "2020-01-01T10:00:00+01:00"], us(Some("UTC"))),
            (&["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"], Utf8View),
            (&["2020-01-01T10:00:00.123456789"], Timestamp(TimeUnit::Nanosecond, None)),
            (
                &["2020-01-01T10:00:00.123456789", "2262-01-01T00:00:00"],
                Timestamp(TimeUnit::Nanosecond, None),
            ),
            (&["2020-01-01T10:00:00.123456789", "9999-12-31T00:00:00"], Utf8View),
            (&["9999-12-31T00:00:00"], us(None)),
            (&["2020-01-01", "1"], Utf8View),
            (&["2020-02-30"], Utf8View),
            (&["-", "+", ".", "1.2.3", "10:00"], Utf8View),
        ] {
            assert_eq!(fields(texts), expected, "{texts:?}");
        }
    }
}
