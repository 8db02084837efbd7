//! Rows that lie in an array below keys of a file's object: `{"meta": {…}, "data": [{…}, {…}]}`.
//!
//! What stands beside the rows is passed token by token, so that none of it is kept. The last byte that was looked at is
//! not given back before the object ends: that a file was cut short is noticed wherever the cut is.

use std::borrow::Cow;
use std::sync::Arc;

use super::decode::name;
use super::frame::{Frame, Wrong, element, frame, space};
use super::path;
use super::tokens::{Placed, Token, Tokens};

/// What helps where the rows are looked for in the wrong place.
const HELP: &str =
    "--json-path KEY names the key of the array with the rows, --json-path $ makes a row of each object";

/// A file's object of which the rows are read.
pub struct Document {
    /// The keys that lead to the array.
    keys: Arc<[String]>,
    /// Whether they were found and not said.
    is_found: bool,
    tokens: Tokens,
    /// So many of the keys lead to the object at hand.
    passed: usize,
    phase: Phase,
    /// Whether the array was there.
    has_rows: bool,
    /// The token before.
    before: Token,
    /// The key at hand of the outermost object.
    outer: Vec<u8>,
    /// Another key that holds an array of objects, if the keys were found.
    other: Option<String>,
    /// Bytes that were looked at and not given back.
    held: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A key is looked for, or the end.
    Seek,
    /// The value of the key comes next.
    Value,
    /// At the first element of the array.
    First,
    /// At the comma or bracket behind an element.
    Rows,
}

impl Document {
    /// Nothing was seen. `is_found` says that the keys, of which there is one, were found and not said: then no other key
    /// may hold an array of objects.
    pub fn new(keys: Arc<[String]>, is_found: bool) -> Document {
        Document {
            keys,
            is_found,
            tokens: Tokens::new(),
            passed: 0,
            phase: Phase::Seek,
            has_rows: false,
            before: Token::Mark,
            outer: Vec::new(),
            other: None,
            held: 0,
        }
    }

    /// As of [`Frames`](super::frame::Frames).
    pub fn next(&mut self, bytes: &[u8], at: usize, last: bool) -> Result<Option<Frame>, Wrong> {
        let mut place = at + self.held;
        loop {
            match self.phase {
                Phase::First | Phase::Rows => match self.row(bytes, place)? {
                    Row::Element(record, behind) => {
                        (self.phase, self.held) = (Phase::Rows, 0);
                        return Ok(Some(frame(bytes, at, Some(record), behind)));
                    }
                    Row::End(behind) => {
                        self.tokens.close();
                        (self.phase, self.before, place) = (Phase::Seek, Token::Close, behind);
                        continue;
                    }
                    Row::Short => {}
                },
                _ if self.tokens.is_over() => return self.end(bytes, at, place),
                _ => {
                    if let Some(placed) = self.tokens.next(bytes, place)? {
                        self.take(bytes, placed)?;
                        (self.before, place) = (placed.token, placed.end);
                        continue;
                    }
                }
            }
            if last {
                return Err(Wrong::new(bytes.len(), "the file ends within the object"));
            }
            let is_new = place > at + 1;
            self.held = if is_new { 1 } else { place - at };
            return Ok(is_new.then(|| frame(bytes, at, None, place - 1)));
        }
    }

    /// What lies in the array at `place`.
    fn row(&self, bytes: &[u8], place: usize) -> Result<Row, Wrong> {
        let start = match (self.phase, bytes.get(place)) {
            (_, None) => return Ok(Row::Short),
            (Phase::First, _) => space(bytes, place),
            (_, Some(b']')) => return Ok(Row::End(place + 1)),
            (..) => space(bytes, place + 1),
        };
        if self.phase == Phase::First && bytes.get(start) == Some(&b']') {
            return Ok(Row::End(start + 1));
        }
        let found = element(bytes, start)?;
        Ok(found.map_or(Row::Short, |(end, behind)| Row::Element((start, end), behind)))
    }

