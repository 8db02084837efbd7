//! Walks over one JSON text without making anything of it: checks its grammar (RFC 8259) and tells where values lie.
//! Beyond the grammar `NaN`, `Infinity` and `-Infinity` are values, since DuckDB and Python write them so.

use crate::rows::json_strings::hex4;
use crate::rows::walk::Span;

/// Values nested deeper than this are refused.
const MAX_DEPTH: usize = 128;

/// A JSON text, and what was found wrong with it.
///
/// Places in it are passed from function to function, and not kept here, so that they stay in registers.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    start: usize,
    wrong: &'static str,
}

/// Who is told the fields of an object.
pub trait Fields {
    /// The key that is likely to come next, without its quotes and as it stands. It is no more than a guess.
    fn expected(&self) -> Option<&[u8]> {
        None
    }

    /// The span of a key without its quotes, and that of its value; `known` says whether the key is the one that was
    /// expected.
    fn field(&mut self, known: bool, key: Span, value: Span);
}

/// Nobody is told.
struct Nobody;

impl Fields for Nobody {
    fn field(&mut self, _: bool, _: Span, _: Span) {}
}

impl<F: FnMut(Span, Span)> Fields for F {
    fn field(&mut self, _: bool, key: Span, value: Span) {
        self(key, value);
    }
}

#[inline(always)]
fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// A bit for each of 16 bytes that is a quote, a backslash or a control character.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn specials(chunk: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };

    // SAFETY: SSE2 is part of every x86-64, and the load, which may be unaligned, reads the 16 bytes of `chunk`.
    unsafe {
        let bytes = _mm_loadu_si128(chunk.as_ptr().cast());
        let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(is(b'"'), is(b'\\')), control)) as u32
    }
}

/// A bit for each of 16 bytes that is a quote, a backslash or a control character.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn specials(chunk: &[u8; 16]) -> u32 {
    chunk.iter().enumerate().fold(0, |mask, (i, byte)| mask | u32::from(is_special(*byte)) << i)
}

impl<'a> Cursor<'a> {
    /// A cursor at byte `start` of a text that ends with `bytes`.
    pub fn new(bytes: &'a [u8], start: usize) -> Cursor<'a> {
        Cursor { bytes, start, wrong: "" }
    }

    #[inline(always)]
    fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Where the space from `at` on ends.
    #[inline(always)]
    fn space(&self, at: usize) -> usize {
        match self.peek(at) {
            Some(b'\0'..=b' ') => self.more_space(at),
            _ => at,
        }
    }

    #[inline(never)]
    fn more_space(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek(at) {
            at += 1;
        }
        at
    }

    /// Notes what is wrong; there is nothing then.
    #[cold]
    fn fail(&mut self, wrong: &'static str) -> Option<usize> {
        self.wrong = wrong;
        None
    }

    /// Walks over an object that is the whole text, and tells its fields. An error is words that follow "the record is
    /// not JSON:".
    pub fn record(&mut self, fields: &mut impl Fields) -> Result<(), &'static str> {
        let at = self.space(self.start);
        let end = match self.peek(at) {
            Some(b'{') => self.fields(at + 1, 1, fields),
            _ => self.fail("an object { … } was expected"),
        };
        match end.map(|end| self.space(end)) {
            None => Err(self.wrong),
            Some(end) if end < self.bytes.len() => Err("something follows the object"),
            Some(_) => Ok(()),
        }
    }

    /// Walks over an array that is the whole text, and tells its elements; `None` if the text is no array.
    pub fn list(&mut self, each: &mut impl FnMut(Span)) -> Option<()> {
        match self.peek(self.start) {
            Some(b'[') => self.elements(self.start + 1, 1, each).map(|_| ()),
            _ => None,
        }
    }

    /// Walks over the fields of an object, behind its opening brace, and gives the place behind the closing one.
    #[inline]
    fn fields(&mut self, at: usize, depth: usize, fields: &mut impl Fields) -> Option<usize> {
        let mut at = self.space(at);
        if self.peek(at) == Some(b'}') {
            return Some(at + 1);
        }
        loop {
            at = self.space(at);
            if self.peek(at) != Some(b'"') {
                return self.fail("a key in quotes was expected");
            }
            let key = at + 1;
            let expected = fields.expected().filter(|expected| self.is_key(key, expected));
            let known = expected.is_some();
            at = match expected {
                Some(expected) => key + expected.len() + 1,
                None => self.string(key)?,
            };
            let key = (key, at - 1);
            at = self.space(at);
            if self.peek(at) != Some(b':') {
                return self.fail("a colon was expected behind a key");
            }
            let start = self.space(at + 1);
            at = match self.peek(start) {
                Some(b'"') => self.string(start + 1)?,
                _ => self.value(start, depth)?,
            };
            fields.field(known, key, (start, at));
            at = self.space(at);
            match self.peek(at) {
                Some(b',') => at += 1,
                Some(b'}') => return Some(at + 1),
                _ => return self.fail("a comma or a closing brace was expected behind a value"),
            }
        }
    }

