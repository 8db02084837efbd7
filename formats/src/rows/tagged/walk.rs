//! Rows of tagged values: arrays, whose values lie in the order of the columns, and maps from names to values.

use std::borrow::Cow;

use arrow_schema::SchemaRef;

use super::outer::{NextRow, Outer};
use super::{Container, End, Scalar, Tagged, TaggedSyntax, text};
use crate::error::Result;
use crate::format::ScanOptions;
use crate::rows::keys::{ColumnSlots, Keys};
use crate::rows::walk::{Span, WalkParser, Walked, Walker, Wrong, is_missing};
use crate::rows::{BatchDecoder, Decoder};

/// The decoder of an encoding; `first` says that the data begins at the file's beginning.
pub fn decoder<T: Tagged + 'static>(tagged: T, scan: &ScanOptions, first: bool) -> Result<Box<dyn Decoder>> {
    let slots = ColumnSlots::new(scan);
    let walker = TaggedWalker {
        tagged,
        outer: Outer::new(scan.format.in_array, first),
        schema: scan.schema.clone(),
        columns: slots.of_schema.clone(),
        keys: Keys::new(scan, &slots),
    };
    let parser = WalkParser::new(walker, TaggedSyntax(tagged), slots, scan)?;
    Ok(Box::new(BatchDecoder::new(parser, scan)?))
}

/// Walks over rows that are arrays or maps.
struct TaggedWalker<T> {
    tagged: T,
    outer: Outer,
    schema: SchemaRef,
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
#[inline]
pub fn name<T: Tagged>(tagged: T, key: &[u8]) -> Option<Cow<'_, [u8]>> {
    match tagged.scalar(key) {
        Scalar::Text(from, to) | Scalar::Bytes(from, to) => key.get(from..to).map(Cow::Borrowed),
        Scalar::Pieces => text::spelled(tagged, key).map(Cow::Owned),
        _ => None,
    }
}

/// The name of the column that a key of a row stands for: the text that it is, or that it has in JSON.
#[inline]
pub fn column<T: Tagged>(tagged: T, key: &[u8]) -> Option<Cow<'_, [u8]>> {
    name(tagged, key).or_else(|| text::spelled(tagged, key).map(Cow::Owned))
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
        Some(Values::within(tagged, tagged.container(&bytes[at..])?, at))
    }

    /// The values of this container, which begins at `at`.
    pub fn within(tagged: T, container: Container, at: usize) -> Values<T> {
        Values { tagged, container, at: at + container.from, passed: 0 }
    }

    /// How many they are, if that is told.
    pub fn count(&self) -> Option<u64> {
        self.container.count
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
    fn begin(&mut self, bytes: &[u8], last: bool) -> Result<bool, Wrong> {
        self.outer.begin(self.tagged, bytes, last, &self.schema)
    }

    fn restart(&mut self) {
        self.outer.restart();
    }

    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let (at, left) = match self.outer.next(self.tagged, bytes, at)? {
            NextRow::Row(at, left) => (at, left),
            NextRow::End(end) => return Ok(Walked::Passed(end)),
            NextRow::Short => return Ok(Walked::Short),
        };
        let tagged = self.tagged;
        let behind = |outer: &mut Outer, end| outer.end(tagged, bytes, end, left);
        match self.row(bytes, at, found) {
            Ok(Walked::Whole(end)) => Ok(behind(&mut self.outer, end).map_or(Walked::Short, Walked::Whole)),
            Err(Wrong { message, next: Some(end) }) => match behind(&mut self.outer, end) {
                None => Ok(Walked::Short),
                next => Err(Wrong { message, next }),
            },
            other => other,
        }
    }
}

impl<T: Tagged> TaggedWalker<T> {
    /// Walks over the row that begins at `at`.
    fn row(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let behind = at + self.tagged.behind_tags(&bytes[at.min(bytes.len())..]);
        let Some(mut values) = bytes.get(behind..).and_then(|_| Values::of(self.tagged, bytes, behind))
        else {
            // It may be that the head itself is not all there.
            let Some(end) = end_of(self.tagged, bytes, at)? else { return Ok(Walked::Short) };
            let message = "a row is an array or a map, and this is another value".to_string();
            return Err(Wrong { message, next: Some(end) });
        };
        let mut twice = None;
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
                    return match twice {
                        None => Ok(Walked::Whole(end)),
                        Some(key) => {
                            let name = column(self.tagged, key).unwrap_or_default();
                            let name = String::from_utf8_lossy(&name);
                            let message = format!("the key '{name}' is there twice");
                            Err(Wrong { message, next: Some(end) })
                        }
                    };
                }
            };
            let slot = match key {
                None => self.columns.get(place).copied().flatten(),
                Some((from, to)) => column(self.tagged, &bytes[from..to])
                    .and_then(|raw| self.keys.slot(place, &raw, |raw| Some(raw.to_vec()))),
            };
            if let Some(slot) = slot
                && !self.tagged.is_null(&bytes[value.0..value.1])
            {
                if let Some((from, to)) = key.filter(|_| !is_missing(found[slot])) {
                    twice = Some(&bytes[from..to]);
                }
                found[slot] = value;
            }
        }
    }
}
