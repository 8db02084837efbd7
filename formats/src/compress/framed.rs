//! Streams of frames whose headers tell how long each part is: the parts are collected here, whole, before a crate's
//! pull decoder sees them. So bytes can be pushed, and it is known at every byte whether the stream may end there.

use std::io::Read;

/// Whole parts on their way to a pull decoder.
#[derive(Default)]
pub struct Parts {
    bytes: Vec<u8>,
    at: usize,
}

impl Parts {
    /// The part that the decoder is to read next; the one before has been read.
    pub fn set(&mut self, part: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(part);
    }
}

impl Read for Parts {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// Moves bytes from the input until `part` has `len` of them; whether it has.
pub fn collect(part: &mut Vec<u8>, len: usize, input: &mut &[u8]) -> bool {
    let some = len.saturating_sub(part.len()).min(input.len());
    let (head, tail) = input.split_at(some);
    part.extend_from_slice(head);
    *input = tail;
    part.len() >= len
}
