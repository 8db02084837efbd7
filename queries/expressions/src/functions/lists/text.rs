//! Lists, structs and maps as text, as DuckDB writes them: `[1, NULL]`, `{'a': 1}`, `{a=1}`. Texts within them stand in quotes where they
//! would be taken for something else.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::Result;

use super::picks::Lists;
use super::{Given, ListFunction, Takes};

/// Characters with which a text stands in quotes.
const MARKS: &[char] = &[',', '[', ']', '{', '}', '(', ')', '\'', '"', '\\', '=', ':'];

/// The name of the function of a text within a list.
pub const QUOTED: &str = "quoted_text";
/// The name of the function of a list of texts.
pub const LIST: &str = "list_text";
/// The name of the function of a key and a value.
pub const ENTRY: &str = "entry_text";
/// The name of the function of a list of the texts of entries.
pub const MAP: &str = "map_text";
/// The name of the function of names and texts in turn.
pub const STRUCT: &str = "struct_text";

pub(super) const FUNCTIONS: &[ListFunction] = &[
    ListFunction {
        name: QUOTED,
        takes: &[Takes::Text],
        least: 1,
        more: None,
        gives: |_| DataType::Utf8View,
        total: true,
        compute: quoted,
    },
    ListFunction {
        name: LIST,
        takes: &[Takes::Texts],
        least: 1,
        more: None,
        gives: |_| DataType::Utf8View,
        total: true,
        compute: |given| list(given, ['[', ']']),
    },
    ListFunction {
        name: ENTRY,
        takes: &[Takes::Text, Takes::Text],
        least: 2,
        more: None,
        gives: |_| DataType::Utf8View,
        total: true,
        compute: entry,
    },
    ListFunction {
        name: MAP,
        takes: &[Takes::Texts],
        least: 1,
        more: None,
        gives: |_| DataType::Utf8View,
        total: true,
        compute: |given| list(given, ['{', '}']),
    },
    ListFunction {
        name: STRUCT,
        takes: &[],
        least: 0,
        more: Some(Takes::Text),
        gives: |_| DataType::Utf8View,
        total: true,
        compute: structure,
    },
];

/// Adds a text in quotes.
fn quote(text: &str, into: &mut String) {
    into.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            into.push('\\');
        }
        into.push(c);
    }
    into.push('\'');
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case("null")
        || text.contains(MARKS)
        || text.starts_with(char::is_whitespace)
        || text.ends_with(char::is_whitespace)
}

fn quoted(given: &Given) -> Result<ArrayRef> {
    let texts = given.arg(0)?.as_string_view();
    let mut all = StringViewBuilder::new();
    let mut buffer = String::new();
    for text in texts {
        match text {
            Some(text) if needs_quotes(text) => {
                buffer.clear();
                quote(text, &mut buffer);
                all.append_value(&buffer);
            }
            text => all.append_option(text),
        }
    }
    Ok(Arc::new(all.finish()))
}

/// The key and the value with a sign between them.
fn entry(given: &Given) -> Result<ArrayRef> {
    let (keys, values) = (given.arg(0)?.as_string_view(), given.arg(1)?.as_string_view());
    let mut all = StringViewBuilder::new();
    for (key, value) in keys.iter().zip(values) {
        all.append_value(format!("{}={}", key.unwrap_or("NULL"), value.unwrap_or("NULL")));
    }
    Ok(Arc::new(all.finish()))
}

fn list(given: &Given, [open, close]: [char; 2]) -> Result<ArrayRef> {
    let lists = Lists::of(given.arg(0)?)?;
    let texts = lists.values().as_string_view();
    let mut all = StringViewBuilder::new();
    let mut buffer = String::new();
    for row in 0..given.rows {
        let Some(items) = lists.get(row) else {
            all.append_null();
            continue;
        };
        buffer.clear();
        for (place, item) in items.enumerate() {
            buffer.push_str(if place == 0 { "" } else { ", " });
            buffer.push_str(if texts.is_valid(item) { texts.value(item) } else { "NULL" });
        }
        all.append_value(format!("{open}{buffer}{close}"));
    }
    Ok(Arc::new(all.finish()))
}

fn structure(given: &Given) -> Result<ArrayRef> {
    let texts: Vec<_> = given.args().iter().map(|arg| arg.as_string_view()).collect();
    let mut all = StringViewBuilder::new();
    let mut buffer = String::new();
    for row in 0..given.rows {
        buffer.clear();
        for (place, field) in texts.chunks_exact(2).enumerate() {
            buffer.push_str(if place == 0 { "" } else { ", " });
            quote(field[0].value(row), &mut buffer);
            buffer.push_str(": ");
            buffer.push_str(if field[1].is_valid(row) { field[1].value(row) } else { "NULL" });
        }
        all.append_value(format!("{{{buffer}}}"));
    }
    Ok(Arc::new(all.finish()))
}
