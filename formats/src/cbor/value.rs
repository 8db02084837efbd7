//! The bytes of CBOR values (RFC 8949, section 3).

use crate::columns::uuid;
use crate::rows::parse::{self, Half};
use crate::rows::tagged::{Container, End, Scalar, Tagged};

/// The major types, the upper three bits of a value's first byte.
pub mod major {
    /// A whole number from 0 on.
    pub const UNSIGNED: u8 = 0;
    /// -1 less a whole number.
    pub const NEGATIVE: u8 = 1;
    /// Bytes.
    pub const BYTES: u8 = 2;
    /// UTF-8.
    pub const TEXT: u8 = 3;
    /// Values.
    pub const ARRAY: u8 = 4;
    /// Keys and values.
    pub const MAP: u8 = 5;
    /// What the value behind it means.
    pub const TAG: u8 = 6;
    /// Simple values, floats and the break.
    pub const OTHER: u8 = 7;
}

/// Tags.
pub mod tag {
    /// A date and time as text (RFC 3339).
    pub const DATE_TIME: u64 = 0;
    /// Seconds since 1970.
    pub const EPOCH: u64 = 1;
    /// A whole number of any size.
    pub const HUGE: u64 = 2;
    /// -1 less a whole number of any size.
    pub const NEGATIVE_HUGE: u64 = 3;
    /// An array of an exponent of ten and a mantissa.
    pub const DECIMAL: u64 = 4;
    /// An array of an exponent of two and a mantissa.
    pub const BINARY: u64 = 5;
    /// A text that was written before, by its number.
    pub const TEXT_BEFORE: u64 = 25;
    /// A value that was marked before, by its number.
    pub const VALUE_BEFORE: u64 = 29;
    /// A UUID as its 16 bytes.
    pub const UUID: u64 = 37;
    /// [`DECIMAL`] with an exponent of any size.
    pub const LONG_DECIMAL: u64 = 264;
    /// [`BINARY`] with an exponent of any size.
    pub const LONG_BINARY: u64 = 265;
    /// Days since 1970-01-01 (RFC 8943).
    pub const DAYS: u64 = 100;
    /// A date as text (RFC 8943).
    pub const DATE: u64 = 1004;
}

/// The end of a container or text whose length is not told.
pub const BREAK: u8 = 0xff;

/// A value's first byte and the number behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    major: u8,
    /// The lower five bits of the first byte.
    info: u8,
    /// The number; `None` where a break ends the value.
    number: Option<u64>,
    /// The bytes of the head.
    len: usize,
}

/// The head that bytes begin with: `Ok(None)` if it is not all there, an error if it is none.
#[inline(always)]
fn head(bytes: &[u8]) -> Result<Option<Head>, ()> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    let (major, info) = (first >> 5, first & 31);
    let width = match info {
        0..24 => return Ok(Some(Head { major, info, number: Some(u64::from(info)), len: 1 })),
        24..28 => 1 << (info - 24),
        31 if matches!(major, major::BYTES..=major::MAP | major::OTHER) => {
            return Ok(Some(Head { major, info, number: None, len: 1 }));
        }
        _ => return Err(()),
    };
    let Some(bytes) = bytes.get(1..1 + width) else { return Ok(None) };
    let number = bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    Ok(Some(Head { major, info, number: Some(number), len: 1 + width }))
}

fn whole_head(bytes: &[u8]) -> Option<Head> {
    head(bytes).ok().flatten()
}

/// The values of CBOR.
#[derive(Debug, Clone, Copy)]
pub struct Cbor;

/// How deep containers without a count may be nested; each takes a place on a list of what is open.
const MAX_OPEN: usize = 1024;

impl Tagged for Cbor {
    const NAME: &'static str = "CBOR";

