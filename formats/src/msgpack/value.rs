//! The bytes of MessagePack values (https://github.com/msgpack/msgpack/blob/master/spec.md).

use crate::rows::print::hex;
use crate::rows::tagged::{Container, End, Scalar, Tagged};

/// What a value begins with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Head {
    /// No value.
    Nil,
    /// A value that its first byte is all of, or a number behind it.
    Scalar(Scalar),
    /// UTF-8.
    Text,
    /// Bytes.
    Bytes,
    /// An array of so many values.
    Array(u64),
    /// A map of so many keys with their values.
    Map(u64),
    /// Bytes of a kind that the number tells.
    Extension(i8),
}

/// A value's head, where its payload begins and how long that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Its kind.
    pub head: Head,
    /// The place of its payload, from the value's first byte.
    pub from: usize,
    /// The bytes of its payload; those of the values in it are not counted.
    pub len: usize,
}

/// The byte that no value begins with.
pub const NEVER_USED: u8 = 0xc1;

/// The kind of timestamps.
pub const TIMESTAMP: i8 = -1;

fn big(bytes: &[u8], from: usize, width: usize) -> Option<u64> {
    let mut value = 0;
    for &byte in bytes.get(from..from + width)? {
        value = value << 8 | u64::from(byte);
    }
    Some(value)
}

/// The value that bytes begin with; `None` if its head is not all there, or if it is none ([`NEVER_USED`]).
#[inline(always)]
pub fn value(bytes: &[u8]) -> Option<Value> {
    let first = *bytes.first()?;
    let plain = |scalar: Scalar| Some(Value { head: Head::Scalar(scalar), from: 1, len: 0 });
    let number = |width: usize, scalar: fn(u64) -> Scalar| {
        let scalar = scalar(big(bytes, 1, width)?);
        Some(Value { head: Head::Scalar(scalar), from: 1 + width, len: 0 })
    };
    let sized = |head: Head, width: usize| {
        let len = usize::try_from(big(bytes, 1, width)?).ok()?;
        Some(Value { head, from: 1 + width, len })
    };
    let several = |head: fn(u64) -> Head, width: usize| {
        Some(Value { head: head(big(bytes, 1, width)?), from: 1 + width, len: 0 })
    };
    let extension = |width: usize, fixed: usize| {
        let len = if width == 0 { fixed } else { usize::try_from(big(bytes, 1, width)?).ok()? };
        let kind = *bytes.get(1 + width)? as i8;
        Some(Value { head: Head::Extension(kind), from: 2 + width, len })
    };
    let low = |bits: u32| usize::from(first & ((1 << bits) - 1));
    match first {
        0x00..=0x7f => plain(Scalar::Unsigned(u64::from(first))),
        0x80..=0x8f => Some(Value { head: Head::Map(low(4) as u64), from: 1, len: 0 }),
        0x90..=0x9f => Some(Value { head: Head::Array(low(4) as u64), from: 1, len: 0 }),
        0xa0..=0xbf => Some(Value { head: Head::Text, from: 1, len: low(5) }),
        0xc0 => Some(Value { head: Head::Nil, from: 1, len: 0 }),
        NEVER_USED => None,
        0xc2 => plain(Scalar::Bool(false)),
        0xc3 => plain(Scalar::Bool(true)),
        0xc4..=0xc6 => sized(Head::Bytes, 1 << (first - 0xc4)),
        0xc7..=0xc9 => extension(1 << (first - 0xc7), 0),
        0xca => number(4, |v| Scalar::Float(f64::from(f32::from_bits(v as u32)))),
        0xcb => number(8, |v| Scalar::Float(f64::from_bits(v))),
        0xcc..=0xcf => number(1 << (first - 0xcc), Scalar::Unsigned),
        0xd0 => number(1, |v| signed(i64::from(v as u8 as i8))),
        0xd1 => number(2, |v| signed(i64::from(v as u16 as i16))),
        0xd2 => number(4, |v| signed(i64::from(v as u32 as i32))),
        0xd3 => number(8, |v| signed(v as i64)),
        0xd4..=0xd8 => extension(0, 1 << (first - 0xd4)),
        0xd9..=0xdb => sized(Head::Text, 1 << (first - 0xd9)),
        0xdc | 0xdd => several(Head::Array, 2 << (first - 0xdc)),
        0xde | 0xdf => several(Head::Map, 2 << (first - 0xde)),
        0xe0..=0xff => plain(signed(i64::from(first as i8))),
    }
}

fn signed(value: i64) -> Scalar {
    if value < 0 { Scalar::Negative(!value as u64) } else { Scalar::Unsigned(value as u64) }
}

/// The first byte of a text of at most 255 bytes, whose length follows.
const SHORT_TEXT: u8 = 0xd9;

