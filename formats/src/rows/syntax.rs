//! How an encoding writes values: what a field holds, and which value its bytes are.

use std::borrow::Cow;

use arrow_schema::{DataType, TimeUnit};

use super::parse::{self, Decimal, Float, Half, Integer};
use super::walk::{Span, is_missing};

/// What lies between the borders of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// No value.
    Null,
    /// The value is these bytes as they stand.
    Plain(usize, usize),
    /// The value is these bytes after [`Syntax::unescape`].
    Escaped(usize, usize),
    /// An empty string, which is no value for types other than strings.
    Empty,
    /// The quoting is broken.
    Broken,
}

/// How an encoding writes values into fields. Unless it says otherwise, values are text.
///
/// The functions on values take the bytes of a [`Token::Plain`], or rewritten ones, and give `None` if they are no
/// value of the type.
pub trait Syntax: Copy {
    /// Whether records are text: then spaces around values other than strings do not count.
    const TEXT: bool = true;

    /// Whether values may hold values: lists, structs and maps.
    const NESTED: bool = false;

    /// Whether texts must be UTF-8; else what is not is read as U+FFFD and counted.
    const UTF8: bool = false;

    /// What the field `start..end` holds; both are within `bytes`. If nothing else is said, that is the value as it
    /// stands, and no value where the field is [missing](super::walk::missing).
    #[inline(always)]
    fn token(&self, _: &[u8], start: usize, end: usize) -> Token {
        if is_missing((start, end)) { Token::Null } else { Token::Plain(start, end) }
    }

    /// Rewrites the bytes of a [`Token::Escaped`]. Gives the number of sequences replaced by U+FFFD, or `None` if an
    /// escape is broken. An encoding without escapes has none.
    fn unescape(&self, _raw: &[u8], _out: &mut Vec<u8>) -> Option<u64> {
        None
    }

    /// Where the bytes of a string lie within those of a value; `None` if it is no string. Text is a string as it
    /// stands.
    fn string(&self, bytes: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
        let _ = bytes;
        Some((start, end))
    }

    /// Appends the bytes that a string stands for, where they are others than its own.
    fn bytes(&self, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
        if Self::TEXT { parse::hex(value, out) } else { None }
    }

    /// Appends the text of a value that is no string, for columns of strings.
    fn spell(&self, _value: &[u8], _out: &mut Vec<u8>) -> Option<()> {
        None
    }

    /// Tells `each` where the elements of a list lie, one after the other; [`MISSING`](super::walk::MISSING) for one
    /// that is no value. `None` if the value is no list.
    fn elements(&self, _bytes: &[u8], _value: Span, _each: &mut impl FnMut(Span)) -> Option<()> {
        None
    }

    /// The same of a map or struct, whose values have keys; a struct may come without them, in the order of its fields.
    fn members(&self, _bytes: &[u8], _value: Span, _each: &mut impl FnMut(Option<Span>, Span)) -> Option<()> {
        None
    }

    /// The bytes of a key that is a string, as they stand.
    fn key<'a>(&self, bytes: &'a [u8], (from, to): Span) -> Option<Cow<'a, [u8]>> {
        bytes.get(from..to).map(Cow::Borrowed)
    }

    /// Why a value can't be read, whatever the type of its column is; `None` if it can.
    fn refusal(&self, _value: &[u8]) -> Option<&'static str> {
        None
    }

    /// What would read a value that is none of its column's type, which was inferred from examples.
    fn cure(&self, _value: &[u8], _data_type: &DataType) -> Option<&'static str> {
        None
    }

    /// The name that the bytes of a key spell.
    fn name(&self, key: &[u8]) -> Option<Vec<u8>> {
        Some(key.to_vec())
    }

    /// A boolean.
    fn boolean(&self, value: &[u8]) -> Option<bool> {
        parse::boolean(value)
    }

    /// Whether a number is only what a number is printed as: types were inferred from examples, and `007` is a code.
    #[inline(always)]
    fn takes_printed(&self) -> bool {
        false
    }

    /// A whole number.
    #[inline(always)]
    fn integer<T: Integer>(&self, value: &[u8]) -> Option<T> {
        if self.takes_printed() && !parse::is_printed(value) { None } else { parse::integer(value) }
    }

    /// A float of 16 bits.
    fn half(&self, value: &[u8]) -> Option<Half> {
        parse::half(value)
    }

    /// A float of 32 or 64 bits.
    #[inline(always)]
    fn float<T: Float>(&self, value: &[u8]) -> Option<T> {
        if self.takes_printed() { parse::printed_float(value) } else { parse::float(value) }
    }

    /// A decimal, as the value times 10^`scale`.
    fn decimal<T: Decimal>(&self, value: &[u8], precision: u8, scale: i8) -> Option<T> {
        match self.takes_printed() && !parse::is_printed(value) {
            true => None,
            false => parse::decimal(value, precision, scale),
        }
    }

    /// Days since 1970-01-01.
    #[inline(always)]
    fn date(&self, value: &[u8]) -> Option<i32> {
        parse::date(value)
    }

    /// Units since 1970-01-01T00:00:00; of an instant, where it is `zoned`, in UTC. An offset in the text of another
    /// timestamp says nothing.
    #[inline(always)]
    fn timestamp(&self, value: &[u8], unit: TimeUnit, zoned: bool) -> Option<i64> {
        parse::timestamp(value, unit, zoned)
    }

    /// Units since midnight.
    fn time_of_day(&self, value: &[u8], unit: TimeUnit) -> Option<i64> {
        parse::time_of_day(value, unit)
    }
}
