//! One decompressor behind another.

use super::Decompressor;
use crate::error::Result;

/// What lies between the two at a time, in bytes, about.
const BETWEEN: usize = 256 << 10;

struct Chain {
    first: Box<dyn Decompressor>,
    second: Box<dyn Decompressor>,
    between: Vec<u8>,
    /// How much of it the second has taken.
    at: usize,
    /// The first may have more output without more input.
    filled: bool,
}

/// A decompressor for what both of these made, the first of them last.
pub fn chain(
    first: Option<Box<dyn Decompressor>>,
    second: Option<Box<dyn Decompressor>>,
) -> Option<Box<dyn Decompressor>> {
    match (first, second) {
        (Some(first), Some(second)) => {
            Some(Box::new(Chain { first, second, between: Vec::new(), at: 0, filled: false }))
        }
        (first, second) => first.or(second),
    }
}

impl Decompressor for Chain {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut consumed = 0;
        loop {
            self.at += self.second.push(&self.between[self.at..], out, most)?;
            if out.len() >= most || (consumed == input.len() && !self.filled) {
                return Ok(consumed);
            }
            self.between.clear();
            self.at = 0;
            consumed += self.first.push(&input[consumed..], &mut self.between, BETWEEN)?;
            self.filled = self.between.len() >= BETWEEN;
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.first.finish()?;
        self.second.finish()
    }
}
