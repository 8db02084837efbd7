//! `json_normalize`, which puts the fields of objects in order, and `json_strip_nulls`, which leaves out those that are
//! null.

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::Kind;
use super::tape::Tape;
use super::writer::field;
use crate::functions::own::arguments::Call;

/// What is done to the fields of each object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    /// They are put in the order of the bytes of their keys.
    Sorted,
    /// Those that are null are left out.
    WithoutNulls,
}

/// Texts with the fields of each object in order.
pub fn normalize(call: &Call) -> Result<ArrayRef> {
    rewritten(call, Fields::Sorted)
}

/// Texts without the fields that are null. Items of arrays stay.
pub fn strip_nulls(call: &Call) -> Result<ArrayRef> {
    rewritten(call, Fields::WithoutNulls)
}

fn rewritten(call: &Call, fields: Fields) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        write(&tape, 0, fields, out);
        Ok(true)
    })
}

/// Adds a value. A text has a thousand levels at most, and so have the calls.
fn write(tape: &Tape<'_>, value: usize, fields: Fields, out: &mut String) {
    let (open, close) = match tape.kind(value) {
        Kind::Object => ('{', '}'),
        Kind::Array => ('[', ']'),
        _ => return tape.write(value, out),
    };
    out.push(open);
    let begin = out.len();
    let is_left_out = |key: Option<usize>, member| {
        fields == Fields::WithoutNulls && key.is_some() && tape.kind(member) == Kind::Null
    };
    let members = tape.members(value).filter(|(key, member)| !is_left_out(*key, *member));
    let mut members: Vec<_> = members.map(|(key, member)| (key.map(|key| tape.key(key)), member)).collect();
    if fields == Fields::Sorted {
        // Items have no keys, and those of one key keep their order.
        members.sort_by(|(left, _), (right, _)| left.cmp(right));
    }
    for (key, member) in members {
        match key {
            Some(key) => field(&key, begin, out),
            None => out.push_str(if out.len() == begin { "" } else { "," }),
        }
        write(tape, member, fields, out);
    }
    out.push(close);
}
