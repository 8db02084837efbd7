//! Where the records of a JSON file lie: on a line each, or as the elements of one array.
//!
//! A file whose first character is `[` is an array. Its records may stand anywhere, so that only who reads it from its
//! beginning can tell them apart. An element is given out once the comma or bracket behind it is there. The comma is
//! left for the next, so an array that was cut short is noticed wherever the cut is.

/// Finds the records one after another.
pub struct Frames {
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was seen but space.
    Start,
    /// A record a line.
    Lines,
    /// Behind an element of the array.
    Array,
    /// Behind the array.
    Closed,
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

/// What is wrong with an array, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong(pub usize, pub &'static str);

impl Frames {
    /// `first` says whether the data begins at the file's first byte.
    pub fn new(first: bool) -> Frames {
        Frames { state: if first { State::Start } else { State::Lines } }
    }

    /// Whether the file is known to have a record a line.
    pub fn are_lines(&self) -> bool {
        self.state == State::Lines
    }

    /// What lies at byte `at`; `None` if it goes on beyond `bytes`. With `last` the data ends with `bytes`.
    #[inline]
    pub fn next(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        if self.state == State::Lines {
            return Ok(line(bytes, at, last));
        }
        self.of_array(bytes, at, last)
    }

    #[cold]
    fn begin(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        let start = space(bytes, at);
        match bytes.get(start) {
            None if !last => Ok(None),
            Some(b'[') => {
                let element = space(bytes, start + 1);
                if bytes.get(element) == Some(&b']') {
                    return Ok(self.close(bytes, at, element));
                }
                self.element(bytes, at, element, last)
            }
            _ => {
                self.state = State::Lines;
                Ok(line(bytes, at, last))
            }
        }
    }

    fn of_array(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        match self.state {
            State::Closed => match space(bytes, at) {
                end if end == bytes.len() => Ok(Some(frame(bytes, at, None, end))),
                end => Err(Wrong(end, "something follows the array")),
            },
            // The comma was seen when the element before it was given out.
            State::Array => self.element(bytes, at, space(bytes, at + 1), last),
            State::Start | State::Lines => self.begin(bytes, at, last),
        }
    }

    /// The element that begins at `start`, behind what stands before it from `at` on.
    fn element(&mut self, bytes: &[u8], at: usize, start: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        let cut = || if last { Err(Wrong(bytes.len(), "the array is not closed")) } else { Ok(None) };
        let Some(end) = value_end(bytes, start) else { return cut() };
        if end == start {
            return Err(Wrong(start, "an element of the array was expected"));
        }
        let behind = space(bytes, end);
        match bytes.get(behind) {
            None => cut(),
            Some(b',') => {
                self.state = State::Array;
                Ok(Some(frame(bytes, at, Some((start, end)), behind)))
            }
            Some(b']') => {
                Ok(self.close(bytes, at, behind).map(|f| Frame { record: Some((start, end)), ..f }))
            }
            Some(_) => Err(Wrong(behind, "a comma or a closing bracket was expected behind an element")),
        }
    }

    /// Passes the bracket that closes the array.
    fn close(&mut self, bytes: &[u8], at: usize, bracket: usize) -> Option<Frame> {
        self.state = State::Closed;
        Some(frame(bytes, at, None, space(bytes, bracket + 1)))
    }
}

fn frame(bytes: &[u8], at: usize, record: Option<(usize, usize)>, next: usize) -> Frame {
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

fn space(bytes: &[u8], at: usize) -> usize {
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

/// Behind the quote that closes a string.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
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

    /// The records of a text that comes in pieces, each of which holds what was left of the one before.
    fn records(text: &str, piece: usize) -> Result<Vec<String>, Wrong> {
        let (mut frames, mut found) = (Frames::new(true), Vec::new());
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
        let whole = records(text, text.len().max(1));
        for piece in 1..text.len() {
            assert_eq!(records(text, piece).is_ok(), whole.is_ok(), "{text} in pieces of {piece}");
            if whole.is_ok() {
                assert_eq!(records(text, piece), whole, "{text} in pieces of {piece}");
            }
        }
        whole
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
        let mut frames = Frames::new(false);
        let frame = frames.next(b"[1]\n", 0, false).unwrap().unwrap();
        assert_eq!(frame, Frame { record: Some((0, 3)), next: 4, lines: 1 }, "in the middle of a file");
    }
}
