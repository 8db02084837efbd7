//! `SUMMARIZE`: one pass over the rows, then a row a column.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use sqlparser::ast::{Select, SetExpr, TableFactor, TableWithJoins};
use sqlparser::tokenizer::Span;

use crate::error::{Error, Result};
use crate::parse::{self, Query, Statement};
use crate::visitors;

/// The columns of the result, behind the name and the type of the column that a row is about.
pub const FIGURES: [&str; 7] = ["count", "nulls", "approx_distinct", "min", "max", "avg", "stddev"];

/// The types that [`FIGURES`] have as columns.
const TYPES: [&str; 7] = ["BIGINT", "BIGINT", "BIGINT", "VARCHAR", "VARCHAR", "DOUBLE", "DOUBLE"];

/// The expressions of [`FIGURES`] of one column.
fn figures(name: &str, data_type: &DataType) -> [String; 7] {
    let c = format!("\"{}\"", name.replace('"', "\"\""));
    let number = data_type.is_numeric();
    let orders = !data_type.is_nested() && !matches!(data_type, DataType::Null);
    let figure = |e: String, if_so: bool| if if_so { e } else { "NULL".into() };
    [
        figure(format!("count({c})"), true),
        figure(format!("count(*) - count({c})"), true),
        figure(format!("approx_distinct({c})"), orders && !matches!(data_type, DataType::FixedSizeBinary(_))),
        figure(format!("min({c})"), orders),
        figure(format!("max({c})"), orders),
        // The mean of decimals of many digits has no room for more.
        figure(format!("avg(CAST({c} AS DOUBLE))"), number),
        figure(format!("stddev({c})"), number),
    ]
}

/// A SELECT of a row for each of these columns: its name, its type, and [`FIGURES`]. It has no FROM, and belongs over a
/// relation that has the columns.
pub fn rows(columns: &[(String, DataType)]) -> Result<Select> {
    let list = |items: Vec<String>, name: &str| format!("unnest([{}]) AS {name}", items.join(", "));
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let names = columns.iter().map(|(name, _)| text(name)).collect();
    let types = columns.iter().map(|(_, data_type)| text(&expressions::text::shown(data_type))).collect();
    let mut items = vec![list(names, "column_name"), list(types, "column_type")];
    for (figure, data_type) in TYPES.iter().enumerate() {
        let of_columns =
            columns.iter().map(|(name, of)| format!("CAST({} AS {data_type})", figures(name, of)[figure]));
        items.push(list(of_columns.collect(), FIGURES[figure]));
    }
    let Statement::Query(mut query) = parse::parse(&format!("SELECT {}", items.join(", ")))? else {
        return Err(Error::Invalid("a summary is no query".into()));
    };
    let query = Arc::make_mut(&mut query);
    visitors::place_all(query, Span::empty());
    match query.body.as_ref() {
        SetExpr::Select(select) => Ok(select.as_ref().clone()),
        _ => Err(Error::Invalid("a summary is no SELECT".into())),
    }
}

/// A query of one row that holds [`FIGURES`] of each column of `source`, one column after another.
pub fn query(source: &Query, columns: &SchemaRef) -> Result<Arc<Query>> {
    let mut items = Vec::new();
    for (i, field) in columns.fields().iter().enumerate() {
        let figures = figures(field.name(), field.data_type());
        items.extend(figures.iter().enumerate().map(|(f, e)| format!("{e} AS \"{i} {}\"", FIGURES[f])));
    }
    let Statement::Query(query) = parse::parse(&format!("SELECT {} FROM (SELECT 1)", items.join(", ")))?
    else {
        unreachable!("the text is a SELECT");
    };
    let mut query = Arc::unwrap_or_clone(query);
    visitors::place_all(&mut query, Span::empty());
    // The source takes its place as it is: of text that was printed, `- -a` would be a comment.
    if let SetExpr::Select(select) = &mut *query.body
        && let [TableWithJoins { relation: TableFactor::Derived { subquery, .. }, .. }] = &mut select.from[..]
    {
        **subquery = source.clone();
    }
    Ok(Arc::new(query))
}
