//! Columns of strings or bytes that are views into the blocks they were read from.
//!
//! A view is 16 bytes, little endian. First comes the length. Then come up to 12 bytes of the value itself. Of longer
//! values come their first four bytes, the number of a buffer and the offset in it. Values longer than that need not be
//! copied: their buffer is the block of input. Values that had to be rewritten (escapes, bad UTF-8) lie in buffers of
//! the column's own.

use arrow_buffer::Buffer;

/// A buffer of rewritten values is closed at this size, so that offsets stay below 2^32.
const OWN_BYTES: usize = 1 << 30;

/// Values of at most this many bytes are copied by [`Views::push_near`].
const NEAR_BYTES: usize = 32;

/// The most bytes of a value that lies in its view.
const INLINE: usize = 12;

/// The highest bit of each byte: set in none of them, they are ASCII.
const HIGH_BITS: u128 = u128::from_le_bytes([0x80; 16]);

/// A column of views under construction.
#[derive(Default)]
pub struct Views {
    /// The view of each row.
    pub views: Vec<u128>,
    buffers: Vec<Buffer>,
    /// The number of the current block among `buffers`, once a value lies in it.
    block: Option<u32>,
    own: Vec<u8>,
    /// The number of the place that is kept for `own`.
    own_at: Option<u32>,
    /// How many bytes the buffer before `own` had, as a guess of how many it will have.
    own_before: usize,
    /// So many first bytes of a value are enough, if they are ASCII and not none.
    enough: usize,
}

#[inline(always)]
fn short(len: usize, first: u128) -> u128 {
    first & ((1 << (8 * len)) - 1)
}

#[inline(always)]
fn long(len: usize, prefix: [u8; 4], buffer: u32, offset: usize) -> u128 {
    len as u128
        | u128::from(u32::from_le_bytes(prefix)) << 32
        | u128::from(buffer) << 64
        | (offset as u128) << 96
}

impl Views {
    /// Views of texts of which so many characters are enough.
    pub fn cut(chars: usize) -> Views {
        Views { enough: if chars <= INLINE { chars } else { 0 }, ..Views::default() }
    }

    /// The view of the beginning of a longer value, if that is enough.
    #[inline(always)]
    fn beginning(&self, block: &[u8], start: usize) -> Option<u128> {
        if self.enough == 0 {
            return None;
        }
        let first = u128::from_le_bytes(*block.get(start..)?.first_chunk()?);
        let view = short(self.enough, first);
        (view & HIGH_BITS == 0).then_some(self.enough as u128 | view << 32)
    }

    /// Values from here on lie in another block.
    pub fn next_block(&mut self) {
        self.block = None;
    }

    /// Appends the bytes `start..end` of the block, which is the same one until [`Views::next_block`].
    #[inline(always)]
    pub fn push(&mut self, block: &Buffer, start: usize, end: usize) {
        let len = end - start;
        let view = if len <= INLINE {
            let first = match block.get(start..start + 16) {
                Some(bytes) => {
                    let mut first = [0; 16];
                    first.copy_from_slice(bytes);
                    u128::from_le_bytes(first)
                }
                None => {
                    let mut first = [0; 16];
                    first[..len].copy_from_slice(&block[start..end]);
                    u128::from_le_bytes(first)
                }
            };
            len as u128 | short(len, first) << 32
        } else if let Some(beginning) = self.beginning(block, start) {
            beginning
        } else {
            let number = match self.block {
                Some(number) => number,
                None => self.add(block),
            };
            let prefix = [block[start], block[start + 1], block[start + 2], block[start + 3]];
            long(len, prefix, number, start)
        };
        self.views.push(view);
    }

    #[cold]
    fn add(&mut self, block: &Buffer) -> u32 {
        let number = self.buffers.len() as u32;
        self.buffers.push(block.clone());
        self.block = Some(number);
        number
    }

    /// As [`Views::push`], but short values are copied. Side by side they stay in the cache until they are used, and
    /// the block need not be kept for them.
    #[inline(always)]
    pub fn push_near(&mut self, block: &Buffer, start: usize, end: usize) {
        let len = end - start;
        if len <= INLINE || len > NEAR_BYTES || self.enough > 0 {
            return self.push(block, start, end);
        }
        match block.get(start..start + NEAR_BYTES) {
            // Of one length, so that the copy is a few instructions and no call.
            Some(bytes) if self.own_at.is_some() && self.own.len() + NEAR_BYTES <= OWN_BYTES => {
                let (number, offset) = (self.own_at.unwrap_or_default(), self.own.len());
                let prefix = [bytes[0], bytes[1], bytes[2], bytes[3]];
                self.views.push(long(len, prefix, number, offset));
                self.own.extend_from_slice(bytes);
                self.own.truncate(offset + len);
            }
            _ => self.push_copy(&block[start..end]),
        }
    }

    /// Appends a copy of these bytes.
    pub fn push_copy(&mut self, bytes: &[u8]) {
        let len = bytes.len();
        if len <= INLINE {
            let mut first = [0; 16];
            first[..len].copy_from_slice(bytes);
            self.views.push(len as u128 | u128::from_le_bytes(first) << 32);
            return;
        }
        if self.own.len() + len > OWN_BYTES {
            self.close_own();
        }
        let number = match self.own_at {
            Some(number) => number,
            None => {
                let number = self.buffers.len() as u32;
                self.buffers.push(Buffer::default());
                self.own_at = Some(number);
                self.own.reserve(self.own_before);
                number
            }
        };
        let prefix = [bytes[0], bytes[1], bytes[2], bytes[3]];
        self.views.push(long(len, prefix, number, self.own.len()));
        self.own.extend_from_slice(bytes);
    }

    /// Appends a row without a value.
    #[inline]
    pub fn push_empty(&mut self) {
        self.views.push(0);
    }

    fn close_own(&mut self) {
        if let Some(number) = self.own_at.take() {
            self.own_before = self.own.len();
            self.buffers[number as usize] = Buffer::from_vec(std::mem::take(&mut self.own));
        }
    }

    /// The views and their buffers; the column is empty again.
    pub fn take(&mut self) -> (Vec<u128>, Vec<Buffer>) {
        self.close_own();
        self.block = None;
        let capacity = self.views.len();
        (std::mem::replace(&mut self.views, Vec::with_capacity(capacity)), std::mem::take(&mut self.buffers))
    }
}
