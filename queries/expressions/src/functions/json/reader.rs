//! A reader of JSON text: one pass over its bytes, without a tree, and without recursion.
//!
//! The text is RFC 8259 with what DuckDB takes besides. That is a comma behind the last member of an array or object,
//! and `NaN`, `Infinity` and `inf` in any case, with or without a minus. Numbers of any size are numbers.
//!
//! What is read is checked: a text is malformed wherever what is wrong stands. Containers that are open are one bit each,
//! so that a text of a million brackets costs no memory; more than [`MOST_LEVELS`] are an error.

use std::fmt;
use std::ops::Range;

use datafusion_common::DataFusionError;

use super::scalars::{begins, behind_white, byte, key, number, scalar, string, unexpected};

/// The most arrays and objects that are open at once.
pub const MOST_LEVELS: usize = 1000;

/// The longest beginning of a text that a message shows, in bytes.
const SHOWN: usize = 50;

/// Why a text is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The byte at which it is seen.
    pub at: usize,
    /// What is wrong there.
    pub what: Wrong,
}

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// There is nothing but white space.
    Empty,
    /// It ends too soon.
    End,
    /// Something else is expected.
    Character,
    /// Something stands behind the value.
    Behind,
    /// A number of several digits begins with 0.
    LeadingZero,
    /// A backslash with something that it does not escape.
    Escape,
    /// A half of a pair of `\u` without the other one.
    Surrogate,
    /// A control character in a string.
    Control,
    /// More than [`MOST_LEVELS`] arrays and objects are open.
    Levels,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Empty => f.write_str("there is no value"),
            Wrong::End => f.write_str("unexpected end"),
            Wrong::Character => f.write_str("unexpected character"),
            Wrong::Behind => f.write_str("unexpected text behind the value"),
            Wrong::LeadingZero => f.write_str("a number with a leading zero"),
            Wrong::Escape => f.write_str("no escape of a string"),
            Wrong::Surrogate => f.write_str("a half of a surrogate pair"),
            Wrong::Control => f.write_str("a control character in a string"),
            Wrong::Levels => write!(f, "more than {MOST_LEVELS} levels of arrays and objects"),
        }
    }
}

impl Malformed {
    /// The error, with the beginning of the text.
    pub fn error(self, text: &str) -> DataFusionError {
        let end = text.floor_char_boundary(SHOWN);
        let more = if end < text.len() { "…" } else { "" };
        let (at, what, shown) = (self.at, self.what, text[..end].escape_debug());
        DataFusionError::Execution(format!("Malformed JSON at byte {at}: {what}: \"{shown}{more}\""))
    }
}

/// What is read of a text.
pub type Read<T> = Result<T, Malformed>;

/// What a value is, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number, `NaN` and the infinities too.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind of a value that is written so.
    pub fn of(value: &[u8]) -> Kind {
        match value {
            [b'"', ..] => Kind::String,
            [b'{', ..] => Kind::Object,
            [b'[', ..] => Kind::Array,
            [b't' | b'f', ..] => Kind::Boolean,
            [b'n', b'u', ..] => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether it has members.
    pub fn is_container(self) -> bool {
        matches!(self, Kind::Array | Kind::Object)
    }
}

/// The containers that are open: a bit each, set for objects.
#[derive(Debug, Clone, Default)]
struct Open {
    /// The innermost ones, the last one lowest.
    last: u64,
    /// Those around them, 64 each.
    around: [u64; MOST_LEVELS.div_ceil(64)],
    levels: usize,
}

impl Open {
    /// Opens one, unless there are too many.
    #[inline(always)]
    fn push(&mut self, is_object: bool) -> bool {
        if self.levels == MOST_LEVELS {
            return false;
        }
        if self.levels.is_multiple_of(64) {
            self.around[self.levels / 64] = self.last;
        }
        self.last = self.last << 1 | u64::from(is_object);
        self.levels += 1;
        true
    }

    /// Closes the innermost one.
    #[inline(always)]
    fn pop(&mut self) {
        self.levels -= 1;
        self.last >>= 1;
        if self.levels.is_multiple_of(64) {
            self.last = self.around[self.levels / 64];
        }
    }

    /// Whether the innermost one is an object.
    #[inline(always)]
    fn is_object(&self) -> bool {
        self.last & 1 == 1
    }
}

/// A string as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted {
    /// The first byte behind the quote.
    pub begin: usize,
    /// The closing quote.
    pub end: usize,
    /// Whether it has escapes.
    pub is_escaped: bool,
}

/// What follows in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// Its end, which is read.
    End,
    /// An item of an array, which is not read.
    Item,
    /// The value of this key of an object, which is not read.
    Field(Quoted),
}

/// A place in a text.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Open,
}

