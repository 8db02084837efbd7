//! The columns of a file of tagged values from its first rows: those of maps by their keys, those of arrays by their
//! places.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use schema::text::types::DEEPEST;
use schema::{FileEntry, FormatOptions};

use super::outer::{NextRow, Outer};
use super::walk::{Item, Values, column, end_of, name};
use super::{Tagged, see_flat};
use crate::error::{DataError, Error, Result};
use crate::reader::Skipped;
use crate::rows::infer::{self, Kinds, Seen};
use crate::rows::shape::Shape;
use crate::rows::walk::Wrong;
use crate::rows::{Decoder, Input};

/// The columns of a file from so many of its first rows.
pub fn infer<T: Tagged + 'static>(
    tagged: T,
    file: &FileEntry,
    options: &FormatOptions,
    rows: usize,
) -> Result<SchemaRef> {
    infer::infer(file, options, false, |seen| {
        let outer = Outer::new(options.in_array, true);
        Ok(Box::new(Inference { tagged, outer, seen, left: rows, rows: 0 }))
    })
}

/// A decoder that looks at the values of the first rows.
struct Inference<T> {
    tagged: T,
    outer: Outer,
    seen: Seen,
    left: usize,
    rows: u64,
}

impl<T: Tagged> Inference<T> {
    /// Passes the next row, and gives its end; `None` if it goes on behind the bytes at hand.
    fn pass(&mut self, bytes: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
        let (at, left) = match self.outer.next(self.tagged, bytes, at)? {
            NextRow::Row(at, left) => (at, left),
            NextRow::End(end) => return Ok(Some(end)),
            NextRow::Short => return Ok(None),
        };
        let Some(end) = end_of(self.tagged, bytes, at)? else { return Ok(None) };
        let Some(next) = self.outer.end(self.tagged, bytes, end, left) else { return Ok(None) };
        self.look(bytes, at)?;
        (self.left, self.rows) = (self.left - 1, self.rows + 1);
        Ok(Some(next))
    }

    /// Looks at the row that begins at `at`.
    fn look(&mut self, bytes: &[u8], at: usize) -> Result<(), Wrong> {
        let at = at + self.tagged.behind_tags(&bytes[at..]);
        let Some(mut values) = Values::of(self.tagged, bytes, at) else { return Ok(()) };
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            let place = values.passed + 1;
            let (key, value) = match values.next(bytes)? {
                Item::Value(key, value) => (key, &bytes[value.0..value.1]),
                Item::End(_) | Item::Short => return Ok(()),
            };
            let name = match key {
                None => Some(format!("column{place}").into_bytes()),
                Some((from, to)) => column(self.tagged, &bytes[from..to]).map(Cow::into_owned),
            };
            if let Some(name) = name {
                see(self.tagged, value, DEEPEST, seen.named(&name));
            }
        }
    }
}

/// Adds a value to what was seen of a column, or of the values at a place in it. Values nested deeper than `most` are
/// text.
fn see<T: Tagged>(tagged: T, value: &[u8], most: usize, shape: &mut Shape) {
    let Some(value) = value.get(tagged.behind_tags(value)..) else { return };
    if tagged.is_null(value) {
        return;
    }
    let (Some(mut values), Some(deeper)) = (Values::of(tagged, value, 0), most.checked_sub(1)) else {
        return see_flat(tagged, value, shape);
    };
    let map = values.is_map();
    if map {
        shape.object();
    } else {
        shape.list();
    }
    while let Ok(Item::Value(key, (from, to))) = values.next(value) {
        let inner = match key.map(|(from, to)| name(tagged, &value[from..to])) {
            None => shape.list(),
            Some(Some(name)) => shape.field(&name),
            // No struct has such a field, and text keeps it.
            Some(None) => {
                shape.add(Kinds::TEXT);
                continue;
            }
        };
        see(tagged, &value[from..to], deeper, inner);
    }
}

impl<T: Tagged> Decoder for Inference<T> {
    fn decode(&mut self, input: Input) -> Result<usize> {
        let bytes = input.block.as_slice();
        let mut at = input.at;
        while at < bytes.len() && self.left > 0 {
            let end = self.pass(bytes, at).map_err(|wrong| {
                Error::Data(Box::new(DataError {
                    row: Some(self.rows + 1),
                    offset: Some(input.offset + at as u64),
                    message: wrong.message,
                    ..DataError::default()
                }))
            })?;
            let Some(end) = end else { break };
            at = end;
        }
        Ok(at - input.at)
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.is_full().then(|| RecordBatch::new_empty(Arc::new(Schema::empty()))))
    }

    fn position(&self) -> (u64, Option<u64>) {
        (self.rows, None)
    }

    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}