    /// Walks over a value, and gives the place behind it.
    pub fn value(&mut self, at: usize, depth: usize) -> Option<usize> {
        match self.peek(at) {
            Some(b'"') => self.string(at + 1),
            Some(b'-' | b'0'..=b'9') => self.number(at),
            Some(b't') => self.literal(at, b"true"),
            Some(b'f') => self.literal(at, b"false"),
            Some(b'n') => self.literal(at, b"null"),
            Some(b'N') => self.literal(at, b"NaN"),
            Some(b'I') => self.literal(at, b"Infinity"),
            Some(b'{' | b'[') if depth >= MAX_DEPTH => self.fail("values are nested deeper than 128 levels"),
            Some(b'{') => self.fields(at + 1, depth + 1, &mut Nobody),
            Some(b'[') => self.elements(at + 1, depth + 1, &mut |_| {}),
            Some(_) => self.fail("a value was expected"),
            None => self.fail("it ends where a value was expected"),
        }
    }

    /// Walks over the elements of an array, behind its opening bracket, and tells them.
    fn elements(&mut self, at: usize, depth: usize, each: &mut impl FnMut(Span)) -> Option<usize> {
        let mut at = self.space(at);
        if self.peek(at) == Some(b']') {
            return Some(at + 1);
        }
        loop {
            let start = self.space(at);
            at = self.value(start, depth)?;
            each((start, at));
            at = self.space(at);
            match self.peek(at) {
                Some(b',') => at += 1,
                Some(b']') => return Some(at + 1),
                _ => return self.fail("a comma or a closing bracket was expected behind a value"),
            }
        }
    }

    /// Whether these bytes and a closing quote come next.
    #[inline(always)]
    fn is_key(&self, at: usize, expected: &[u8]) -> bool {
        match self.bytes.get(at..at + expected.len() + 1) {
            Some(key) => key[expected.len()] == b'"' && key[..expected.len()] == *expected,
            None => false,
        }
    }

    /// Walks to behind the closing quote of a string.
    #[inline(always)]
    pub fn string(&mut self, at: usize) -> Option<usize> {
        let at = self.special(at);
        match self.peek(at) {
            Some(b'"') => Some(at + 1),
            _ => self.rest_of_string(at),
        }
    }

    /// The same, for one that has more than plain characters.
    #[cold]
    fn rest_of_string(&mut self, mut at: usize) -> Option<usize> {
        loop {
            match self.peek(at) {
                Some(b'"') => return Some(at + 1),
                Some(b'\\') => at = self.escape(at)?,
                Some(_) => return self.fail("a control character stands in a string; it is to be escaped"),
                None => return self.fail("a string is not closed"),
            }
            at = self.special(at);
        }
    }

