//! Paths into JSON: `$.a.b[0]`, `$."a b"`, `$[#-1]`, `$.*`, `$[*]`, `$..a`, and JSON pointers such as `/a/0`. Any other
//! text is a key.
//!
//! A path without wildcards is followed while the text is read ([`Path::find`]): what it does not want is passed over.

use std::collections::VecDeque;
use std::ops::Range;

use datafusion_common::{Result, exec_err};

use super::reader::{Member, Quoted, Read, Reader};
use super::tape::Tape;
use super::writer::unescaped;

/// The most values that a path finds in one text, and the most that it passes: `$..*..*` may find each of them often.
const MOST_FOUND: usize = 1 << 22;
const MOST_PASSED: usize = 1 << 27;

/// A path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    steps: Vec<Step>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Step {
    /// Whether it is taken from each value below too, which two points say.
    is_deep: bool,
    /// What it leads to.
    pub(super) to: To,
}

/// What a step leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum To {
    /// The first member of an object that has this key.
    Key(String),
    /// The item of an array at a place, from 0 on.
    Item(u64),
    /// The item at a place from the end, the last of which is 1. As DuckDB has it, what is read at 0 is the first item,
    /// and what is added there stands behind the last one.
    FromEnd(u64),
    /// The place behind the last item.
    Behind,
    /// A key of an object, or the item of an array at the place that it says.
    Either(String, Option<u64>),
    /// All members of an object.
    Fields,
    /// All items of an array.
    Items,
    /// All of both.
    Members,
    /// The value itself: what two stars before another step lead to, besides all below it.
    Here,
    /// Nowhere.
    Nothing,
}

impl Path {
    /// The path that a text says.
    ///
    /// # Errors
    /// It begins with `$` or `/`, and is no path.
    pub fn of(text: &str) -> Result<Path> {
        let steps = match text.as_bytes() {
            [] => vec![],
            [b'$', ..] => Parser { text, at: 1 }.steps()?,
            [b'/', ..] => return Ok(Path::pointer(text)),
            // Kept as DuckDB has it: with a quote in it, it is a pointer.
            _ if text.contains('"') => return Ok(Path::pointer(&format!("/{text}"))),
            _ => vec![Step { is_deep: false, to: To::Key(text.into()) }],
        };
        Ok(Path { steps })
    }

    /// The path of the item of an array at a place, from 0 on, or from -1 on from the end.
    pub fn item(place: i64) -> Path {
        let to = if place < 0 { To::FromEnd(place.unsigned_abs()) } else { To::Item(place.unsigned_abs()) };
        Path { steps: vec![Step { is_deep: false, to }] }
    }

    /// The path of a key, whatever is in it.
    pub fn key(key: &str) -> Path {
        Path { steps: vec![Step { is_deep: false, to: To::Key(key.into()) }] }
    }

    /// A JSON pointer (RFC 6901). One with an escape that there is not leads nowhere.
    fn pointer(text: &str) -> Path {
        let mut steps = Vec::new();
        for part in text.split('/').skip(1) {
            let is_escaped = part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
            let is_place =
                part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
            let to = match is_escaped {
                true => To::Either(
                    part.replace("~1", "/").replace("~0", "~"),
                    part.parse().ok().filter(|_| is_place),
                ),
                false => To::Nothing,
            };
            steps.push(Step { is_deep: false, to });
        }
        Path { steps }
    }

    /// Whether it may lead to several values.
    pub fn is_wild(&self) -> bool {
        self.steps.iter().any(|step| step.is_deep || matches!(step.to, To::Fields | To::Items | To::Members))
    }

    /// The key that it begins with.
    pub fn first_key(&self) -> Option<&str> {
        match self.steps.first() {
            Some(Step { is_deep: false, to: To::Key(key) }) => Some(key),
            _ => None,
        }
    }

    /// What is left of it behind its first step.
    pub fn rest(&self) -> Path {
        Path { steps: self.steps.iter().skip(1).cloned().collect() }
    }

    /// Whether it leads to the whole value.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The path that leads to where another one leads from where this one does.
    pub fn then(&self, next: &Path) -> Path {
        Path { steps: self.steps.iter().chain(&next.steps).cloned().collect() }
    }