    #[inline]
    fn end(self, bytes: &[u8], at: usize) -> End {
        // How many values are still to come, innermost last; `None` until a break.
        let mut open: Vec<Option<u64>> = Vec::new();
        let (mut at, mut pending) = (at, Some(1u64));
        loop {
            while pending == Some(0) {
                match open.pop() {
                    None => return End::At(at),
                    Some(outer) => pending = outer,
                }
            }
            let head = match head(&bytes[at.min(bytes.len())..]) {
                Ok(Some(head)) => head,
                Ok(None) => return End::Beyond,
                Err(()) => return End::NoValue,
            };
            if head.major == major::OTHER && head.number.is_none() {
                if pending.is_some() {
                    return End::NoValue;
                }
                (at, pending) = (at + 1, Some(0));
                continue;
            }
            pending = pending.map(|pending| pending - 1);
            let inside = match (head.major, head.number) {
                (major::BYTES | major::TEXT, Some(len)) => {
                    let end = usize::try_from(len).ok().and_then(|len| (at + head.len).checked_add(len));
                    at = match end {
                        Some(end) if end <= bytes.len() => end,
                        _ => return End::Beyond,
                    };
                    continue;
                }
                (major::ARRAY, Some(count)) => Some(count),
                (major::MAP, Some(count)) => Some(count.saturating_mul(2)),
                (major::TAG, _) => Some(1),
                (major::BYTES..=major::MAP, None) => None,
                _ => {
                    at += head.len;
                    continue;
                }
            };
            at += head.len;
            // A value that has one value in it, or that ends one, needs no place on the list.
            match (pending, inside) {
                (Some(pending_now), Some(inside)) => pending = Some(pending_now.saturating_add(inside)),
                (Some(0), inside) => pending = inside,
                (outer, inside) => {
                    if open.len() == MAX_OPEN {
                        return End::NoValue;
                    }
                    open.push(outer);
                    pending = inside;
                }
            }
        }
    }

    fn container(self, bytes: &[u8]) -> Option<Container> {
        let head = whole_head(bytes)?;
        let map = match head.major {
            major::ARRAY => false,
            major::MAP => true,
            _ => return None,
        };
        Some(Container { map, count: head.number, from: head.len })
    }

    fn behind_tags(self, value: &[u8]) -> usize {
        let mut at = 0;
        while let Some(head) = value.get(at..).and_then(whole_head)
            && head.major == major::TAG
            && head.number.is_some_and(|tag| !has_meaning(tag))
        {
            at += head.len;
        }
        at
    }

    #[inline(always)]
    fn is_null(self, value: &[u8]) -> bool {
        // `null` and `undefined`.
        matches!(value, [0xf6 | 0xf7])
    }

    fn after_break(self, bytes: &[u8]) -> Option<usize> {
        (bytes.first() == Some(&BREAK)).then_some(1)
    }

    #[inline(always)]
    fn scalar(self, bytes: &[u8]) -> Scalar {
        let Some(head) = whole_head(bytes) else { return Scalar::Other };
        match (head.major, head.number) {
            (major::UNSIGNED, Some(value)) => Scalar::Unsigned(value),
            (major::NEGATIVE, Some(below)) => Scalar::Negative(below),
            (major::BYTES, Some(_)) => Scalar::Bytes(head.len, bytes.len()),
            (major::TEXT, Some(_)) => Scalar::Text(head.len, bytes.len()),
            (major::BYTES | major::TEXT, None) => Scalar::Pieces,
            (major::TAG, Some(tag)) => tagged(tag, head.len, bytes).unwrap_or(Scalar::Other),
            (major::OTHER, Some(bits)) => match head.info {
                20 => Scalar::Bool(false),
                21 => Scalar::Bool(true),
                25 => Scalar::Float(Half::from_bits(bits as u16).to_f64()),
                26 => Scalar::Float(f64::from(f32::from_bits(bits as u32))),
                27 => Scalar::Float(f64::from_bits(bits)),
                _ => Scalar::Other,
            },
            _ => Scalar::Other,
        }
    }

