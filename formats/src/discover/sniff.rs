//! Looks at the first lines of a text: whether they are csv, JSON lines or plain lines.

use super::detect::is_text;
use crate::csv::{comments, sniff};

/// The encoding of a text, and the delimiter of csv. `None` if the bytes are no text.
pub fn text_kind(head: &[u8]) -> Option<(&'static str, Option<u8>)> {
    if !is_text(head) {
        return None;
    }
    let mut bytes = head.iter().filter(|b| !b.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (Some(b'{'), _) | (Some(b'['), Some(b'{')) => return Some(("jsonl", None)),
        _ => {}
    }
    Some(match sniff::consistent(head, b'"') {
        Some(delimiter) => ("csv", Some(delimiter)),
        None if sniff::is_column(head) => ("csv", Some(b',')),
        None => match comments::find(head, None, b'"') {
            Some(found) if found.header => ("csv", Some(found.delimiter)),
            _ => ("text", None),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_text() {
        assert_eq!(text_kind(b"a,b\n1,2\n"), Some(("csv", Some(b','))));
        assert_eq!(text_kind(b"a\tb, c\n1\t2\n"), Some(("csv", Some(b'\t'))));
        assert_eq!(text_kind(b" {\"a\": 1}\n{}\n"), Some(("jsonl", None)));
        assert_eq!(text_kind(b"Jan 1, boot\nJan 2 up, running, well\n"), Some(("text", None)));
        assert_eq!(text_kind(b"1\n2\n3\n"), Some(("text", None)));
        assert_eq!(text_kind(b"range\n0\n1\n"), Some(("csv", Some(b','))));
        assert_eq!(text_kind(b"name\nada\n"), Some(("text", None)), "a list of words");
        assert_eq!(text_kind(b"[\n {\"a\": 1}]\n"), Some(("jsonl", None)));
        assert_eq!(text_kind(b"[info] up, {running}, well\n[warn] x\n"), Some(("text", None)));
        assert_eq!(text_kind(b"# of a list\na;b\n1;2\n"), Some(("csv", Some(b';'))));
        assert_eq!(text_kind(b"# settings\na;b\nc;d\n"), Some(("text", None)));
        assert_eq!(text_kind(b"\x00\x01"), None);
        assert_eq!(text_kind("größ".as_bytes().split_last().unwrap().1), Some(("text", None)));
    }
}