    /// Its text, if its steps are places, and keys without quotes.
    pub fn written(&self) -> Option<String> {
        self.steps.iter().try_fold(String::from("$"), |text, step| match &step.to {
            _ if step.is_deep => None,
            To::Key(key) if key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
                Some(format!("{text}.{key}"))
            }
            To::Key(key) if !key.contains('"') => Some(format!("{text}.\"{key}\"")),
            To::Item(place) => Some(format!("{text}[{place}]")),
            To::FromEnd(place) => Some(format!("{text}[#-{place}]")),
            _ => None,
        })
    }

    /// Its steps.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The bytes of the value that it leads to in a text, none if there is no such value. All of the text is read.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn find(&self, text: &str) -> Read<Option<Range<usize>>> {
        let mut reader = Reader::new(text)?;
        for step in &self.steps {
            let found = match &step.to {
                To::Key(key) => field(&mut reader, text, key)?,
                To::Item(place) => reader.enter(false)? && item(&mut reader, *place)?,
                To::FromEnd(0) => reader.enter(false)? && item(&mut reader, 0)?,
                To::FromEnd(place) => from_end(&mut reader, *place)?,
                To::Either(key, place) => match (reader.is_at_object(), place) {
                    (true, _) => field(&mut reader, text, key)?,
                    (false, Some(place)) => reader.enter(false)? && item(&mut reader, *place)?,
                    (false, None) => reader.value().map(|_| false)?,
                },
                To::Fields | To::Items | To::Members | To::Here | To::Behind | To::Nothing => {
                    reader.value().map(|_| false)?
                }
            };
            if !found {
                reader.finish()?;
                return Ok(None);
            }
        }
        let value = reader.value()?;
        reader.finish()?;
        Ok(Some(value))
    }

    /// The numbers of the values that it leads to.
    ///
    /// # Errors
    /// There are more than 4,194,304.
    pub fn all(&self, tape: &Tape<'_>) -> Result<Vec<usize>> {
        let mut now = vec![0];
        let mut passed = 0;
        for step in &self.steps {
            let mut next = Vec::new();
            for from in now {
                let mut waiting = VecDeque::from([from]);
                while let Some(value) = waiting.pop_front() {
                    step.to.of(tape, value, &mut next);
                    if step.is_deep {
                        waiting.extend(tape.members(value).map(|(_, member)| member));
                    }
                    passed += 1 + tape.length(value);
                    if next.len() > MOST_FOUND || passed > MOST_PASSED {
                        return exec_err!(
                            "a JSON path finds more than {MOST_FOUND} values in one text, or passes more than {MOST_PASSED}"
                        );
                    }
                }
            }
            now = next;
        }
        Ok(now)
    }
}

impl To {
    /// Adds what it leads to from a value.
    fn of(&self, tape: &Tape<'_>, value: usize, into: &mut Vec<usize>) {
        match (self, tape.is_object(value)) {
            (To::Fields, true) | (To::Items, false) | (To::Members, _) => {
                into.extend(tape.members(value).map(|(_, member)| member));
            }
            (To::Here, _) => into.push(value),
            _ => into.extend(self.member(tape, value)),
        }
    }

    /// The member of a value that it leads to, if it leads to one at most.
    pub(super) fn member(&self, tape: &Tape<'_>, value: usize) -> Option<usize> {
        let item = |place: usize| tape.members(value).nth(place).map(|(_, member)| member);
        match (self, tape.is_object(value)) {
            (To::Key(key) | To::Either(key, _), true) => tape.field(value, key),
            (To::Item(place) | To::Either(_, Some(place)), false) => item(usize::try_from(*place).ok()?),
            (To::FromEnd(0), false) => item(0),
            (To::FromEnd(place), false) => {
                item(tape.length(value).checked_sub(usize::try_from(*place).ok()?)?)
            }
            _ => None,
        }
    }

    /// The key of a field that it may lead to.
    pub(super) fn as_key(&self) -> Option<&str> {
        match self {
            To::Key(key) | To::Either(key, _) => Some(key),
            _ => None,
        }
    }

    /// Whether it leads behind the last item of an array of so many.
    pub(super) fn is_behind(&self, items: usize) -> bool {
        match self {
            To::Item(place) | To::Either(_, Some(place)) => usize::try_from(*place) == Ok(items),
            To::FromEnd(0) | To::Behind => true,
            To::Either(key, None) => key == "-",
            _ => false,
        }
    }
}

/// Reads on to the value of a key. Without one the value is read to its end.
fn field(reader: &mut Reader<'_>, text: &str, key: &str) -> Read<bool> {
    if !reader.enter(true)? {
        return Ok(false);
    }
    reader.seek(|quoted| is_key(text, quoted, key))
}

/// Whether a key is the same as another one.
#[inline]
fn is_key(text: &str, quoted: Quoted, key: &str) -> bool {
    if !quoted.is_escaped {
        return text.as_bytes()[quoted.begin..quoted.end] == *key.as_bytes();
    }
    let written = &text[quoted.begin..quoted.end];
    let mut unquoted = String::with_capacity(written.len());
    unescaped(written, &mut unquoted);
    unquoted == key
}

