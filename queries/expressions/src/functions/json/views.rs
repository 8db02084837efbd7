//! Columns of texts of which many are parts of other texts: those are not copied.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringViewArray};
use arrow_buffer::{Buffer, NullBufferBuilder};

/// The most bytes that lie inside a view.
const INLINE: usize = 12;
/// The most bytes of a buffer.
const MOST_BYTES: usize = 1 << 30;

/// Texts, one behind the other.
pub struct Views<'a> {
    source: &'a StringViewArray,
    views: Vec<u128>,
    valid: NullBufferBuilder,
    /// Texts that are no parts of others.
    own: Vec<u8>,
    filled: Vec<Buffer>,
    /// Whether a view points to a buffer of the source.
    shares: bool,
}

impl<'a> Views<'a> {
    /// For about so many texts, parts of others.
    pub fn new(source: &'a StringViewArray, texts: usize) -> Views<'a> {
        Views {
            source,
            views: Vec::with_capacity(texts),
            valid: NullBufferBuilder::new(texts),
            own: vec![],
            filled: vec![],
            shares: false,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Adds a part of a text of the source.
    #[inline]
    pub fn part(&mut self, row: usize, part: Range<usize>) {
        let text = self.source.value(row);
        let bytes = &text.as_bytes()[part.clone()];
        let view = match inline(bytes) {
            Some(view) => view,
            None => {
                self.shares = true;
                // A text that is so long lies in a buffer.
                let of = self.source.views()[row];
                let (buffer, offset) = ((of >> 64) as u32, (of >> 96) as u32);
                pointing(bytes, buffer, offset + part.start as u32)
            }
        };
        self.views.push(view);
        self.valid.append_non_null();
    }

    /// Adds another text.
    pub fn text(&mut self, text: &str) {
        let view = inline(text.as_bytes()).unwrap_or_else(|| {
            if self.own.len() + text.len() > MOST_BYTES {
                self.filled.push(Buffer::from(std::mem::take(&mut self.own)));
            }
            let buffer = self.source.data_buffers().len() + self.filled.len();
            let view = pointing(text.as_bytes(), buffer as u32, self.own.len() as u32);
            self.own.extend_from_slice(text.as_bytes());
            view
        });
        self.views.push(view);
        self.valid.append_non_null();
    }

    /// Adds NULL.
    pub fn null(&mut self) {
        self.views.push(0);
        self.valid.append_null();
    }

    /// The column.
    pub fn finish(mut self) -> ArrayRef {
        let shared = self.source.data_buffers();
        let mut buffers = if self.shares { shared.to_vec() } else { vec![] };
        if !self.shares {
            // Those of its own come first then.
            let before = (shared.len() as u128) << 64;
            let long = self.views.iter_mut().filter(|view| **view as u32 as usize > INLINE);
            long.for_each(|view| *view -= before);
        }
        buffers.extend(self.filled);
        if !self.own.is_empty() {
            buffers.push(Buffer::from(self.own));
        }
        // SAFETY: each view is made of a text: of at most 12 bytes inline with zeros behind them, else with its length, its
        // first four bytes, and where it lies: in a buffer of the source, which are all there if one is pointed to, or in
        // one of its own behind them.
        Arc::new(unsafe { StringViewArray::new_unchecked(self.views.into(), buffers, self.valid.finish()) })
    }
}

/// The view of a short text.
#[inline]
fn inline(bytes: &[u8]) -> Option<u128> {
    if bytes.len() > INLINE {
        return None;
    }
    let mut word = [0; 16];
    word[4..4 + bytes.len()].copy_from_slice(bytes);
    Some(u128::from_le_bytes(word) | bytes.len() as u128)
}

/// The view of a long text, which lies in a buffer.
#[inline]
fn pointing(bytes: &[u8], buffer: u32, offset: u32) -> u128 {
    let mut first = [0; 4];
    first.copy_from_slice(&bytes[..4]);
    bytes.len() as u128
        | u128::from(u32::from_le_bytes(first)) << 32
        | u128::from(buffer) << 64
        | u128::from(offset) << 96
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    #[test]
    fn parts_and_own_texts_stand_beside_each_other() {
        let source = StringViewArray::from(vec![
            "short",
            "a text that is longer than twelve bytes",
            "äöüäöüäöüäöüäöü",
        ]);
        for shares in [true, false] {
            let mut views = Views::new(&source, 6);
            views.part(0, 1..4);
            views.text("another text that is long enough");
            views.null();
            if shares {
                views.part(1, 2..20);
                views.part(2, 4..22);
            }
            views.text("");
            let found = views.finish();
            found.to_data().validate_full().expect("views are valid");
            let mut expected = vec![Some("hor"), Some("another text that is long enough"), None];
            if shares {
                expected.extend([Some("text that is longe"), Some("üäöüäöüäö")]);
            }
            expected.push(Some(""));
            let expected: ArrayRef = Arc::new(StringViewArray::from(expected));
            assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn a_column_of_a_part_of_the_rows_has_its_own() {
        let all = StringViewArray::from(vec![
            "one text of more than twelve bytes",
            "two texts of more than twelve bytes",
        ]);
        let source = all.slice(1, 1);
        let mut views = Views::new(&source, 1);
        views.part(0, 0..25);
        let expected: ArrayRef = Arc::new(StringViewArray::from(vec!["two texts of more than tw"]));
        assert_eq!(&views.finish(), &expected);
    }
}
