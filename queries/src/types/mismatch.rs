//! What is said of values whose types don't go together.

use std::fmt;

use arrow_schema::{DECIMAL128_MAX_SCALE, DataType};
use expressions::text::shown;

use crate::error::Error;

/// There is no such operation.
pub fn no_operation(left: &DataType, op: impl fmt::Display, right: &DataType) -> Error {
    if let (DataType::Decimal128(_, a), DataType::Decimal128(_, b)) = (left, right)
        && i16::from(*a) + i16::from(*b) > i16::from(DECIMAL128_MAX_SCALE)
    {
        return Error::Invalid(format!(
            "{} {op} {} would have {} digits behind the point, more than {DECIMAL128_MAX_SCALE}\n  \
             help: CAST one of them to fewer, or to DOUBLE",
            shown(left),
            shown(right),
            i16::from(*a) + i16::from(*b)
        ));
    }
    Error::Invalid(format!(
        "there is no operation {} {op} {}\n  help: a CAST of one side may help",
        shown(left),
        shown(right)
    ))
}

/// Values in one place of a statement have no type in common.
pub fn nothing_in_common<'a>(types: impl IntoIterator<Item = &'a DataType>, place: &str) -> Error {
    let mut names: Vec<String> = Vec::new();
    for name in types.into_iter().map(shown) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let last = names.pop().unwrap_or_default();
    let before = if names.is_empty() { String::new() } else { format!("{} and ", names.join(", ")) };
    Error::Invalid(format!(
        "{before}{last} in {place} have no type in common\n  help: a CAST of one of them may help"
    ))
}

/// A value of one type stands where one of another is taken.
pub fn not_taken(from: &DataType, to: &DataType) -> Error {
    let (from, to) = (shown(from), shown(to));
    Error::Invalid(format!("{from} stands where {to} is taken\n  help: a CAST may help"))
}

/// An operation on text is not one on lists. DataFusion would make text of them in silence, and the length of a list be
/// that of its text.
pub fn of_nested(what: &str) -> Error {
    Error::Unsupported(format!(
        "{what} of a list, struct or map\n  help: CAST(… AS VARCHAR) makes a text of it"
    ))
}
