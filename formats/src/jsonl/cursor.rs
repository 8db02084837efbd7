//! Walks over one JSON text without making anything of it: checks its grammar (RFC 8259) and tells where values lie.
//! Beyond the grammar `NaN`, `Infinity` and `-Infinity` are values, since DuckDB and Python write them so.

/// Values nested deeper than this are refused.
const MAX_DEPTH: usize = 128;

/// A place in a JSON text.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What is wrong with a text, as words that follow "the record is not JSON:".
type Walk<T> = Result<T, &'static str>;

/// Where something lies, from its first byte to one behind its last.
pub type Span = (usize, usize);

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
    /// A cursor at byte `at` of a text that ends with `bytes`.
    pub fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Walks over an object that is the whole text, and tells its fields.
    pub fn record(&mut self, fields: &mut impl Fields) -> Walk<()> {
        self.space();
        if !self.take(b'{') {
            return Err("an object { … } was expected");
        }
        self.fields(1, fields)?;
        self.space();
        if self.at < self.bytes.len() { Err("something follows the object") } else { Ok(()) }
    }

    /// Walks over the fields of an object, behind its opening brace.
    #[inline]
    fn fields(&mut self, depth: usize, fields: &mut impl Fields) -> Walk<()> {
        self.space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            let key = self.at + 1;
            if !self.take(b'"') {
                return Err("a key in quotes was expected");
            }
            let expected = fields.expected().filter(|expected| self.is_key(expected));
            match expected {
                Some(expected) => self.at += expected.len() + 1,
                None => self.string()?,
            }
            let (known, key) = (expected.is_some(), (key, self.at - 1));
            self.space();
            if !self.take(b':') {
                return Err("a colon was expected behind a key");
            }
            self.space();
            let start = self.at;
            self.value(depth)?;
            fields.field(known, key, (start, self.at));
            self.space();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err("a comma or a closing brace was expected behind a value");
            }
        }
    }

    /// Walks over a value.
    fn value(&mut self, depth: usize) -> Walk<()> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.string()
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            Some(b'N') => self.literal(b"NaN"),
            Some(b'I') => self.literal(b"Infinity"),
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err("values are nested deeper than 128 levels"),
            Some(b'{') => {
                self.at += 1;
                self.fields(depth + 1, &mut Nobody)
            }
            Some(b'[') => {
                self.at += 1;
                self.space();
                if self.take(b']') {
                    return Ok(());
                }
                loop {
                    self.space();
                    self.value(depth + 1)?;
                    self.space();
                    if self.take(b']') {
                        return Ok(());
                    }
                    if !self.take(b',') {
                        return Err("a comma or a closing bracket was expected behind a value");
                    }
                }
            }
            Some(_) => Err("a value was expected"),
            None => Err("it ends where a value was expected"),
        }
    }

    /// Whether these bytes and a closing quote come next.
    #[inline(always)]
    fn is_key(&self, expected: &[u8]) -> bool {
        let rest = &self.bytes[self.at..];
        rest.get(expected.len()) == Some(&b'"') && rest.starts_with(expected)
    }

    /// Walks to behind the closing quote of a string.
    #[inline]
    fn string(&mut self) -> Walk<()> {
        loop {
            let Some(byte) = self.special() else { return Err("a string is not closed") };
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                _ => return Err("a control character stands in a string; it is to be escaped"),
            }
        }
    }

    /// Goes to the next quote, backslash or control character, and gives it.
    #[inline(always)]
    fn special(&mut self) -> Option<u8> {
        while let Some(chunk) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            let found = specials(chunk);
            if found != 0 {
                self.at += found.trailing_zeros() as usize;
                return self.peek();
            }
            self.at += chunk.len();
        }
        while let Some(byte) = self.peek() {
            if is_special(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes a backslash and what it stands before.
    #[cold]
    fn escape(&mut self) -> Walk<()> {
        let len = match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if self.bytes.get(self.at + 2..).and_then(hex4).is_some() => 6,
            Some(_) => return Err("an escape in a string is none"),
            None => return Err("a string is not closed"),
        };
        self.at += len;
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Walk<()> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err("a value was expected");
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Walk<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err("a number lacks a digit") } else { Ok(()) }
    }

    fn number(&mut self) -> Walk<()> {
        if self.take(b'-') && self.peek() == Some(b'I') {
            return self.literal(b"Infinity");
        }
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }
}

/// Appends the text of a string whose escapes are `raw`; gives the number of halves of surrogate pairs that stood
/// alone and became U+FFFD, or `None` if an escape does not exist.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
    let mut rest = raw;
    let mut replaced = 0;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let escape = *rest.get(at + 1)?;
        rest = &rest[at + 2..];
        let byte = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let first = hex4(rest)?;
                rest = &rest[4..];
                let low =
                    rest.strip_prefix(b"\\u").and_then(hex4).filter(|low| (0xdc00..0xe000).contains(low));
                let code = match low {
                    Some(low) if (0xd800..0xdc00).contains(&first) => {
                        rest = &rest[6..];
                        0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)
                    }
                    _ => first,
                };
                let c = char::from_u32(code).unwrap_or_else(|| {
                    replaced += 1;
                    char::REPLACEMENT_CHARACTER
                });
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        };
        out.push(byte);
    }
    out.extend_from_slice(rest);
    Some(replaced)
}

fn hex4(text: &[u8]) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.iter().try_fold(0, |value, &b| Some(value << 4 | char::from(b).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(text: &str) -> Walk<Vec<(&str, &str)>> {
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

    #[test]
    fn escapes() {
        let text = |raw: &str| {
            let mut out = Vec::new();
            unescape(raw.as_bytes(), &mut out).map(|n| (String::from_utf8(out).unwrap(), n))
        };
        assert_eq!(text(r#"\"\\\/\b\f\n\r\t"#).unwrap(), ("\"\\/\u{8}\u{c}\n\r\t".into(), 0));
        assert_eq!(text(r"\u00e9\uD83E\uDD80x").unwrap(), ("é🦀x".into(), 0));
        assert_eq!(text(r"\ud83ex\udd80\ud83e\u0041").unwrap(), ("\u{fffd}x\u{fffd}\u{fffd}A".into(), 3));
        for bad in [r"\x", r"\u12", r"\u12g4", "\\"] {
            assert_eq!(text(bad), None, "{bad}");
        }
    }
}
