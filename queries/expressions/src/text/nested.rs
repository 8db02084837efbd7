//! Casts of text to lists, structs and maps: `'[1, NULL]'::INT[]`. What a cast to text prints is read, and what results
//! in csv show but for quotes within texts.
//!
//! A level of the type after the other is made, each over the values of all rows of a batch. So there are as many calls
//! within each other as the type has levels, however deep the brackets of a text are. A text is looked through once for
//! each of these levels.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{DataType, Fields};
use datafusion_common::cast::as_string_view_array;
use datafusion_common::{DataFusionError, Result, exec_datafusion_err, internal_err};

use super::{is_read, parts, read, shown};
use crate::functions::json::reads::Lists;
use crate::functions::lists::maps::{self, parts_of};

/// The longest part of a text that a message shows, in bytes.
const SHOWN: usize = 80;

/// A text, or NULL.
type Said<'a> = Option<Cow<'a, str>>;

/// Whether text is cast to values of a type here.
pub fn is_made(to: &DataType) -> bool {
    match to {
        DataType::List(item) => is_part(item.data_type()),
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| is_part(field.data_type()))
        }
        DataType::Map(..) => parts_of(to).is_some_and(|(key, value)| is_part(key) && is_part(value)),
        _ => false,
    }
}

/// Whether text within another one is cast to values of a type.
fn is_part(to: &DataType) -> bool {
    let is_plain =
        matches!(to, DataType::Utf8View | DataType::Boolean | DataType::Float32 | DataType::Float64);
    is_plain || is_read(to) || is_made(to)
}

/// The values that texts stand for. If it is `safe`, the part that is no such value is NULL: an item, or a list in a
/// list.
///
/// # Errors
/// One is no such value.
pub(super) fn values(texts: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8View)?;
    let said: Vec<Said<'_>> =
        as_string_view_array(&texts)?.iter().map(|text| text.map(Cow::Borrowed)).collect();
    Casts { safe }.made(&said, to)
}

/// Casts of texts.
struct Casts {
    safe: bool,
}