    fn huge(self, value: &[u8]) -> Option<(bool, Vec<u8>)> {
        let outer = whole_head(value)?;
        let negative = match (outer.major, outer.number?) {
            (major::TAG, tag::HUGE) => false,
            (major::TAG, tag::NEGATIVE_HUGE) => true,
            _ => return None,
        };
        let payload = value.get(outer.len..)?;
        let inner = whole_head(payload).filter(|head| head.major == major::BYTES && head.number.is_some())?;
        let mut bytes = payload.get(inner.len..)?.to_vec();
        if negative {
            // -1 less n has the magnitude n + 1.
            bytes.insert(0, 0);
            for byte in bytes.iter_mut().rev() {
                *byte = byte.wrapping_add(1);
                if *byte != 0 {
                    break;
                }
            }
        }
        Some((negative, bytes))
    }

    fn spell_other(self, value: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        if let Some(bytes) = uuid_of(value) {
            let mut text = String::with_capacity(36);
            uuid::spell(bytes, &mut text);
            out.extend_from_slice(text.as_bytes());
            return Some(false);
        }
        let head = whole_head(value).filter(|head| head.major == major::OTHER && head.info <= 24)?;
        out.extend_from_slice(format!("simple({})", head.number?).as_bytes());
        Some(false)
    }

    fn refusal(self, value: &[u8]) -> Option<&'static str> {
        Some(match without_meaning(value)? {
            tag::TEXT_BEFORE => {
                "this refers to a text that stands before it (CBOR's tag 25), which is not read; write the file \
                 without string references"
            }
            tag::VALUE_BEFORE => {
                "this refers to a value that stands before it (CBOR's tag 29), which is not read; write the file \
                 without shared values"
            }
            _ => "this is a number of base 2 (CBOR's tag 5) that no float of 64 bits is exactly",
        })
    }

    fn join(self, value: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let value = value.get(self.behind_tags(value)..)?;
        let kind = whole_head(value)?.major;
        let mut text = Vec::new();
        let mut at = 1;
        while *value.get(at)? != BREAK {
            let piece = whole_head(&value[at..]).filter(|piece| piece.major == kind)?;
            let from = at + piece.len;
            at = from.checked_add(usize::try_from(piece.number?).ok()?)?;
            text.extend_from_slice(value.get(from..at)?);
        }
        put_head(kind, text.len() as u64, out);
        out.extend_from_slice(&text);
        Some(())
    }
}

/// Whether a tag makes another value of the one behind it.
fn has_meaning(tag: u64) -> bool {
    let number = matches!(tag, tag::HUGE..=tag::BINARY | tag::LONG_DECIMAL | tag::LONG_BINARY);
    let moment = matches!(tag, tag::DATE_TIME | tag::EPOCH | tag::DAYS | tag::DATE);
    number || moment || matches!(tag, tag::TEXT_BEFORE | tag::VALUE_BEFORE | tag::UUID)
}

/// The bytes of a UUID.
fn uuid_of(value: &[u8]) -> Option<&[u8]> {
    let outer =
        whole_head(value).filter(|head| (head.major, head.number) == (major::TAG, Some(tag::UUID)))?;
    let inner = value.get(outer.len..)?;
    let head = whole_head(inner).filter(|head| (head.major, head.number) == (major::BYTES, Some(16)))?;
    inner.get(head.len..)
}

