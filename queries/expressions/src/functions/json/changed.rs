//! `json_set`, `json_insert`, `json_replace` and `json_remove`: JSON with another value at the place to which a path
//! leads.

use std::ops::Range;

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_err};

use super::path::{Path, Step, To};
use super::reader::Reader;
use super::reads::Paths;
use super::tape::Tape;
use super::writer::{normal, quoted};
use crate::functions::own::arguments::Call;

/// What is done with the value to which a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Another value takes its place, or is added where there is none.
    Set,
    /// A value is added where there is none.
    Insert,
    /// Another value takes its place.
    Replace,
    /// It goes.
    Remove,
}

impl Change {
    fn adds(self) -> bool {
        matches!(self, Change::Set | Change::Insert)
    }
}

/// The texts of a column with the changes. The path is the second argument, the new value the third one.
pub fn change(call: &Call, change: Change) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let mut paths = Paths::of(call, 1)?;
    let news = (change != Change::Remove).then(|| call.text(2)).transpose()?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let new = match &news {
            Some(news) => match news.get(row) {
                Some(new) => &new[Reader::whole(new).map_err(|wrong| wrong.error(new))?],
                None => return Ok(false),
            },
            None => "",
        };
        let Some(path) = paths.get(row)? else { return Ok(false) };
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        Ok(changed(&tape, text, path, new, change, out))
    })
}

/// Refuses a path that leads to several values.
///
/// # Errors
/// It has a wildcard.
pub fn check(written: &str, path: &Path) -> Result<()> {
    match path.is_wild() {
        true => exec_err!("{written}() changes one value, and its path has a wildcard"),
        false => Ok(()),
    }
}

/// Adds a text with the change. The root that goes leaves nothing, which is said.
fn changed(tape: &Tape<'_>, text: &str, path: &Path, new: &str, change: Change, out: &mut String) -> bool {
    let root = tape.range(0);
    match edit(tape, path.steps(), new, change) {
        Some(edit) if edit.place == root && edit.new.is_empty() => return false,
        Some(Edit { place, new }) => {
            let mut whole = String::with_capacity(text.len() + new.len());
            whole.push_str(&text[root.start..place.start]);
            whole.push_str(&new);
            whole.push_str(&text[place.end..root.end]);
            normal(&whole, out);
        }
        None => tape.write(0, out),
    }
    true
}

/// A text that takes the place of another one.
struct Edit {
    place: Range<usize>,
    new: String,
}

/// What is to be done; `None`: nothing.
fn edit(tape: &Tape<'_>, steps: &[Step], new: &str, change: Change) -> Option<Edit> {
    let mut at = 0;
    for (place, step) in steps.iter().enumerate() {
        let behind = &steps[place + 1..];
        // What is read there is the first item.
        let member = step.to.member(tape, at).filter(|_| step.to != To::FromEnd(0));
        match (member, behind) {
            (Some(member), [_, ..]) => at = member,
            (Some(_), []) if change == Change::Insert => return None,
            (Some(member), []) => {
                return Some(Edit { place: tape.range(at), new: rewritten(tape, at, member, new) });
            }
            (None, _) if change.adds() => return added(tape, at, &step.to, &made(behind, new)?),
            (None, _) => return None,
        }
    }
    (change != Change::Insert).then(|| Edit { place: tape.range(0), new: new.into() })
}

/// A container with another value in the place of a member, or without it if there is none. Of several fields of the
/// same key one is left.
fn rewritten(tape: &Tape<'_>, container: usize, member: usize, new: &str) -> String {
    let is_object = tape.is_object(container);
    let mut members = tape.members(container);
    let name = members.find(|(_, other)| *other == member).and_then(|(key, _)| key).map(|key| tape.key(key));
    let mut out = String::from(if is_object { "{" } else { "[" });
    for (key, value) in tape.members(container) {
        let is_member = value == member;
        let is_another = key.is_some_and(|key| Some(tape.key(key)) == name);
        if (is_member || is_another) && (new.is_empty() || !is_member) {
            continue;
        }
        out.push_str(if out.len() == 1 { "" } else { "," });
        if let Some(key) = key {
            out.extend(["\"", tape.text(key), "\":"]);
        }
        out.push_str(if is_member { new } else { tape.text(value) });
    }
    out.push(if is_object { '}' } else { ']' });
    out
}