    /// The place of the next quote, backslash or control character, or the end of the text.
    #[inline(always)]
    fn special(&self, mut at: usize) -> usize {
        while let Some(chunk) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let found = specials(chunk);
            if found != 0 {
                return at + found.trailing_zeros() as usize;
            }
            at += chunk.len();
        }
        while self.peek(at).is_some_and(|byte| !is_special(byte)) {
            at += 1;
        }
        at
    }

    /// Passes a backslash and what it stands before.
    fn escape(&mut self, at: usize) -> Option<usize> {
        match self.peek(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Some(at + 2),
            Some(b'u') if self.bytes.get(at + 2..).and_then(hex4).is_some() => Some(at + 6),
            Some(_) => self.fail("an escape in a string is none"),
            None => self.fail("a string is not closed"),
        }
    }

    fn literal(&mut self, at: usize, word: &[u8]) -> Option<usize> {
        if !self.bytes[at..].starts_with(word) {
            return self.fail("a value was expected");
        }
        Some(at + word.len())
    }

    #[inline(always)]
    fn digits(&mut self, start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(b'0'..=b'9') = self.peek(at) {
            at += 1;
        }
        if at == start { self.fail("a number lacks a digit") } else { Some(at) }
    }

    /// Walks over a number.
    pub fn number(&mut self, start: usize) -> Option<usize> {
        let mut at = start;
        if self.peek(at) == Some(b'-') {
            at += 1;
            if self.peek(at) == Some(b'I') {
                return self.literal(at, b"Infinity");
            }
        }
        at = if self.peek(at) == Some(b'0') { at + 1 } else { self.digits(at)? };
        if self.peek(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.peek(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.peek(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(text: &str) -> Result<Vec<(&str, &str)>, &'static str> {
        let mut fields = Vec::new();
        Cursor::new(text.as_bytes(), 0).record(&mut |key: Span, value: Span| {
            fields.push((&text[key.0..key.1], &text[value.0..value.1]));
        })?;
        Ok(fields)
    }

    #[test]
    fn fields_and_their_values() {
        let text = r#" { "a" : 1 , "b":"x\"y", "c": [1, {"d": null}, []], "": -0.5e+3 } "#;
        let fields = [("a", "1"), ("b", r#""x\"y""#), ("c", r#"[1, {"d": null}, []]"#), ("", "-0.5e+3")];
        assert_eq!(walk(text).unwrap(), fields);
        assert_eq!(walk("{}").unwrap(), []);
        let text = r#"{"a":NaN,"b":[Infinity,-Infinity],"c":-Infinity}"#;
        assert_eq!(walk(text).unwrap(), [("a", "NaN"), ("b", "[Infinity,-Infinity]"), ("c", "-Infinity")]);
    }

    #[test]
    fn special_bytes_are_found_at_every_place() {
        for byte in 0..=255 {
            for place in 0..16 {
                let mut chunk = [b'a'; 16];
                chunk[place] = byte;
                assert_eq!(specials(&chunk), u32::from(is_special(byte)) << place, "{byte} at {place}");
            }
        }
    }

    /// Who expects the same keys again.
    struct Again<'a>(Vec<&'a str>, usize, Vec<(bool, Span)>);

    impl Fields for Again<'_> {
        fn expected(&self) -> Option<&[u8]> {
            self.0.get(self.1).map(|key| key.as_bytes())
        }

        fn field(&mut self, known: bool, _: Span, value: Span) {
            self.1 += 1;
            self.2.push((known, value));
        }
    }

    #[test]
    fn keys_that_are_expected_change_nothing() {
        for text in [r#"{"a":1,"bb":{"a":2},"":3}"#, r#"{"a\"b":1}"#, r#"{"ab":1,"b":2}"#, r#"{"a":1"#] {
            for keys in [vec!["a", "bb", ""], vec!["a"], vec![r#"a\"b"#], vec!["", "b"], vec!["b", "a"]] {
                let mut again = Again(keys.clone(), 0, Vec::new());
                let walked = Cursor::new(text.as_bytes(), 0).record(&mut again);
                let expected = walk(text);
                assert_eq!(walked.err(), expected.as_ref().err().copied(), "{text} {keys:?}");
                let Ok(expected) = expected else { continue };
                assert_eq!(again.2.len(), expected.len());
                for (i, ((known, value), (key, text_of))) in again.2.iter().zip(&expected).enumerate() {
                    assert_eq!(&&text[value.0..value.1], text_of);
                    assert_eq!(*known, keys.get(i) == Some(key), "{text} {keys:?} {key}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            "1",
            "[]",
            "{",
            "{}x",
            "{a:1}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":1.}"#,
            r#"{"a":tru}"#,
            r#"{"a":nan}"#,
            r#"{"a":-NaN}"#,
            r#"{"a":Inf}"#,
            r#"{"a":"x}"#,
            r#"{"a":"x\"}"#,
            r#"{"a":[1 2]}"#,
            r#"{"a":[}"#,
            r#"{"a":+1}"#,
            r#"{"a":1e}"#,
            r#"{"a":"\"#,
            "{\"a\":\"x\ty\"}",
            "{\"a\":[\"sixteen bytes are\u{1f}here\"]}",
            r#"{"a":["\x"]}"#,
            r#"{"a":["\u12g4"]}"#,
            r#"{"a\":1}"#,
        ] {
            assert!(walk(text).is_err(), "{text}");
        }
        let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(walk(&deep(127)).is_ok());
        assert_eq!(walk(&deep(128)), Err("values are nested deeper than 128 levels"));
        assert!(walk(&deep(1_000_000)).is_err());
    }
}