/// Reads on to an item of the array that was opened. Without one the array is read to its end.
fn item(reader: &mut Reader<'_>, place: u64) -> Read<bool> {
    let mut at = 0;
    while reader.member(at == 0)? == Member::Item {
        if at == place {
            return Ok(true);
        }
        reader.value()?;
        at += 1;
    }
    Ok(false)
}

/// Reads on to an item by its place from the end. Without one the value is read to its end.
fn from_end(reader: &mut Reader<'_>, place: u64) -> Read<bool> {
    if !reader.enter(false)? {
        return Ok(false);
    }
    let begin = reader.clone();
    let mut items: u64 = 0;
    while reader.member(items == 0)? == Member::Item {
        reader.value()?;
        items += 1;
    }
    match items.checked_sub(place) {
        Some(place) if place < items => {
            *reader = begin;
            item(reader, place)
        }
        _ => Ok(false),
    }
}

/// The parser of what stands behind `$`.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn wrong<T>(&self, from: usize) -> Result<T> {
        let near = self.text.get(from..).unwrap_or_default();
        exec_err!(
            "JSON path error near '{near}' in '{}'\n  help: a path is $.key, $.\"key\", $[0], $[#-1], $.*, $[*] or $..key, one \
             behind the other",
            self.text
        )
    }

    fn steps(mut self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        while self.at < self.text.len() {
            let begin = self.at;
            let is_deep = self.takes(b'.') && self.takes(b'.');
            let has_point = self.at > begin;
            let (to, is_wild) = match self.peek() {
                Some(b'[') if is_deep || !has_point => (self.in_brackets(begin)?, false),
                _ if has_point => self.name(begin)?,
                _ => return self.wrong(begin),
            };
            let is_last = self.at == self.text.len();
            // What two stars lead to lies anywhere below; the next step is taken from here as well.
            let to = match to {
                To::Fields if is_wild && !is_last => To::Here,
                To::Fields if is_wild || is_deep => To::Members,
                to => to,
            };
            steps.push(Step { is_deep: is_deep || is_wild, to });
            if !matches!(self.peek(), None | Some(b'.' | b'[')) {
                return self.wrong(self.at);
            }
        }
        Ok(steps)
    }

    /// What stands behind a point, and whether it is two stars.
    fn name(&mut self, begin: usize) -> Result<(To, bool)> {
        if self.takes(b'*') {
            let is_deep = self.at - begin == 2 && self.takes(b'*');
            return Ok((To::Fields, is_deep));
        }
        if self.takes(b'"') {
            let mut key = String::new();
            let mut escaped = false;
            for (place, c) in self.text[self.at..].char_indices() {
                match c {
                    _ if escaped => {
                        if !matches!(c, '"' | '\\') {
                            key.push('\\');
                        }
                        key.push(c);
                        escaped = false;
                    }
                    '\\' => escaped = true,
                    '"' => {
                        self.at += place + 1;
                        // As DuckDB has it, a star in quotes is one without.
                        let to = if key == "*" { To::Fields } else { To::Key(key) };
                        return Ok((to, false));
                    }
                    c => key.push(c),
                }
            }
            return self.wrong(begin);
        }
        let rest = &self.text[self.at..];
        let key = &rest[..rest.find(['.', '[']).unwrap_or(rest.len())];
        if key.is_empty() {
            return self.wrong(begin);
        }
        self.at += key.len();
        Ok((To::Key(key.into()), false))
    }

    /// What stands in brackets.
    fn in_brackets(&mut self, begin: usize) -> Result<To> {
        self.at += 1;
        let inside = self.at;
        if self.takes(b'*') {
            return if self.takes(b']') { Ok(To::Items) } else { self.wrong(inside) };
        }
        let hash = self.takes(b'#');
        if hash && self.takes(b']') {
            return Ok(To::Behind);
        }
        let from_end = self.takes(b'-');
        let digits = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let place: Option<u64> = self.text[digits..self.at].parse().ok().filter(|place| *place < u64::MAX);
        match place {
            Some(place) if (from_end || !hash) && self.takes(b']') => {
                Ok(if from_end { To::FromEnd(place) } else { To::Item(place) })
            }
            _ => self.wrong(begin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(path: &str, text: &'a str) -> Option<&'a str> {
        Path::of(path).unwrap().find(text).unwrap().map(|range| &text[range])
    }

    #[test]
    fn paths_lead_to_values() {
        let nested = r#"{"x":{"y":0}, "a": {"b": [1, 2 , 3], "c d": true}, "a.b": "q"}"#;
        for (path, expected) in [
            ("$", Some(nested)),
            ("", Some(nested)),
            ("$.a.b[0]", Some("1")),
            ("$.a.b[#-1]", Some("3")),
            ("$.a.b[-3]", Some("1")),
            ("$.a.b[-4]", None),
            ("$.a.b[#]", None),
            ("$.a.b[#-0]", Some("1")),
            ("$.a.b[00]", Some("1")),
            ("$.a.b[3]", None),
            ("$.a.\"c d\"", Some("true")),
            ("$.a.c d", Some("true")),
            ("/a/b/1", Some("2")),
            ("/a/b/01", None),
            ("/a/b/-1", None),
            ("a.b", Some("\"q\"")),
            ("$.\"a.b\"", Some("\"q\"")),
            ("$.a.b.c", None),
            ("$[0]", None),
            ("y", None),
        ] {
            assert_eq!(found(path, nested), expected, "{path}");
        }
        for (path, text, expected) in [
            ("a", r#"{"a":1,"a":2}"#, Some("1")),
            ("é", r#"{"\u00e9":1}"#, Some("1")),
            (r#"$."a\"b""#, r#"{"a\"b":1}"#, Some("1")),
            (r#"$."a\b""#, r#"{"a\\b":1}"#, Some("1")),
            ("/a~1b~0", r#"{"a/b~":1}"#, Some("1")),
            ("/a~2", r#"{"a~2":1}"#, None),
            ("/", r#"{"":1}"#, Some("1")),
            ("/1", r#"{"1":5}"#, Some("5")),
            ("$[1]", "[1,2,]", Some("2")),
            ("$[#-1]", "[1,2,]", Some("2")),
            ("$[0].a", r#"[{"b":[{"a":7}],"a":8}]"#, Some("8")),
        ] {
            assert_eq!(found(path, text), expected, "{path}");
        }
        assert_eq!(Path::item(-1).find("[1,2]").unwrap(), Some(3..4));
        assert!(Path::of("$.a").unwrap().find(r#"{"a":1,"b":}"#).is_err());
        assert!(Path::of("$.a.b").unwrap().find(r#"{"a":1,"b":}"#).is_err());
    }

    #[test]
    fn wildcards_lead_to_several() {
        for (path, text, expected) in [
            ("$.*.b", r#"{"a":{"b":1},"c":{"b":2}}"#, "1 2"),
            ("$[*][0]", "[[1,2],[3]]", "1 3"),
            ("$[*][#-1]", "[[1,2],[3]]", "2 3"),
            ("$..b", r#"{"a":{"b":[1,{"b":2}]}}"#, r#"[1,{"b":2}] 2"#),
            ("$..*", r#"{"a":{"x":{"p":1}},"b":{"y":2}}"#, r#"{"x":{"p":1}} {"y":2} {"p":1} 2 1"#),
            ("$.**", "[[1],2]", "[1] 2 1"),
            ("$..[0]", "[[[1],2],[3]]", "[[1],2] [1] 3 1"),
            ("$..a..a", r#"{"a":{"a":{"a":1}}}"#, r#"{"a":1} 1 1"#),
            ("$.a.*", r#"{"a":1}"#, ""),
            ("$.\"*\"", r#"{"*":1,"b":2}"#, "1 2"),
            ("$.*", r#"{"a":1,"a":2}"#, "1 2"),
            ("$..a", r#"{"a":1,"a":2}"#, "1"),
        ] {
            let path = Path::of(path).unwrap();
            assert!(path.is_wild());
            let tape = Tape::of(text).unwrap();
            let all: Vec<&str> = path.all(&tape).unwrap().into_iter().map(|value| tape.text(value)).collect();
            assert_eq!(all.join(" "), expected, "{path:?}");
        }
        let many = Path::of("$..*..*..*..*..*..*").unwrap();
        let deep = "[".repeat(500) + &"]".repeat(500);
        assert!(many.all(&Tape::of(&deep).unwrap()).is_err());
    }

    #[test]
    fn what_is_no_path_is_told() {
        for path in [
            "$.",
            "$a",
            "$[",
            "$[a]",
            "$[0",
            "$.\"a",
            "$.a[ 0 ]",
            "$.a[18446744073709551615]",
            "$ .a",
            "$.a.",
            "$[-]",
            "$[#-]",
            "$[#1]",
            "$[]",
            "$[0]a",
            "$.\"a\"\"b\"",
            "$[*",
            "$[*]x",
            "$..",
            "$...a",
            "$.*a",
            "$**",
            "$[**]",
            "$.***",
            "$..**",
            "$.[0]",
        ] {
            assert!(Path::of(path).is_err(), "{path}");
        }
    }
}