impl<'a> Reader<'a> {
    /// At the first value of a text.
    ///
    /// # Errors
    /// There is none.
    pub fn new(text: &'a str) -> Read<Reader<'a>> {
        let bytes = text.as_bytes();
        let at = behind_white(bytes, 0);
        match at == bytes.len() {
            true => Err(Malformed { at: 0, what: Wrong::Empty }),
            false => Ok(Reader { bytes, at, open: Open::default() }),
        }
    }

    /// The bytes of the one value of a text, without the white space around it.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn whole(text: &str) -> Read<Range<usize>> {
        let mut reader = Reader::new(text)?;
        let value = reader.value()?;
        reader.finish()?;
        Ok(value)
    }

    /// The next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether an object begins here.
    pub fn is_at_object(&self) -> bool {
        byte(self.bytes, self.at) == b'{'
    }

    /// Reads a value, and gives its bytes.
    #[inline]
    pub fn value(&mut self) -> Read<Range<usize>> {
        let (begin, levels) = (self.at, self.open.levels);
        if self.one()? {
            self.rest(levels, true)?;
        }
        Ok(begin..self.at)
    }

    /// Reads a value that is no container, or opens one, and gives what was read of it.
    pub fn step(&mut self) -> Read<(Range<usize>, Kind)> {
        let begin = self.at;
        self.one()?;
        Ok((begin..self.at, Kind::of(&self.bytes[begin..])))
    }

    /// Reads to the end of all containers that are open, behind a value. Nothing may stand behind that.
    pub fn finish(&mut self) -> Read<()> {
        self.rest(0, false)?;
        self.at = behind_white(self.bytes, self.at);
        match self.at < self.bytes.len() {
            true => Err(Malformed { at: self.at, what: Wrong::Behind }),
            false => Ok(()),
        }
    }

    /// Opens an object or array that begins here. Something else is read as a value, and `false` is given.
    #[inline]
    pub fn enter(&mut self, is_object: bool) -> Read<bool> {
        if byte(self.bytes, self.at) != if is_object { b'{' } else { b'[' } {
            self.value()?;
            return Ok(false);
        }
        self.one()
    }

    /// Reads on to the value of the next member of the innermost container, or closes that. `first`: no member has been read.
    #[inline]
    pub fn member(&mut self, first: bool) -> Read<Member> {
        let (bytes, is_object) = (self.bytes, self.open.is_object());
        let mut at = behind_white(bytes, self.at);
        let mut next = byte(bytes, at);
        if !first && next == b',' {
            at = behind_white(bytes, at + 1);
            next = byte(bytes, at);
        } else if !first && next != closing(is_object) {
            return unexpected(bytes, at);
        }
        if next == closing(is_object) {
            self.at = at + 1;
            self.open.pop();
            return Ok(Member::End);
        }
        if !is_object {
            self.at = at;
            return Ok(Member::Item);
        }
        let (key, at) = key(bytes, at)?;
        self.at = at;
        Ok(Member::Field(key))
    }

    /// Reads a value that is no container, or opens one, which is `true`.
    #[inline]
    fn one(&mut self) -> Read<bool> {
        match byte(self.bytes, self.at) {
            opening @ (b'{' | b'[') => {
                if !self.open.push(opening == b'{') {
                    return Err(Malformed { at: self.at, what: Wrong::Levels });
                }
                self.at += 1;
                Ok(true)
            }
            _ => {
                self.at = scalar(self.bytes, self.at)?;
                Ok(false)
            }
        }
    }

    /// Reads on to the value of the first member whose key is wanted. The innermost container was just opened and is an
    /// object. Without such a member it reads on to the object's end.
    pub fn seek(&mut self, is_wanted: impl FnMut(Quoted) -> bool) -> Read<bool> {
        let levels = self.open.levels;
        self.run(levels - 1, true, levels, is_wanted)
    }

    /// Reads on until so many containers are open. `opened`: the innermost one was just opened.
    fn rest(&mut self, levels: usize, opened: bool) -> Read<()> {
        // No container is at this level.
        self.run(levels, opened, usize::MAX, |_| false).map(|_| ())
    }

