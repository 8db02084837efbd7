//! How the records of a JSON file lie, by its beginning.
//!
//! | begins with | records |
//! |---|---|
//! | `[` | the elements of one array |
//! | an object over several lines, or one behind which another or a comma stands in its line | objects one after another |
//! | anything else | a line each |
//!
//! Besides, a file may be one object that has its rows in an array below a key ([`keys_of_rows`]). That is asked once
//! for all files of a table, before they are read.

use schema::{FileEntry, FormatOptions};

use super::decode::name;
use super::frame::space;
use super::tokens::{Placed, Token, Tokens};
use crate::error::Result;
use crate::rows::reader::BYTE_ORDER_MARK;
use crate::rows::rewrite::first_text;
use crate::rows::tagged::outer::LOOKED_AT;
use crate::store::remote;

/// What is read of a file at first to find the key of its rows, in bytes; then four times as much each time.
const FIRST_LOOKED: usize = 4 << 10;

/// A first object that does not end in so many bytes is not one of many: then it need not end to be known to hold the
/// rows of a file.
const MOST_LOOKED: usize = 16 << 20;

/// The same for files in stores.
const MOST_REMOTE: usize = 1 << 20;

/// How the records of a file lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A record a line.
    Lines,
    /// The elements of an array.
    Array,
    /// Objects one after another, over several lines or with no line between them. A comma may stand between two.
    Objects,
}

/// How the records lie of a file that begins with `text`, without a byte order mark; `None` if that needs more bytes.
/// The first [`LOOKED_AT`] bytes decide, or fewer where records are no longer than `max_record`. `whole` says that the
/// file has no others. What more bytes follow changes no answer.
pub fn layout(text: &[u8], whole: bool, max_record: usize) -> Option<Layout> {
    let most = LOOKED_AT.min(max_record);
    let whole = whole && text.len() < most;
    let text = &text[..text.len().min(most)];
    let is_last = whole || text.len() == most;
    let start = space(text, 0);
    match text.get(start) {
        None => return is_last.then_some(Layout::Lines),
        Some(b'[') => return Some(Layout::Array),
        Some(b'{') => {}
        Some(_) => return Some(Layout::Lines),
    }
    let (mut tokens, mut at) = (Tokens::new(), start);
    let has_line = |end: usize| memchr::memchr(b'\n', &text[start..end]).is_some();
    while !tokens.is_over() {
        match tokens.next(text, at) {
            Ok(Some(placed)) => at = placed.end,
            // It is cut short, or a line that is: the others can be read.
            Ok(None) if whole => return Some(Layout::Lines),
            Ok(None) if is_last => {
                return Some(if has_line(text.len()) { Layout::Objects } else { Layout::Lines });
            }
            Ok(None) => return None,
            Err(_) => return Some(Layout::Lines),
        }
    }
    if has_line(at) {
        return Some(Layout::Objects);
    }
    let behind = text[at..].iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    match behind.map(|behind| text[at + behind]) {
        None => is_last.then_some(Layout::Lines),
        Some(b'{' | b',') => Some(Layout::Objects),
        Some(_) => Some(Layout::Lines),
    }
}

/// Whether a file that begins with `head` has a record a line, so that it can be cut.
pub fn is_cut(head: &[u8], options: &FormatOptions) -> bool {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let is_below = options.dialect.as_ref().is_some_and(|dialect| dialect.rows_below().is_some());
    !is_below && layout(text, head.len() < LOOKED_AT, options.max_record) == Some(Layout::Lines)
}

/// The keys of a file's object that hold arrays of objects, as far as they are known.
#[derive(Debug, PartialEq, Eq)]
enum Below {
    /// These are all. There are none if the file is anything but one object.
    All(Vec<String>),
    /// More bytes are needed.
    SoFar(Vec<String>),
}

/// The keys of the only object of a file that hold arrays of objects.
///
/// # Errors
/// The file can't be read.
pub fn keys_of_rows(file: &FileEntry, options: &FormatOptions) -> Result<Vec<String>> {
    let most = if remote::is_remote(&file.path) { MOST_REMOTE } else { MOST_LOOKED };
    let mut some = FIRST_LOOKED;
    loop {
        let head = first_text(file, options, some)?;
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
        match below(text, head.len() < some) {
            Below::All(keys) => return Ok(keys),
            Below::SoFar(keys) if some >= most => return Ok(keys),
            Below::SoFar(_) => some *= 4,
        }
    }
}

