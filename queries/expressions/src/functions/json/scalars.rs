//! What stands between the brackets of JSON: keys and scalars, from their first byte to the one behind them.

use super::reader::{Malformed, Quoted, Read, Wrong};

/// Whether two bytes stand at a place.
#[inline(always)]
pub(super) fn begins(bytes: &[u8], at: usize, two: &[u8; 2]) -> bool {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()) == Some(two)
}

/// The byte at a place; at the end 0, which stands nowhere in JSON.
#[inline(always)]
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// What is wrong with a byte, or that there is none.
#[cold]
pub(super) fn unexpected<T>(bytes: &[u8], at: usize) -> Read<T> {
    Err(Malformed { at, what: if at < bytes.len() { Wrong::Character } else { Wrong::End } })
}

/// Where white space ends that begins at a place.
#[inline(always)]
pub(super) fn behind_white(bytes: &[u8], mut at: usize) -> usize {
    while let b' ' | b'\t' | b'\n' | b'\r' = byte(bytes, at) {
        at += 1;
    }
    at
}

/// Reads a key and its colon, and what is white behind it.
#[inline(always)]
pub(super) fn key(bytes: &[u8], at: usize) -> Read<(Quoted, usize)> {
    if byte(bytes, at) != b'"' {
        return unexpected(bytes, at);
    }
    let key = string(bytes, at)?;
    if begins(bytes, key.end, b"\":") {
        return Ok((key, behind_white(bytes, key.end + 2)));
    }
    let at = behind_white(bytes, key.end + 1);
    match byte(bytes, at) {
        b':' => Ok((key, behind_white(bytes, at + 1))),
        _ => unexpected(bytes, at),
    }
}

/// Where a value ends that is no container.
#[inline]
pub(super) fn scalar(bytes: &[u8], at: usize) -> Read<usize> {
    match byte(bytes, at) {
        b'"' => Ok(string(bytes, at)?.end + 1),
        b'-' | b'0'..=b'9' => number(bytes, at),
        b't' => word(bytes, at, b"true"),
        b'f' => word(bytes, at, b"false"),
        b'n' if byte(bytes, at + 1) == b'u' => word(bytes, at, b"null"),
        b'n' | b'N' | b'i' | b'I' => infinite(bytes, at),
        _ => unexpected(bytes, at),
    }
}

#[inline]
fn word(bytes: &[u8], at: usize, word: &[u8]) -> Read<usize> {
    if bytes.get(at..at + word.len()) == Some(word) {
        return Ok(at + word.len());
    }
    let same = word.iter().zip(&bytes[at..]).take_while(|(wanted, byte)| wanted == byte).count();
    unexpected(bytes, at + same)
}

/// Where `NaN`, `inf` or `Infinity` ends, in any case.
fn infinite(bytes: &[u8], at: usize) -> Read<usize> {
    let begins = |word: &&[u8]| bytes.get(at..at + word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    match [&b"infinity"[..], b"inf", b"nan"].iter().find(|word| begins(word)) {
        Some(word) => Ok(at + word.len()),
        None => unexpected(bytes, at),
    }
}

#[inline]
pub(super) fn number(bytes: &[u8], mut at: usize) -> Read<usize> {
    at += usize::from(byte(bytes, at) == b'-');
    match byte(bytes, at) {
        b'0' => {
            if byte(bytes, at + 1).is_ascii_digit() {
                return Err(Malformed { at, what: Wrong::LeadingZero });
            }
            at += 1;
        }
        b'1'..=b'9' => at = digits(bytes, at)?,
        b'n' | b'N' | b'i' | b'I' => return infinite(bytes, at),
        _ => return unexpected(bytes, at),
    }
    if byte(bytes, at) == b'.' {
        at = digits(bytes, at + 1)?;
    }
    if let b'e' | b'E' = byte(bytes, at) {
        at += 1;
        at += usize::from(matches!(byte(bytes, at), b'+' | b'-'));
        at = digits(bytes, at)?;
    }
    Ok(at)
}

/// Where digits end, of which there is one at least.
#[inline(always)]
fn digits(bytes: &[u8], begin: usize) -> Read<usize> {
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = begin;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        // A digit is 0 to 9 here. The highest bit of all others is set, of those above the first one perhaps more.
        let values = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
        let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & HIGHS;
        at += others.trailing_zeros() as usize / 8;
        if others != 0 {
            return if at == begin { unexpected(bytes, at) } else { Ok(at) };
        }
    }
    while byte(bytes, at).is_ascii_digit() {
        at += 1;
    }
    if at == begin { unexpected(bytes, at) } else { Ok(at) }
}

