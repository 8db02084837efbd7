//! `json_merge_patch`: JSON that is changed by JSON (RFC 7396), and `json_deep_merge`, where null changes nothing.

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::{Kind, Reader};
use super::tape::Tape;
use super::writer::{field, normal};
use crate::functions::own::arguments::Call;

/// What the null of a patch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// It takes a field away.
    Remove,
    /// It leaves a field as it is.
    Keep,
}

/// Each argument changes what those before it have given. NULL makes NULL of that, and is changed into the next one.
pub fn patch(call: &Call, nulls: Nulls) -> Result<ArrayRef> {
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
                        true => merge(Some((&old, 0)), (&new, 0), nulls, &mut next),
                        false if nulls == Nulls::Keep && new.kind(0) == Kind::Null => old.write(0, &mut next),
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

/// Adds an object with the fields of another one. First come those of the old object that the new one does not name, or
/// names to keep them, then the new ones.
fn merge(old: Option<(&Tape<'_>, usize)>, (new, patch): (&Tape<'_>, usize), nulls: Nulls, out: &mut String) {
    let keeps = |value| nulls == Nulls::Keep && new.kind(value) == Kind::Null;
    let named = new.firsts(patch);
    let before = old.map(|(old, object)| old.firsts(object)).unwrap_or_default();
    out.push('{');
    let begin = out.len();
    if let Some((old, object)) = old {
        for (key, value) in old.members(object) {
            let Some(key) = key.map(|key| old.key(key)) else { continue };
            if named.get(key.as_ref()).is_some_and(|value| !keeps(*value)) {
                continue;
            }
            field(&key, begin, out);
            old.write(value, out);
        }
    }
    for (key, value) in new.members(patch) {
        let Some(key) = key.map(|key| new.key(key)) else { continue };
        match new.kind(value) {
            Kind::Null if nulls == Nulls::Remove || old.is_some() => {}
            Kind::Object => {
                field(&key, begin, out);
                let old = old.zip(before.get(key.as_ref())).map(|((old, _), value)| (old, *value));
                let old = old.filter(|(old, value)| old.is_object(*value));
                merge(old, (new, value), nulls, out);
            }
            _ => {
                field(&key, begin, out);
                new.write(value, out);
            }
        }
    }
    out.push('}');
}
