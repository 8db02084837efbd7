//! Where the records of a JSON file lie: on a line each, as the elements of one array, one after another, or in an array
//! below keys of the file's object.
//!
//! How a file begins tells which ([`layout`]). All but lines may stand anywhere, so that only who reads the file from its
//! beginning can tell them apart. An element of an array is given out once the comma or bracket behind it is there, and
//! the comma is left for the next: an array that was cut short is noticed wherever the cut is.

use std::borrow::Cow;
use std::sync::Arc;

use schema::FormatOptions;

use super::document::Document;
use super::layout::{Layout, layout};
use super::path;

/// Finds the records one after another.
pub struct Frames {
    state: State,
    /// The keys below which the rows lie; none if the values of the file are rows.
    below: Arc<[String]>,
    /// Whether that was found and not said.
    is_found: bool,
    max_record: usize,
}

enum State {
    /// Nothing was seen but space.
    Start,
    /// A record a line.
    Lines,
    /// Behind an element of the array.
    Array,
    /// Behind the array.
    Closed,
    /// Objects one after another; whether one was seen.
    Objects(bool),
    /// Below keys.
    Below(Box<Document>),
}

/// What lies at a place.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// The first byte of the record and the one behind its last; none in a blank line or an empty array.
    pub record: Option<(usize, usize)>,
    /// Where to go on.
    pub next: usize,
    /// The newlines passed.
    pub lines: u64,
}

/// What is wrong with a file, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The byte.
    pub place: usize,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// What helps.
    pub help: Option<String>,
}

impl Wrong {
    /// Something for which there is no help.
    pub fn new(place: usize, message: impl Into<Cow<'static, str>>) -> Wrong {
        Wrong { place, message: message.into(), help: None }
    }
}

impl Frames {
    /// Nothing was seen; `first` says whether the data begins at the file's first byte.
    pub fn new(format: &FormatOptions, first: bool) -> Frames {
        let dialect = format.dialect.as_ref();
        let below = dialect.and_then(|dialect| dialect.rows_below()).and_then(path::keys);
        Frames {
            state: if first { State::Start } else { State::Lines },
            below: below.unwrap_or_default().into(),
            is_found: dialect.is_some_and(|dialect| dialect.json_path_found),
            max_record: format.max_record,
        }
    }

    /// Another file begins.
    pub fn restart(&mut self) {
        self.state = State::Start;
    }

    /// Whether the file is known to have a record a line.
    pub fn are_lines(&self) -> bool {
        matches!(self.state, State::Lines)
    }

    /// What the file is not, if something is wrong with it.
    pub fn should_be(&self) -> &'static str {
        match &self.state {
            State::Objects(_) => "JSON objects one after another",
            State::Below(_) => "an object with the rows in an array",
            State::Start | State::Lines | State::Array | State::Closed => "a JSON array of objects",
        }
    }

    /// What lies at byte `at`; `None` if it goes on beyond `bytes`. With `last` the data ends with `bytes`.
    #[inline]
    pub fn next(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        if let State::Lines = self.state {
            return Ok(line(bytes, at, last));
        }
        self.of_others(bytes, at, last)
    }

    #[cold]
    fn begin(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        if !self.below.is_empty() {
            self.state = State::Below(Box::new(Document::new(self.below.clone(), self.is_found)));
            return self.next(bytes, at, last);
        }
        match layout(&bytes[at..], last, self.max_record) {
            None => Ok(None),
            Some(Layout::Array) => {
                let element = space(bytes, space(bytes, at) + 1);
                if bytes.get(element) == Some(&b']') {
                    return Ok(self.close(bytes, at, element));
                }
                self.element(bytes, at, element, last)
            }
            Some(Layout::Objects) => {
                self.state = State::Objects(false);
                self.object(bytes, at, last)
            }
            Some(Layout::Lines) => {
                self.state = State::Lines;
                Ok(line(bytes, at, last))
            }
        }
    }

    fn of_others(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        match &mut self.state {
            State::Closed => match space(bytes, at) {
                end if end == bytes.len() => Ok(Some(frame(bytes, at, None, end))),
                end => Err(Wrong::new(end, "something follows the array")),
            },
            // The comma was seen when the element before it was given out.
            State::Array => self.element(bytes, at, space(bytes, at + 1), last),
            State::Objects(_) => self.object(bytes, at, last),
            State::Below(document) => document.next(bytes, at, last),
            State::Start | State::Lines => self.begin(bytes, at, last),
        }
    }

    /// The element that begins at `start`, behind what stands before it from `at` on.
    fn element(&mut self, bytes: &[u8], at: usize, start: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        let cut = || if last { Err(Wrong::new(bytes.len(), "the array is not closed")) } else { Ok(None) };
        let Some((end, behind)) = element(bytes, start)? else { return cut() };
        if bytes[behind] == b',' {
            self.state = State::Array;
            return Ok(Some(frame(bytes, at, Some((start, end)), behind)));
        }
        Ok(self.close(bytes, at, behind).map(|f| Frame { record: Some((start, end)), ..f }))
    }

    /// Passes the bracket that closes the array.
    fn close(&mut self, bytes: &[u8], at: usize, bracket: usize) -> Option<Frame> {
        self.state = State::Closed;
        Some(frame(bytes, at, None, space(bytes, bracket + 1)))
    }

    /// The next object, behind spaces and at most one comma.
    fn object(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        let mut start = space(bytes, at);
        if matches!(self.state, State::Objects(true)) && bytes.get(start) == Some(&b',') {
            start = space(bytes, start + 1);
        }
        if start == bytes.len() {
            return Ok(last.then(|| frame(bytes, at, None, start)));
        }
        match value_end(bytes, start) {
            None if last => Err(Wrong::new(bytes.len(), "the last one is not closed")),
            None => Ok(None),
            Some(end) if end == start => Err(Wrong::new(start, "an object was expected")),
            Some(end) => {
                self.state = State::Objects(true);
                Ok(Some(frame(bytes, at, Some((start, end)), end)))
            }
        }
    }
}

