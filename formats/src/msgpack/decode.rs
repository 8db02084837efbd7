//! Reads MessagePack: each row is walked once to find the values of the wanted columns.

use super::value::{End, Head, end, value};
use crate::format::ScanOptions;
use crate::rows::keys::{Keys, Slots};
use crate::rows::walk::{Span, Walked, Walker, Wrong};

/// Walks over rows that are arrays or maps.
pub struct MsgpackWalker {
    /// For each column of the schema its slot, if it is wanted.
    slots: Vec<Option<usize>>,
    keys: Keys,
}

impl MsgpackWalker {
    /// A walker over the columns of the scan's schema.
    pub fn new(scan: &ScanOptions, slots: &Slots) -> MsgpackWalker {
        MsgpackWalker { slots: slots.of_schema.clone(), keys: Keys::new(scan, slots) }
    }

    fn array(&mut self, count: u64, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let mut at = at;
        for column in 0..count {
            let next = next(bytes, at)?;
            let Some(next) = next else { return Ok(Walked::Short) };
            let slot = usize::try_from(column).ok().and_then(|column| *self.slots.get(column)?);
            if let Some(slot) = slot {
                note(bytes, (at, next), &mut found[slot]);
            }
            at = next;
        }
        if count != self.slots.len() as u64 {
            let columns = self.slots.len();
            let message = format!("the row has {count} values, and there are {columns} columns");
            return Err(Wrong { message, next: Some(at) });
        }
        Ok(Walked::Whole(at))
    }

    fn map(&mut self, count: u64, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let mut at = at;
        for place in 0..count {
            let Some(behind_key) = next(bytes, at)? else { return Ok(Walked::Short) };
            let Some(next) = next(bytes, behind_key)? else { return Ok(Walked::Short) };
            let slot = match value(&bytes[at..behind_key]) {
                Some(key) if matches!(key.head, Head::Text | Head::Bytes) => {
                    let name = &bytes[at + key.from..behind_key];
                    self.keys.slot(place as usize, name, |raw| Some(raw.to_vec()))
                }
                _ => None,
            };
            if let Some(slot) = slot {
                note(bytes, (behind_key, next), &mut found[slot]);
            }
            at = next;
        }
        Ok(Walked::Whole(at))
    }
}

/// Notes a value, unless it is none.
fn note(bytes: &[u8], span: Span, place: &mut Span) {
    if !value(&bytes[span.0..span.1]).is_some_and(|value| value.head == Head::Nil) {
        *place = span;
    }
}

/// Where the value that begins at `at` ends; `None` behind the bytes at hand.
pub fn next(bytes: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
    match end(bytes, at) {
        End::At(end) => Ok(Some(end)),
        End::Beyond => Ok(None),
        End::NoValue => {
            Err(Wrong::fatal("a value of this row begins with byte 0xc1, which MessagePack does not have"))
        }
    }
}

impl Walker for MsgpackWalker {
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        match value(&bytes[at..]).map(|value| (value.head, at + value.from)) {
            Some((Head::Array(count), at)) => self.array(count, bytes, at, found),
            Some((Head::Map(count), at)) => self.map(count, bytes, at, found),
            _ => {
                let Some(end) = next(bytes, at)? else { return Ok(Walked::Short) };
                let message = "a row is an array or a map, and this is another value".to_string();
                Err(Wrong { message, next: Some(end) })
            }
        }
    }
}
