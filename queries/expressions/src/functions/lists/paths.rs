//! The parts of paths as lists.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::Result;

use super::{Given, ListFunction, Takes, list_field, list_of};
use crate::functions::own::paths::separators;

pub(super) const FUNCTIONS: &[ListFunction] = &[ListFunction {
    name: "parse_path",
    takes: &[Takes::Text, Takes::Text],
    least: 1,
    more: None,
    gives: |_| list_of(&DataType::Utf8View),
    total: false,
    compute: parts,
}];

/// The directories and the name of the file. A path from the root on begins with its separator.
fn parts(given: &Given) -> Result<ArrayRef> {
    let paths = given.arg(0)?.as_string_view();
    let named = given.args().get(1).map(|named| named.as_string_view());
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(list_field(&DataType::Utf8View));
    for row in 0..given.rows {
        if paths.is_null(row) {
            lists.append_null();
            continue;
        }
        let named = named.filter(|named| named.is_valid(row)).map(|named| named.value(row));
        let separators = separators(named)?;
        let path = paths.value(row);
        if path.starts_with(separators) {
            lists.values().append_value(&path[..1]);
        }
        for part in path.split(separators).filter(|part| !part.is_empty()) {
            lists.values().append_value(part);
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}
