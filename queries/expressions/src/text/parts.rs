//! The parts of lists, structs and maps that are written as text: `[1, NULL]`, `{'a': 1}`, `{k=1}`.
//!
//! A part ends at a separator that stands outside of quotes and brackets. It may have quotes anywhere: `a'b, c'` is one
//! part, and is `ab, c`. In quotes a backslash stands before any character, outside of them before a quote alone. What
//! stands in brackets stays as it is, with its quotes: it is a list, struct or map of its own.

use std::borrow::Cow;

/// Whether a byte is white space.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"')
}

/// The bracket that closes what another one opens.
fn closing(byte: u8) -> Option<u8> {
    match byte {
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        b'(' => Some(b')'),
        _ => None,
    }
}

/// The byte behind the quote that ends what begins with the one at a place.
fn behind_quotes(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let mut at = at + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Whether a quote stands at a place that no backslash before it takes for a character.
fn opens_quotes(bytes: &[u8], at: usize) -> bool {
    is_quote(bytes[at]) && !(at > 0 && bytes[at - 1] == b'\\')
}

/// The byte behind the bracket that closes the one at a place.
fn behind_brackets(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut open = Vec::new();
    loop {
        let byte = *bytes.get(at)?;
        if opens_quotes(bytes, at) {
            at = behind_quotes(bytes, at)?;
            continue;
        }
        if let Some(close) = closing(byte) {
            open.push(close);
        } else if open.last() == Some(&byte) {
            open.pop();
        }
        at += 1;
        if open.is_empty() {
            return Some(at);
        }
    }
}

/// Reads a text from its begin to its end.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// The part up to the first of some bytes, without the white space around it. `None`: the text ends before.
    fn part(&mut self, ends: &[u8]) -> Option<&'a str> {
        self.spaces();
        let (bytes, begin) = (self.text.as_bytes(), self.at);
        let mut end = begin;
        loop {
            let byte = self.peek()?;
            if opens_quotes(bytes, self.at) {
                self.at = behind_quotes(bytes, self.at)?;
                end = self.at;
            } else if closing(byte).is_some() {
                self.at = behind_brackets(bytes, self.at)?;
                end = self.at;
            } else if ends.contains(&byte) {
                return Some(&self.text[begin..end]);
            } else {
                self.at += 1;
                end = if is_space(byte) { end } else { self.at };
            }
        }
    }

    /// Whether nothing follows.
    fn ends(&mut self) -> bool {
        self.spaces();
        self.at == self.text.len()
    }
}

/// Adds the items of a list in brackets, or of a struct without names in parentheses: those may have a comma behind them.
/// `None`: it is none.
pub(super) fn items<'a>(text: &'a str, [open, close]: [u8; 2], into: &mut Vec<&'a str>) -> Option<()> {
    let mut reader = Reader { text, at: 0 };
    reader.spaces();
    if !reader.takes(open) {
        return None;
    }
    reader.spaces();
    let mut is_first = true;
    while !reader.takes(close) {
        if !is_first {
            reader.at += 1;
            reader.spaces();
            if open == b'(' && reader.takes(close) {
                break;
            }
        }
        is_first = false;
        into.push(reader.part(&[b',', close])?);
    }
    reader.ends().then_some(())
}

/// Adds the names, or keys, and the values of what stands in braces. Between the key and the value of a map may stand
/// ` => ` too, as results are printed. `None`: it is no such thing.
pub(super) fn entries<'a>(text: &'a str, separator: u8, into: &mut Vec<(&'a str, &'a str)>) -> Option<()> {
    let mut reader = Reader { text, at: 0 };
    reader.spaces();
    if !reader.takes(b'{') {
        return None;
    }
    reader.spaces();
    if !reader.takes(b'}') {
        loop {
            let key = reader.part(&[separator])?;
            reader.at += 1;
            let (before, behind) = text.split_at(reader.at - 1);
            // Without the white space a value begins with `>`.
            if before.ends_with(char::is_whitespace) && behind.starts_with("=> ") {
                reader.at += 1;
            }
            into.push((key, reader.part(b",}")?));
            if reader.takes(b'}') {
                break;
            }
            reader.at += 1;
        }
    }
    reader.ends().then_some(())
}

