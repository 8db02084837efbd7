//! `SUMMARIZE`: one pass over the rows, then a row a column.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use sqlparser::ast::{SetExpr, TableFactor, TableWithJoins};
use sqlparser::tokenizer::Span;

use crate::error::Result;
use crate::parse::{self, Query, Statement};
use crate::visitors;

/// The columns of the result, behind the name and the type of the column that a row is about.
pub const FIGURES: [&str; 7] = ["count", "nulls", "approx_distinct", "min", "max", "avg", "stddev"];

/// A query of one row that holds [`FIGURES`] of each column of `source`, one column after another.
pub fn query(source: &Query, columns: &SchemaRef) -> Result<Arc<Query>> {
    let mut items = Vec::new();
    for (i, field) in columns.fields().iter().enumerate() {
        let c = format!("\"{}\"", field.name().replace('"', "\"\""));
        let number = field.data_type().is_numeric();
        let orders = !field.data_type().is_nested() && !matches!(field.data_type(), DataType::Null);
        let figure = |e: String, if_so: bool| if if_so { e } else { "NULL".into() };
        let figures = [
            figure(format!("count({c})"), true),
            figure(format!("count(*) - count({c})"), true),
            figure(
                format!("approx_distinct({c})"),
                orders && !matches!(field.data_type(), DataType::FixedSizeBinary(_)),
            ),
            figure(format!("min({c})"), orders),
            figure(format!("max({c})"), orders),
            // The mean of decimals of many digits has no room for more.
            figure(format!("avg(CAST({c} AS DOUBLE))"), number),
            figure(format!("stddev({c})"), number),
        ];
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
