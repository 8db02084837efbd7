//! `json_structure`: the types of JSON as JSON, and `json_pretty`.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use datafusion_common::Result;

use super::reader::Kind;
use super::reads::type_name;
use super::tape::Tape;
use super::writer::{normal, quoted};
use crate::functions::own::arguments::Call;

/// What the values at one place are.
#[derive(Default)]
struct Structure {
    /// Kinds that have nothing in common, in the order in which they are met.
    kinds: Vec<Known>,
}

enum Known {
    /// The name of the type of values that are neither.
    Scalar(&'static str),
    /// Arrays, and what their items are.
    Array(Box<Structure>),
    /// Objects, and what their fields are, in the order in which they are met.
    Object(Vec<(String, Structure)>, HashMap<String, usize>),
}

const NULL: &str = "NULL";
const UNSIGNED: &str = "UBIGINT";
const SIGNED: &str = "BIGINT";
const LARGE: &str = "HUGEINT";
const FLOAT: &str = "DOUBLE";
const NUMBERS: [&str; 4] = [UNSIGNED, SIGNED, LARGE, FLOAT];
const ANY: &str = "JSON";

/// The structures of texts.
pub fn structure(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        let mut all = Structure::default();
        all.add(&tape, 0);
        all.write(out);
        Ok(true)
    })
}

impl Structure {
    /// Adds a value.
    fn add(&mut self, tape: &Tape<'_>, value: usize) {
        match tape.kind(value) {
            Kind::Array => {
                self.drop_null();
                let known = self.kinds.iter().position(|known| matches!(known, Known::Array(_)));
                let at = known.unwrap_or_else(|| {
                    self.kinds.push(Known::Array(Box::default()));
                    self.kinds.len() - 1
                });
                if let Known::Array(items) = &mut self.kinds[at] {
                    tape.members(value).for_each(|(_, item)| items.add(tape, item));
                }
            }
            Kind::Object => {
                self.drop_null();
                let known = self.kinds.iter().position(|known| matches!(known, Known::Object(..)));
                let at = known.unwrap_or_else(|| {
                    self.kinds.push(Known::Object(vec![], HashMap::new()));
                    self.kinds.len() - 1
                });
                if let Known::Object(fields, places) = &mut self.kinds[at] {
                    for (key, member) in tape.members(value) {
                        let key = key.map(|key| tape.key(key).into_owned()).unwrap_or_default();
                        let place = *places.entry(key).or_insert_with_key(|key| {
                            fields.push((key.clone(), Structure::default()));
                            fields.len() - 1
                        });
                        fields[place].1.add(tape, member);
                    }
                }
            }
            _ => self.add_scalar(type_name(tape.text(value))),
        }
    }

    /// `null` is of any type.
    fn drop_null(&mut self) {
        self.kinds.retain(|known| !matches!(known, Known::Scalar(NULL)));
    }

    fn add_scalar(&mut self, name: &'static str) {
        if name == NULL {
            if self.kinds.is_empty() {
                self.kinds.push(Known::Scalar(NULL));
            }
            return;
        }
        self.drop_null();
        for known in &mut self.kinds {
            let Known::Scalar(known) = known else { continue };
            if *known == name {
                return;
            }
            if NUMBERS.contains(known) && NUMBERS.contains(&name) {
                *known = if *known == FLOAT || name == FLOAT { FLOAT } else { LARGE };
                return;
            }
        }
        self.kinds.push(Known::Scalar(name));
    }

    fn write(&self, out: &mut String) {
        match self.kinds.as_slice() {
            [] => quoted(NULL, out),
            [Known::Scalar(name)] => quoted(name, out),
            [Known::Array(items)] => {
                out.push('[');
                items.write(out);
                out.push(']');
            }
            [Known::Object(fields, _)] if !fields.is_empty() => {
                out.push('{');
                for (place, (key, field)) in fields.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { "," });
                    quoted(key, out);
                    out.push(':');
                    field.write(out);
                }
                out.push('}');
            }
            _ => quoted(ANY, out),
        }
    }
}

/// Texts with a line for each member, indented.
pub fn pretty(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        indented(&tape, 0, 0, out);
        Ok(true)
    })
}

fn indented(tape: &Tape<'_>, value: usize, level: usize, out: &mut String) {
    if tape.length(value) == 0 {
        return normal(tape.text(value), out);
    }
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        (0..level).for_each(|_| out.push_str("    "));
    };
    let (begin, end) = if tape.is_object(value) { ('{', '}') } else { ('[', ']') };
    out.push(begin);
    for (place, (key, member)) in tape.members(value).enumerate() {
        out.push_str(if place == 0 { "" } else { "," });
        line(level + 1, out);
        if let Some(key) = key {
            quoted(&tape.key(key), out);
            out.push_str(": ");
        }
        indented(tape, member, level + 1, out);
    }
    line(level, out);
    out.push(end);
}
