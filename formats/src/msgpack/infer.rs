//! The columns of a MessagePack file from its first rows: those of maps by their keys, those of arrays by their places.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use schema::FormatOptions;

use super::decode::next;
use super::value::{Head, Msgpack, value};
use crate::error::{DataError, Error, Result};
use crate::reader::Skipped;
use crate::rows::infer::{self, Kinds, Seen};
use crate::rows::tagged::kinds;
use crate::rows::walk::Wrong;
use crate::rows::{Decoder, Input};

/// The columns of a file from so many of its first rows.
pub fn infer(path: &Path, options: &FormatOptions, rows: usize) -> Result<SchemaRef> {
    infer::infer(path, options, false, |seen| {
        Ok(Box::new(Guesser { seen, by_name: HashMap::new(), left: rows, rows: 0 }))
    })
}

/// A decoder that looks at the values of the first rows.
struct Guesser {
    seen: Seen,
    by_name: HashMap<Vec<u8>, usize>,
    left: usize,
    rows: u64,
}

impl Guesser {
    /// Looks at the row that begins at `at`, and gives its end; `None` if it goes on behind the bytes at hand.
    fn look(&mut self, bytes: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
        let Some(end) = next(bytes, at)? else { return Ok(None) };
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(row) = value(&bytes[at..]) else { return Ok(Some(end)) };
        let mut at = at + row.from;
        let (count, named) = match row.head {
            Head::Array(count) => (count, false),
            Head::Map(count) => (count, true),
            _ => return Ok(Some(end)),
        };
        for place in 0..count {
            let name = if named {
                let key = at;
                let Some(end) = next(bytes, key)? else { return Ok(None) };
                at = end;
                match value(&bytes[key..end]) {
                    Some(value) if matches!(value.head, Head::Text | Head::Bytes) => {
                        Some(bytes[key + value.from..end].to_vec())
                    }
                    _ => None,
                }
            } else {
                Some(format!("column{}", place + 1).into_bytes())
            };
            let Some(end) = next(bytes, at)? else { return Ok(None) };
            if let Some(name) = name {
                let column = *self.by_name.entry(name).or_insert_with_key(|name| {
                    seen.push((String::from_utf8_lossy(name).into_owned(), Kinds::default()));
                    seen.len() - 1
                });
                if bytes[at] != 0xc0 {
                    seen[column].1.add(kinds(Msgpack, &bytes[at..end]));
                }
            }
            at = end;
        }
        Ok(Some(end))
    }
}

impl Decoder for Guesser {
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

    fn position(&self) -> (u64, u64) {
        (self.rows, 0)
    }

    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}
