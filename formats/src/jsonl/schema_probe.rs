//! Whether a file of JSON begins like another.

use std::collections::HashMap;

use arrow_schema::{DataType, Schema};
use schema::FormatOptions;

use super::cursor::{Cursor, Fields};
use super::frame::Frames;
use super::infer::kinds;
use crate::rows::schema_probe::{Columns, Like, SchemaProbe};
use crate::rows::walk::Span;

/// Looks at the first records of JSON files.
pub struct JsonProbe {
    names: Names,
    columns: Columns,
    rows: usize,
    frames: Frames,
}

/// The names of the columns, in order and to be found.
struct Names {
    order: Vec<Vec<u8>>,
    places: HashMap<Vec<u8>, usize>,
}

impl JsonProbe {
    /// Looks at so many records.
    pub fn new(format: &FormatOptions, rows: usize, known: &Schema) -> JsonProbe {
        let order: Vec<Vec<u8>> =
            known.fields().iter().map(|field| field.name().clone().into_bytes()).collect();
        let places = order.iter().cloned().zip(0..).collect();
        let frames = Frames::new(format, true);
        JsonProbe { names: Names { order, places }, columns: Columns::new(known), rows, frames }
    }
}

/// The fields of a record.
struct Record<'a> {
    bytes: &'a [u8],
    names: &'a Names,
    columns: &'a mut Columns,
    /// The column whose key is likely to come next.
    next: usize,
    /// A field is none of the columns, or it is nested.
    unsure: bool,
}

impl Fields for Record<'_> {
    fn expected(&self) -> Option<&[u8]> {
        self.names.order.get(self.next).map(Vec::as_slice)
    }

    fn field(&mut self, known: bool, (from, to): Span, (start, end): Span) {
        let key = &self.bytes[from..to];
        let column = match known {
            true => Some(self.next),
            false => self.names.places.get(key).copied(),
        };
        let Some(column) = column else {
            self.unsure = true;
            return;
        };
        self.next = column + 1;
        if !self.columns.is_text(column) {
            let value = &self.bytes[start..end];
            let is_held = match value {
                // A text is a day, and never a number.
                [b'"', text @ .., b'"'] => self.columns.is_day(column) && self.columns.holds(column, text),
                _ => !self.columns.is_day(column) && self.columns.holds(column, value),
            };
            if !is_held {
                self.unsure |= matches!(value, [b'[' | b'{', ..]);
                self.columns.see(column, kinds(value));
            }
        }
    }
}

impl SchemaProbe for JsonProbe {
    fn look(&mut self, head: &[u8], whole: bool) -> Like {
        self.frames.restart();
        let (mut at, mut left, mut clear) = (0, self.rows, true);
        let like = loop {
            if left == 0 || at >= head.len() {
                break if left == 0 || whole { Like::Same } else { Like::Short };
            }
            let frame = match self.frames.next(head, at, whole) {
                Ok(Some(frame)) => frame,
                Ok(None) if !whole => break Like::Short,
                Ok(None) | Err(_) => break Like::Unsure,
            };
            if let Some((start, end)) = frame.record {
                let bytes = &head[start..end];
                let (names, columns) = (&self.names, &mut self.columns);
                let mut record = Record { bytes, names, columns, next: 0, unsure: false };
                let read = Cursor::new(bytes, 0).record(&mut record);
                clear &= read.is_ok() && !record.unsure;
                left -= 1;
            }
            at = frame.next;
        };
        match (self.columns.fit() && clear, like) {
            (false, _) => Like::Unsure,
            (true, like) => like,
        }
    }
}

/// Whether a key of a column with this name may be compared as it stands.
fn is_plain(name: &str) -> bool {
    !name.contains(['"', '\\']) && !name.chars().any(char::is_control)
}

/// Looks at files beside one with these columns.
pub fn probe(format: &FormatOptions, rows: usize, known: &Schema) -> Option<Box<dyn SchemaProbe>> {
    let plain = known.fields().iter().all(|field| is_plain(field.name()));
    let nested = known.fields().iter().any(|field| DataType::is_nested(field.data_type()));
    (plain && !nested).then(|| Box::new(JsonProbe::new(format, rows, known)) as Box<dyn SchemaProbe>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    fn looker(columns: &[(&str, DataType)]) -> Option<Box<dyn SchemaProbe>> {
        let fields: Vec<_> = columns.iter().map(|(name, t)| Field::new(*name, t.clone(), true)).collect();
        probe(&FormatOptions::default(), 2, &Schema::new(fields))
    }

    fn usual() -> Box<dyn SchemaProbe> {
        use DataType::{Date32, Int64, Utf8View};
        looker(&[("id", Int64), ("a b", Utf8View), ("day", Date32)]).unwrap()
    }

    #[test]
    fn files_that_say_nothing_new() {
        let mut probe = usual();
        for text in [
            r#"{"id": 1, "a b": "x", "day": "2020-01-01"}"#,
            "{\"day\":null,\"id\":-1}\r\n\n{}\n{\"what\": \"follows\"}",
            r#"[{"id": 1}, {"a b": [1, {"b": 2}]}, {"what": "follows"}]"#,
            "[ ]\n",
            r#"{"id": 1} {"id": 2}"#,
            "{\n\"id\": 1\n}\n{\n\"id\": 2\n}\n",
            "\n",
            "",
        ] {
            assert_eq!(probe.look(text.as_bytes(), true), Like::Same, "{text}");
        }
    }

    #[test]
    fn files_that_may_say_something_new() {
        let mut probe = usual();
        for text in [
            r#"{"id": 1.5}"#,
            r#"{"id": "1"}"#,
            r#"{"id": [1]}"#,
            r#"{"day": "2020-01-01 10:00"}"#,
            r#"{"day": {}}"#,
            r#"{"x": 1}"#,
            r#"{"ID": 1}"#,
            r#"{"\u0069d": 1}"#,
            r#"{"id": 1} [{"id": 2}]"#,
            r#"{"id": 1"#,
            r#"[{"id": 1}"#,
            "[1, 2]",
            "1",
        ] {
            assert_eq!(probe.look(text.as_bytes(), true), Like::Unsure, "{text}");
        }
    }

    #[test]
    fn more_is_asked_for_until_the_records_are_whole() {
        let look = |text: &str, length| usual().look(&text.as_bytes()[..length], false);
        for (text, enough) in
            [("{\"id\": 1}\n{\"id\": 2}\n{\"id", 20), (" [ {\"id\": 1}, {\"id\": 2}, 3", 24)]
        {
            for length in 0..text.len() {
                let like = if length < enough { Like::Short } else { Like::Same };
                assert_eq!(look(text, length), like, "{}", &text[..length]);
            }
        }
        let cut = "{\"id\": 1}\n{\"id\":\n2}\n";
        assert_eq!((look(cut, 16), look(cut, 17)), (Like::Short, Like::Unsure), "a record is a line");
    }

    #[test]
    fn columns_that_are_not_compared() {
        let nested = DataType::Struct(vec![Field::new("a", DataType::Int64, true)].into());
        assert!(looker(&[("a", DataType::Int64), ("b", nested)]).is_none());
        assert!(looker(&[("a\"b", DataType::Int64)]).is_none());
        assert!(looker(&[("a\\b", DataType::Int64)]).is_none());
    }
}
