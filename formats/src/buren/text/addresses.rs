//! IPv4 addresses as text: `10.0.0.1` is the number 10 × 2^24 + 1.
//!
//! Only the usual way to write an address is one: four numbers up to 255 without leading zeros, dots between. So every
//! number has one text, and every such text one number.

use super::views::{INLINE, Out, of_halves};

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

/// The text of a part of an address, a dot behind it, in the low 32 bits, and above them the bits of both.
const PARTS: [u64; 256] = parts(true);
/// The same without a dot.
const LAST: [u64; 256] = parts(false);

const fn parts(dot: bool) -> [u64; 256] {
    let mut parts = [0; 256];
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
            text |= (b'0' as u64 + digits[at] as u64) << bits;
            bits += 8;
            at += 1;
        }
        if dot {
            text |= (b'.' as u64) << bits;
            bits += 8;
        }
        parts[number] = text | bits << 32;
        number += 1;
    }
    parts
}

/// The text of an address: its first four bytes, its next eight and its last ones, zeros behind it; and its length.
#[inline(always)]
fn text(address: u32) -> ([u64; 3], usize) {
    const LOW: u64 = u32::MAX as u64;
    let [a, b, c, d] = address.to_be_bytes();
    let (a, b) = (PARTS[usize::from(a)], PARTS[usize::from(b)]);
    let (c, d) = (PARTS[usize::from(c)], LAST[usize::from(d)]);
    let first = (a & LOW) | (b & LOW) << (a >> 32);
    let second = (c & LOW) | (d & LOW) << (c >> 32);
    // The first half has 4 to 8 bytes, so that up to all of the second lies behind its first 8.
    let half = (a >> 32) + (b >> 32);
    let next = first >> 32 | second << (half - 32);
    let rest = second >> 1 >> (95 - half);
    ([first & LOW, next, rest], ((half + (c >> 32) + (d >> 32)) / 8) as usize)
}

/// Adds addresses as text.
pub fn append(addresses: &[u32], out: &mut Out) {
    // Long ones lie at every 16th byte. Each is written, and overwritten by the next if it fits into its view.
    let mut long = vec![[0u64; 2]; addresses.len() + 1];
    let mut at = 0;
    let each = |i: usize, buffer| {
        let ([start, next, rest], length) = text(addresses[i]);
        long[at] = [start | next << 32, next >> 32 | rest << 32];
        let view = of_halves(start << 32, next, 16 * at, length, buffer);
        at += usize::from(length > INLINE);
        view
    };
    out.extend(addresses.len(), each);
    long.truncate(at);
    out.add_buffer(long.into_iter().flatten().collect());
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
