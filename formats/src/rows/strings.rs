//! Columns of strings or bytes under construction.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, FixedSizeBinaryArray, StringViewArray};

use super::column::{Bad, Found, TextBlock};
use super::fixed::null_buffer;
use super::syntax::{Syntax, Token};
use super::views::Views;

/// A column of strings or bytes.
#[derive(Default)]
pub struct Strings {
    views: Views,
    nulls: Vec<u32>,
    /// What a value is rewritten in.
    scratch: Vec<u8>,
}

/// Where the bytes of a value lie.
#[derive(Clone, Copy)]
enum Value<'a> {
    /// In the block.
    Block(usize, usize),
    /// In the scratch buffer: escapes were rewritten.
    Scratch(&'a [u8]),
}

impl<'a> Value<'a> {
    fn bytes(self, stretch: &TextBlock<'a>) -> &'a [u8] {
        match self {
            Value::Block(from, to) => &stretch.block[from..to],
            Value::Scratch(bytes) => bytes,
        }
    }

    /// Appends the value of a record of bytes.
    #[inline(always)]
    fn push(self, views: &mut Views, stretch: &TextBlock) {
        match self {
            Value::Block(from, to) => views.push_near(stretch.block, from, to),
            Value::Scratch(bytes) => views.push_copy(bytes),
        }
    }
}

impl Strings {
    /// A column of texts of which so many characters are enough.
    pub fn cut(chars: usize) -> Strings {
        Strings { views: Views::cut(chars), ..Strings::default() }
    }

    /// Values from here on lie in another block.
    pub fn next_block(&mut self) {
        self.views.next_block();
    }

    /// The rows without a value.
    pub fn nulls(&self) -> &[u32] {
        &self.nulls
    }

    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        self.nulls.push(self.views.views.len() as u32);
        self.views.push_empty();
    }

