//! Names of the syntax tree as text.

use sqlparser::ast::ObjectName;

/// The name of a table as one text: the parts joined by dots, quotes taken off.
pub fn table_name(name: &ObjectName) -> String {
    name.0
        .iter()
        .map(|p| p.as_ident().map_or_else(|| p.to_string(), |i| i.value.clone()))
        .collect::<Vec<_>>()
        .join(".")
}
