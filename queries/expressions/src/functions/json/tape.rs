//! The values of a text as numbers: each container, its members behind it, before each member of an object its key. So it is
//! the order of the text. The number of a value is what `json_each` and `json_tree` give as its `id`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::reader::{Kind, Member, Quoted, Read, Reader};
use super::writer::{normal, unescaped};

/// A key or a value.
#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    /// Whether it is a key, or a string, with escapes.
    is_escaped: bool,
    /// Its bytes; of a key those between the quotes.
    begin: usize,
    end: usize,
    /// The number behind those of all that is in it.
    next: usize,
    /// How many members it has.
    length: usize,
}

/// The values of a text.
pub struct Tape<'a> {
    text: &'a str,
    nodes: Vec<Node>,
}

impl<'a> Tape<'a> {
    /// Of a text.
    ///
    /// # Errors
    /// It is malformed.
    pub fn of(text: &'a str) -> Read<Tape<'a>> {
        let mut reader = Reader::new(text)?;
        let mut nodes: Vec<Node> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        loop {
            let at = nodes.len();
            let (range, kind) = reader.step()?;
            let is_escaped = kind == Kind::String && text[range.clone()].contains('\\');
            let (begin, end) = (range.start, range.end);
            nodes.push(Node { kind, is_escaped, begin, end, next: at + 1, length: 0 });
            let mut first = kind.is_container();
            if first {
                open.push(at);
            }
            while let Some(container) = open.last().copied() {
                match reader.member(first)? {
                    Member::End => {
                        open.pop();
                        let next = nodes.len();
                        let node = &mut nodes[container];
                        (node.end, node.next) = (reader.at(), next);
                        first = false;
                        continue;
                    }
                    Member::Item => {}
                    Member::Field(Quoted { begin, end, is_escaped }) => {
                        let next = nodes.len() + 1;
                        nodes.push(Node { kind: Kind::String, is_escaped, begin, end, next, length: 0 });
                    }
                }
                nodes[container].length += 1;
                break;
            }
            if open.is_empty() {
                reader.finish()?;
                return Ok(Tape { text, nodes });
            }
        }
    }

    /// What a value is.
    pub fn kind(&self, value: usize) -> Kind {
        self.nodes[value].kind
    }

    /// Whether a value is an object.
    pub fn is_object(&self, value: usize) -> bool {
        self.kind(value) == Kind::Object
    }

    /// How many members a value has.
    pub fn length(&self, value: usize) -> usize {
        self.nodes[value].length
    }

    /// The bytes of a value.
    pub fn range(&self, value: usize) -> Range<usize> {
        self.nodes[value].begin..self.nodes[value].end
    }

    /// A value as it is written.
    pub fn text(&self, value: usize) -> &'a str {
        let node = &self.nodes[value];
        &self.text[node.begin..node.end]
    }

    /// A key without its escapes.
    pub fn key(&self, key: usize) -> Cow<'a, str> {
        let (written, is_escaped) = (self.text(key), self.nodes[key].is_escaped);
        without_escapes(written, is_escaped)
    }

    /// The text that a string stands for.
    pub fn string(&self, value: usize) -> Cow<'a, str> {
        let node = &self.nodes[value];
        without_escapes(&self.text[node.begin + 1..node.end - 1], node.is_escaped)
    }

    /// Adds a value in its normal form.
    pub fn write(&self, value: usize, out: &mut String) {
        normal(self.text(value), out);
    }

    /// The members of a container, with the keys of an object's.
    pub fn members(&self, value: usize) -> Members<'_> {
        let node = &self.nodes[value];
        Members { nodes: &self.nodes, at: value + 1, end: node.next, has_keys: node.kind == Kind::Object }
    }

    /// The first value of each key of an object.
    pub fn firsts(&self, object: usize) -> HashMap<Cow<'a, str>, usize> {
        let mut firsts = HashMap::with_capacity(self.length(object));
        for (key, value) in self.members(object) {
            let Some(key) = key else { continue };
            firsts.entry(self.key(key)).or_insert(value);
        }
        firsts
    }

    /// The first member of a key.
    pub fn field(&self, object: usize, key: &str) -> Option<usize> {
        let is = |name: &Option<usize>| name.is_some_and(|name| self.key(name) == key);
        self.members(object).find(|(name, _)| is(name)).map(|(_, member)| member)
    }
}

fn without_escapes(written: &str, is_escaped: bool) -> Cow<'_, str> {
    if !is_escaped {
        return Cow::Borrowed(written);
    }
    let mut text = String::with_capacity(written.len());
    unescaped(written, &mut text);
    Cow::Owned(text)
}

/// The members of a container: of an object's the numbers of the key and the value.
pub struct Members<'a> {
    nodes: &'a [Node],
    at: usize,
    end: usize,
    has_keys: bool,
}

impl Iterator for Members<'_> {
    type Item = (Option<usize>, usize);

    fn next(&mut self) -> Option<(Option<usize>, usize)> {
        if self.at >= self.end {
            return None;
        }
        let key = self.has_keys.then_some(self.at);
        let value = self.at + usize::from(self.has_keys);
        self.at = self.nodes.get(value)?.next;
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_numbers() {
        let tape = Tape::of(r#" {"a": {"b\u0041": [1, 2]}, "d": [{"e": "\n"}, {}], "a": 3} "#).unwrap();
        let shown: Vec<(&str, usize, usize)> =
            (0..tape.nodes.len()).map(|i| (tape.text(i), tape.nodes[i].next, tape.length(i))).collect();
        let all = r#"{"a": {"b\u0041": [1, 2]}, "d": [{"e": "\n"}, {}], "a": 3}"#;
        assert_eq!(
            shown,
            [
                (all, 15, 3),
                ("a", 2, 0),
                (r#"{"b\u0041": [1, 2]}"#, 7, 1),
                (r"b\u0041", 4, 0),
                ("[1, 2]", 7, 2),
                ("1", 6, 0),
                ("2", 7, 0),
                ("d", 8, 0),
                (r#"[{"e": "\n"}, {}]"#, 13, 2),
                (r#"{"e": "\n"}"#, 12, 1),
                ("e", 11, 0),
                (r#""\n""#, 12, 0),
                ("{}", 13, 0),
                ("a", 14, 0),
                ("3", 15, 0),
            ]
        );
        assert_eq!(tape.key(3), "bA");
        assert_eq!(tape.string(11), "\n");
        assert_eq!(tape.field(0, "a"), Some(2));
        assert_eq!(tape.members(8).map(|(_, member)| member).collect::<Vec<_>>(), [9, 12]);
        assert!(Tape::of("[1] 2").is_err());
        assert_eq!(Tape::of("5").unwrap().text(0), "5");
    }
}
