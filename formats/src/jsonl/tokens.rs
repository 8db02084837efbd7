//! Walks over JSON token by token, and keeps nothing but which brackets are open: a text may come in pieces, and end
//! anywhere. That brackets and commas stand where they may is checked, and that strings hold no control characters; of
//! numbers and words it is not looked at how they are written.

use super::frame::{Wrong, space, string_end};

/// Brackets that are open at once are no more than this, as in the values of records.
const MAX_DEPTH: usize = 128;

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    /// A value, or the end of a list without any.
    FirstValue,
    Key,
    /// A key, or the end of an object without any.
    FirstKey,
    Colon,
    /// A comma, or the end of what is open.
    Behind,
    Nothing,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// An opening bracket or brace, which is now open.
    Open(u8),
    /// A closing one; what it closes is no longer open.
    Close,
    /// A key, with its quotes.
    Key,
    /// A value that holds no others.
    Flat,
    /// A comma or a colon.
    Mark,
}

/// Where a token lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its kind.
    pub token: Token,
    /// Its first byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

/// What is open, and what may come next.
#[derive(Debug)]
pub struct Tokens {
    open: Vec<u8>,
    expected: Expected,
}

impl Tokens {
    /// A value comes.
    pub fn new() -> Tokens {
        Tokens { open: Vec::new(), expected: Expected::Value }
    }

    /// How many brackets are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether the value has ended.
    pub fn is_over(&self) -> bool {
        self.expected == Expected::Nothing
    }

    /// Closes the innermost bracket without a token, because what it holds was read by others.
    pub fn close(&mut self) {
        self.open.pop();
        self.expected = if self.open.is_empty() { Expected::Nothing } else { Expected::Behind };
    }

    /// The next token behind the spaces at `at`; `None` if it goes on beyond `bytes`. Then nothing has changed.
    pub fn next(&mut self, bytes: &[u8], at: usize) -> Result<Option<Placed>, Wrong> {
        let start = space(bytes, at);
        let Some(&byte) = bytes.get(start) else { return Ok(None) };
        let is_object = self.open.last() == Some(&b'{');
        let (token, end) = match (self.expected, byte) {
            (Expected::Colon, b':') => {
                self.expected = Expected::Value;
                (Token::Mark, start + 1)
            }
            (Expected::Behind, b',') => {
                self.expected = if is_object { Expected::Key } else { Expected::Value };
                (Token::Mark, start + 1)
            }
            (Expected::Behind | Expected::FirstKey, b'}') if is_object => {
                self.close();
                (Token::Close, start + 1)
            }
            (Expected::Behind | Expected::FirstValue, b']') if !is_object => {
                self.close();
                (Token::Close, start + 1)
            }
            (Expected::Key | Expected::FirstKey, b'"') => {
                let Some(end) = plain_string_end(bytes, start)? else { return Ok(None) };
                self.expected = Expected::Colon;
                (Token::Key, end)
            }
            (Expected::Value | Expected::FirstValue, b'{' | b'[') => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(Wrong::new(start, "values are nested deeper than 128 levels"));
                }
                self.open.push(byte);
                self.expected = if byte == b'{' { Expected::FirstKey } else { Expected::FirstValue };
                (Token::Open(byte), start + 1)
            }
            (Expected::Value | Expected::FirstValue, b'"') => {
                let Some(end) = plain_string_end(bytes, start)? else { return Ok(None) };
                self.expected = Expected::Behind;
                (Token::Flat, end)
            }
            (
                Expected::Value | Expected::FirstValue,
                b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I',
            ) => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let end = start + bytes[start..].iter().take_while(is_part).count();
                if end == bytes.len() {
                    return Ok(None);
                }
                self.expected = Expected::Behind;
                (Token::Flat, end)
            }
            (Expected::Value | Expected::FirstValue, _) => {
                return Err(Wrong::new(start, "a value was expected"));
            }
            (Expected::Key | Expected::FirstKey, _) => {
                return Err(Wrong::new(start, "a key in quotes was expected"));
            }
            (Expected::Colon, _) => return Err(Wrong::new(start, "a colon was expected behind a key")),
            (Expected::Behind, _) => {
                return Err(Wrong::new(start, "a comma or a closing bracket was expected behind a value"));
            }
            (Expected::Nothing, _) => return Err(Wrong::new(start, "something follows")),
        };
        Ok(Some(Placed { token, start, end }))
    }
}

/// Behind the quote that closes the string that opens at `start`; `None` if it goes on beyond `bytes`.
fn plain_string_end(bytes: &[u8], start: usize) -> Result<Option<usize>, Wrong> {
    let end = string_end(bytes, start + 1);
    let text = &bytes[start..end.unwrap_or(bytes.len()).min(bytes.len())];
    match text.iter().position(|byte| *byte < 0x20) {
        Some(place) => {
            Err(Wrong::new(start + place, "a control character stands in a string; it is to be escaped"))
        }
        None => Ok(end.filter(|end| *end <= bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text, as their bytes, and whether it ended.
    fn tokens(text: &str) -> Result<(Vec<&str>, bool), Wrong> {
        let (mut tokens, mut at, mut found) = (Tokens::new(), 0, Vec::new());
        while !tokens.is_over() {
            let Some(Placed { start, end, .. }) = tokens.next(text.as_bytes(), at)? else {
                return Ok((found, false));
            };
            found.push(&text[start..end]);
            at = end;
        }
        Ok((found, true))
    }

    #[test]
    fn a_text_may_end_anywhere() {
        let text = r#"{"a": [1, {"\"": null}, []], "b" :"x\\", "c":{} }"#;
        let (all, over) = tokens(text).unwrap();
        assert!(over);
        assert_eq!(all.concat(), r#"{"a":[1,{"\"":null},[]],"b":"x\\","c":{}}"#);
        for end in 0..text.len() {
            let (some, over) = tokens(&text[..end]).unwrap();
            assert!(!over && all.starts_with(&some), "{}", &text[..end]);
        }
    }

    #[test]
    fn what_is_no_json_is_noticed() {
        for text in
            ["{1", "{\"a\" 1", "{\"a\":}", "[1 2", "[1,]", "{]", "[}", "[\"a\nb\"", "[x", "{\"a\":1,}", "]"]
        {
            assert!(tokens(text).is_err(), "{text}");
        }
        assert!(tokens(&"[".repeat(128)).is_ok() && tokens(&"[".repeat(129)).is_err());
    }
}
