//! Lengths and bytes to Arrow's string views.
//!
//! A view has 16 bytes: a length of 4, then the value itself if it has at most 12 bytes, else its first 4 bytes, the
//! number of its buffer and its offset there. Both kinds are made for every value and one is taken without a branch:
//! the lengths of IP addresses straddle the 12 bytes, and a branch would be mispredicted at every other value.

/// The longest value that lies in its view.
pub const INLINE: usize = 12;

/// For each length up to [`INLINE`] the bits of a view that hold the value.
const KEEP: [u128; INLINE + 1] = {
    let mut keep = [0; INLINE + 1];
    let mut length = 0;
    while length <= INLINE {
        keep[length] = ((1 << (8 * length)) - 1) << 32;
        length += 1;
    }
    keep
};

/// The sum of lengths of `W` bytes each.
pub fn total(lengths: &[u8], width: u8) -> u64 {
    match width {
        1 => lengths.iter().map(|&l| u64::from(l)).sum(),
        2 => lengths.chunks_exact(2).map(|l| number::<2>(l) as u64).sum(),
        _ => lengths.chunks_exact(4).map(|l| number::<4>(l) as u64).sum(),
    }
}

/// The greatest of lengths of `W` bytes each.
pub fn longest(lengths: &[u8], width: u8) -> usize {
    match width {
        1 => lengths.iter().copied().max().unwrap_or(0).into(),
        2 => lengths.chunks_exact(2).map(number::<2>).max().unwrap_or(0),
        _ => lengths.chunks_exact(4).map(number::<4>).max().unwrap_or(0),
    }
}

/// The views of values that follow one another from `start` on in `data`, which becomes buffer 0; `lengths` have
/// `width` bytes each (1, 2 or 4). Values must not reach beyond the end of `data`.
pub fn build(lengths: &[u8], width: u8, data: &[u8], start: usize) -> Vec<u128> {
    match width {
        1 => build_width::<1>(lengths, data, start),
        2 => build_width::<2>(lengths, data, start),
        _ => build_width::<4>(lengths, data, start),
    }
}

/// Whether every value of a run of text is UTF-8. `starts` are where its values begin, as offsets into `text`.
pub fn is_utf8(text: &[u8], mut starts: impl Iterator<Item = usize>) -> bool {
    // No value can begin within a character if there are only characters of one byte.
    text.is_ascii()
        || (simdutf8::basic::from_utf8(text).is_ok()
            && starts.all(|at| text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)))
}

/// Where values begin, as offsets from the first.
pub fn starts(lengths: &[u8], width: u8) -> impl Iterator<Item = usize> {
    lengths.chunks_exact(width.into()).scan(0, |at, length| {
        let start = *at;
        *at += length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        Some(start)
    })
}

fn number<const W: usize>(bytes: &[u8]) -> usize {
    let mut word = [0; 4];
    word[..W].copy_from_slice(bytes);
    u32::from_le_bytes(word) as usize
}

fn build_width<const W: usize>(lengths: &[u8], data: &[u8], start: usize) -> Vec<u128> {
    let mut at = start;
    let view = |length: &[u8]| {
        let length = number::<W>(length);
        let view = view(data, at, length);
        at += length;
        view
    };
    lengths.chunks_exact(W).map(view).collect()
}

#[inline(always)]
fn view(data: &[u8], at: usize, length: usize) -> u128 {
    let rest = data.get(at..).unwrap_or_default();
    let word = match rest.first_chunk::<16>() {
        Some(word) => u128::from_le_bytes(*word),
        None => last(rest),
    };
    let value = word << 32 & KEEP[length.min(INLINE)];
    let reference = (word & 0xFFFF_FFFF) << 32 | (at as u128) << 96;
    let inline = u128::from(length <= INLINE).wrapping_neg();
    length as u128 | value & inline | reference & !inline
}

/// The last bytes of the data, zeros behind them.
#[cold]
fn last(rest: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..rest.len()].copy_from_slice(rest);
    u128::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, BinaryViewArray};
    use arrow_buffer::Buffer;

    use super::*;

    #[test]
    fn views_are_those_of_arrow() {
        let values: Vec<Vec<u8>> = (0..40u8).chain([0, 12, 13, 0]).map(|n| (n..n + n).collect()).collect();
        let data = values.concat();
        for width in [1u8, 2, 4] {
            let lengths: Vec<u8> =
                values.iter().flat_map(|v| (v.len() as u32).to_le_bytes()[..width.into()].to_vec()).collect();
            assert_eq!(total(&lengths, width), data.len() as u64);
            assert_eq!(longest(&lengths, width), 39);
            let views = build(&lengths, width, &data, 0);
            // This constructor checks every view against the data.
            let array =
                BinaryViewArray::try_new(views.into(), vec![Buffer::from(data.clone())], None).unwrap();
            assert_eq!(array.len(), values.len());
            assert!(array.iter().flatten().eq(values.iter().map(Vec::as_slice)));
        }
    }

    #[test]
    fn text_is_checked_value_by_value() {
        let text = "aéz".as_bytes();
        assert!(is_utf8(text, starts(&[1, 2, 1], 1)));
        assert!(is_utf8(text, starts(&[4, 0, 0, 0], 4)));
        assert!(!is_utf8(text, starts(&[2, 2], 1)), "a value begins within é");
        assert!(!is_utf8(&[b'a', 0xC3], starts(&[2], 1)));
        assert!(is_utf8(b"", starts(&[0, 0], 1)));
    }
}
