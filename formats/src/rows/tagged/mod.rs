//! Values that carry their own kind, as those of MessagePack and CBOR do: which value of a column's type each is.
//!
//! A value is of a column's type if nothing of it is lost. An integer is a float or a decimal, a whole float an
//! integer, and a text whatever it spells.
//!
//! - [`outer`]: whether rows follow one another or lie in one array.
//! - [`walk`]: rows, which are arrays or maps of values.
//! - `text`: any value as text.
//! - [`infer`]: the columns of a file from its first rows.
//! - [`write`](mod@write): columns to rows.

pub mod infer;
pub mod outer;
mod text;
pub mod walk;
pub mod write;

use std::borrow::Cow;

use arrow_schema::TimeUnit;

use super::binary::{self, within_precision};
use super::infer::{Digits, Kinds};
use super::parse::{self, Decimal, Float, Half, Integer, per_second};
use super::shape::Shape;
use super::syntax::{Syntax, Token};
use super::walk::{MISSING, Span, is_missing};
use walk::{Item, Values};

/// A value by its kind. Places count from its first byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// A whole number from 0 on.
    Unsigned(u64),
    /// A whole number below 0: -1 less this.
    Negative(u64),
    /// A float.
    Float(f64),
    /// UTF-8.
    Text(usize, usize),
    /// Any bytes.
    Bytes(usize, usize),
    /// A day since 1970-01-01.
    Day(i64),
    /// A moment in UTC: seconds since 1970-01-01T00:00:00, and nanoseconds of the second.
    Moment(i64, u32),
    /// A decimal: where its digits lie as a value of their own, and how many stand behind the point.
    Decimal(usize, usize, i64),
    /// A text in pieces.
    Pieces,
    /// Another kind: a list, a map, a whole number of more than 64 bits, or one that is not known.
    Other,
}

/// What came of looking for a value's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It ends here.
    At(usize),
    /// It goes on behind the bytes at hand.
    Beyond,
    /// No value begins so.
    NoValue,
}

/// What a value begins with that holds others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    /// Whether it holds keys with their values, else values.
    pub map: bool,
    /// How many; if that is not told, a break ends them.
    pub count: Option<u64>,
    /// Where the first of them begins, from its own first byte.
    pub from: usize,
}

/// An encoding whose values carry their kind.
pub trait Tagged: Copy + Send + Sync {
    /// The encoding's name, for messages.
    const NAME: &'static str;

    /// The value that these bytes are.
    fn scalar(self, value: &[u8]) -> Scalar;

    /// Where the value that begins at `at` ends, whatever is nested in it.
    fn end(self, bytes: &[u8], at: usize) -> End;

    /// What these bytes begin with, if that is an array or a map.
    fn container(self, bytes: &[u8]) -> Option<Container>;

    /// Where the value begins that stands behind tags that do not change what it is.
    fn behind_tags(self, _value: &[u8]) -> usize {
        0
    }

    /// Whether a value is none.
    fn is_null(self, value: &[u8]) -> bool;

    /// The bytes behind the last value of a container whose count is not told, if these begin with them.
    fn after_break(self, _bytes: &[u8]) -> Option<usize> {
        None
    }

    /// A whole number of more than 64 bits, as its sign and its bytes, big endian; `None` if it is none.
    fn huge(self, _value: &[u8]) -> Option<(bool, Vec<u8>)> {
        None
    }

    /// Appends the text of a value that is of none of the kinds of [`Scalar`], and tells whether it stands without quotes
    /// in JSON.
    fn spell_other(self, _value: &[u8], _out: &mut Vec<u8>) -> Option<bool> {
        None
    }

    /// Why a value can't be read, whatever the type of its column is; `None` if it can.
    fn refusal(self, _value: &[u8]) -> Option<&'static str> {
        None
    }

    /// Appends a text in pieces as one value.
    fn join(self, _value: &[u8], _out: &mut Vec<u8>) -> Option<()> {
        None
    }
}

/// The syntax of tagged values.
#[derive(Debug, Clone, Copy)]
pub struct TaggedSyntax<T>(pub T);

