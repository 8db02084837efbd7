//! Rows of tagged values: arrays, whose values lie in the order of the columns, and maps from names to values.

use super::{Container, End, Scalar, Tagged, TaggedSyntax};
use crate::error::Result;
use crate::format::ScanOptions;
use crate::rows::keys::{Keys, Slots};
use crate::rows::walk::{Span, WalkParser, Walked, Walker, Wrong};
use crate::rows::{BatchDecoder, Decoder};

/// The decoder of an encoding.
pub fn decoder<T: Tagged + 'static>(tagged: T, scan: &ScanOptions) -> Result<Box<dyn Decoder>> {
    let slots = Slots::new(scan);
    let walker = TaggedWalker { tagged, columns: slots.of_schema.clone(), keys: Keys::new(scan, &slots) };
    let parser = WalkParser::new(walker, TaggedSyntax(tagged), slots, scan)?;
    Ok(Box::new(BatchDecoder::new(parser, scan)?))
}

/// Walks over rows that are arrays or maps.
struct TaggedWalker<T> {
    tagged: T,
    /// For each column of the schema its slot, if it is wanted.
    columns: Vec<Option<usize>>,
    keys: Keys,
}

/// Where the value that begins at `at` ends; `None` behind the bytes at hand.
pub fn end_of<T: Tagged>(tagged: T, bytes: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
    match tagged.end(bytes, at) {
        End::At(end) => Ok(Some(end)),
        End::Beyond => Ok(None),
        End::NoValue => {
            let byte = bytes.get(at).copied().unwrap_or_default();
            Err(Wrong::fatal(format!("no value of {} begins so, with byte 0x{byte:02x}", T::NAME)))
        }
    }
}

/// The bytes of a key, if it is a text.
pub fn name<T: Tagged>(tagged: T, key: &[u8]) -> Option<&[u8]> {
    match tagged.scalar(key) {
        Scalar::Text(from, to) | Scalar::Bytes(from, to) => key.get(from..to),
        _ => None,
    }
}

/// Goes over the values of a container from one to the next.
pub struct Values<T> {
    tagged: T,
    container: Container,
    /// Where the next one begins.
    pub at: usize,
    /// How many were passed, keys with their values as one.
    pub passed: u64,
}

/// What comes next in a container.
pub enum Item {
    /// A value, and its key in a map.
    Value(Option<Span>, Span),
    /// Nothing: the container ends here.
    End(usize),
    /// More than the bytes at hand hold.
    Short,
}

impl<T: Tagged> Values<T> {
    /// The values of the container that begins at `at`; `None` if what begins there is none.
    pub fn of(tagged: T, bytes: &[u8], at: usize) -> Option<Values<T>> {
        let container = tagged.container(&bytes[at..])?;
        Some(Values { tagged, container, at: at + container.from, passed: 0 })
    }

    /// Whether they have keys.
    pub fn is_map(&self) -> bool {
        self.container.map
    }

    /// The next value.
    #[inline]
    pub fn next(&mut self, bytes: &[u8]) -> Result<Item, Wrong> {
        match self.container.count {
            Some(count) if self.passed == count => return Ok(Item::End(self.at)),
            Some(_) => {}
            None if self.at >= bytes.len() => return Ok(Item::Short),
            None => {
                if let Some(behind) = self.tagged.after_break(&bytes[self.at..]) {
                    return Ok(Item::End(self.at + behind));
                }
            }
        }
        let mut key = None;
        if self.container.map {
            let Some(end) = end_of(self.tagged, bytes, self.at)? else { return Ok(Item::Short) };
            key = Some((self.at, end));
            self.at = end;
        }
        let Some(end) = end_of(self.tagged, bytes, self.at)? else { return Ok(Item::Short) };
        let value = (self.at, end);
        self.at = end;
        self.passed += 1;
        Ok(Item::Value(key, value))
    }
}

impl<T: Tagged> Walker for TaggedWalker<T> {
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let Some(mut values) = Values::of(self.tagged, bytes, at) else {
            // It may be that the head itself is not all there.
            let Some(end) = end_of(self.tagged, bytes, at)? else { return Ok(Walked::Short) };
            let message = "a row is an array or a map, and this is another value".to_string();
            return Err(Wrong { message, next: Some(end) });
        };
        loop {
            let place = values.passed as usize;
            let (key, value) = match values.next(bytes)? {
                Item::Short => return Ok(Walked::Short),
                Item::Value(key, value) => (key, value),
                Item::End(end) => {
                    let columns = self.columns.len();
                    if !values.container.map && values.passed != columns as u64 {
                        let message =
                            format!("the row has {} values, and there are {columns} columns", values.passed);
                        return Err(Wrong { message, next: Some(end) });
                    }
                    return Ok(Walked::Whole(end));
                }
            };
            let slot = match key {
                None => self.columns.get(place).copied().flatten(),
                Some((from, to)) => name(self.tagged, &bytes[from..to])
                    .and_then(|raw| self.keys.slot(place, raw, |raw| Some(raw.to_vec()))),
            };
            if let Some(slot) = slot
                && !self.tagged.is_null(&bytes[value.0..value.1])
            {
                found[slot] = value;
            }
        }
    }
}
