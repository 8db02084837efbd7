//! Reading and writing little endian numbers, with every access checked.

use crate::error::{Error, Result};

/// Reads numbers and runs of bytes one after the other.
pub struct Input<'a> {
    bytes: &'a [u8],
    /// What is read, for messages: `buren footer`.
    what: &'static str,
}

impl<'a> Input<'a> {
    /// Reads from the first byte on; `what` names the bytes in messages.
    pub fn new(bytes: &'a [u8], what: &'static str) -> Input<'a> {
        Input { bytes, what }
    }

    /// The error of bytes that can't be what they should be.
    pub fn damaged(&self, why: impl std::fmt::Display) -> Error {
        Error::corrupt(format!("damaged {}: {why}", self.what))
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) =
            self.bytes.split_at_checked(n).ok_or_else(|| self.damaged("it ends inside an entry"))?;
        self.bytes = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// The next byte, which is not read yet.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The length of a text in two bytes, and the text.
    pub fn text(&mut self) -> Result<&'a str> {
        let length = self.u16()?;
        let bytes = self.take(length.into())?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged("a name is not UTF-8"))
    }

    /// A count of entries that take at least `least` bytes each, so that no count asks for more than there is.
    pub fn count(&mut self, least: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.bytes.len() / least {
            return Err(self.damaged(format_args!("it has no room for {count} entries")));
        }
        Ok(count)
    }

    /// Whether all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Writes a text behind its length in two bytes.
pub fn put_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    let length = u16::try_from(text.len())
        .map_err(|_| Error::Unsupported("buren holds names of at most 65,535 bytes".into()))?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Adds zeros up to a multiple of `to`.
pub fn pad(out: &mut Vec<u8>, to: usize) {
    out.resize(out.len().next_multiple_of(to), 0);
}
