//! Syntax tree to algebra: names are resolved, once and for all, and expressions are typed.
//!
//! - `syntax`: what is not supported, and what the parser reads in an inconvenient form.
//! - [`scope`]: what names mean.
//! - `query`: WITH, set operations, VALUES, ORDER BY and LIMIT around a query.
//! - `recursion`: names of WITH that read themselves.
//! - `from`: tables, joins, derived tables, table functions.
//! - `select`: one SELECT.
//! - [`grouping`]: GROUP BY, grouping sets, and which expressions may stand above them; `orders`: aggregates that ask for
//!   different orders.
//! - `top_values`: aggregates that give the first values of an order. [`window`]: functions over windows. `nested`:
//!   lists and what is in them; `unnest`: lists taken apart.
//! - `expr`: expressions; `subqueries`: those that are queries; `call`: calls of functions; `literal`: constants;
//!   `patterns`: LIKE, GLOB and SIMILAR TO;
//!   `sql_type`: names of types.
//! - `pivot`: PIVOT and UNPIVOT; `nearest`: ASOF and POSITIONAL joins; `sample`: TABLESAMPLE.
//! - `table_functions`: tables that are made while they are read.
//! - `wildcard`: what `*` stands for; `columns`: what `COLUMNS(…)` does.
//! - `names`: the names that results are given.

mod call;
mod columns;
mod expr;
mod from;
pub mod grouping;
mod literal;
mod names;
mod nearest;
pub(crate) mod nested;
mod orders;
pub mod paths;
mod patterns;
mod pivot;
mod query;
mod recursion;
mod sample;
pub mod scope;
mod select;
mod sql_type;
mod subqueries;
mod syntax;
mod table_functions;
mod top_values;
mod unnest;
mod wildcard;
pub mod window;

pub use sql_type::named as type_named;
pub(crate) use sql_type::named_with_json as type_with_json;

use std::collections::BTreeMap;
use std::sync::Arc;

use schema::Table;

use crate::Settings;
use crate::algebra::{Columns, Rel, Stage, Statement};
use crate::catalog::Catalog;
use crate::error::Result;
use crate::functions::Functions;
use crate::parse::Query;
use crate::types::Types;
use scope::Field;

/// Binds a query over the tables of a catalog. Gives the statement and the names of its result's columns.
///
/// # Errors
/// A name means nothing or several things, types don't go together, or a construct is not supported.
pub fn bind(query: &Query, catalog: &Catalog, settings: &Settings) -> Result<(Statement, Vec<String>)> {
    let query = syntax::prepared(query)?;
    let types = Types::new(settings);
    let functions = Functions::all();
    let mut binder = Binder {
        catalog,
        settings,
        types,
        functions,
        columns: Columns::default(),
        stages: vec![],
        recursive: vec![],
        names_paths: paths::are_named(&query),
        with_paths: BTreeMap::new(),
    };
    let bound = binder.query(&query, None, None)?;
    let names = bound.fields.iter().map(|field| field.name.clone()).collect();
    let output = bound.fields.iter().map(|field| field.id).collect();
    let Binder { columns, stages, .. } = binder;
    let statement = Statement { columns, stages, root: bound.rel, output };
    Ok((statement, names))
}

struct Binder<'a> {
    catalog: &'a Catalog,
    settings: &'a Settings,
    types: Types,
    functions: &'static Functions,
    /// The columns made so far.
    columns: Columns,
    /// The names of WITH whose rows may be shared.
    stages: Vec<Stage>,
    /// The names of WITH RECURSIVE around what is bound.
    recursive: Vec<String>,
    /// Whether the query names the column of paths.
    names_paths: bool,
    /// The tables that have it, by their names.
    with_paths: BTreeMap<String, Arc<Table>>,
}

/// A query that is bound.
struct Bound {
    rel: Rel,
    /// Its columns, in their order.
    fields: Vec<Field>,
}