impl<T: Tagged> TaggedSyntax<T> {
    #[inline(always)]
    fn text<'a>(&self, value: &'a [u8]) -> Option<&'a [u8]> {
        match self.0.scalar(value) {
            Scalar::Text(from, to) => value.get(from..to),
            _ => None,
        }
    }

    /// The values in a list or map.
    fn container(&self, bytes: &[u8], (start, end): Span) -> Option<Values<T>> {
        let at = start + self.0.behind_tags(bytes.get(start..end)?);
        Values::of(self.0, &bytes[..end], at)
    }

    /// Tells the values in a container, those that are none as [`MISSING`].
    fn members_of(
        &self,
        mut values: Values<T>,
        bytes: &[u8],
        each: &mut impl FnMut(Option<Span>, Span),
    ) -> Option<()> {
        loop {
            match values.next(bytes).ok()? {
                Item::Value(key, (from, to)) => {
                    each(key, if self.0.is_null(&bytes[from..to]) { MISSING } else { (from, to) });
                }
                Item::End(_) => return Some(()),
                Item::Short => return None,
            }
        }
    }
}

/// A float as a whole number, if it is one of 64 bits.
fn whole(value: f64) -> Option<(bool, u64)> {
    let magnitude = value.abs();
    (magnitude.fract() == 0.0 && magnitude < 18_446_744_073_709_551_616.0)
        .then_some((value < 0.0, magnitude as u64))
}

impl<T: Tagged> Syntax for TaggedSyntax<T> {
    const TEXT: bool = false;
    const NESTED: bool = true;

    #[inline(always)]
    fn token(&self, bytes: &[u8], start: usize, end: usize) -> Token {
        if is_missing((start, end)) {
            Token::Null
        } else if self.0.scalar(&bytes[start..end]) == Scalar::Pieces {
            Token::Escaped(start, end)
        } else {
            Token::Plain(start, end)
        }
    }

    fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        self.0.join(raw, out).map(|()| 0)
    }

    #[inline(always)]
    fn string(&self, bytes: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
        match self.0.scalar(&bytes[start..end]) {
            Scalar::Text(from, to) | Scalar::Bytes(from, to) => Some((start + from, start + to)),
            _ => None,
        }
    }

    fn spell(&self, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
        text::spell(self.0, value, out)
    }

    fn elements(&self, bytes: &[u8], value: Span, each: &mut impl FnMut(Span)) -> Option<()> {
        let container = self.container(bytes, value).filter(|values| !values.is_map())?;
        self.members_of(container, &bytes[..value.1], &mut |_, value| each(value))
    }

    fn members(&self, bytes: &[u8], value: Span, each: &mut impl FnMut(Option<Span>, Span)) -> Option<()> {
        self.members_of(self.container(bytes, value)?, &bytes[..value.1], each)
    }

    fn key<'a>(&self, bytes: &'a [u8], (from, to): Span) -> Option<Cow<'a, [u8]>> {
        walk::name(self.0, bytes.get(from..to)?)
    }

    fn refusal(&self, value: &[u8]) -> Option<&'static str> {
        self.0.refusal(value)
    }

    fn boolean(&self, value: &[u8]) -> Option<bool> {
        match self.0.scalar(value) {
            Scalar::Bool(value) => Some(value),
            _ => parse::boolean(self.text(value)?),
        }
    }

    #[inline(always)]
    fn integer<I: Integer>(&self, value: &[u8]) -> Option<I> {
        match self.0.scalar(value) {
            Scalar::Unsigned(value) => I::from_parts(false, value),
            Scalar::Negative(below) => I::from_parts(true, below.checked_add(1)?),
            Scalar::Float(value) => {
                let (negative, magnitude) = whole(value)?;
                I::from_parts(negative, magnitude)
            }
            _ => parse::integer(self.text(value)?),
        }
    }

    fn half(&self, value: &[u8]) -> Option<Half> {
        self.float::<f64>(value).map(Half::from_f64)
    }

    #[inline(always)]
    fn float<F: Float>(&self, value: &[u8]) -> Option<F> {
        match self.0.scalar(value) {
            Scalar::Float(value) => Some(F::from_f64(value)),
            Scalar::Unsigned(value) => Some(F::from_f64(value as f64)),
            Scalar::Negative(below) => Some(F::from_f64(-1.0 - below as f64)),
            Scalar::Decimal(..) | Scalar::Other => {
                let mut digits = Vec::new();
                text::number(self.0, value, &mut digits)?;
                parse::float(&digits).filter(|float: &F| !float.is_beyond())
            }
            _ => parse::float(self.text(value)?),
        }
    }

    fn decimal<D: Decimal>(&self, value: &[u8], precision: u8, scale: i8) -> Option<D> {
        let scaled = |digits: &[u8], behind: i64| {
            let text = format!("{}e{}", std::str::from_utf8(digits).ok()?, behind.checked_neg()?);
            parse::decimal(text.as_bytes(), precision, scale)
        };
        let of_whole = |value: &[u8], behind: i64| match self.0.scalar(value) {
            Scalar::Unsigned(value) => scaled(value.to_string().as_bytes(), behind),
            Scalar::Negative(below) => scaled((-1 - i128::from(below)).to_string().as_bytes(), behind),
            _ => {
                let (negative, bytes) = self.0.huge(value)?;
                let digits = decimal_digits(&bytes)?;
                scaled(format!("{}{digits}", if negative { "-" } else { "" }).as_bytes(), behind)
            }
        };
        let read = match self.0.scalar(value) {
            Scalar::Decimal(from, to, behind) => of_whole(value.get(from..to)?, behind),
            Scalar::Float(value) if value.is_finite() => {
                parse::decimal(zmij::Buffer::new().format_finite(value).as_bytes(), precision, scale)
            }
            Scalar::Text(from, to) => parse::decimal(value.get(from..to)?, precision, scale),
            _ => of_whole(value, 0),
        };
        within_precision(read?, precision)
    }

    #[inline(always)]
    fn date(&self, value: &[u8]) -> Option<i32> {
        match self.0.scalar(value) {
            Scalar::Day(day) => i32::try_from(day).ok(),
            Scalar::Moment(seconds, 0) if seconds % 86_400 == 0 => i32::try_from(seconds / 86_400).ok(),
            _ => parse::date(self.text(value)?),
        }
    }

    #[inline(always)]
    fn timestamp(&self, value: &[u8], unit: TimeUnit, zoned: bool) -> Option<i64> {
        let (seconds, nanos) = match self.0.scalar(value) {
            Scalar::Moment(seconds, nanos) => (seconds, i64::from(nanos)),
            Scalar::Day(day) => (day.checked_mul(86_400)?, 0),
            _ => return parse::timestamp(self.text(value)?, unit, zoned),
        };
        let nanos_per_unit = 1_000_000_000 / per_second(unit);
        if nanos % nanos_per_unit != 0 {
            return None;
        }
        let value = i128::from(seconds) * i128::from(per_second(unit)) + i128::from(nanos / nanos_per_unit);
        i64::try_from(value).ok()
    }

    fn time_of_day(&self, value: &[u8], unit: TimeUnit) -> Option<i64> {
        binary::within_day(parse::time_of_day(self.text(value)?, unit)?, unit)
    }
}

/// A number has at most so many bytes where its digits are wanted: to find them takes the square of that.
const MOST_BYTES: usize = 1024;

/// The decimal digits of a number of big endian bytes, of which there are at most 1,024.
pub fn decimal_digits(bytes: &[u8]) -> Option<String> {
    let bytes = &bytes[bytes.iter().position(|&b| b != 0).unwrap_or(bytes.len())..];
    if bytes.len() > MOST_BYTES {
        return None;
    }
    let mut number = bytes.to_vec();
    let mut digits = Vec::new();
    while number.iter().any(|&b| b != 0) {
        let mut rest = 0u32;
        for byte in &mut number {
            let value = rest << 8 | u32::from(*byte);
            *byte = (value / 10) as u8;
            rest = value % 10;
        }
        digits.push(b'0' + rest as u8);
    }
    digits.reverse();
    Some(if digits.is_empty() { "0".into() } else { String::from_utf8_lossy(&digits).into_owned() })
}