/// Reads a string, whose quote stands at a place.
#[inline(always)]
pub(super) fn string(bytes: &[u8], at: usize) -> Read<Quoted> {
    let begin = at + 1;
    let end = special(bytes, begin);
    match byte(bytes, end) {
        b'"' => Ok(Quoted { begin, end, is_escaped: false }),
        _ => escaped(bytes, begin, end),
    }
}

/// Reads a string on from its first special byte, which is no quote.
fn escaped(bytes: &[u8], begin: usize, mut at: usize) -> Read<Quoted> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(Quoted { begin, end: at, is_escaped: true }),
            Some(b'\\') => at = special(bytes, escape(bytes, at)?),
            Some(_) => return Err(Malformed { at, what: Wrong::Control }),
            None => return Err(Malformed { at, what: Wrong::End }),
        }
    }
}

/// Where an escape ends, whose backslash stands at a place.
fn escape(bytes: &[u8], at: usize) -> Read<usize> {
    let wrong = |what: Wrong, at: usize| Err(Malformed { at, what });
    match byte(bytes, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => match (unit(bytes, at), unit(bytes, at + 6)) {
            (None, _) => wrong(Wrong::Escape, at),
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => Ok(at + 12),
            (Some(0xd800..=0xdfff), _) => wrong(Wrong::Surrogate, at + 6),
            (Some(_), _) => Ok(at + 6),
        },
        _ => wrong(Wrong::Escape, at),
    }
}

/// The number of `\uXXXX` at a place.
pub(super) fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..at + 6)? else { return None };
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Where the first quote, backslash or control character stands from a place on, or the end.
#[inline(always)]
pub(super) fn special(bytes: &[u8], mut at: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    while let Some(sixteen) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        match specials_of_16(sixteen) {
            0 => at += 16,
            found => return at + found.trailing_zeros() as usize,
        }
    }
    special_by_words(bytes, at)
}

/// A bit for each of 16 bytes: set if it is a quote, backslash or control character.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn specials_of_16(bytes: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: each processor of this architecture has SSE2, and 16 bytes are read of 16.
    unsafe {
        let all = _mm_loadu_si128(bytes.as_ptr().cast());
        let quotes = _mm_cmpeq_epi8(all, _mm_set1_epi8(b'"' as i8));
        let slashes = _mm_cmpeq_epi8(all, _mm_set1_epi8(b'\\' as i8));
        let controls = _mm_cmpeq_epi8(_mm_min_epu8(all, _mm_set1_epi8(0x1f)), all);
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, slashes), controls)) as u32
    }
}

/// The same as [`special`], eight bytes at a time.
#[inline]
fn special_by_words(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // The highest bit of each byte that is less than a number; of those above the first one perhaps more.
    let less = |word: u64, than: u64| word.wrapping_sub(ONES * than) & !word & HIGHS;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let found = less(word ^ (ONES * u64::from(b'"')), 1)
            | less(word ^ (ONES * u64::from(b'\\')), 1)
            | less(word, 0x20);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..0x20) {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specials_are_found_at_each_place() {
        for length in 0..40 {
            for place in 0..length {
                for byte in [b'"', b'\\', 0, 0x1f] {
                    let mut bytes = vec![b'\xff'; length];
                    bytes[place] = byte;
                    assert_eq!((special(&bytes, 0), special_by_words(&bytes, 0)), (place, place));
                    bytes[place] = 0x20;
                    assert_eq!((special(&bytes, 0), special_by_words(&bytes, 0)), (length, length));
                }
            }
        }
    }
}