/// The bytes of a value that its first byte alone tells, that byte included; 0 where it takes more.
const LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut first = 0;
    while first < 256 {
        lengths[first] = match first as u8 {
            0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => 1,
            0xa0..=0xbf => 1 + (first as u8 & 31),
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 => 3,
            0xca | 0xce | 0xd2 => 5,
            0xcb | 0xcf | 0xd3 => 9,
            _ => 0,
        };
        first += 1;
    }
    lengths
};

/// Where a value ends that may hold others. They are counted, not recursed into, so that depth costs nothing.
fn end_of_any(bytes: &[u8], at: usize) -> End {
    let (mut at, mut pending) = (at, 1u64);
    while pending > 0 {
        let Some(value) = value(&bytes[at..]) else {
            return if bytes.get(at) == Some(&NEVER_USED) { End::NoValue } else { End::Beyond };
        };
        pending -= 1;
        pending = match value.head {
            Head::Array(count) => pending.saturating_add(count),
            Head::Map(count) => pending.saturating_add(count.saturating_mul(2)),
            _ => pending,
        };
        at = match at.checked_add(value.from).and_then(|at| at.checked_add(value.len)) {
            Some(end) if end <= bytes.len() => end,
            _ => return End::Beyond,
        };
    }
    End::At(at)
}

/// The values of MessagePack.
#[derive(Debug, Clone, Copy)]
pub struct Msgpack;

impl Tagged for Msgpack {
    const NAME: &'static str = "MessagePack";

    #[inline]
    fn end(self, bytes: &[u8], at: usize) -> End {
        let length = match bytes.get(at..) {
            Some(&[first, ..]) if LENGTHS[usize::from(first)] > 0 => LENGTHS[usize::from(first)].into(),
            Some(&[SHORT_TEXT, length, ..]) => 2 + usize::from(length),
            _ => return end_of_any(bytes, at),
        };
        if length <= bytes.len() - at { End::At(at + length) } else { End::Beyond }
    }

    fn container(self, bytes: &[u8]) -> Option<Container> {
        let value = value(bytes)?;
        let (map, count) = match value.head {
            Head::Array(count) => (false, count),
            Head::Map(count) => (true, count),
            _ => return None,
        };
        Some(Container { map, count: Some(count), from: value.from })
    }

    #[inline(always)]
    fn is_null(self, value: &[u8]) -> bool {
        value == [0xc0]
    }

    #[inline(always)]
    fn scalar(self, bytes: &[u8]) -> Scalar {
        let Some(value) = value(bytes) else { return Scalar::Other };
        let (from, to) = (value.from, value.from + value.len);
        match value.head {
            Head::Scalar(scalar) => scalar,
            Head::Text => Scalar::Text(from, to),
            Head::Bytes => Scalar::Bytes(from, to),
            Head::Extension(TIMESTAMP) => bytes.get(from..to).and_then(moment).unwrap_or(Scalar::Other),
            _ => Scalar::Other,
        }
    }

    fn spell_other(self, bytes: &[u8], out: &mut Vec<u8>) -> Option<bool> {
        let value = value(bytes)?;
        let Head::Extension(kind) = value.head else { return None };
        out.extend_from_slice(format!("{{\"type\":{kind},\"data\":\"\\").as_bytes());
        hex(bytes.get(value.from..value.from + value.len)?, out);
        out.extend_from_slice(b"\"}");
        Some(true)
    }
}

/// A timestamp: 32 bits of seconds; 30 bits of nanoseconds and 34 of seconds; or 32 of nanoseconds and 64 of seconds.
fn moment(payload: &[u8]) -> Option<Scalar> {
    let (seconds, nanos) = match payload.len() {
        4 => (big(payload, 0, 4)? as i64, 0),
        8 => {
            let both = big(payload, 0, 8)?;
            ((both & ((1 << 34) - 1)) as i64, both >> 34)
        }
        12 => (big(payload, 4, 8)? as i64, big(payload, 0, 4)?),
        _ => return None,
    };
    (nanos < 1_000_000_000).then_some(Scalar::Moment(seconds, nanos as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_told_by_the_first_byte_is_that_of_the_value() {
        for first in 0..=255 {
            for second in [0, 1, 5, 200] {
                let mut bytes = [0; 300];
                bytes[..2].copy_from_slice(&[first, second]);
                for len in [1, 2, 3, 5, 8, 9, 33, 300] {
                    let bytes = &bytes[..len];
                    assert_eq!(Msgpack.end(bytes, 0), end_of_any(bytes, 0), "{first:#x} {second} of {len}");
                    assert_eq!(Msgpack.end(bytes, len), End::Beyond);
                }
            }
        }
    }
}
