//! Any value as text, for columns of strings: what JSON lines would have in its place.

use arrow_schema::TimeUnit;

use super::walk::{Item, Values};
use super::{Scalar, Tagged, decimal_digits};
use crate::rows::json_strings::string;
use crate::rows::parse::per_second;
use crate::rows::print::{date, hex, not_finite, point, timestamp};

/// Values nested deeper than this have no text.
const MAX_DEPTH: usize = 128;

/// The most digits of a decimal behind its point, and zeros before it, that are written without an exponent.
const MAX_SCALE: i64 = 76;

/// Appends the text of a value: JSON of a list or map, of others their text as it is.
pub fn spell<T: Tagged>(tagged: T, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let value = value.get(tagged.behind_tags(value)..)?;
    match tagged.container(value) {
        Some(_) => json(tagged, value, 1, out),
        None => scalar(tagged, value, out).map(|_| ()),
    }
}

/// The text of a key that is none: what JSON has in its place, where keys are text.
pub fn spelled<T: Tagged>(tagged: T, key: &[u8]) -> Option<Vec<u8>> {
    let key = key.get(tagged.behind_tags(key)..)?;
    let mut out = Vec::new();
    match tagged.container(key) {
        Some(_) => json(tagged, key, 1, &mut out)?,
        None if tagged.is_null(key) => out.extend_from_slice(b"null"),
        None => scalar(tagged, key, &mut out).map(|_| ())?,
    }
    Some(out)
}

/// Appends a whole number or a decimal of any size, in a form that numbers are read in.
pub fn number<T: Tagged>(tagged: T, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match tagged.scalar(value) {
        Scalar::Unsigned(_) | Scalar::Negative(_) => scalar(tagged, value, out).map(|_| ()),
        Scalar::Decimal(from, to, behind) => {
            number(tagged, value.get(from..to)?, out)?;
            exponent(behind, out)
        }
        Scalar::Other => huge(tagged, value, out),
        _ => None,
    }
}

/// Appends the exponent of a number that has so many digits behind its point.
fn exponent(behind: i64, out: &mut Vec<u8>) -> Option<()> {
    out.push(b'e');
    out.extend_from_slice(itoa::Buffer::new().format(behind.checked_neg()?).as_bytes());
    Some(())
}

/// Appends a whole number of more than 64 bits.
fn huge<T: Tagged>(tagged: T, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (negative, bytes) = tagged.huge(value)?;
    let digits = decimal_digits(&bytes)?;
    out.extend_from_slice(if negative { b"-" } else { b"" });
    out.extend_from_slice(digits.as_bytes());
    Some(())
}

/// Appends a value as JSON.
fn json<T: Tagged>(tagged: T, value: &[u8], depth: usize, out: &mut Vec<u8>) -> Option<()> {
    let value = value.get(tagged.behind_tags(value)..)?;
    if tagged.is_null(value) {
        out.extend_from_slice(b"null");
        return Some(());
    }
    let Some(mut values) = Values::of(tagged, value, 0) else {
        return quoted(tagged, value, false, out);
    };
    if depth > MAX_DEPTH {
        return None;
    }
    out.push(if values.is_map() { b'{' } else { b'[' });
    loop {
        let first = values.passed == 0;
        match values.next(value).ok()? {
            Item::Value(key, (from, to)) => {
                out.extend_from_slice(if first { b"" } else { b"," });
                if let Some((from, to)) = key {
                    quoted(tagged, value.get(from..to)?, true, out)?;
                    out.push(b':');
                }
                json(tagged, value.get(from..to)?, depth + 1, out)?;
            }
            Item::End(_) => break,
            Item::Short => return None,
        }
    }
    out.push(if values.is_map() { b'}' } else { b']' });
    Some(())
}

/// Appends a value that holds no others, in quotes unless it is a number or a boolean, and is no key.
fn quoted<T: Tagged>(tagged: T, value: &[u8], key: bool, out: &mut Vec<u8>) -> Option<()> {
    let from = out.len();
    let bare = scalar(tagged, value, out)?;
    if key || !bare {
        let text = out.split_off(from);
        string(&text, out);
    }
    Some(())
}

/// Appends the text of a value that holds no others, and tells whether it stands without quotes in JSON.
fn scalar<T: Tagged>(tagged: T, value: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    match tagged.scalar(value) {
        Scalar::Bool(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
        Scalar::Unsigned(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Scalar::Negative(below) => {
            out.extend_from_slice(itoa::Buffer::new().format(-1 - i128::from(below)).as_bytes());
        }
        Scalar::Float(number) if number.is_finite() => {
            out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
        }
        Scalar::Decimal(from, to, behind) => {
            let mut digits = Vec::new();
            scalar(tagged, value.get(from..to)?, &mut digits)?;
            let scale =
                i8::try_from(behind).ok().filter(|scale| i64::from(scale.unsigned_abs()) <= MAX_SCALE);
            let Some(scale) = scale else {
                out.extend_from_slice(&digits);
                exponent(behind, out)?;
                return Some(true);
            };
            let unsigned = digits.strip_prefix(b"-");
            point(unsigned.is_some(), unsigned.unwrap_or(&digits), scale, out);
        }
        Scalar::Other => {
            if huge(tagged, value, out).is_none() {
                return tagged.spell_other(value, out);
            }
        }
        other => {
            text(tagged, value, other, out)?;
            return Some(false);
        }
    }
    Some(true)
}

/// Appends the text of a value that stands in quotes in JSON.
fn text<T: Tagged>(tagged: T, value: &[u8], scalar: Scalar, out: &mut Vec<u8>) -> Option<()> {
    match scalar {
        Scalar::Text(from, to) => out.extend_from_slice(value.get(from..to)?),
        Scalar::Bytes(from, to) => hex(value.get(from..to)?, out),
        Scalar::Pieces => {
            let mut joined = Vec::new();
            tagged.join(value, &mut joined)?;
            return text(tagged, &joined, tagged.scalar(&joined), out);
        }
        Scalar::Float(number) => out.extend_from_slice(not_finite(number)),
        Scalar::Day(days) => date(i64::from(i32::try_from(days).ok()?), out),
        Scalar::Moment(seconds, nanos) => {
            let unit = match nanos {
                0 => TimeUnit::Second,
                _ if nanos % 1_000_000 == 0 => TimeUnit::Millisecond,
                _ if nanos % 1000 == 0 => TimeUnit::Microsecond,
                _ => TimeUnit::Nanosecond,
            };
            let part = i64::from(nanos) / (1_000_000_000 / per_second(unit));
            timestamp(seconds.checked_mul(per_second(unit))?.checked_add(part)?, unit, true, out);
        }
        _ => return None,
    }
    Some(())
}
