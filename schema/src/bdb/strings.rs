//! A column of string views, written one value after the other into a few buffers.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringViewArray};
use arrow_buffer::{Buffer, ScalarBuffer};

/// The longest string that lies in the view itself.
const INLINE: usize = 12;

/// A buffer that has grown to this size is closed. The offset of a view has 32 bits, and pages of documents come in one
/// call.
const MAX_BUFFER: usize = 16 << 20;

/// The view of `value`, which begins at `offset` of buffer number `buffer` if it is too long for the view.
#[inline]
pub fn view(value: &[u8], buffer: u32, offset: u32) -> u128 {
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
    if value.len() <= INLINE {
        bytes[4..4 + value.len()].copy_from_slice(value);
    } else {
        bytes[4..8].copy_from_slice(&value[..4]);
        bytes[8..12].copy_from_slice(&buffer.to_le_bytes());
        bytes[12..].copy_from_slice(&offset.to_le_bytes());
    }
    u128::from_le_bytes(bytes)
}

/// Builds a column of string views.
pub struct Strings {
    views: Vec<u128>,
    closed: Vec<Buffer>,
    open: Vec<u8>,
}

impl Strings {
    /// A column of about `rows` values that take about `bytes` bytes outside of their views.
    pub fn new(rows: usize, bytes: usize) -> Strings {
        Strings::with_shared(Vec::new(), rows, bytes)
    }

    /// As [`Strings::new`], with buffers that views made elsewhere point into, as buffers 0 and up.
    pub fn with_shared(shared: Vec<Buffer>, rows: usize, bytes: usize) -> Strings {
        let open = Vec::with_capacity(bytes.min(MAX_BUFFER + (1 << 16)));
        Strings { views: Vec::with_capacity(rows), closed: shared, open }
    }

    /// The number of values so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Appends a value by a view that was made elsewhere.
    #[inline]
    pub fn push_view(&mut self, view: u128) {
        self.views.push(view);
    }

    /// Appends `n` times the value whose view is given.
    #[inline]
    pub fn repeat(&mut self, view: u128, n: usize) {
        self.views.extend(std::iter::repeat_n(view, n));
    }

    /// Replaces the view of value `row`.
    pub fn set_view(&mut self, row: usize, view: u128) {
        self.views[row] = view;
    }

    /// Lets `write` append the bytes of a value, which must be UTF-8, and makes their view without appending it.
    #[inline]
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u128 {
        if self.open.len() >= MAX_BUFFER {
            let full = std::mem::replace(&mut self.open, Vec::with_capacity(MAX_BUFFER + (1 << 16)));
            self.closed.push(Buffer::from_vec(full));
        }
        let start = self.open.len();
        write(&mut self.open);
        let value = &self.open[start..];
        let made = view(value, self.closed.len() as u32, start as u32);
        if value.len() <= INLINE {
            self.open.truncate(start);
        }
        made
    }

    /// The column.
    pub fn finish(mut self) -> ArrayRef {
        if !self.open.is_empty() {
            self.closed.push(Buffer::from_vec(self.open));
        }
        let array = StringViewArray::try_new(ScalarBuffer::from(self.views), self.closed, None);
        Arc::new(array.expect("the views were made over these buffers and hold ASCII"))
    }
}
