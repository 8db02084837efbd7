//! The column `filename`: a statement that names it, over files that have no column of this name, gets the path of each
//! row's file. `*` does not show it, as in DuckDB.

use schema::{Source, Table};
use sqlparser::ast::Expr as Ast;

use crate::parse::Query;
use crate::visitors;

/// The name of the column.
pub const NAME: &str = "filename";

/// Whether a query names it.
pub fn are_named(query: &Query) -> bool {
    let is_it = |part: &sqlparser::ast::Ident| part.value.eq_ignore_ascii_case(NAME);
    visitors::any_expression(query, &mut |e| match e {
        Ast::Identifier(name) => is_it(name),
        Ast::CompoundIdentifier(parts) => parts.iter().any(is_it),
        _ => false,
    })
}

/// A table of files with this column behind the others; `None` if it is no table of files, or has a column of the name.
pub fn table_with(table: &Table) -> Option<Table> {
    let mut fields = table.schema.fields().iter();
    let is_there = fields.any(|field| field.name().eq_ignore_ascii_case(NAME));
    (matches!(table.source, Source::Files(_)) && !is_there).then(|| table.clone().with_paths(NAME))
}
