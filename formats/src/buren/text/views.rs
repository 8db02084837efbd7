//! Lengths and bytes to Arrow's string views.
//!
//! A view has 16 bytes. A length of 4 comes first. Then comes the value itself if it has at most 12 bytes. Else come
//! its first 4 bytes, the number of its buffer and its offset there. Both kinds are made for every value and one is
//! taken without a branch. Lengths often straddle the 12 bytes, and a branch would be mispredicted at every other
//! value.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::super::footer::MAX_RAW;
use crate::error::{Error, Result};

/// The longest value that lies in its view.
pub const INLINE: usize = 12;

/// For each length up to [`INLINE`] the bits of the second half of a view that hold bytes of the value. The second
/// number has those of the upper half of the first.
pub(super) const KEEP: [(u64, u64); INLINE + 1] = {
    let mut keep = [(u64::MAX, u64::MAX << 32); INLINE + 1];
    let mut length = 0;
    while length < INLINE {
        keep[length].0 = if length <= 4 { 0 } else { (1 << (8 * (length - 4))) - 1 };
        if length < 4 {
            keep[length].1 = ((1 << (8 * length)) - 1) << 32;
        }
        length += 1;
    }
    keep
};

/// Views of values, and the buffers in which the longer ones lie.
pub struct Out {
    text: bool,
    /// The characters of each value that are enough.
    chars: usize,
    views: Vec<u128>,
    buffers: Vec<Buffer>,
}

impl Out {
    /// No values; text is checked to be UTF-8, other bytes are not.
    pub fn new(text: bool) -> Out {
        Out { text, chars: usize::MAX, views: Vec::new(), buffers: Vec::new() }
    }

    /// The same, of whose values so many characters are enough.
    pub fn cut(self, chars: usize) -> Out {
        Out { chars, ..self }
    }

    /// The bytes of a value of ASCII that are enough, if so few fit into its view.
    pub(super) fn enough(&self) -> Option<usize> {
        (self.chars <= INLINE).then_some(self.chars)
    }

