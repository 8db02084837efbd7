//! Bytes as text and back, in digits too, and their digests; sizes as a reader takes them in.

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_datafusion_err, exec_err};
use sha2::{Digest, Sha256};

use super::arguments::Call;
use super::{Own, ResultType, Takes};

/// Bytes, an integer, or the bytes of a text.
const DIGITS_OF: &[&[Takes]] = &[&[Takes::Bytes], &[Takes::AnyInteger], &[Takes::OnlyText]];
const TEXT: &[&[Takes]] = &[&[Takes::OnlyText]];
const SIZE: &[&[Takes]] = &[&[Takes::Integer]];

/// The text that bytes are in UTF-8: `decode()` of one argument. A name with a space is none that a user could write.
pub const TEXT_OF_BYTES: &str = "text of bytes";

/// The bytes of a text as they stand: `encode()` of one argument. A cast reads `\x00` as one of them.
pub const BYTES_OF_TEXT: &str = "bytes of text";

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: BYTES_OF_TEXT,
        takes: &[&[Takes::OnlyText]],
        more: None,
        gives: ResultType::Bytes,
        total: true,
        compute: bytes_of_text,
    },
    Own {
        name: TEXT_OF_BYTES,
        takes: &[&[Takes::Bytes]],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: text_of_bytes,
    },
    Own {
        name: "hex",
        takes: DIGITS_OF,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| digits(call, 4),
    },
    Own {
        name: "bin",
        takes: DIGITS_OF,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| digits(call, 1),
    },
    Own {
        name: "unhex",
        takes: TEXT,
        more: None,
        gives: ResultType::Bytes,
        total: false,
        compute: |call| undigits(call, 4),
    },
    Own {
        name: "unbin",
        takes: TEXT,
        more: None,
        gives: ResultType::Bytes,
        total: false,
        compute: |call| undigits(call, 1),
    },
    Own {
        name: "to_base64",
        takes: &[&[Takes::Bytes], &[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: to_base64,
    },
    Own {
        name: "from_base64",
        takes: TEXT,
        more: None,
        gives: ResultType::Bytes,
        total: false,
        compute: from_base64,
    },
    Own {
        name: "sha1",
        takes: &[&[Takes::Bytes], &[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: sha1,
    },
    Own {
        name: "sha256",
        takes: &[&[Takes::Bytes], &[Takes::OnlyText]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: sha256,
    },
    Own {
        name: "format_bytes",
        takes: SIZE,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| size(call, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"]),
    },
    Own {
        name: "formatreadabledecimalsize",
        takes: SIZE,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| size(call, 1000, ["kB", "MB", "GB", "TB", "PB"]),
    },
    Own {
        name: "parse_formatted_bytes",
        takes: TEXT,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: parse_size,
    },
];

fn bytes_of_text(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_bytes(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        out.extend_from_slice(text.as_bytes());
        Ok(true)
    })
}

fn text_of_bytes(call: &Call) -> Result<ArrayRef> {
    with_bytes(call, |bytes, out| match std::str::from_utf8(bytes) {
        Ok(text) => {
            out.push_str(text);
            Ok(true)
        }
        Err(e) => exec_err!("decode() takes bytes that are UTF-8, and byte {} is not", e.valid_up_to()),
    })
}

/// The bytes of an argument that is bytes or text.
fn with_bytes(call: &Call, mut each: impl FnMut(&[u8], &mut String) -> Result<bool>) -> Result<ArrayRef> {
    let bytes = call.bytes(0)?;
    call.give_text(|row, out| match bytes.get(row) {
        Some(bytes) => each(bytes, out),
        None => Ok(false),
    })
}

/// Bytes and integers in digits of so many bits. Zeros before an integer are left out; a negative one has 64 bits.
fn digits(call: &Call, bits: u32) -> Result<ArrayRef> {
    let write = |byte: u8, out: &mut String| {
        for shift in (0..8 / bits).rev() {
            let digit = u32::from(byte) >> (shift * bits) & ((1 << bits) - 1);
            out.extend(char::from_digit(digit, 16).map(|digit| digit.to_ascii_uppercase()));
        }
    };
    if call.type_of(0).is_integer() {
        let unsigned = call.type_of(0) == arrow_schema::DataType::UInt64;
        let numbers = (!unsigned).then(|| call.integers(0)).transpose()?;
        let large = unsigned.then(|| call.numbers::<arrow_array::types::UInt64Type>(0)).transpose()?;
        return call.give_text(|row, out| {
            let number = match (&numbers, &large) {
                (Some(numbers), _) => numbers.get(row).map(|number| number as u64),
                (None, Some(large)) => large.get(row),
                (None, None) => None,
            };
            let Some(number) = number else { return Ok(false) };
            out.push_str(&if bits == 4 { format!("{number:X}") } else { format!("{number:b}") });
            Ok(true)
        });
    }
    with_bytes(call, |bytes, out| {
        bytes.iter().for_each(|byte| write(*byte, out));
        Ok(true)
    })
}

/// The bytes of digits of so many bits; zeros are put before the first ones.
fn undigits(call: &Call, bits: u32) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_bytes(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let a_byte = (8 / bits) as usize;
        let count = text.chars().count();
        let mut byte = 0_u8;
        for (place, c) in (count.next_multiple_of(a_byte) - count..).zip(text.chars()) {
            let Some(digit) = c.to_digit(1 << bits) else {
                return exec_err!("'{c}' is no digit of {}()", call.name);
            };
            byte = byte << bits | digit as u8;
            if place % a_byte == a_byte - 1 {
                out.push(std::mem::take(&mut byte));
            }
        }
        Ok(true)
    })
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in the digits of RFC 4648, with padding.
fn to_base64(call: &Call) -> Result<ArrayRef> {
    with_bytes(call, |bytes, out| {
        for three in bytes.chunks(3) {
            let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
            let all = byte(0) << 16 | byte(1) << 8 | byte(2);
            for place in 0..4 {
                let digit = (all >> (18 - 6 * place) & 63) as usize;
                out.push(if place <= three.len() { BASE64[digit].into() } else { '=' });
            }
        }
        Ok(true)
    })
}

fn from_base64(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_bytes(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let wrong = || {
            exec_datafusion_err!("'{text}' is no base64: its characters are a multiple of four, padded by =")
        };
        if text.len() % 4 != 0 {
            return Err(wrong());
        }
        let padded = text.bytes().rev().take_while(|byte| *byte == b'=').count();
        if padded > 2 {
            return Err(wrong());
        }
        let (mut all, mut bits) = (0_u32, 0);
        for byte in &text.as_bytes()[..text.len() - padded] {
            let digit = BASE64.iter().position(|digit| digit == byte).ok_or_else(wrong)?;
            all = (all & 0xffff) << 6 | digit as u32;
            bits += 6;
            if bits >= 8 {
                bits -= 8;
                out.push((all >> bits) as u8);
            }
        }
        Ok(true)
    })
}

/// The digest of FIPS 180-4, in digits of the base 16.
fn sha1(call: &Call) -> Result<ArrayRef> {
    with_bytes(call, |bytes, out| {
        sha1_of(bytes).iter().for_each(|word| out.push_str(&format!("{word:08x}")));
        Ok(true)
    })
}

fn sha256(call: &Call) -> Result<ArrayRef> {
    with_bytes(call, |bytes, out| {
        Sha256::digest(bytes).iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
        Ok(true)
    })
}

fn sha1_of(bytes: &[u8]) -> [u32; 5] {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        for i in 16..80 {
            words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.iter().enumerate() {
            let (mixed, constant) = match i {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a
                .rotate_left(5)
                .wrapping_add(mixed)
                .wrapping_add(e)
                .wrapping_add(constant)
                .wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, word) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(word);
        }
    }
    state
}

/// A number of bytes in the largest unit of which there is one, with a digit behind the point that is cut.
fn size(call: &Call, step: u64, units: [&str; 5]) -> Result<ArrayRef> {
    let numbers = call.integers(0)?;
    call.give_text(|row, out| {
        let Some(number) = numbers.get(row) else { return Ok(false) };
        if number < 0 {
            out.push('-');
        }
        let (mut whole, mut rest, mut unit) = (number.unsigned_abs(), 0, None);
        for name in units.iter().take_while(|_| number.unsigned_abs() >= step) {
            if whole < step {
                break;
            }
            (whole, rest, unit) = (whole / step, whole % step, Some(name));
        }
        out.push_str(&match unit {
            None if whole == 1 => "1 byte".to_string(),
            None => format!("{whole} bytes"),
            Some(unit) => format!("{whole}.{} {unit}", rest * 10 / step),
        });
        Ok(true)
    })
}

/// The bytes that a number with a unit stands for.
fn parse_size(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_integers(|row| {
        let Some(text) = texts.get(row) else { return Ok(None) };
        let wrong =
            || exec_datafusion_err!("'{text}' is no size: write a number and a unit, such as '16 KiB'");
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..end].parse().map_err(|_| wrong())?;
        let unit = text[end..].trim().to_ascii_lowercase();
        let scale = match unit.as_str() {
            "b" | "byte" | "bytes" => 1_u64,
            "k" | "kb" | "kilobyte" | "kilobytes" => 1_000,
            "m" | "mb" | "megabyte" | "megabytes" => 1_000_000,
            "g" | "gb" | "gigabyte" | "gigabytes" => 1_000_000_000,
            "t" | "tb" | "terabyte" | "terabytes" => 1_000_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1 << 40,
            _ => return Err(wrong()),
        };
        let bytes = number * scale as f64;
        if bytes >= i64::MAX as f64 {
            return exec_err!("'{text}' is out of range");
        }
        Ok(Some(bytes as i64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let text = |bytes: &[u8]| sha1_of(bytes).map(|word| format!("{word:08x}")).concat();
        assert_eq!(text(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(text(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(
            text(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        );
    }
}
