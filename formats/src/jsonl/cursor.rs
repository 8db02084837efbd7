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

    /// Walks over an object that is the whole text; `field` is told the span of each key without its quotes, and that
    /// of its value.
    pub fn record(&mut self, mut field: impl FnMut(Span, Span)) -> Walk<()> {
        self.space();
        if !self.take(b'{') {
            return Err("an object { … } was expected");
        }
        self.fields(1, &mut field)?;
        self.space();
        if self.at < self.bytes.len() { Err("something follows the object") } else { Ok(()) }
    }

    /// Walks over the fields of an object, behind its opening brace.
    fn fields(&mut self, depth: usize, field: &mut impl FnMut(Span, Span)) -> Walk<()> {
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
            self.string()?;
            let key = (key, self.at - 1);
            self.space();
            if !self.take(b':') {
                return Err("a colon was expected behind a key");
            }
            self.space();
            let start = self.at;
            self.value(depth)?;
            field(key, (start, self.at));
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
                self.fields(depth + 1, &mut |_, _| {})
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

    /// Walks to behind the closing quote of a string.
    #[inline]
    fn string(&mut self) -> Walk<()> {
        loop {
            match memchr::memchr2(b'"', b'\\', &self.bytes[self.at..]) {
                Some(found) if self.bytes[self.at + found] == b'"' => {
                    self.at += found + 1;
                    return Ok(());
                }
                // The escaped byte is passed with its backslash.
                Some(found) if self.at + found + 2 <= self.bytes.len() => self.at += found + 2,
                _ => return Err("a string is not closed"),
            }
        }
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
        Cursor::new(text.as_bytes(), 0).record(|key, value| {
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