    /// Appends one string for each field of a stretch. What is not UTF-8 is bad where the syntax says so, and U+FFFD
    /// elsewhere.
    #[inline(always)]
    pub fn extend_text<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock,
        fields: impl Iterator<Item = (usize, usize)>,
        nullable: bool,
        found: &mut Found,
    ) {
        self.extend(syntax, stretch, fields, nullable, true, found, |views, value, replaced| {
            match value {
                Value::Block(from, to) if stretch.utf8 => views.push(stretch.block, from, to),
                other if S::UTF8 => return push_text(views, other, stretch),
                other => *replaced += push_checked(views, other, stretch),
            }
            true
        });
    }

    /// Appends the bytes of each field of a stretch: those that `\x…` stands for, or the text as it is. With `size`,
    /// values of any other length are bad.
    pub fn extend_binary<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock,
        fields: impl Iterator<Item = (usize, usize)>,
        nullable: bool,
        found: &mut Found,
        size: Option<usize>,
    ) {
        let mut decoded = Vec::new();
        self.extend(syntax, stretch, fields, nullable, false, found, |views, value, _| {
            let text = value.bytes(stretch);
            decoded.clear();
            let hex = syntax.bytes(text, &mut decoded).is_some();
            let length = if hex { decoded.len() } else { text.len() };
            if size.is_some_and(|size| size != length) {
                return false;
            }
            if hex {
                views.push_copy(&decoded)
            } else {
                value.push(views, stretch)
            }
            true
        });
    }

    /// Appends each field by `push`, which counts what it replaces, and appends nothing if the value is bad. With
    /// `spells`, a value that is no string is the text that it spells.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "one call each for text and bytes, which differ in these")]
    fn extend<'a, S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock<'a>,
        fields: impl Iterator<Item = (usize, usize)>,
        nullable: bool,
        spells: bool,
        found: &mut Found,
        mut push: impl FnMut(&mut Views, Value, &mut u64) -> bool,
    ) {
        let bytes = stretch.block.as_slice();
        for (record, (start, end)) in fields.enumerate() {
            let good = match syntax.token(bytes, start, end) {
                Token::Plain(from, to) => match syntax.string(bytes, from, to) {
                    Some((from, to)) => push(&mut self.views, Value::Block(from, to), &mut found.replaced),
                    None if spells => {
                        self.scratch.clear();
                        let spelled = syntax.spell(&bytes[from..to], &mut self.scratch);
                        spelled.is_some_and(|()| {
                            push(&mut self.views, Value::Scratch(&self.scratch), &mut found.replaced)
                        })
                    }
                    None => false,
                },
                Token::Null if nullable => {
                    self.push_null();
                    true
                }
                Token::Null | Token::Broken => false,
                Token::Empty => push(&mut self.views, Value::Block(start, start), &mut found.replaced),
                Token::Escaped(from, to) => {
                    self.scratch.clear();
                    match syntax.unescape(&bytes[from..to], &mut self.scratch) {
                        Some(replaced) => {
                            found.replaced += replaced;
                            let string = syntax.string(&self.scratch, 0, self.scratch.len());
                            string.is_some_and(|(from, to)| {
                                let value = Value::Scratch(&self.scratch[from..to]);
                                push(&mut self.views, value, &mut found.replaced)
                            })
                        }
                        None => false,
                    }
                }
            };
            if !good {
                found.bad.push(Bad { record, start, end });
                if stretch.fail_fast {
                    return;
                }
                self.push_null();
            }
        }
    }

    /// The array of all strings so far; the column is empty again.
    pub fn text(&mut self) -> ArrayRef {
        let nulls = null_buffer(self.views.views.len(), &mut self.nulls);
        let (views, buffers) = self.views.take();
        // SAFETY: `Views` makes views whose length, prefix, buffer and offset agree with buffers that it holds itself.
        // `extend_text` pushes only values that are UTF-8: parts of a stretch that is UTF-8 and is cut at ASCII bytes,
        // or values that `push_checked` checked or rewrote one by one.
        Arc::new(unsafe { StringViewArray::new_unchecked(views.into(), buffers, nulls) })
    }

    /// The array of all bytes so far; the column is empty again.
    pub fn binary(&mut self) -> ArrayRef {
        Arc::new(self.views())
    }

    /// The array of all values so far, which have `size` bytes each; the column is empty again.
    pub fn fixed_size(&mut self, size: i32) -> ArrayRef {
        let array = self.views();
        let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(array.iter(), size);
        Arc::new(values.expect("a value of another length is bad and was left out"))
    }

    fn views(&mut self) -> BinaryViewArray {
        let nulls = null_buffer(self.views.views.len(), &mut self.nulls);
        let (views, buffers) = self.views.take();
        // SAFETY: as in `text`; bytes need not be UTF-8.
        unsafe { BinaryViewArray::new_unchecked(views.into(), buffers, nulls) }
    }
}

/// Appends a value as text, with U+FFFD for what is not UTF-8, and gives the number of those.
#[inline(always)]
fn push_checked(views: &mut Views, value: Value, stretch: &TextBlock) -> u64 {
    let bytes = value.bytes(stretch);
    if is_ascii(bytes) || simdutf8::basic::from_utf8(bytes).is_ok() {
        value.push(views, stretch);
        return 0;
    }
    push_replaced(views, bytes)
}

/// Appends a value as text; false, and nothing is appended, if it is not UTF-8.
#[inline(always)]
fn push_text(views: &mut Views, value: Value, stretch: &TextBlock) -> bool {
    let bytes = value.bytes(stretch);
    let is_text = is_ascii(bytes) || simdutf8::basic::from_utf8(bytes).is_ok();
    if is_text {
        value.push(views, stretch);
    }
    is_text
}

/// Whether no byte has its topmost bit set: a quick look at short values, of which most are so.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    const TOP: u64 = 0x8080_8080_8080_8080;
    if bytes.len() > 64 {
        return false;
    }
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().fold(0, |all, word| all | u64::from_le_bytes(*word));
    let rest = match bytes.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => rest.iter().fold(0, |all, byte| all | u64::from(*byte)),
    };
    (words | rest) & TOP == 0
}

#[cold]
fn push_replaced(views: &mut Views, bytes: &[u8]) -> u64 {
    let mut replaced = 0;
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
    }
    views.push_copy(text.as_bytes());
    replaced
}
