//! `json_merge_patch_diff`: the patch that makes of one JSON the other (RFC 7396).

use std::collections::HashMap;

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::{Kind, Reader};
use super::tape::Tape;
use super::writer::{normal, quoted};
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

/// The first value of each key of an object.
fn firsts((tape, object): Value<'_, '_>) -> HashMap<String, usize> {
    let mut firsts = HashMap::with_capacity(tape.length(object));
    for (key, value) in tape.members(object) {
        let Some(key) = key else { continue };
        firsts.entry(tape.key(key).into_owned()).or_insert(value);
    }
    firsts
}

/// Adds the patch of an object: null for each field that goes, then the fields that are new or other ones.
fn write((old, before): Value<'_, '_>, (new, after): Value<'_, '_>, out: &mut String) {
    let (olds, news) = (firsts((old, before)), firsts((new, after)));
    out.push('{');
    let begin = out.len();
    let field = |key: &str, out: &mut String| {
        out.push_str(if out.len() == begin { "" } else { "," });
        quoted(key, out);
        out.push(':');
    };
    for (key, _) in old.members(before) {
        let Some(key) = key.map(|key| old.key(key)) else { continue };
        if !news.contains_key(key.as_ref()) {
            field(&key, out);
            out.push_str("null");
        }
    }
    for (key, value) in new.members(after) {
        let Some(key) = key.map(|key| new.key(key)) else { continue };
        match olds.get(key.as_ref()).copied() {
            Some(known) if equal((old, known), (new, value)) => {}
            Some(known) if old.is_object(known) && new.is_object(value) => {
                field(&key, out);
                write((old, known), (new, value), out);
            }
            _ => {
                field(&key, out);
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
            let others = firsts((right, b));
            left.members(a).all(|(key, value)| {
                let other = key.and_then(|key| others.get(left.key(key).as_ref()).copied());
                other.is_some_and(|other| equal((left, value), (right, other)))
            })
        }
        _ => {
            let (mut one, mut other) = (String::new(), String::new());
            left.write(a, &mut one);
            right.write(b, &mut other);
            one == other
        }
    }
}
