//! Parts of paths. What separates them is said by name. The names are `both_slash`, which is meant where nothing is
//! said, `forward_slash`, `backslash`, and `system`. The last is the first of these on every system, so that a result
//! is the same on all.

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_err};

use super::arguments::Call;
use super::{Own, ResultType, Takes};

const PATH: &[&[Takes]] = &[&[Takes::Text], &[Takes::Text, Takes::Text]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "parse_filename",
        takes: &[
            &[Takes::Text],
            &[Takes::Text, Takes::Boolean],
            &[Takes::Text, Takes::Text],
            &[Takes::Text, Takes::Boolean, Takes::Text],
        ],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: file_name,
    },
    Own {
        name: "parse_dirname",
        takes: PATH,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: |call| directory(call, true),
    },
    Own {
        name: "parse_dirpath",
        takes: PATH,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: |call| directory(call, false),
    },
];

/// The characters that separate the parts of a path.
fn separators(name: &str) -> Result<&'static [char]> {
    match name {
        "system" | "forward_slash" => Ok(&['/']),
        "backslash" => Ok(&['\\']),
        "both_slash" => Ok(&['/', '\\']),
        _ => exec_err!(
            "separators of paths are system, forward_slash, backslash or both_slash, and no '{name}'"
        ),
    }
}

/// The name of the file of a path, without its last suffix if that is asked for.
fn file_name(call: &Call) -> Result<ArrayRef> {
    let paths = call.text(0)?;
    let second_is_name = call.given() > 1 && !matches!(call.type_of(1), arrow_schema::DataType::Boolean);
    let cuts = (call.given() > 1 && !second_is_name).then(|| call.booleans(1)).transpose()?;
    let named = match (call.given(), second_is_name) {
        (2, true) => Some(call.text(1)?),
        (3, _) => Some(call.text(2)?),
        _ => None,
    };
    call.give_text(|row, out| {
        let cuts = match &cuts {
            Some(cuts) => cuts.get(row),
            None => Some(false),
        };
        let named = match &named {
            Some(named) => named.get(row),
            None => Some("both_slash"),
        };
        let (Some(path), Some(cuts), Some(named)) = (paths.get(row), cuts, named) else { return Ok(false) };
        let separators = separators(named)?;
        let name = path.rsplit(separators).next().unwrap_or(path);
        let name = if cuts { name.rsplit_once('.').map_or(name, |(stem, _)| stem) } else { name };
        out.push_str(name);
        Ok(true)
    })
}

/// The first directory of a path, or all of them.
fn directory(call: &Call, first: bool) -> Result<ArrayRef> {
    let paths = call.text(0)?;
    let named = (call.given() > 1).then(|| call.text(1)).transpose()?;
    call.give_text(|row, out| {
        let named = match &named {
            Some(named) => named.get(row),
            None => Some("both_slash"),
        };
        let (Some(path), Some(named)) = (paths.get(row), named) else { return Ok(false) };
        let separators = separators(named)?;
        let found = if first { path.find(separators) } else { path.rfind(separators) };
        // A path from the root on begins with its separator.
        let end = match found {
            Some(0) if first => 1,
            Some(end) => end,
            None => 0,
        };
        out.push_str(&path[..end]);
        Ok(true)
    })
}
