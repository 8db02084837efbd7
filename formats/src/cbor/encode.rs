//! Writes rows as CBOR, each value in the fewest bytes. A struct is a map from the names of its fields.

use arrow_buffer::i256;

use super::value::{Cbor, major, put_head, tag};
use crate::rows::cells::Cells;
use crate::rows::tagged::write::Heads;

const FALSE: u8 = 0xf4;
const FLOAT16: u8 = 0xf9;
const FLOAT32: u8 = 0xfa;
const FLOAT64: u8 = 0xfb;

impl Heads for Cbor {
    const NAME: &'static str = "CBOR";
    const NULL: u8 = 0xf6;

    fn array(count: usize, out: &mut Vec<u8>) {
        put_head(major::ARRAY, count as u64, out);
    }

    fn map(count: usize, out: &mut Vec<u8>) {
        put_head(major::MAP, count as u64, out);
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) {
        string(major::TEXT, bytes, out);
    }

    #[inline]
    fn put(cells: &Cells, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
        put(cells, row, word, out);
    }
}

fn signed(value: i64, out: &mut Vec<u8>) {
    match u64::try_from(value) {
        Ok(value) => put_head(major::UNSIGNED, value, out),
        Err(_) => put_head(major::NEGATIVE, !value as u64, out),
    }
}

fn string(major: u8, bytes: &[u8], out: &mut Vec<u8>) {
    put_head(major, bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A decimal: a tag, an array, the exponent of ten, and the digits as a whole number.
fn decimal(value: i256, scale: i8, out: &mut Vec<u8>) {
    put_head(major::TAG, tag::DECIMAL, out);
    put_head(major::ARRAY, 2, out);
    signed(-i64::from(scale), out);
    if let Some(value) = value.to_i128().and_then(|value| i64::try_from(value).ok()) {
        return signed(value, out);
    }
    let negative = value < i256::ZERO;
    // -1 less a number is that number with all bits turned.
    let bits = value.to_be_bytes().map(|byte| if negative { !byte } else { byte });
    let first = bits.iter().position(|&byte| byte != 0).unwrap_or(bits.len());
    match bits.len() - first {
        0..=8 => {
            let number = bits[first..].iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            put_head(if negative { major::NEGATIVE } else { major::UNSIGNED }, number, out);
        }
        _ => {
            put_head(major::TAG, if negative { tag::NEGATIVE_HUGE } else { tag::HUGE }, out);
            string(major::BYTES, &bits[first..], out);
        }
    }
}

fn put(cells: &Cells, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    match cells {
        Cells::Bool(v) => out.push(FALSE + u8::from(v.value(row))),
        Cells::Int8(v) => signed(v[row].into(), out),
        Cells::Int16(v) => signed(v[row].into(), out),
        Cells::Int32(v) => signed(v[row].into(), out),
        Cells::Int64(v) => signed(v[row], out),
        Cells::UInt8(v) => put_head(major::UNSIGNED, v[row].into(), out),
        Cells::UInt16(v) => put_head(major::UNSIGNED, v[row].into(), out),
        Cells::UInt32(v) => put_head(major::UNSIGNED, v[row].into(), out),
        Cells::UInt64(v) => put_head(major::UNSIGNED, v[row], out),
        Cells::Float16(v) => {
            out.push(FLOAT16);
            out.extend_from_slice(&v[row].to_be_bytes());
        }
        Cells::Float32(v) => {
            out.push(FLOAT32);
            out.extend_from_slice(&v[row].to_be_bytes());
        }
        Cells::Float64(v) => {
            out.push(FLOAT64);
            out.extend_from_slice(&v[row].to_be_bytes());
        }
        Cells::Decimal(v, scale) => decimal(i256::from_i128(v[row]), *scale, out),
        Cells::Decimal256(v, scale) => decimal(v[row], *scale, out),
        Cells::Date(v) => {
            put_head(major::TAG, tag::DAYS, out);
            signed(v[row].into(), out);
        }
        Cells::Timestamp(_, _, shown) => {
            word.clear();
            cells.print(row, word);
            if shown.is_instant() {
                put_head(major::TAG, tag::DATE_TIME, out);
            }
            string(major::TEXT, word, out);
        }
        Cells::Time(..) => {
            word.clear();
            cells.print(row, word);
            string(major::TEXT, word, out);
        }
        Cells::Text(v) => string(major::TEXT, v.value(row).as_bytes(), out),
        Cells::Binary(v) => string(major::BYTES, v.value(row), out),
    }
}
