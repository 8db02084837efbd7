//! Names of tables and columns.

use sqlparser::ast::{Ident, ObjectName, TableFactor, TableWithJoins};

/// The name of a table as one text: the parts joined by dots, quotes taken off.
pub fn table_name(name: &ObjectName) -> String {
    name.0
        .iter()
        .map(|p| p.as_ident().map_or_else(|| p.to_string(), |i| i.value.clone()))
        .collect::<Vec<_>>()
        .join(".")
}

/// The alias of an item of FROM.
pub fn alias_of(factor: &TableFactor) -> Option<&Ident> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref().map(|alias| &alias.name),
        _ => None,
    }
}

/// The names by which the columns of an item's relations can be called, in lower case.
pub fn relations_of(item: &TableWithJoins) -> Vec<String> {
    let factors = std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation));
    let of_factor = |factor: &TableFactor| match (alias_of(factor), factor) {
        (Some(alias), _) => vec![alias.value.to_lowercase()],
        (None, TableFactor::Table { name, .. }) => vec![table_name(name).to_lowercase()],
        (None, TableFactor::NestedJoin { table_with_joins, .. }) => relations_of(table_with_joins),
        _ => Vec::new(),
    };
    factors.flat_map(of_factor).collect()
}

/// Whether two names are the same to a query.
pub fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
        || !(one.is_ascii() && other.is_ascii()) && one.to_lowercase() == other.to_lowercase()
}