/// A number of so many bytes has at most 37 digits.
const WIDE_BYTES: usize = 15;

/// Adds a value that holds no others to what was seen of a column.
pub fn see_flat<T: Tagged>(tagged: T, value: &[u8], shape: &mut Shape) {
    match tagged.scalar(value) {
        Scalar::Decimal(from, to, behind) => match decimal_size(tagged, value.get(from..to), behind) {
            Some(digits) => shape.decimal(digits),
            None => shape.add(Kinds::TEXT.and(Kinds::TYPED)),
        },
        scalar => shape.add(kinds(tagged, value, scalar)),
    }
}

/// The digits of a decimal, of which this is the whole number, with so many digits behind the point. `None` if no
/// decimal column has so many.
fn decimal_size<T: Tagged>(tagged: T, whole: Option<&[u8]>, behind: i64) -> Option<Digits> {
    /// The most that a decimal of any type has.
    const MOST: u32 = 76;
    let mut digits = Vec::new();
    text::number(tagged, whole?, &mut digits)?;
    let digits = digits.strip_prefix(b"-").unwrap_or(&digits);
    let count = if digits == b"0" { 0 } else { u32::try_from(digits.len()).ok()? };
    let scale = u32::try_from(behind.max(0)).ok().filter(|&scale| scale <= MOST)?;
    let zeros = u32::try_from((-behind).max(0)).ok().filter(|&zeros| zeros <= MOST)?;
    let whole = if count == 0 { 0 } else { (count + zeros).saturating_sub(scale) };
    (whole + scale <= MOST).then_some(Digits { whole, scale })
}

/// The kinds of a value, for inferring a column's type.
fn kinds<T: Tagged>(tagged: T, value: &[u8], scalar: Scalar) -> Kinds {
    match scalar {
        // Whether it is taken as text or as bytes, nothing of it is lost.
        Scalar::Text(from, to) => Kinds::of_string(value.get(from..to).unwrap_or_default()),
        Scalar::Bytes(..) => Kinds::BYTES,
        Scalar::Pieces => pieces(tagged, value),
        other => Kinds::TYPED.and(of_other(tagged, value, other)),
    }
}

/// The kinds of a text or of bytes in pieces.
fn pieces<T: Tagged>(tagged: T, value: &[u8]) -> Kinds {
    let mut joined = Vec::new();
    match tagged.join(value, &mut joined).map(|()| tagged.scalar(&joined)) {
        Some(scalar @ (Scalar::Text(..) | Scalar::Bytes(..))) => kinds(tagged, &joined, scalar),
        _ => Kinds::TEXT,
    }
}

fn of_other<T: Tagged>(tagged: T, value: &[u8], scalar: Scalar) -> Kinds {
    match scalar {
        Scalar::Bool(_) => Kinds::BOOL,
        Scalar::Unsigned(value) if i64::try_from(value).is_ok() => Kinds::INT,
        Scalar::Unsigned(_) => Kinds::UINT,
        Scalar::Negative(below) if i64::try_from(below).is_ok() => Kinds::INT.and(Kinds::NEGATIVE),
        Scalar::Negative(_) => Kinds::WIDE.and(Kinds::NEGATIVE),
        Scalar::Float(_) => Kinds::FLOAT,
        Scalar::Day(_) => Kinds::DATE,
        // Microseconds hold it.
        Scalar::Moment(seconds, nanos) if seconds.unsigned_abs() < i64::MAX as u64 / 1_000_000 => {
            Kinds::ZONED.and(Kinds::of_moment(seconds, nanos % 1000 != 0))
        }
        Scalar::Other => match tagged.huge(value) {
            Some((_, bytes)) if bytes.len() <= WIDE_BYTES => Kinds::WIDE,
            _ => Kinds::TEXT,
        },
        _ => Kinds::TEXT,
    }
}
