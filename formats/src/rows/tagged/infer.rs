//! The columns of a file of tagged values from its first rows: those of maps by their keys, those of arrays by their
//! places.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use schema::FormatOptions;

use super::walk::{Item, Values, end_of, name};
use super::{Tagged, kinds};
use crate::error::{DataError, Error, Result};
use crate::reader::Skipped;
use crate::rows::infer::{self, Kinds, Seen};
use crate::rows::walk::Wrong;
use crate::rows::{Decoder, Input};

/// The columns of a file from so many of its first rows.
pub fn infer<T: Tagged + 'static>(
    tagged: T,
    path: &Path,
    options: &FormatOptions,
    rows: usize,
) -> Result<SchemaRef> {
    infer::infer(path, options, false, |seen| {
        Ok(Box::new(Guesser { tagged, seen, by_name: HashMap::new(), left: rows, rows: 0 }))
    })
}

/// A decoder that looks at the values of the first rows.
struct Guesser<T> {
    tagged: T,
    seen: Seen,
    by_name: HashMap<Vec<u8>, usize>,
    left: usize,
    rows: u64,
}

impl<T: Tagged> Guesser<T> {
    /// Looks at the row that begins at `at`, and gives its end; `None` if it goes on behind the bytes at hand.
    fn look(&mut self, bytes: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
        let Some(end) = end_of(self.tagged, bytes, at)? else { return Ok(None) };
        let Some(mut values) = Values::of(self.tagged, bytes, at) else { return Ok(Some(end)) };
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            let place = values.passed + 1;
            let (key, value) = match values.next(bytes)? {
                Item::Value(key, value) => (key, &bytes[value.0..value.1]),
                Item::End(_) | Item::Short => return Ok(Some(end)),
            };
            let name = match key {
                None => Some(format!("column{place}").into_bytes()),
                Some((from, to)) => name(self.tagged, &bytes[from..to]).map(<[u8]>::to_vec),
            };
            let Some(name) = name else { continue };
            let column = *self.by_name.entry(name).or_insert_with_key(|name| {
                seen.push((String::from_utf8_lossy(name).into_owned(), Kinds::default()));
                seen.len() - 1
            });
            if !self.tagged.is_null(value) {
                seen[column].1.add(kinds(self.tagged, value));
            }
        }
    }
}

impl<T: Tagged> Decoder for Guesser<T> {
    fn decode(&mut self, input: Input) -> Result<usize> {
        let bytes = input.block.as_slice();
        let mut at = input.at;
        while at < bytes.len() && self.left > 0 {
            let end = self.look(bytes, at).map_err(|wrong| {
                Error::Data(Box::new(DataError {
                    row: Some(self.rows + 1),
                    offset: Some(input.offset + at as u64),
                    message: wrong.message,
                    ..DataError::default()
                }))
            })?;
            let Some(end) = end else { break };
            (at, self.left, self.rows) = (end, self.left - 1, self.rows + 1);
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