/// Where the element of an array that begins at `start` ends, and where the comma or bracket behind it stands; `None` if
/// that is not among the bytes.
pub fn element(bytes: &[u8], start: usize) -> Result<Option<(usize, usize)>, Wrong> {
    let Some(end) = value_end(bytes, start) else { return Ok(None) };
    if end == start {
        return Err(Wrong::new(start, "an element of the array was expected"));
    }
    let behind = space(bytes, end);
    match bytes.get(behind) {
        None => Ok(None),
        Some(b',' | b']') => Ok(Some((end, behind))),
        Some(_) => Err(Wrong::new(behind, "a comma or a closing bracket was expected behind an element")),
    }
}

/// What lies at `at`, and ends at `next`.
pub fn frame(bytes: &[u8], at: usize, record: Option<(usize, usize)>, next: usize) -> Frame {
    Frame { record, next, lines: memchr::memchr_iter(b'\n', &bytes[at..next]).count() as u64 }
}

#[inline]
fn line(bytes: &[u8], at: usize, last: bool) -> Option<Frame> {
    let (end, next) = match memchr::memchr(b'\n', &bytes[at..]) {
        Some(newline) => (at + newline, at + newline + 1),
        None if last => (bytes.len(), bytes.len()),
        None => return None,
    };
    let blank = bytes[at..end].trim_ascii().is_empty();
    Some(Frame { record: (!blank).then_some((at, end)), next, lines: 1 })
}

