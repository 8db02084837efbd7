//! Names of tables and columns.

use sqlparser::ast::ObjectName;

/// The name of a table as one text: the parts joined by dots, quotes taken off.
pub fn table_name(name: &ObjectName) -> String {
    name.0
        .iter()
        .map(|p| p.as_ident().map_or_else(|| p.to_string(), |i| i.value.clone()))
        .collect::<Vec<_>>()
        .join(".")
}

/// Whether two names are the same to a query.
pub fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
        || !(one.is_ascii() && other.is_ascii()) && one.to_lowercase() == other.to_lowercase()
}