/// What a part says, without its quotes; `None` of `NULL` without quotes.
pub(super) fn said(part: &str) -> Option<Cow<'_, str>> {
    if part.eq_ignore_ascii_case("null") {
        return None;
    }
    let bytes = part.as_bytes();
    if !bytes.iter().any(|byte| is_quote(*byte)) {
        return Some(Cow::Borrowed(part));
    }
    let mut said = String::with_capacity(part.len());
    let (mut at, mut from) = (0, 0);
    while at < bytes.len() {
        let behind = match bytes[at] {
            byte if is_quote(byte) && !opens_quotes(bytes, at) => {
                said.push_str(&part[from..at - 1]);
                from = at;
                at + 1
            }
            byte if is_quote(byte) => {
                said.push_str(&part[from..at]);
                let end = behind_quotes(bytes, at).unwrap_or(bytes.len());
                unescaped(&part[at + 1..end.max(at + 2) - 1], &mut said);
                from = end;
                end
            }
            byte if closing(byte).is_some() => behind_brackets(bytes, at).unwrap_or(bytes.len()),
            _ => at + 1,
        };
        at = behind;
    }
    said.push_str(&part[from..]);
    Some(Cow::Owned(said))
}

/// Adds what stands in quotes: behind a backslash stands a character as it is.
fn unescaped(quoted: &str, into: &mut String) {
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        into.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts, with a sign for NULL.
    fn shown<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
        let text = |part| said(part).map_or("∅".to_string(), |text| format!("<{text}>"));
        parts.into_iter().map(text).collect()
    }

    fn listed(text: &str, brackets: [u8; 2]) -> Option<String> {
        let mut parts = Vec::new();
        items(text, brackets, &mut parts).map(|()| shown(parts))
    }

    #[test]
    fn items_end_at_commas_outside_of_quotes_and_brackets() {
        for (text, expected) in [
            (" [ ] ", Some("")),
            ("[1, 2 ,NULL]", Some("<1><2>∅")),
            ("['a', 'b c', \"NULL\", null]", Some("<a><b c><NULL>∅")),
            ("[a'b, c'd]", Some("<ab, cd>")),
            ("[,]", Some("<><>")),
            ("[a, ]", Some("<a><>")),
            (r"['it\'s', it\'s, '\\', \n, '\n']", Some(r"<it's><it's><\><\n><n>")),
            (r"[a\, b]", Some(r"<a\><b>")),
            ("[{a: 'x', b: ']'}, (1, [2]), [']']]", Some("<{a: 'x', b: ']'}><(1, [2])><[']']>")),
            ("[é, ' ']", Some("<é>< >")),
            ("[1", None),
            ("[1] 2", None),
            ("['1]", None),
            ("[[1]", None),
            ("[a\\'b']", None),
            ("1", None),
            ("", None),
        ] {
            assert_eq!(listed(text, *b"[]").as_deref(), expected, "{text}");
        }
        assert_eq!(listed("(1, 'x', )", *b"()").as_deref(), Some("<1><x>"));
        assert_eq!(listed("( )", *b"()").as_deref(), Some(""));
    }

    #[test]
    fn keys_end_at_the_first_separator() {
        let found = |text, separator| {
            let mut all = Vec::new();
            entries(text, separator, &mut all)
                .map(|()| shown(all.into_iter().flat_map(|(key, value)| [key, value])))
        };
        for (text, separator, expected) in [
            ("{}", b'=', Some("")),
            ("{k=1, 'l, m' = [1, 2]}", b'=', Some("<k><1><l, m><[1, 2]>")),
            ("{'k' => 1, 'l' => 'x'}", b'=', Some("<k><1><l><x>")),
            ("{k=> 1}", b'=', Some("<k><> 1>")),
            ("{a=b=c}", b'=', Some("<a><b=c>")),
            ("{ => 1}", b'=', Some("<><1>")),
            ("{'a': 1, b : NULL}", b':', Some("<a><1><b>∅")),
            ("{a: {b: 'c'}}", b':', Some("<a><{b: 'c'}>")),
            ("{a: 1,}", b':', None),
            ("{a=1}", b':', None),
            ("{a: 1", b':', None),
        ] {
            assert_eq!(found(text, separator).as_deref(), expected, "{text}");
        }
    }
}