impl Casts {
    fn made(&self, values: &[Said<'_>], to: &DataType) -> Result<ArrayRef> {
        match to {
            DataType::List(item) => self.lists(values, item.data_type(), to),
            DataType::Struct(fields) => self.structs(values, fields, to),
            DataType::Map(..) => self.maps(values, to),
            _ => self.leaves(values, to),
        }
    }

    /// Notes that a text is none of the type: that is an error, or it is NULL.
    fn wrong(&self, text: &str, to: &DataType, why: &str) -> Result<()> {
        if self.safe { Ok(()) } else { Err(refused(text, to, why)) }
    }

    fn lists(&self, values: &[Said<'_>], item: &DataType, to: &DataType) -> Result<ArrayRef> {
        let (mut items, mut found) = (Vec::new(), Vec::new());
        let mut lists = Lists::default();
        for value in values {
            found.clear();
            let is_list = match value.as_deref().map(|text| (text, parts::items(text, *b"[]", &mut found))) {
                None => false,
                Some((_, Some(()))) => {
                    items.extend(found.iter().map(|part| parts::said(part)));
                    true
                }
                Some((text, None)) => {
                    self.wrong(text, to, "a list is written [1, 'a b', NULL]")?;
                    false
                }
            };
            lists.end(items.len(), is_list);
        }
        lists.finish(self.made(&items, item)?)
    }

    /// Structs by the names of their fields, or in parentheses without names.
    fn structs(&self, values: &[Said<'_>], fields: &Fields, to: &DataType) -> Result<ArrayRef> {
        let places: HashMap<&str, usize> =
            fields.iter().enumerate().map(|(place, field)| (field.name().as_str(), place)).collect();
        let mut columns: Vec<Vec<Said<'_>>> = vec![vec![None; values.len()]; fields.len()];
        let mut valid = vec![false; values.len()];
        let (mut named, mut unnamed) = (Vec::new(), Vec::new());
        for (row, value) in values.iter().enumerate() {
            let Some(text) = value.as_deref() else { continue };
            named.clear();
            unnamed.clear();
            let is_tuple = text.trim_start().starts_with('(');
            let read = match is_tuple {
                true => parts::items(text, *b"()", &mut unnamed),
                false => parts::entries(text, b':', &mut named),
            };
            if read.is_none() || unnamed.len() > fields.len() {
                let fields = fields.len();
                let why = match read {
                    None => {
                        "a struct is written {'a': 1, 'b': 'x y'}, or (1, 'x y') without names".to_string()
                    }
                    Some(()) => format!("the struct has {fields} fields, and there are {}", unnamed.len()),
                };
                self.wrong(text, to, &why)?;
                continue;
            }
            let places = named.iter().map(|(name, value)| {
                let name = parts::said(name).unwrap_or_default();
                (places.get(name.as_ref()).copied().ok_or(name), *value)
            });
            let unnamed = unnamed.iter().enumerate().map(|(place, value)| (Ok(place), *value));
            let all: std::result::Result<Vec<(usize, &str)>, Cow<'_, str>> =
                places.chain(unnamed).map(|(place, value)| Ok((place?, value))).collect();
            match all {
                Ok(all) => {
                    valid[row] = true;
                    // Of several of a name the last one counts.
                    all.into_iter().for_each(|(place, value)| columns[place][row] = parts::said(value));
                }
                Err(name) => self.wrong(text, to, &format!("the struct has no field '{name}'"))?,
            }
        }
        let arrays = columns.iter().zip(fields).map(|(column, field)| self.made(column, field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        Ok(Arc::new(StructArray::try_new(fields.clone(), arrays, nulls)?))
    }

    fn maps(&self, values: &[Said<'_>], to: &DataType) -> Result<ArrayRef> {
        let Some((key, value)) = parts_of(to) else { return internal_err!("{to} is no map") };
        let (mut keys, mut of_keys, mut found) = (Vec::new(), Vec::new(), Vec::new());
        let (mut key_lists, mut value_lists) = (Lists::default(), Lists::default());
        for value in values {
            found.clear();
            let is_map = match value.as_deref().map(|text| (text, parts::entries(text, b'=', &mut found))) {
                None => false,
                Some((_, Some(()))) => {
                    keys.extend(found.iter().map(|(key, _)| parts::said(key)));
                    of_keys.extend(found.iter().map(|(_, value)| parts::said(value)));
                    true
                }
                Some((text, None)) => {
                    self.wrong(text, to, "a map is written {k=1, 'l m'=2}")?;
                    false
                }
            };
            key_lists.end(keys.len(), is_map);
            value_lists.end(of_keys.len(), is_map);
        }
        let keys = key_lists.finish(self.made(&keys, key)?)?;
        let values = value_lists.finish(self.made(&of_keys, value)?)?;
        maps::of_lists(&keys, &values, self.safe)
    }

    /// Values of a type that has no others in it.
    fn leaves(&self, values: &[Said<'_>], to: &DataType) -> Result<ArrayRef> {
        let mut texts = StringViewBuilder::with_capacity(values.len());
        for value in values {
            match value {
                Some(text) => texts.try_append_value(text)?,
                None => texts.append_null(),
            }
        }
        let texts: ArrayRef = Arc::new(texts.finish());
        if is_read(to) {
            return read(to.clone(), self.safe).values(&texts);
        }
        let options = CastOptions { safe: self.safe, ..CastOptions::default() };
        Ok(cast_with_options(&texts, to, &options)?)
    }
}

fn refused(text: &str, to: &DataType, why: &str) -> DataFusionError {
    let end = text.floor_char_boundary(SHOWN);
    let more = if end < text.len() { "…" } else { "" };
    exec_datafusion_err!(
        "cannot cast '{}{more}' to {}: {why}\n  help: TRY_CAST gives NULL instead",
        &text[..end],
        shown(to)
    )
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, StringViewArray};
    use arrow_cast::display::array_value_to_string;
    use arrow_schema::Field;

    use super::*;
    use crate::functions::lists::list_of;
    use crate::functions::lists::maps::map_of;

    fn texts(to: &DataType, safe: bool, texts: &[Option<&str>]) -> Result<Vec<String>> {
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter(texts.iter().copied()));
        let made = values(&texts, to, safe)?;
        assert_eq!(made.data_type(), to);
        let shown =
            |row| if made.is_null(row) { "NULL".into() } else { array_value_to_string(&made, row).unwrap() };
        Ok((0..made.len()).map(shown).collect())
    }

    #[test]
    fn what_is_no_value_is_null_on_request() {
        let fields = [("a", DataType::Int64), ("b", list_of(&DataType::Utf8View))];
        let fields = fields.map(|(name, data_type)| Field::new(name, data_type, true));
        let lists = list_of(&DataType::Struct(fields.into_iter().collect()));
        assert!(is_made(&lists));
        let given = [
            Some("[{'a': 1, b: [x, NULL]}, (2), NULL]"),
            Some("[{a: x}, {c: 1}, (1, 2, 3)]"),
            Some("1"),
            None,
        ];
        assert_eq!(
            texts(&lists, true, &given).unwrap(),
            ["[{a: 1, b: [x, ]}, {a: 2, b: }, ]", "[{a: , b: }, , ]", "NULL", "NULL"]
        );
        for wrong in ["[{a: x}]", "[{c: 1}]", "[(1, 2, 3)]", "1", "[1]"] {
            assert!(texts(&lists, false, &[Some(wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_of_maps_are_known_and_stand_once() {
        let maps = map_of(&DataType::Int64, &list_of(&DataType::Int64));
        let given = [
            Some("{1=[1], 2=NULL}"),
            Some("{1=[], 01=[]}"),
            Some("{x=[]}"),
            Some("{NULL=[]}"),
            Some("{3=[x]}"),
        ];
        assert_eq!(texts(&maps, true, &given).unwrap(), ["{1: [1], 2: }", "NULL", "NULL", "NULL", "{3: []}"]);
        for wrong in &given[1..] {
            assert!(texts(&maps, false, &[*wrong]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn deep_brackets_are_no_deep_calls() {
        let deep = format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000));
        assert!(texts(&list_of(&DataType::Utf8View), false, &[Some(&deep)]).is_ok());
        let error = texts(&list_of(&DataType::Int64), false, &[Some(&deep[1..])]).unwrap_err();
        assert!(error.to_string().len() < 300, "{error}");
    }
}