fn below(text: &[u8], whole: bool) -> Below {
    let start = space(text, 0);
    if text.get(start).is_some_and(|byte| *byte != b'{') {
        return Below::All(Vec::new());
    }
    let (mut tokens, mut at) = (Tokens::new(), start);
    let (mut keys, mut key, mut before) = (Vec::new(), None, Token::Mark);
    while !tokens.is_over() {
        let Placed { token, start, end } = match tokens.next(text, at) {
            Ok(Some(placed)) => placed,
            Ok(None) if whole => return Below::All(Vec::new()),
            Ok(None) => return Below::SoFar(keys),
            Err(_) => return Below::All(Vec::new()),
        };
        match (token, tokens.depth()) {
            (Token::Key, 1) => key = name(&text[start + 1..end - 1]),
            (Token::Open(b'{'), 3) if before == Token::Open(b'[') => {
                keys.extend(key.take().map(|key| String::from_utf8_lossy(&key).into_owned()));
            }
            _ => {}
        }
        (before, at) = (token, end);
    }
    match space(text, at) {
        end if end < text.len() => Below::All(Vec::new()),
        _ if whole => Below::All(keys),
        _ => Below::SoFar(keys),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Layout> {
        let all = layout(text.as_bytes(), true, usize::MAX);
        for end in 0..text.len() {
            let part = layout(&text.as_bytes()[..end], false, usize::MAX);
            assert!(part.is_none() || part == all, "{} of {text}", &text[..end]);
        }
        all
    }

    #[test]
    fn beginnings_tell_how_records_lie() {
        for text in [
            "",
            "\n\n",
            "1\n",
            "{\"a\":1}",
            "{\"a\":1}\n{\n}",
            "{\"a\":1} \r\n{}",
            "{\"a\":1} x",
            "{\"a\":\n{\"a\":2}\n{\"a\":3}\n",
            "{\"a\":\n{\"a\":2}\n",
            "{\"a\":\"x\n{\"a\":\"y\"}\n",
            "{\"a\"\n:1",
            "{\"a\":1]\n",
        ] {
            assert_eq!(of(text), Some(Layout::Lines), "{text}");
        }
        for text in ["{\n}", "\n{\"a\":\n1}\n{}", "{}{}", "{} , {}", "{},\n{}", "{\"a\":[\n{\n}]\n}"] {
            assert_eq!(of(text), Some(Layout::Objects), "{text}");
        }
        assert_eq!(of(" \n["), Some(Layout::Array));
    }

    #[test]
    fn long_first_objects() {
        let long = format!("{{\"a\": \"{}\"}}\n", "x".repeat(LOOKED_AT));
        let lines = format!("{{\n\"a\": \"{}\"}}\n", "x".repeat(LOOKED_AT));
        for whole in [false, true] {
            assert_eq!(layout(long.as_bytes(), whole, usize::MAX), Some(Layout::Lines));
            assert_eq!(layout(lines.as_bytes(), whole, usize::MAX), Some(Layout::Objects));
            assert_eq!(layout(b"{\"a\": 1", whole, 5), Some(Layout::Lines));
            // So much of a file that goes on looks the same.
            assert_eq!(layout(b"{\n\"a\": 1", whole, 8), Some(Layout::Objects));
        }
    }

    #[test]
    fn keys_that_hold_the_rows() {
        let all = |text: &str| below(text.as_bytes(), true);
        let keys = |keys: &[&str]| Below::All(keys.iter().map(|key| key.to_string()).collect());
        for (text, found) in [
            (r#"{"data": [{"a": [{}]}, {}], "meta": {"x": [{}]}, "none": []}"#, &["data"][..]),
            (r#"{"n": 1, "\u0061": [ {}], "b": [1, {}], "c": [[{}]]} "#, &["a"]),
            (r#"{"a": [{}], "b": [{}]}"#, &["a", "b"]),
            (r#"{"a": [{}]} {}"#, &[]),
            (r#"{"a": [{}]"#, &[]),
            (r#"[{"a": [{}]}]"#, &[]),
            (r#"{"a": 1}"#, &[]),
            ("", &[]),
        ] {
            assert_eq!(all(text), keys(found), "{text}");
        }
        let so_far = |text: &str| below(text.as_bytes(), false);
        assert_eq!(so_far(r#"{"a": [{}, {"b""#), Below::SoFar(vec!["a".into()]));
        assert_eq!(so_far(r#"{"a": [{}]}"#), Below::SoFar(vec!["a".into()]));
        assert_eq!(so_far("{\"a\": [{}]}\n{"), Below::All(vec![]));
    }
}