/// Where the spaces at `at` end.
pub fn space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Where the value that begins at `start` ends, by its brackets and quotes alone. It is `start` where there is none,
/// and `None` if it goes on beyond `bytes`.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    loop {
        match *bytes.get(at)? {
            b'"' => at = string_end(bytes, at + 1)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b',' | b'}' | b']' if depth == 0 => return Some(at),
            b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return Some(at),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Behind the quote that closes a string, of which `at` is the first byte; `None` if it goes on beyond `bytes`.
pub fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Dialect;

    /// The records of a text that comes in pieces, each of which holds what was left of the one before.
    fn records(text: &str, format: &FormatOptions, piece: usize) -> Result<Vec<String>, Wrong> {
        let (mut frames, mut found) = (Frames::new(format, true), Vec::new());
        let (mut at, mut end) = (0, 0);
        while at < text.len() {
            end = (end + piece).min(text.len());
            while at < end {
                let Some(frame) = frames.next(&text.as_bytes()[..end], at, end == text.len())? else { break };
                found.extend(frame.record.map(|(start, end)| text[start..end].to_string()));
                assert!(frame.next > at, "it goes on");
                at = frame.next;
            }
        }
        Ok(found)
    }

    fn all(text: &str) -> Result<Vec<String>, Wrong> {
        of_all(text, &FormatOptions::default())
    }

    fn of_all(text: &str, format: &FormatOptions) -> Result<Vec<String>, Wrong> {
        let whole = records(text, format, text.len().max(1));
        for piece in 1..text.len() {
            assert_eq!(records(text, format, piece).is_ok(), whole.is_ok(), "{text} in pieces of {piece}");
            if whole.is_ok() {
                assert_eq!(records(text, format, piece), whole, "{text} in pieces of {piece}");
            }
        }
        whole
    }

    /// The records below a path, which is said or was found.
    fn below(text: &str, path: &str, found: bool) -> Result<Vec<String>, String> {
        let dialect = Dialect { json_path: Some(path.into()), json_path_found: found, ..Dialect::default() };
        let mut format = FormatOptions::default();
        format.set_dialect(&dialect);
        of_all(text, &format).map_err(|wrong| wrong.message.into_owned())
    }

    #[test]
    fn elements_of_an_array() {
        assert_eq!(all("[\n{\"a\":1},\n{\"a\":2}\n]\n").unwrap(), ["{\"a\":1}", "{\"a\":2}"]);
        let nested = r#" [ {"a": {"b": "]},\""}, "c": [1, {}]} ,{ } ] "#;
        assert_eq!(all(nested).unwrap(), [r#"{"a": {"b": "]},\""}, "c": [1, {}]}"#, "{ }"]);
        assert_eq!(all("[1, null, \"x\", []]").unwrap(), ["1", "null", "\"x\"", "[]"]);
        for empty in ["[]", " [ ]\n", "", "\n\n"] {
            assert!(all(empty).unwrap().is_empty(), "{empty}");
        }
    }

    #[test]
    fn a_cut_anywhere_is_noticed() {
        let text = r#"[{"a":"x"},{"b":[1,2]}]"#;
        for cut in 1..text.len() {
            assert!(all(&text[..cut]).is_err(), "{}", &text[..cut]);
        }
        for wrong in ["[{}{}]", "[{},]", "[,{}]", "[{}]]", "[{}] {}", "[{}}"] {
            assert!(all(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines() {
        assert_eq!(all("{\"a\":1}\n\n{\"a\":[\n2]}").unwrap(), ["{\"a\":1}", "{\"a\":[", "2]}"]);
        let mut frames = Frames::new(&FormatOptions::default(), false);
        let frame = frames.next(b"[1]\n", 0, false).unwrap().unwrap();
        assert_eq!(frame, Frame { record: Some((0, 3)), next: 4, lines: 1 }, "in the middle of a file");
    }

    #[test]
    fn objects_one_after_another() {
        for (text, expected) in [
            ("{\n\"a\": 1}\n{\n\"a\": \"}\"}\n", &["{\n\"a\": 1}", "{\n\"a\": \"}\"}"][..]),
            ("{}{ }{}", &["{}", "{ }", "{}"]),
            (" {\n} , {},\n\n{}, ", &["{\n}", "{}", "{}"]),
            ("{\n} 5 {}", &["{\n}", "5", "{}"]),
        ] {
            assert_eq!(all(text).unwrap(), expected, "{text}");
        }
        for wrong in ["{\n},,{}", "{\n}{\"a\":1", "{\n}]", "{}{}}"] {
            assert!(all(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_below_keys() {
        let text = r#" {"n": {"data": 1}, "data" : [ {"a": "]"}, {} ], "m": [{"x": 1}], "s": "\"" } "#;
        assert_eq!(below(text, "data", false).unwrap(), [r#"{"a": "]"}"#, "{}"]);
        assert_eq!(below(text, "$.m", false).unwrap(), [r#"{"x": 1}"#]);
        assert_eq!(
            below(r#"{"a":{"c":[{}],"b":[{"x":[]}]},"b":[1]}"#, "a.b", false).unwrap(),
            [r#"{"x":[]}"#]
        );
        for empty in [r#"{"data":[]}"#, r#"{"data": [ ] , "a": 1}"#, r#"{"data":null}"#] {
            assert!(below(empty, "data", true).unwrap().is_empty(), "{empty}");
        }
        for (text, message) in [
            (r#"{"a": [{}]}"#, "it has no array at 'data'"),
            (r#"{}"#, "it has no array at 'data'"),
            (r#"[{"data": [{}]}]"#, "it begins with an array"),
            ("5 ", "it begins with something else"),
            (r#"{"data": {}}"#, "what stands at 'data' is no array"),
            (r#"{"data": [{}], "data": [{}]}"#, "the key 'data' is there twice"),
            (r#"{"data": [{}], "b": [ {}]}"#, "both 'data' and 'b' hold arrays of objects"),
            (r#"{"data": [{}]} {}"#, "something follows the object"),
            (r#"{"data": [{}] x}"#, "a comma or a closing bracket was expected behind a value"),
            (r#"{"data": [{} {}]}"#, "a comma or a closing bracket was expected behind an element"),
            (r#"{"data": [{},]}"#, "an element of the array was expected"),
        ] {
            assert_eq!(below(text, "data", true).unwrap_err(), message, "{text}");
        }
        assert!(below(r#"{"data": [{}], "b": [{}]}"#, "data", false).is_ok(), "a path that is said");
        assert!(below(r#"{"a": {"b": {}}}"#, "a.b", false).is_err());
        assert!(below(r#"{"a": [1]}"#, "a.b", false).is_err());
        let text = r#"{"n": [1, {"a": 2}], "data": [{"a":"x"},{"b":[1,2]}], "m": {}}"#;
        for cut in 0..text.len() {
            assert!(cut == 0 || below(&text[..cut], "data", true).is_err(), "{}", &text[..cut]);
        }
    }
}