/// What tags make of the value behind them. Those that are not known do not change what it is. Behind a known one there
/// can be no other such. So tags are gone over, and not into, however many there are.
fn tagged(tag: u64, from: usize, bytes: &[u8]) -> Option<Scalar> {
    if !has_meaning(tag) {
        return behind_others(bytes);
    }
    match tag {
        tag::DECIMAL | tag::LONG_DECIMAL => return decimal(from, bytes),
        tag::BINARY | tag::LONG_BINARY => return binary(from, bytes),
        tag::UUID => return Some(Scalar::Other),
        _ => {}
    }
    let mut inner = bytes.get(from..)?;
    let mut begin = from;
    if is_tag(inner) {
        begin += Cbor.behind_tags(inner);
        inner = bytes.get(begin..).filter(|inner| !is_tag(inner))?;
    }
    let scalar = Cbor.scalar(inner);
    let moment = moment(tag, scalar, inner);
    match (tag, scalar) {
        // What is no date or time all the same is what it is without the tag.
        (tag::DATE_TIME | tag::DATE, Scalar::Text(a, b)) => {
            Some(moment.unwrap_or(Scalar::Text(begin + a, begin + b)))
        }
        (tag::EPOCH, Scalar::Float(_)) => Some(moment.unwrap_or(scalar)),
        _ => moment,
    }
}

/// What a value is that is tagged as a date or time.
fn moment(tag: u64, scalar: Scalar, inner: &[u8]) -> Option<Scalar> {
    match (tag, scalar) {
        (tag::DATE_TIME, Scalar::Text(a, b)) => {
            let at = parse::instant(inner.get(a..b)?)?;
            let seconds = at.days.checked_mul(86_400)?.checked_add(at.seconds - at.offset?)?;
            Some(Scalar::Moment(seconds, u32::try_from(at.nanos).ok()?))
        }
        (tag::EPOCH, Scalar::Unsigned(seconds)) => Some(Scalar::Moment(i64::try_from(seconds).ok()?, 0)),
        (tag::EPOCH, Scalar::Negative(below)) => Some(Scalar::Moment(-1 - i64::try_from(below).ok()?, 0)),
        (tag::EPOCH, Scalar::Float(seconds)) => {
            let whole = seconds.floor();
            // A float of today's seconds has microseconds.
            let micros = ((seconds - whole) * 1e6).round() as i64;
            let moment = whole as i64 + micros / 1_000_000;
            (whole.abs() < 9e15).then_some(Scalar::Moment(moment, (micros % 1_000_000) as u32 * 1000))
        }
        (tag::DAYS, Scalar::Unsigned(days)) => Some(Scalar::Day(i64::try_from(days).ok()?)),
        (tag::DAYS, Scalar::Negative(below)) => Some(Scalar::Day(-1 - i64::try_from(below).ok()?)),
        (tag::DATE, Scalar::Text(a, b)) => Some(Scalar::Day(i64::from(parse::date(inner.get(a..b)?)?))),
        _ => None,
    }
}

/// Whether a value begins with a tag.
#[inline(always)]
fn is_tag(value: &[u8]) -> bool {
    value.first().is_some_and(|first| first >> 5 == major::TAG)
}

/// What lies behind tags of which the first is not known.
#[cold]
fn behind_others(bytes: &[u8]) -> Option<Scalar> {
    let from = Cbor.behind_tags(bytes);
    let value = bytes.get(from..)?;
    // Tags that are known come last here, so that this goes in once.
    Some(match Cbor.scalar(value) {
        Scalar::Text(a, b) => Scalar::Text(from + a, from + b),
        Scalar::Bytes(a, b) => Scalar::Bytes(from + a, from + b),
        Scalar::Decimal(a, b, behind) => Scalar::Decimal(from + a, from + b, behind),
        other => other,
    })
}

/// `[exponent, mantissa]` behind its tag.
fn decimal(from: usize, bytes: &[u8]) -> Option<Scalar> {
    let Pair { exponent, from, to } = pair(from, bytes)?;
    Some(Scalar::Decimal(from, to, exponent.checked_neg()?))
}

