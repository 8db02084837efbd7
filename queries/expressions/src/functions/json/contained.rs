//! `json_contains`: whether a value is in another one. An array is in one that has all of its items, and an object in one
//! that has all of its fields.

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_err};

use super::reader::Kind;
use super::tape::Tape;
use crate::functions::own::arguments::{Call, known};

/// The most values that are compared for two texts. For all of the one with all of the other the time grows with the
/// product of their lengths.
const MOST_COMPARED: u64 = 1 << 27;

/// Whether the first argument has the second one in it.
pub fn contains(call: &Call) -> Result<ArrayRef> {
    let (texts, parts) = (call.text(0)?, call.text(1)?);
    call.give_booleans(|row| {
        let (text, part) = (known!(texts.get(row)), known!(parts.get(row)));
        let tape = |text| Tape::of(text).map_err(|wrong| wrong.error(text));
        let (all, part) = (tape(text)?, tape(part)?);
        let mut search = Search { all: &all, part: &part, left: MOST_COMPARED };
        let found = search.below(0);
        if search.left == 0 {
            return exec_err!("json_contains() would compare more than {MOST_COMPARED} values of one text");
        }
        Ok(Some(found))
    })
}

struct Search<'a> {
    all: &'a Tape<'a>,
    part: &'a Tape<'a>,
    /// How many values may still be compared.
    left: u64,
}

impl Search<'_> {
    /// Whether the part is in a value, or in one that is below it.
    fn below(&mut self, value: usize) -> bool {
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            if self.has(value, 0) {
                return true;
            }
            values.extend(self.all.members(value).map(|(_, member)| member));
        }
        false
    }

    /// Whether a value has all that is in a part.
    fn has(&mut self, value: usize, part: usize) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return false;
        }
        let (all, wanted) = (self.all, self.part);
        if all.kind(value) != wanted.kind(part) {
            return false;
        }
        match all.kind(value) {
            Kind::Array => wanted.members(part).all(|(_, item)| {
                let mut items = all.members(value);
                items.any(|(_, candidate)| self.has(candidate, item))
            }),
            // Equal objects may have a key twice.
            Kind::Object if all.text(value) == wanted.text(part) => true,
            Kind::Object => wanted.members(part).all(|(key, member)| {
                self.left = self.left.saturating_sub(all.length(value) as u64);
                let field = key.and_then(|key| all.field(value, &wanted.key(key)));
                field.is_some_and(|field| self.has(field, member))
            }),
            Kind::String => all.string(value) == wanted.string(part),
            _ => is_same(all, value, wanted, part),
        }
    }
}

/// Numbers are the same if they are written alike in the normal form: 1 is not 1.0.
fn is_same(all: &Tape<'_>, value: usize, wanted: &Tape<'_>, part: usize) -> bool {
    let (mut left, mut right) = (String::new(), String::new());
    all.write(value, &mut left);
    wanted.write(part, &mut right);
    left == right
}
