//! IPv4 addresses as text: `10.0.0.1` is the number 10 × 2^24 + 1.
//!
//! Only the usual way to write an address is one: four numbers up to 255 without leading zeros, dots between. So every
//! number has one text, and every such text one number.

use arrow_buffer::Buffer;

use super::views::{INLINE, KEEP, Out, of_halves};

/// The number of an address; `None` for any other text.
pub fn parse(text: &[u8]) -> Option<u32> {
    let (mut number, mut part, mut digits, mut dots) = (0u32, 0, 0, 0);
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            // A second digit behind a zero, or a fourth one.
            if (digits > 0 && part == 0) || digits == 3 {
                return None;
            }
            part = part * 10 + u32::from(digit);
            digits += 1;
        } else {
            if byte != b'.' || digits == 0 || part > 255 || dots == 3 {
                return None;
            }
            (number, part, digits, dots) = (number << 8 | part, 0, 0, dots + 1);
        }
    }
    (dots == 3 && digits > 0 && part <= 255).then_some(number << 8 | part)
}

/// The text of a part of an address, a dot behind it, and the bits of both.
const PARTS: ([u32; 256], [u8; 256]) = parts(true);
/// The same without a dot.
const LAST: ([u32; 256], [u8; 256]) = parts(false);

const fn parts(dot: bool) -> ([u32; 256], [u8; 256]) {
    let mut parts = ([0; 256], [0; 256]);
    let mut number = 0;
    while number < 256 {
        let digits = [number / 100, number / 10 % 10, number % 10];
        let mut at = if number >= 100 {
            0
        } else if number >= 10 {
            1
        } else {
            2
        };
        let (mut text, mut bits) = (0, 0);
        while at < 3 {
            text |= (b'0' as u32 + digits[at] as u32) << bits;
            bits += 8;
            at += 1;
        }
        if dot {
            text |= (b'.' as u32) << bits;
            bits += 8;
        }
        parts.0[number] = text;
        parts.1[number] = bits;
        number += 1;
    }
    parts
}

/// An address as text: the first 4 bytes, the next 8, the last 3, and how many these are.
#[inline(always)]
fn text(address: u32) -> (u64, u64, u64, usize) {
    let [a, b, c, d] = address.to_be_bytes().map(usize::from);
    let bits = |place: usize| u32::from(PARTS.1[place]);
    let first = u64::from(PARTS.0[a]) | u64::from(PARTS.0[b]) << bits(a);
    let second = u64::from(PARTS.0[c]) | u64::from(LAST.0[d]) << bits(c);
    // The first half has 4 to 8 bytes, so that up to all of the second lies behind its first 8.
    let half = bits(a) + bits(b);
    let next = first >> 32 | second << (half - 32);
    let rest = second >> 1 >> (95 - half);
    let bits = half + bits(c) + u32::from(LAST.1[d]);
    (u64::from(first as u32), next, rest, bits as usize / 8)
}

/// Adds addresses as text.
pub fn append(addresses: &[u32], out: &mut Out) {
    if let Some(most) = out.enough() {
        out.extend(addresses, |address, _| {
            let (start, next, _, length) = text(address);
            let length = most.min(length);
            let (second, first) = KEEP[length];
            of_halves(start << 32 & first, next & second, 0, length, 0)
        });
        return;
    }
    // Long ones lie at every 16th byte. Each is written, and overwritten by the next if it fits into its view.
    let mut long = vec![0_u128; addresses.len() + 1];
    let mut at = 0;
    out.extend(addresses, |address, buffer| {
        let (start, next, rest, length) = text(address);
        long[at] = u128::from(start | next << 32) | u128::from(next >> 32 | rest << 32) << 64;
        let view = of_halves(start << 32, next, 16 * at, length, buffer);
        at += usize::from(length > INLINE);
        view
    });
    long.truncate(at);
    out.add_buffer(Buffer::from_vec(long));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_in_every_place_comes_back() {
        let mut addresses: Vec<u32> =
            (0..4).flat_map(|place| (0..256).map(move |n| n << (8 * place))).collect();
        addresses.extend([u32::MAX, 0x0102_0304, 0xFF01_FF01, 1_000_000_007]);
        let mut out = Out::new(true);
        append(&addresses, &mut out);
        append(&addresses, &mut out);
        for (i, address) in addresses.iter().chain(&addresses).enumerate() {
            let expected = std::net::Ipv4Addr::from(*address).to_string();
            assert!(out.with(i, |text| text == expected.as_bytes()), "{expected}");
            assert_eq!(parse(expected.as_bytes()), Some(*address));
        }
        out.finish(None).to_data().validate_full().unwrap();
    }

    #[test]
    fn other_texts_are_no_addresses() {
        for text in [
            "",
            ".",
            "1.2.3",
            "1.2.3.4.",
            ".1.2.3.4",
            "1.2.3.256",
            "01.2.3.4",
            "1.2.3.4.5",
            "1.2.3.x",
            "1..2.3",
            "1.2.3.4 ",
            "00.0.0.0",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