/// The same of base 2: a float, if it is one exactly.
#[cold]
fn binary(from: usize, bytes: &[u8]) -> Option<Scalar> {
    let Pair { exponent, from, to } = pair(from, bytes)?;
    let mantissa = bytes.get(from..to)?;
    let (negative, magnitude) = match Cbor.scalar(mantissa) {
        Scalar::Unsigned(value) => (false, u128::from(value)),
        Scalar::Negative(below) => (true, u128::from(below) + 1),
        _ => {
            let (negative, huge) = Cbor.huge(mantissa)?;
            let digits = huge.iter().skip_while(|&&byte| byte == 0);
            if digits.clone().count() > size_of::<u128>() {
                return None;
            }
            (negative, digits.fold(0, |sum, &byte| sum << 8 | u128::from(byte)))
        }
    };
    if magnitude == 0 {
        let zero = matches!(Cbor.scalar(mantissa), Scalar::Unsigned(0));
        return zero.then_some(Scalar::Float(0.0));
    }
    let zeros = magnitude.trailing_zeros();
    let odd = magnitude >> zeros;
    let exponent = i32::try_from(exponent.checked_add(i64::from(zeros))?).ok()?;
    // Powers of two in this range are floats, and so is an odd number of at most 53 bits times one of them.
    let fits = odd < 1 << 53 && (-1022..=960).contains(&exponent);
    if !fits {
        return None;
    }
    let value = odd as f64 * 2f64.powi(exponent);
    Some(Scalar::Float(if negative { -value } else { value }))
}

/// An exponent, and where its mantissa lies, which is a whole number.
struct Pair {
    exponent: i64,
    from: usize,
    to: usize,
}

/// `[exponent, mantissa]` at a place.
fn pair(from: usize, bytes: &[u8]) -> Option<Pair> {
    let pair = bytes.get(from..)?;
    let container = Cbor.container(pair).filter(|pair| !pair.map && pair.count == Some(2))?;
    // Both are whole numbers, so that no decimal is looked for in another.
    let exponent = whole_head(pair.get(container.from..)?)?;
    let mantissa = container.from + exponent.len;
    let of_digits = whole_head(pair.get(mantissa..)?)?;
    match (of_digits.major, of_digits.number?) {
        (major::UNSIGNED | major::NEGATIVE, _) | (major::TAG, tag::HUGE | tag::NEGATIVE_HUGE) => {}
        _ => return None,
    }
    let End::At(end) = Cbor.end(pair, mantissa) else { return None };
    let exponent = match (exponent.major, exponent.number?) {
        (major::UNSIGNED, exponent) => i64::try_from(exponent).ok()?,
        (major::NEGATIVE, below) => -1 - i64::try_from(below).ok()?,
        _ => return None,
    };
    Some(Pair { exponent, from: from + mantissa, to: from + end })
}

/// The first tag in a value, however deep, of which no value is made; its own tags included.
#[cold]
fn without_meaning(bytes: &[u8]) -> Option<u64> {
    let mut at = 0;
    while let Some(head) = bytes.get(at..).and_then(whole_head) {
        match (head.major, head.number) {
            (major::TAG, Some(tag @ (tag::TEXT_BEFORE | tag::VALUE_BEFORE))) => return Some(tag),
            (major::TAG, Some(tag @ (tag::BINARY | tag::LONG_BINARY)))
                if binary(head.len, &bytes[at..]).is_none() =>
            {
                return Some(tag);
            }
            (major::BYTES | major::TEXT, Some(len)) => {
                at = at.checked_add(head.len)?.checked_add(usize::try_from(len).ok()?)?;
            }
            _ => at += head.len,
        }
    }
    None
}

/// Appends a head with the number in the fewest bytes.
pub fn put_head(major: u8, number: u64, out: &mut Vec<u8>) {
    let major = major << 5;
    match number {
        0..24 => out.push(major | number as u8),
        24..0x100 => out.extend_from_slice(&[major | 24, number as u8]),
        0x100..0x1_0000 => {
            out.push(major | 25);
            out.extend_from_slice(&(number as u16).to_be_bytes());
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(major | 26);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(major | 27);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}
