//! Lists that are made of values, of numbers, and of the parts of texts.

use arrow_array::builder::{Int64Builder, ListBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use std::sync::Arc;

use super::picks::{Lists, Picks, Pool};
use super::{Given, ListFunction, Takes, item_of, list_field, list_of};

/// The most numbers of one list.
const MOST: i128 = 1 << 27;

/// The most numbers of the lists of a batch: offsets have 32 bits.
const MOST_OF_A_BATCH: i128 = i32::MAX as i128;

pub(super) const FUNCTIONS: &[ListFunction] = &[
    ListFunction {
        name: "list_value",
        takes: &[],
        least: 0,
        more: Some(Takes::Item),
        gives: |given| list_of(given.first().unwrap_or(&DataType::Null)),
        total: true,
        compute: value,
    },
    ListFunction {
        name: "range",
        takes: &[Takes::Integer, Takes::Integer, Takes::Integer],
        least: 1,
        more: None,
        gives: |_| list_of(&DataType::Int64),
        total: false,
        compute: |given| numbers(given, false),
    },
    ListFunction {
        name: "generate_series",
        takes: &[Takes::Integer, Takes::Integer, Takes::Integer],
        least: 1,
        more: None,
        gives: |_| list_of(&DataType::Int64),
        total: false,
        compute: |given| numbers(given, true),
    },
    ListFunction {
        name: "string_split",
        takes: &[Takes::Text, Takes::Text],
        least: 2,
        more: None,
        gives: |_| list_of(&DataType::Utf8View),
        total: true,
        compute: split,
    },
    ListFunction {
        name: "array_to_string",
        takes: &[Takes::Texts, Takes::Text],
        least: 2,
        more: None,
        gives: |_| DataType::Utf8View,
        total: true,
        compute: joined,
    },
];

/// A list of a value of each column.
fn value(given: &Given) -> Result<ArrayRef> {
    let columns: Vec<&ArrayRef> = given.args().iter().collect();
    let item = item_of(given.gives);
    let mut picks = Picks::default();
    if columns.is_empty() {
        (0..given.rows).for_each(|_| picks.end());
        return picks.lists(&arrow_array::new_empty_array(&item), &item);
    }
    let pool = Pool::of(&columns)?;
    for row in 0..given.rows {
        picks.extend((0..columns.len()).map(|column| pool.place(column, row)));
        picks.end();
    }
    picks.lists(pool.values(), &item)
}

/// Numbers from one to another, with or without the last one.
fn numbers(given: &Given, with_end: bool) -> Result<ArrayRef> {
    let args = given.args().iter().map(|arg| arg.as_primitive::<Int64Type>()).collect::<Vec<_>>();
    let mut lists = ListBuilder::new(Int64Builder::new()).with_field(list_field(&DataType::Int64));
    let mut all = 0;
    for row in 0..given.rows {
        if args.iter().any(|arg| arg.is_null(row)) {
            lists.append_null();
            continue;
        }
        let of = |at: usize| args.get(at).map(|arg| i128::from(arg.value(row)));
        let (begin, end, step) = match (of(0), of(1), of(2)) {
            (Some(end), None, _) => (0, end, 1),
            (begin, end, step) => (begin.unwrap_or(0), end.unwrap_or(0), step.unwrap_or(1)),
        };
        let reach = (end - begin) * step.signum();
        let count = match with_end {
            _ if step == 0 => 0,
            true if reach >= 0 => reach / step.abs() + 1,
            false if reach > 0 => (reach - 1) / step.abs() + 1,
            _ => 0,
        };
        if count > MOST {
            return exec_err!("a list of {count} numbers, of which there may be {MOST}");
        }
        all += count;
        if all > MOST_OF_A_BATCH {
            return exec_err!(
                "lists of {all} numbers beside each other, of which there may be {MOST_OF_A_BATCH}"
            );
        }
        for i in 0..count {
            lists.values().append_value((begin + i * step) as i64);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// The parts of a text between a separator. An empty one parts all characters.
fn split(given: &Given) -> Result<ArrayRef> {
    let (texts, separators) = (given.arg(0)?.as_string_view(), given.arg(1)?.as_string_view());
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(list_field(&DataType::Utf8View));
    for row in 0..given.rows {
        if texts.is_null(row) {
            lists.append_null();
            continue;
        }
        let text = texts.value(row);
        if separators.is_null(row) {
            lists.values().append_value(text);
        } else if separators.value(row).is_empty() {
            let mut buffer = [0; 4];
            text.chars().for_each(|c| lists.values().append_value(c.encode_utf8(&mut buffer)));
            if text.is_empty() {
                lists.values().append_value("");
            }
        } else {
            text.split(separators.value(row)).for_each(|part| lists.values().append_value(part));
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// The items with a text between them, without those that are NULL. A text that is NULL is none.
fn joined(given: &Given) -> Result<ArrayRef> {
    let (lists, separators) = (Lists::of(given.arg(0)?)?, given.arg(1)?.as_string_view());
    let texts = lists.values().as_string_view();
    let mut all = StringViewBuilder::new();
    for row in 0..given.rows {
        match lists.get(row) {
            Some(items) => {
                let separator = if separators.is_valid(row) { separators.value(row) } else { "" };
                let is_empty = items.is_empty();
                let known: Vec<&str> = items.filter(|i| texts.is_valid(*i)).map(|i| texts.value(i)).collect();
                // Of NULLs alone it is NULL, as an aggregate would be.
                match known.is_empty() && !is_empty {
                    true => all.append_null(),
                    false => all.append_value(known.join(separator)),
                }
            }
            None => all.append_null(),
        }
    }
    Ok(Arc::new(all.finish()))
}
