//! `json_merge_patch_diff`: the patch that makes of one JSON the other (RFC 7396).

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::{Kind, Reader};
use super::tape::Tape;
use super::writer::{field, normal};
use crate::functions::own::arguments::Call;

/// What `json_merge_patch` is given with the first argument to give the second one. Of NULL it is all of the second one.
pub fn diff(call: &Call) -> Result<ArrayRef> {
    let (olds, news) = (call.text(0)?, call.text(1)?);
    call.give_text(|row, out| {
        let Some(new) = news.get(row) else { return Ok(false) };
        let Some(old) = olds.get(row) else {
            let value = Reader::whole(new).map_err(|wrong| wrong.error(new))?;
            normal(&new[value], out);
            return Ok(true);
        };
        let tape = |text| Tape::of(text).map_err(|wrong| wrong.error(text));
        let (old, new) = (tape(old)?, tape(new)?);
        match old.is_object(0) && new.is_object(0) {
            true => write((&old, 0), (&new, 0), out),
            false => new.write(0, out),
        }
        Ok(true)
    })
}

/// A value of a tape.
type Value<'t, 'a> = (&'t Tape<'a>, usize);

/// Adds the patch of an object: null for each field that goes, then the fields that are new or other ones.
fn write((old, before): Value<'_, '_>, (new, after): Value<'_, '_>, out: &mut String) {
    let (olds, news) = (old.firsts(before), new.firsts(after));
    out.push('{');
    let begin = out.len();
    for (key, _) in old.members(before) {
        let Some(key) = key.map(|key| old.key(key)) else { continue };
        if !news.contains_key(key.as_ref()) {
            field(&key, begin, out);
            out.push_str("null");
        }
    }
    for (key, value) in new.members(after) {
        let Some(key) = key.map(|key| new.key(key)) else { continue };
        match olds.get(key.as_ref()).copied() {
            // Of objects the patch says whether they differ: to compare them first would look at each level again.
            Some(known) if old.is_object(known) && new.is_object(value) => {
                let unchanged = out.len();
                field(&key, begin, out);
                let patch = out.len();
                write((old, known), (new, value), out);
                if &out[patch..] == "{}" {
                    out.truncate(unchanged);
                }
            }
            Some(known) if equal((old, known), (new, value)) => {}
            _ => {
                field(&key, begin, out);
                new.write(value, out);
            }
        }
    }
    out.push('}');
}

/// Whether two values are the same, whatever the order of their fields. `1` and `1.0` are not.
fn equal((left, a): Value<'_, '_>, (right, b): Value<'_, '_>) -> bool {
    if left.kind(a) != right.kind(b) || left.length(a) != right.length(b) {
        return false;
    }
    match left.kind(a) {
        Kind::Array => left
            .members(a)
            .zip(right.members(b))
            .all(|((_, one), (_, other))| equal((left, one), (right, other))),
        Kind::Object => {
            let others = right.firsts(b);
            left.members(a).all(|(key, value)| {
                let other = key.and_then(|key| others.get(left.key(key).as_ref()).copied());
                other.is_some_and(|other| equal((left, value), (right, other)))
            })
        }
        _ => {
            let (mut one, mut other) = (String::new(), String::new());
            left.text(a) == right.text(b) || {
                left.write(a, &mut one);
                right.write(b, &mut other);
                one == other
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(old: &str, new: &str) -> String {
        let (old, new) = (Tape::of(old).unwrap(), Tape::of(new).unwrap());
        let mut out = String::new();
        write((&old, 0), (&new, 0), &mut out);
        out
    }

    #[test]
    fn a_patch_has_what_differs() {
        for (old, new, expected) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1.0}"#, r#"{"a":1.0}"#),
            (r#"{"a":{"x":1,"y":[1]}}"#, r#"{"a":{"y":[1],"x":1}}"#, "{}"),
            (r#"{"a":{"x":1}}"#, r#"{"a":{}}"#, r#"{"a":{"x":null}}"#),
            (r#"{"a":{}}"#, r#"{"a":[]}"#, r#"{"a":[]}"#),
            (r#"{"x":{"a":1,"a":1}}"#, r#"{"x":{"a":1,"b":2}}"#, r#"{"x":{"b":2}}"#),
            (r#"{"a":{"b":1,"b":2}}"#, r#"{"a":{"b":1}}"#, "{}"),
        ] {
            assert_eq!(patch(old, new), expected, "{old} {new}");
        }
    }
}