    /// Reads on until so many containers are open, or to the value of a wanted key of an object at a level.
    #[inline(always)]
    fn run(
        &mut self,
        levels: usize,
        mut opened: bool,
        level: usize,
        mut is_wanted: impl FnMut(Quoted) -> bool,
    ) -> Read<bool> {
        let (bytes, mut at) = (self.bytes, self.at);
        let open = &mut self.open;
        'container: while open.levels > levels {
            let is_object = open.is_object();
            let closing = closing(is_object);
            loop {
                // Most texts have no white space here.
                if !is_object || opened || !begins(bytes, at, b",\"") {
                    at = behind_white(bytes, at);
                    let mut next = byte(bytes, at);
                    if !opened && next == b',' {
                        at = behind_white(bytes, at + 1);
                        next = byte(bytes, at);
                    } else if !opened && next != closing {
                        return unexpected(bytes, at);
                    }
                    opened = false;
                    if next == closing {
                        at += 1;
                        open.pop();
                        continue 'container;
                    }
                } else {
                    at += 1;
                }
                if is_object {
                    let name;
                    (name, at) = key(bytes, at)?;
                    if open.levels == level && is_wanted(name) {
                        self.at = at;
                        return Ok(true);
                    }
                }
                match byte(bytes, at) {
                    b'"' => at = string(bytes, at)?.end + 1,
                    b'-' | b'0'..=b'9' => at = number(bytes, at)?,
                    opening @ (b'{' | b'[') => {
                        if !open.push(opening == b'{') {
                            return Err(Malformed { at, what: Wrong::Levels });
                        }
                        at += 1;
                        opened = true;
                        continue 'container;
                    }
                    _ => at = scalar(bytes, at)?,
                }
            }
        }
        self.at = at;
        Ok(false)
    }
}

fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_malformed_has_its_byte() {
        for (text, at, what) in [
            ("", 0, Wrong::Empty),
            (" \n", 0, Wrong::Empty),
            ("{\"a\": 1", 7, Wrong::End),
            ("abc", 0, Wrong::Character),
            ("[1 2]", 3, Wrong::Character),
            ("{\"a\" 1}", 5, Wrong::Character),
            ("{\"a\":}", 5, Wrong::Character),
            ("{1:2}", 1, Wrong::Character),
            ("\"abc", 4, Wrong::End),
            ("tru", 3, Wrong::End),
            ("1.", 2, Wrong::End),
            ("01", 0, Wrong::LeadingZero),
            ("1 2", 2, Wrong::Behind),
            ("-", 1, Wrong::End),
            ("1e", 2, Wrong::End),
            ("\"\\x\"", 1, Wrong::Escape),
            ("\"\\u12\"", 1, Wrong::Escape),
            ("\"\\ud800\"", 7, Wrong::Surrogate),
            ("\"\\udc00\"", 7, Wrong::Surrogate),
            ("\"a\u{1}\"", 2, Wrong::Control),
            ("[", 1, Wrong::End),
            ("[,]", 1, Wrong::Character),
            ("[1,,2]", 3, Wrong::Character),
            ("{,}", 1, Wrong::Character),
            ("]", 0, Wrong::Character),
            ("[1}", 2, Wrong::Character),
            ("{\"a\":1]", 6, Wrong::Character),
            ("nul", 3, Wrong::End),
            ("TRUE", 0, Wrong::Character),
            ("+1", 0, Wrong::Character),
            (".5", 0, Wrong::Character),
            ("[1]]", 3, Wrong::Behind),
        ] {
            assert_eq!(Reader::whole(text), Err(Malformed { at, what }), "{text}");
        }
    }

    #[test]
    fn what_is_json_is_read_to_its_end() {
        for text in [
            "1",
            " 1 ",
            "-0",
            "1.5e+10",
            "1E5",
            "\"\"",
            "\"\\u00e9\\ud83d\\ude00\\\"\\/\"",
            "[]",
            "{}",
            "[1,]",
            "{\"a\":1,}",
            "NaN",
            "-inf",
            "iNf",
            "-Infinity",
            "nan",
            "[[[]],{\"a\":[{}]}]",
            "true",
            "null",
            "123456789012345678901234567890",
            "1e400",
            "{\"a\" : [ 1 , 2 ] }",
            "\"12345678\\\\12345678\"",
        ] {
            assert_eq!(Reader::whole(text).map(|range| &text[range]), Ok(text.trim()), "{text}");
        }
    }

    #[test]
    fn levels_are_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(Reader::whole(&nested(MOST_LEVELS)).is_ok());
        let mixed = "[{\"a\":".repeat(500) + "1" + &"}]".repeat(500);
        assert!(Reader::whole(&mixed).is_ok());
        assert!(Reader::whole(&mixed.replace("1}]}]", "1}]]}")).is_err());
        let too_deep = Reader::whole(&nested(MOST_LEVELS + 1));
        assert_eq!(too_deep, Err(Malformed { at: MOST_LEVELS, what: Wrong::Levels }));
    }

    #[test]
    fn a_message_shows_the_beginning() {
        let text = format!("é{}", "x".repeat(100));
        let error = Reader::whole(&text).unwrap_err().error(&text).to_string();
        assert!(error.contains("at byte 0") && error.contains("…") && error.len() < 150, "{error}");
    }
}
