//! `json_merge_patch`: JSON that is changed by JSON (RFC 7396).

use std::collections::{HashMap, HashSet};

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::{Kind, Reader};
use super::tape::Tape;
use super::writer::{normal, quoted};
use crate::functions::own::arguments::Call;

/// Each argument changes what those before it have given. NULL makes NULL of that, and is changed into the next one.
pub fn patch(call: &Call) -> Result<ArrayRef> {
    let columns = (0..call.given()).map(|at| call.text(at)).collect::<Result<Vec<_>>>()?;
    call.give_text(|row, out| {
        let mut so_far: Option<String> = None;
        for column in &columns {
            let Some(text) = column.get(row) else {
                so_far = None;
                continue;
            };
            let mut next = String::new();
            match &so_far {
                None => {
                    let value = Reader::whole(text).map_err(|wrong| wrong.error(text))?;
                    normal(&text[value], &mut next);
                }
                Some(before) => {
                    let tape = |text| Tape::of(text).map_err(|wrong| wrong.error(text));
                    let (old, new) = (tape(before)?, tape(text)?);
                    match old.is_object(0) && new.is_object(0) {
                        true => merge(Some((&old, 0)), (&new, 0), &mut next),
                        false => new.write(0, &mut next),
                    }
                }
            }
            so_far = Some(next);
        }
        if let Some(text) = &so_far {
            out.push_str(text);
        }
        Ok(so_far.is_some())
    })
}

/// Adds an object with the fields of another one. First come those of the old object that the new one does not name,
/// then the new ones. `null` takes a field away.
fn merge(old: Option<(&Tape<'_>, usize)>, (new, patch): (&Tape<'_>, usize), out: &mut String) {
    let mut before: HashMap<String, usize> = HashMap::new();
    let named: HashSet<String> =
        new.members(patch).filter_map(|(key, _)| key).map(|key| new.key(key).into_owned()).collect();
    out.push('{');
    let begin = out.len();
    let field = |key: &str, out: &mut String| {
        out.push_str(if out.len() == begin { "" } else { "," });
        quoted(key, out);
        out.push(':');
    };
    if let Some((old, object)) = old {
        for (key, value) in old.members(object) {
            let Some(key) = key.map(|key| old.key(key)) else { continue };
            if named.contains(key.as_ref()) {
                before.entry(key.into_owned()).or_insert(value);
                continue;
            }
            field(&key, out);
            old.write(value, out);
        }
    }
    for (key, value) in new.members(patch) {
        let Some(key) = key.map(|key| new.key(key)) else { continue };
        match new.kind(value) {
            Kind::Null => {}
            Kind::Object => {
                field(&key, out);
                let known = before.get(key.as_ref()).copied();
                let old = old.zip(known).map(|((old, _), value)| (old, value));
                merge(old.filter(|(old, value)| old.is_object(*value)), (new, value), out);
            }
            _ => {
                field(&key, out);
                new.write(value, out);
            }
        }
    }
    out.push('}');
}
