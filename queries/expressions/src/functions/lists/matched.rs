//! Lists of what a regular expression matches in a text, and of what stands between. Where it matches nothing at all
//! between two characters, both go on behind the next one, as in DuckDB.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use regex::{CaptureLocations, Regex};

use super::{Given, ListFunction, Takes, list_field, list_of};
use crate::functions::own::arguments::Texts;
use crate::functions::own::regular::Expressions;

const SPLIT: &str = "regexp_split_to_array";
const ALL: &str = "regexp_extract_all";

pub(super) const FUNCTIONS: &[ListFunction] = &[
    ListFunction {
        name: SPLIT,
        takes: &[Takes::Text, Takes::Text, Takes::Text],
        least: 2,
        more: None,
        gives: |_| list_of(&DataType::Utf8View),
        total: false,
        compute: split,
    },
    ListFunction {
        name: ALL,
        takes: &[Takes::Text, Takes::Text, Takes::Integer, Takes::Text],
        least: 2,
        more: None,
        gives: |_| list_of(&DataType::Utf8View),
        total: false,
        compute: all,
    },
];

/// The expressions of rows, whose options are an argument at `options`.
fn expressions(name: &'static str, given: &Given, options: usize) -> Result<Expressions> {
    let patterns = Texts::of(given.arg(1)?.as_string_view());
    let options = given.args().get(options).map(|options| Texts::of(options.as_string_view()));
    Ok(Expressions::of(name, patterns, options))
}

/// How many bytes the first character of a text has; one behind its end.
fn first_char(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// The parts of texts between what matches.
fn split(given: &Given) -> Result<ArrayRef> {
    let texts = given.arg(0)?.as_string_view();
    let mut expressions = expressions(SPLIT, given, 2)?;
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(list_field(&DataType::Utf8View));
    for row in 0..given.rows {
        if texts.is_null(row) {
            lists.append_null();
            continue;
        }
        let (text, mut at) = (texts.value(row), 0);
        if let Some(expression) = expressions.expression(row)? {
            while at < text.len()
                && let Some(found) = expression.find_at(text, at)
            {
                let (mut from, mut to) = (found.start(), found.end());
                if to == at {
                    from = at + first_char(&text[at..]);
                    to = from;
                    if to == text.len() {
                        break;
                    }
                }
                lists.values().append_value(&text[at..from]);
                at = to;
            }
        }
        lists.values().append_value(&text[at..]);
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// Tells where the groups of each match lie, one match after the other.
pub(in crate::functions) fn each_match(
    expression: &Regex,
    text: &str,
    places: &mut CaptureLocations,
    tell: &mut dyn FnMut(&CaptureLocations),
) {
    let mut at = 0;
    while at <= text.len()
        && let Some(found) = expression.captures_read_at(places, text, at)
    {
        tell(places);
        // Behind what matched nothing the next character is passed over, or the end.
        at = found.end() + if found.is_empty() { first_char(&text[found.end()..]) } else { 0 };
    }
}

/// What a group of each match has matched.
fn all(given: &Given) -> Result<ArrayRef> {
    let texts = given.arg(0)?.as_string_view();
    let groups = given.args().get(2).map(|groups| groups.as_primitive::<Int64Type>());
    let mut expressions = expressions(ALL, given, 3)?;
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(list_field(&DataType::Utf8View));
    for row in 0..given.rows {
        let group = match groups {
            Some(groups) => groups.is_valid(row).then(|| groups.value(row)),
            None => Some(0),
        };
        let (Some(expression), Some(group), true) =
            (expressions.expression(row)?, group, texts.is_valid(row))
        else {
            lists.append_null();
            continue;
        };
        let there = expression.captures_len() - 1;
        let Some(group) = usize::try_from(group).ok().filter(|group| *group <= there) else {
            return exec_err!(
                "the pattern of {ALL}() has {there} groups, and there is none with the number {group}"
            );
        };
        let text = texts.value(row);
        each_match(expression, text, &mut expression.capture_locations(), &mut |places| {
            lists.values().append_option(places.get(group).map(|(from, to)| &text[from..to]));
        });
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}
