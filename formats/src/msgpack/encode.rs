//! Writes rows as MessagePack, each value in the fewest bytes. A struct is a map from the names of its fields.

use arrow_schema::TimeUnit;

use super::value::{Msgpack, TIMESTAMP};
use crate::rows::cells::Cells;
use crate::rows::parse::per_second;
use crate::rows::tagged::write::Heads;

impl Heads for Msgpack {
    const NAME: &'static str = "MessagePack";
    const NULL: u8 = 0xc0;

    fn array(count: usize, out: &mut Vec<u8>) {
        array(count, out);
    }

    fn map(count: usize, out: &mut Vec<u8>) {
        map(count, out);
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) {
        text(bytes, out);
    }

    #[inline]
    fn put(cells: &Cells, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
        put(cells, row, word, out);
    }
}

/// Appends the head of an array of so many values.
pub fn array(count: usize, out: &mut Vec<u8>) {
    match count {
        0..16 => out.push(0x90 | count as u8),
        _ => sized(count, [None, Some(0xdc), Some(0xdd)], out),
    }
}

/// Appends the head of a map of so many keys with their values.
pub fn map(count: usize, out: &mut Vec<u8>) {
    match count {
        0..16 => out.push(0x80 | count as u8),
        _ => sized(count, [None, Some(0xde), Some(0xdf)], out),
    }
}

/// Appends a head and a length in the first of 1, 2 and 4 bytes that has a head and holds it.
fn sized(length: usize, heads: [Option<u8>; 3], out: &mut Vec<u8>) {
    let length = length as u32;
    match heads {
        [Some(head), ..] if length <= u32::from(u8::MAX) => out.extend_from_slice(&[head, length as u8]),
        [_, Some(head), _] if length <= u32::from(u16::MAX) => {
            out.push(head);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        [.., head] => {
            out.extend(head);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
}

/// Appends a text, which is UTF-8 unless the reader is to replace what is not.
pub fn text(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        length @ 0..32 => out.push(0xa0 | length as u8),
        length => sized(length, [Some(0xd9), Some(0xda), Some(0xdb)], out),
    }
    out.extend_from_slice(bytes);
}

/// Appends a whole number.
pub fn unsigned(value: u64, out: &mut Vec<u8>) {
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0xff => out.extend_from_slice(&[0xcc, value as u8]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend_from_slice(&(value as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend_from_slice(&(value as u32).to_be_bytes());
        }
        _ => {
            out.push(0xcf);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// Appends a whole number.
pub fn signed(value: i64, out: &mut Vec<u8>) {
    if let Ok(value) = u64::try_from(value) {
        return unsigned(value, out);
    }
    if value >= -32 {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        out.extend_from_slice(&[0xd0, value as u8]);
    } else if let Ok(value) = i16::try_from(value) {
        out.push(0xd1);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(0xd2);
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a float of 32 bits.
pub fn float32(value: f32, out: &mut Vec<u8>) {
    out.push(0xca);
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a float of 64 bits.
pub fn float64(value: f64, out: &mut Vec<u8>) {
    out.push(0xcb);
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends bytes.
pub fn binary(bytes: &[u8], out: &mut Vec<u8>) {
    sized(bytes.len(), [Some(0xc4), Some(0xc5), Some(0xc6)], out);
    out.extend_from_slice(bytes);
}

/// Appends a boolean.
pub fn boolean(value: bool, out: &mut Vec<u8>) {
    out.push(0xc2 + u8::from(value));
}

/// Appends the head of an array whose length is not known yet, and gives the place of it for [`end_array`].
pub fn begin_array(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0xdd, 0, 0, 0, 0]);
    out.len() - 4
}

/// Says how many values an array has.
pub fn end_array(place: usize, count: u32, out: &mut [u8]) {
    out[place..place + 4].copy_from_slice(&count.to_be_bytes());
}

/// Appends a moment in UTC, in the shortest of three forms (see `value`).
pub fn moment(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    let per_second = per_second(unit);
    let seconds = value.div_euclid(per_second);
    let nanos = value.rem_euclid(per_second) as u64 * (1_000_000_000 / per_second as u64);
    let kind = TIMESTAMP as u8;
    match u64::try_from(seconds) {
        Ok(seconds) if nanos == 0 && seconds <= u64::from(u32::MAX) => {
            out.extend_from_slice(&[0xd6, kind]);
            out.extend_from_slice(&(seconds as u32).to_be_bytes());
        }
        Ok(seconds) if seconds < 1 << 34 => {
            out.extend_from_slice(&[0xd7, kind]);
            out.extend_from_slice(&(nanos << 34 | seconds).to_be_bytes());
        }
        _ => {
            out.extend_from_slice(&[0xc7, 12, kind]);
            out.extend_from_slice(&(nanos as u32).to_be_bytes());
            out.extend_from_slice(&seconds.to_be_bytes());
        }
    }
}

fn put(cells: &Cells, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    match cells {
        Cells::Bool(v) => boolean(v.value(row), out),
        Cells::Int8(v) => signed(v[row].into(), out),
        Cells::Int16(v) => signed(v[row].into(), out),
        Cells::Int32(v) => signed(v[row].into(), out),
        Cells::Int64(v) => signed(v[row], out),
        Cells::UInt8(v) => unsigned(v[row].into(), out),
        Cells::UInt16(v) => unsigned(v[row].into(), out),
        Cells::UInt32(v) => unsigned(v[row].into(), out),
        Cells::UInt64(v) => unsigned(v[row], out),
        Cells::Float16(v) => float32(v[row].to_f32(), out),
        Cells::Float32(v) => float32(v[row], out),
        Cells::Float64(v) => float64(v[row], out),
        Cells::Timestamp(v, unit, shown) if shown.is_instant() => moment(v[row], *unit, out),
        Cells::Text(v) => text(v.value(row).as_bytes(), out),
        Cells::Binary(v) => binary(v.value(row), out),
        // MessagePack has no such values: they are the text that csv and JSON have.
        Cells::Decimal(..)
        | Cells::Decimal256(..)
        | Cells::Date(_)
        | Cells::Timestamp(..)
        | Cells::Time(..) => {
            word.clear();
            cells.print(row, word);
            text(word, out);
        }
    }
}
