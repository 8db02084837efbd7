//! The columns of a JSON file from its first records. They are every key that occurs, in the order of their first
//! occurrence, and so in nested objects.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::Bytes;
use schema::text::types::DEEPEST;
use schema::{FormatOptions, OnError};

use super::cursor::Cursor;
use super::decode::{broken, name};
use super::frame::Frames;
use crate::error::{DataError, Error, Result};
use crate::reader::Skipped;
use crate::rows::batch::shown;
use crate::rows::infer::{Kinds, Seen, too_many_columns};
use crate::rows::json_strings::unescape;
use crate::rows::shape::{MOST_COLUMNS, Members, Shape};
use crate::rows::walk::Span;
use crate::rows::{Decoder, Input};

/// A decoder that looks at the values of the first records.
pub struct JsonInference {
    on_error: OnError,
    frames: Frames,
    seen: Seen,
    left: usize,
    records: u64,
    lines: u64,
    /// Lines from other places of the file, which are looked at behind the first records.
    places: SampledLines,
}

/// Gives lines from other places of a file.
pub type SampledLines = Option<Box<dyn FnOnce() -> Vec<Bytes> + Send>>;

impl JsonInference {
    /// A decoder that looks at `rows` records, and, if the file has a record a line and more than these, at those of
    /// other places too.
    pub fn new(format: &FormatOptions, rows: usize, seen: Seen, places: SampledLines) -> JsonInference {
        JsonInference {
            on_error: format.on_error,
            frames: Frames::new(format, true),
            seen,
            left: rows,
            records: 0,
            lines: 0,
            places,
        }
    }

    /// Looks at the records of other places than the head. A line that is no record says nothing.
    fn look_elsewhere(&mut self) {
        let Some(places) = self.places.take().filter(|_| self.frames.are_lines()) else { return };
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for lines in places() {
            for line in lines.split(|byte| *byte == b'\n') {
                let mut fields: Vec<(Span, Span)> = Vec::new();
                let mut each = |key, value| fields.push((key, value));
                if Cursor::new(line, 0).record(&mut each).is_ok() {
                    see_all(line, &fields, &mut seen);
                }
            }
        }
    }

    fn look(&mut self, record: &[u8], offset: u64, line: u64) -> Result<()> {
        let mut fields: Vec<(Span, Span)> = Vec::new();
        let mut few = |key, value| {
            if fields.len() <= MOST_COLUMNS {
                fields.push((key, value));
            }
        };
        match Cursor::new(record, 0).record(&mut few) {
            Ok(()) => {}
            Err(_) if self.on_error != OnError::Fail => return Ok(()),
            Err(wrong) => {
                return Err(Error::Data(Box::new(DataError {
                    row: Some(self.records + 1),
                    line: Some(line),
                    offset: Some(offset),
                    value: Some(shown(record.trim_ascii_end())),
                    message: format!("the record is not JSON: {wrong}"),
                    help: Some("--on-error skip passes over such records and counts them".into()),
                    ..DataError::default()
                })));
            }
        }
        if fields.len() > MOST_COLUMNS {
            return Err(too_many_columns());
        }
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        see_all(record, &fields, &mut seen);
        self.left -= 1;
        Ok(())
    }
}

/// Adds the fields of a record to what was seen of columns.
fn see_all(record: &[u8], fields: &[(Span, Span)], seen: &mut Members) {
    for (key, value) in fields {
        if let Some(name) = spelled(&record[key.0..key.1]) {
            see(&record[value.0..value.1], DEEPEST, seen.named(&name));
        }
    }
}

/// The name that a key spells.
fn spelled(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    match memchr::memchr(b'\\', raw) {
        None => Some(Cow::Borrowed(raw)),
        Some(_) => name(raw).map(Cow::Owned),
    }
}

/// Adds a JSON value to what was seen of a column, or of the values at a place in it. Values nested deeper than `most`
/// are text.
fn see(value: &[u8], most: usize, shape: &mut Shape) {
    let Some(deeper) = most.checked_sub(1) else { return shape.add(kinds(value)) };
    // The record was walked over and is JSON throughout.
    match value.first() {
        Some(b'[') => {
            let items = shape.list();
            let _ = Cursor::new(value, 0).list(&mut |item: Span| see(&value[item.0..item.1], deeper, items));
        }
        Some(b'{') => {
            shape.object();
            let _ = Cursor::new(value, 0).record(&mut |key: Span, field: Span| {
                if let Some(name) = spelled(&value[key.0..key.1]) {
                    see(&value[field.0..field.1], deeper, shape.field(&name));
                }
            });
        }
        _ => shape.add(kinds(value)),
    }
}

/// The kinds of a JSON value.
pub fn kinds(value: &[u8]) -> Kinds {
    match value {
        b"null" => Kinds::default(),
        b"true" | b"false" => Kinds::BOOL,
        [b'"', text @ .., b'"'] if memchr::memchr(b'\\', text).is_none() => Kinds::of_string(text),
        [b'"', text @ .., b'"'] => {
            let mut plain = Vec::new();
            match unescape(text, &mut plain) {
                Some(_) => Kinds::of_string(&plain),
                None => Kinds::TEXT,
            }
        }
        [b'{' | b'[', ..] => Kinds::TEXT,
        b"NaN" | b"Infinity" | b"-Infinity" => Kinds::of_string(value),
        number => Kinds::of_number(number),
    }
}

impl Decoder for JsonInference {
    fn decode(&mut self, input: Input) -> Result<usize> {
        let bytes = input.block.as_slice();
        let mut at = input.at;
        while at < bytes.len() && self.left > 0 {
            let frame = match self.frames.next(bytes, at, input.last) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(wrong) => return Err(broken(input.offset, self.records, &self.frames, wrong)),
            };
            if let Some((start, end)) = frame.record {
                let before = memchr::memchr_iter(b'\n', &bytes[at..start]).count() as u64;
                self.look(&bytes[start..end], input.offset + start as u64, self.lines + before + 1)?;
                self.records += 1;
            }
            self.lines += frame.lines;
            at = frame.next;
        }
        if self.left == 0 {
            self.look_elsewhere();
        }
        Ok(at - input.at)
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.is_full().then(|| RecordBatch::new_empty(Arc::new(Schema::empty()))))
    }

    fn pass_line(&mut self, _input: Input, _message: String) -> Result<bool> {
        let passes = self.frames.are_lines() && self.on_error != OnError::Fail;
        self.records += u64::from(passes);
        self.lines += u64::from(passes);
        Ok(passes)
    }

    fn position(&self) -> (u64, Option<u64>) {
        (self.records, Some(self.lines))
    }

    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}
