//! Prefixes of string views. One of at most 12 bytes is made from the view, or from the bytes it points to, as one word.

use arrow_array::{Array, StringViewArray};
use arrow_buffer::Buffer;

/// The most bytes that lie inside a view.
const INLINE: usize = 12;
/// The highest bit of each of 12 bytes: set in none of them, they are ASCII.
const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080;

/// The first `chars` characters of each string, all of a shorter one. Long prefixes share the buffers of `strings`.
pub fn prefixes(strings: &StringViewArray, chars: usize) -> StringViewArray {
    let buffers = strings.data_buffers();
    let mask = if chars >= INLINE { (1_u128 << 96) - 1 } else { (1_u128 << (8 * chars)) - 1 };
    let mut shares = false;
    let views = strings.views().iter().map(|view| {
        let length = *view as u32 as usize;
        if length <= chars {
            shares |= length > INLINE;
            return *view;
        }
        let word = match length {
            _ if chars > INLINE => None,
            ..=INLINE => Some(view >> 32),
            _ => word_behind(*view, buffers),
        };
        // The string is longer than the prefix, so that what lies behind the string is masked out.
        match word.map(|word| word & mask) {
            Some(word) if word & HIGH_BITS == 0 => chars as u128 | word << 32,
            _ => {
                let prefix = by_characters(*view, buffers, chars);
                shares |= prefix as u32 as usize > INLINE;
                prefix
            }
        }
    });
    let views: Vec<u128> = views.collect();
    let buffers = if shares { buffers.to_vec() } else { vec![] };
    // SAFETY: a view is one of `strings`, or one of its bytes cut at the end of a character: inline with zeros behind
    // it when it has at most 12 bytes, else with the old buffer, offset and first four bytes and a smaller length.
    // Buffers are left out only when no view points to them.
    unsafe { StringViewArray::new_unchecked(views.into(), buffers, strings.nulls().cloned()) }
}

/// The first 16 of the bytes that a view points to, if its buffer has so many.
#[inline(always)]
fn word_behind(view: u128, buffers: &[Buffer]) -> Option<u128> {
    let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
    Some(u128::from_le_bytes(*buffers[buffer].get(offset..)?.first_chunk::<16>()?))
}

/// The first `chars` characters of a longer string.
fn by_characters(view: u128, buffers: &[Buffer], chars: usize) -> u128 {
    let length = view as u32 as usize;
    let inline = view.to_le_bytes();
    let bytes = if length <= INLINE {
        &inline[4..4 + length]
    } else {
        let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
        &buffers[buffer][offset..offset + length]
    };
    let end = end_of(bytes, chars);
    if end > INLINE {
        return view & !u128::from(u32::MAX) | end as u128;
    }
    let mut word = [0; 16];
    word[..end].copy_from_slice(&bytes[..end]);
    end as u128 | u128::from_le_bytes(word) << 32
}

/// Where character number `chars` begins in UTF-8: the bytes that are no continuation are counted.
fn end_of(bytes: &[u8], chars: usize) -> usize {
    let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80);
    starts.map(|(at, _)| at).nth(chars).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_characters() {
        let strings = [
            Some(""),
            Some("a"),
            None,
            Some("äöü"),
            Some("twelve bytes"),
            Some("thirteen byte"),
            Some("ein längerer Satz über zwölf Zeichen"),
            Some("日本語の文字列です、とても長い"),
            Some("a\u{0}b\u{0}cdefghijklmnop"),
            Some("0123456789äbcdefg"),
        ];
        let array = StringViewArray::from(strings.to_vec());
        for chars in [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 16, 20, 36, 100, usize::MAX] {
            let found = prefixes(&array, chars);
            let data = found.to_data();
            data.validate_full().expect("views are valid");
            let expected = strings.map(|s| s.map(|s| s.chars().take(chars).collect::<String>())).to_vec();
            assert_eq!(found, StringViewArray::from(expected), "{chars} characters");
        }
    }

    #[test]
    fn short_prefixes_pin_nothing() {
        let array = StringViewArray::from(vec!["a string of more than twelve bytes"; 3]);
        assert!(prefixes(&array, 12).data_buffers().is_empty());
        assert_eq!(prefixes(&array, 13).data_buffers().len(), array.data_buffers().len());
        let sliced = prefixes(&array.slice(1, 2), 5);
        assert_eq!(sliced, StringViewArray::from(vec!["a str"; 2]));
    }
}