    /// Takes a token that is not one of a row.
    fn take(&mut self, bytes: &[u8], Placed { token, start, end }: Placed) -> Result<(), Wrong> {
        let depth = self.tokens.depth();
        let is_last = self.passed + 1 == self.keys.len();
        match (self.phase, token) {
            (Phase::Value, Token::Mark) => {}
            (Phase::Value, Token::Open(b'[')) if is_last => {
                (self.phase, self.has_rows) = (Phase::First, true);
                self.check_others(start)?;
            }
            (Phase::Value, Token::Open(b'{')) if !is_last => {
                (self.phase, self.passed) = (Phase::Seek, self.passed + 1);
            }
            (Phase::Value, Token::Flat) if &bytes[start..end] == b"null" => {
                (self.phase, self.has_rows) = (Phase::Seek, true);
            }
            (Phase::Value, _) => {
                let what = if is_last { "array" } else { "object" };
                let message = format!("what stands at '{}' is no {what}", self.way(self.passed + 1));
                return Err(elsewhere(start, message));
            }
            (_, Token::Open(b'[')) if depth == 1 => {
                return Err(elsewhere(start, "it begins with an array"));
            }
            (_, Token::Flat) if depth == 0 => {
                return Err(elsewhere(start, "it begins with something else"));
            }
            (_, Token::Key) if depth == self.passed + 1 => {
                let Some(key) = name(&bytes[start + 1..end - 1]) else { return Ok(()) };
                if self.keys.get(self.passed).is_some_and(|wanted| wanted.as_bytes() == key) {
                    if is_last && self.has_rows {
                        let message = format!("the key '{}' is there twice", self.way(self.keys.len()));
                        return Err(Wrong::new(start, message));
                    }
                    self.phase = Phase::Value;
                }
                if depth == 1 {
                    self.outer = key;
                }
            }
            (_, Token::Open(b'{')) if self.is_found && depth == 3 && self.before == Token::Open(b'[') => {
                self.other.get_or_insert_with(|| path::of_key(&String::from_utf8_lossy(&self.outer)));
                self.check_others(start)?;
            }
            (_, Token::Close) if depth <= self.passed => self.passed = depth.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }

    /// Refuses an object of which two keys may hold the rows, if nobody said which.
    fn check_others(&self, place: usize) -> Result<(), Wrong> {
        match self.other.as_ref().filter(|_| self.has_rows) {
            None => Ok(()),
            Some(other) => {
                let message = format!("both '{}' and '{other}' hold arrays of objects", self.way(1));
                Err(elsewhere(place, message))
            }
        }
    }

    /// Behind the object, which ends before `place`.
    fn end(&mut self, bytes: &[u8], at: usize, place: usize) -> Result<Option<Frame>, Wrong> {
        self.held = 0;
        if !self.has_rows {
            let message = format!("it has no array at '{}'", self.way(self.keys.len()));
            return Err(elsewhere(place, message));
        }
        match space(bytes, place) {
            end if end < bytes.len() => Err(elsewhere(end, "something follows the object")),
            end => Ok(Some(frame(bytes, at, None, end))),
        }
    }

    /// The first of the keys, as they are written.
    fn way(&self, count: usize) -> String {
        let keys: Vec<String> = self.keys.iter().take(count).map(|key| path::of_key(key)).collect();
        keys.join(".")
    }
}

/// An error of rows that are not where they are looked for.
fn elsewhere(place: usize, message: impl Into<Cow<'static, str>>) -> Wrong {
    Wrong { place, message: message.into(), help: Some(HELP.into()) }
}

/// What lies in the array.
enum Row {
    /// An element, and the comma or bracket behind it.
    Element((usize, usize), usize),
    /// Its end, and what is behind.
    End(usize),
    /// Something that goes on beyond the bytes.
    Short,
}
