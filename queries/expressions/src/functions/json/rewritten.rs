//! `json_normalize`, which puts the fields of objects in order, and `json_strip_nulls`, which leaves out those that are null.

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::Kind;
use super::tape::Tape;
use super::writer::quoted;
use crate::functions::own::arguments::Call;

/// Texts with the fields of each object in the order of the bytes of their keys.
pub fn normalize(call: &Call) -> Result<ArrayRef> {
    rewritten(call, true, false)
}

/// Texts without the fields that are null. Items of arrays stay.
pub fn strip_nulls(call: &Call) -> Result<ArrayRef> {
    rewritten(call, false, true)
}

fn rewritten(call: &Call, sorts: bool, strips: bool) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        write(&tape, 0, sorts, strips, out);
        Ok(true)
    })
}

/// Adds a value. A text has a thousand levels at most, and so have the calls.
fn write(tape: &Tape<'_>, value: usize, sorts: bool, strips: bool, out: &mut String) {
    let (open, close) = match tape.kind(value) {
        Kind::Object => ('{', '}'),
        Kind::Array => ('[', ']'),
        _ => return tape.write(value, out),
    };
    out.push(open);
    let begin = out.len();
    let is_left_out = |key: Option<usize>, member| strips && key.is_some() && tape.kind(member) == Kind::Null;
    let members = tape.members(value).filter(|(key, member)| !is_left_out(*key, *member));
    let mut members: Vec<_> = members.map(|(key, member)| (key.map(|key| tape.key(key)), member)).collect();
    if sorts {
        // Items have no keys, and those of one key keep their order.
        members.sort_by(|(left, _), (right, _)| left.cmp(right));
    }
    for (key, member) in members {
        out.push_str(if out.len() == begin { "" } else { "," });
        if let Some(key) = key {
            quoted(&key, out);
            out.push(':');
        }
        write(tape, member, sorts, strips, out);
    }
    out.push(close);
}