    /// Makes room for so many more values.
    pub fn reserve(&mut self, values: usize) {
        self.views.reserve(values);
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Adds values that follow one another from `start` on in `data`.
    pub fn append(&mut self, data: Buffer, start: usize, lengths: &[u32]) -> Result<()> {
        let total: u64 = lengths.iter().map(|&l| u64::from(l)).sum();
        let end = start as u64 + total;
        if end > data.len() as u64 || end > MAX_RAW.into() {
            return Err(Error::corrupt("damaged column chunk: lengths that its bytes do not have"));
        }
        let text = &data[start..end as usize];
        // No value can begin within a character if there are only characters of one byte.
        let ascii = self.text && text.is_ascii();
        if self.text && !ascii && !is_utf8(text, lengths) {
            return Err(Error::corrupt("damaged column chunk: text that is not UTF-8"));
        }
        let most = self.enough().filter(|_| ascii).unwrap_or(usize::MAX);
        let buffer = self.buffers.len() as u64;
        let mut at = start;
        let mut longest = 0;
        let bytes = data.as_slice();
        self.views.extend(lengths.iter().map(|&length| {
            let kept = most.min(length as usize);
            let view = view(bytes, at, kept, buffer);
            at += length as usize;
            longest = longest.max(kept);
            view
        }));
        if longest > INLINE {
            self.buffers.push(data);
        }
        Ok(())
    }

    /// Adds a view for each of some numbers, made from it and the number of the next buffer, which is then added by
    /// [`Out::add_buffer`]. The values must be ASCII.
    pub(super) fn extend(&mut self, numbers: &[u32], mut view: impl FnMut(u32, u64) -> u128) {
        let buffer = self.buffers.len() as u64;
        self.views.extend(numbers.iter().map(|number| view(*number, buffer)));
    }

    /// Adds the buffer in which the values of [`Out::extend`] lie.
    pub(super) fn add_buffer(&mut self, buffer: Buffer) {
        self.buffers.push(buffer);
    }

    /// Takes away the views from the one of this number on. Their buffers stay.
    pub fn split_off(&mut self, from: usize) -> Vec<u128> {
        self.views.split_off(from)
    }

    /// Adds views that were taken away from here.
    pub fn put_back(&mut self, views: impl Iterator<Item = u128>) {
        self.views.extend(views);
    }

    /// Adds the buffers of other values, and gives what has to be added to their views.
    pub fn share(&mut self, other: &Out) -> Shift {
        let shift = Shift((self.buffers.len() as u128) << 64);
        self.buffers.extend(other.buffers.iter().cloned());
        shift
    }

    /// The views.
    pub fn views(&self) -> &[u128] {
        &self.views
    }

    /// Looks at the bytes of a value.
    pub fn with<T>(&self, at: usize, look: impl FnOnce(&[u8]) -> T) -> T {
        let view = self.views[at];
        let length = view as u32 as usize;
        if length <= INLINE {
            return look(&(view >> 32).to_le_bytes()[..length]);
        }
        let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
        look(&self.buffers[buffer][offset..offset + length])
    }

    /// The array.
    pub fn finish(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let views = ScalarBuffer::from(self.views);
        let buffers = self.buffers;
        // The checked constructors look up every value again, which makes reading `sourceIP` five times as slow
        // (20 against 110 million rows a second, `examples/decode_speed.rs`).
        // SAFETY: views are made by `append`, which checks that they lie in their buffer and are UTF-8, by `extend`,
        // whose callers make ASCII that lies in the buffer they give, and by moving both with their buffers.
        unsafe {
            match self.text {
                true => Arc::new(StringViewArray::new_unchecked(views, buffers, nulls)),
                false => Arc::new(BinaryViewArray::new_unchecked(views, buffers, nulls)),
            }
        }
    }
}

/// What is added to views whose buffers were appended to others.
#[derive(Clone, Copy)]
pub struct Shift(u128);

impl Shift {
    /// Whether views stay as they are.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The view in its new place.
    #[inline(always)]
    pub fn of(self, view: u128) -> u128 {
        if view as u32 as usize > INLINE { view + self.0 } else { view }
    }
}

/// Whether every value of a run of text is UTF-8.
fn is_utf8(text: &[u8], lengths: &[u32]) -> bool {
    let mut at = 0;
    simdutf8::basic::from_utf8(text).is_ok()
        && lengths.iter().all(|&length| {
            let start = at;
            at += length as usize;
            text.get(start).is_none_or(|byte| byte & 0xC0 != 0x80)
        })
}

/// The view of a value that lies at `at` of the buffer whose number stands in `buffer`.
#[inline(always)]
fn view(data: &[u8], at: usize, length: usize, buffer: u64) -> u128 {
    let rest = data.get(at..).unwrap_or_default();
    let word = match rest.first_chunk::<INLINE>() {
        Some(word) => split(word),
        None => last(rest),
    };
    let (second, first) = KEEP[length.min(INLINE)];
    of_halves(word.0 << 32 & first, word.1 & second, at, length, buffer)
}

/// The view of a value whose first four bytes are the upper half of `start`, and whose next eight are `next`, zeros
/// behind it. A long value has the same first half, and its place in the second.
#[inline(always)]
pub(super) fn of_halves(start: u64, next: u64, at: usize, length: usize, buffer: u64) -> u128 {
    let inline = u64::from(length <= INLINE).wrapping_neg();
    let second = next & inline | (buffer | (at as u64) << 32) & !inline;
    u128::from(start | length as u64) | u128::from(second) << 64
}

/// Four bytes, and the eight behind them.
#[inline(always)]
fn split(word: &[u8; INLINE]) -> (u64, u64) {
    let [a, b, c, d, rest @ ..] = *word;
    (u32::from_le_bytes([a, b, c, d]).into(), u64::from_le_bytes(rest))
}

/// The last bytes of the data, zeros behind them.
#[cold]
fn last(rest: &[u8]) -> (u64, u64) {
    let mut word = [0; INLINE];
    word[..rest.len()].copy_from_slice(rest);
    split(&word)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    #[test]
    fn views_are_those_of_arrow() {
        let values: Vec<Vec<u8>> = (0..40u8).chain([0, 12, 13, 0]).map(|n| (n..n + n).collect()).collect();
        let lengths: Vec<u32> = values.iter().map(|v| v.len() as u32).collect();
        let mut out = Out::new(false);
        for _ in 0..2 {
            out.append(Buffer::from(values.concat()), 0, &lengths).unwrap();
        }
        let array = out.finish(None);
        array.to_data().validate_full().unwrap();
        let expected = values.iter().chain(&values).map(Vec::as_slice);
        assert!(array.as_binary_view().iter().flatten().eq(expected));
    }

    #[test]
    fn text_is_checked_value_by_value() {
        let check = |text: &[u8], lengths: &[u32]| {
            Out::new(true).append(Buffer::from(text.to_vec()), 0, lengths).is_ok()
        };
        let text = "aéz".as_bytes();
        assert!(check(text, &[1, 2, 1]) && check(text, &[4, 0, 0, 0]));
        assert!(!check(text, &[2, 2]), "a value begins within é");
        assert!(!check(&[b'a', 0xC3], &[2]) && !check(b"abc", &[2, 2]));
        assert!(check(b"", &[0, 0]) && check(b"", &[]));
    }
}