/// A value behind the last member of a container.
fn added(tape: &Tape<'_>, container: usize, to: &To, value: &str) -> Option<Edit> {
    let kind = tape.kind(container);
    let mut new = String::new();
    if tape.length(container) > 0 {
        new.push(',');
    }
    if tape.is_object(container) {
        quoted(to.as_key()?, &mut new);
        new.push(':');
    } else if !(kind.is_container() && to.is_behind(tape.length(container))) {
        return None;
    }
    new.push_str(value);
    // A comma may stand behind the last member.
    let end = tape
        .members(container)
        .last()
        .map_or(tape.range(container).start + 1, |(_, last)| tape.range(last).end);
    Some(Edit { place: end..end, new })
}

/// A value within the containers that steps lead through; `None`: one of them leads to no first member.
fn made(steps: &[Step], value: &str) -> Option<String> {
    let (mut begin, mut end) = (String::new(), String::new());
    for step in steps {
        match step.to.as_key() {
            Some(key) => {
                begin.push('{');
                quoted(key, &mut begin);
                begin.push(':');
                end.push('}');
            }
            None if step.to.is_behind(0) => {
                begin.push('[');
                end.push(']');
            }
            None => return None,
        }
    }
    begin.push_str(value);
    begin.extend(end.chars().rev());
    Some(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str, path: &str, change: Change) -> Option<String> {
        let mut out = String::new();
        let new = if change == Change::Remove { "" } else { "9" };
        let tape = Tape::of(text).unwrap();
        changed(&tape, text, &Path::of(path).unwrap(), new, change, &mut out).then_some(out)
    }

    #[test]
    fn a_value_is_set_where_a_path_leads() {
        for (text, path, expected) in [
            (r#" {"a" : 1} "#, "$.a", r#"{"a":9}"#),
            (r#"{"a":1}"#, "$.b", r#"{"a":1,"b":9}"#),
            ("{}", "$.a.b[0].c", r#"{"a":{"b":[{"c":9}]}}"#),
            ("{}", "$.a[1]", "{}"),
            ("{}", "/a/-", r#"{"a":{"-":9}}"#),
            ("[1,2,]", "$[2]", "[1,2,9]"),
            ("[1,2]", "$[3]", "[1,2]"),
            ("[1,2]", "$[-1]", "[1,9]"),
            ("[1,2]", "$[#]", "[1,2,9]"),
            ("[1,2]", "$[#-0]", "[1,2,9]"),
            ("[1,2]", "/-", "[1,2,9]"),
            ("[1,2]", "/0", "[9,2]"),
            (r#"{"0":1}"#, "/0", r#"{"0":9}"#),
            (r#"{"b":0,"a":1,"c":3,"\u0061":2}"#, "$.a", r#"{"b":0,"a":9,"c":3}"#),
            (r#"{"a":{"x":1},"a":2}"#, "$.a.y", r#"{"a":{"x":1,"y":9},"a":2}"#),
            (r#"{"a":null}"#, "$.a.b", r#"{"a":null}"#),
            (r#"{"a":1}"#, "/a~2", r#"{"a":1}"#),
            ("1", "$", "9"),
            ("1", "$.a", "1"),
        ] {
            assert_eq!(given(text, path, Change::Set).as_deref(), Some(expected), "{text} {path}");
        }
    }

    #[test]
    fn values_are_added_replaced_and_taken_away() {
        for (text, path, inserted, replaced, removed) in [
            (r#"{"a":1,"b":2}"#, "$.a", r#"{"a":1,"b":2}"#, r#"{"a":9,"b":2}"#, Some(r#"{"b":2}"#)),
            (r#"{"a":1,"a":2}"#, "$.a", r#"{"a":1,"a":2}"#, r#"{"a":9}"#, Some("{}")),
            ("[1,2,3]", "$[1]", "[1,2,3]", "[1,9,3]", Some("[1,3]")),
            ("[1]", "$[1]", "[1,9]", "[1]", Some("[1]")),
            ("{}", "$.a.b", r#"{"a":{"b":9}}"#, "{}", Some("{}")),
            ("[1]", "$", "[1]", "9", None),
        ] {
            assert_eq!(given(text, path, Change::Insert).as_deref(), Some(inserted), "{text} {path}");
            assert_eq!(given(text, path, Change::Replace).as_deref(), Some(replaced), "{text} {path}");
            assert_eq!(given(text, path, Change::Remove).as_deref(), removed, "{text} {path}");
        }
    }
}
