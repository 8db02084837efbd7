//! `SUMMARIZE`: one pass over the rows, then a row a column.

use arrow_schema::{DataType, SchemaRef};

use crate::error::Result;
use crate::parse::{self, Query, Statement};

/// The columns of the result, behind the name and the type of the column that a row is about.
pub const FIGURES: [&str; 7] = ["count", "nulls", "approx_distinct", "min", "max", "avg", "stddev"];

/// A query of one row that holds [`FIGURES`] of each column of `source`, one column after another.
pub fn query(source: &Query, columns: &SchemaRef) -> Result<Box<Query>> {
    let mut items = Vec::new();
    for (i, field) in columns.fields().iter().enumerate() {
        let c = format!("\"{}\"", field.name().replace('"', "\"\""));
        let number = field.data_type().is_numeric();
        let orders = !field.data_type().is_nested() && !matches!(field.data_type(), DataType::Null);
        let text =
            |e: String, if_so: bool| if if_so { format!("CAST({e} AS VARCHAR)") } else { "NULL".into() };
        let figures = [
            text(format!("count({c})"), true),
            text(format!("count(*) - count({c})"), true),
            text(
                format!("approx_distinct({c})"),
                orders
                    && !field.data_type().is_floating()
                    && !matches!(field.data_type(), DataType::Boolean | DataType::Decimal128(..)),
            ),
            text(format!("min({c})"), orders),
            text(format!("max({c})"), orders),
            text(format!("avg({c})"), number),
            text(format!("stddev({c})"), number),
        ];
        items.extend(figures.iter().enumerate().map(|(f, e)| format!("{e} AS \"{i} {}\"", FIGURES[f])));
    }
    match parse::parse(&format!("SELECT {} FROM ({source})", items.join(", ")))? {
        Statement::Query(query) => Ok(query),
        _ => unreachable!("the text is a SELECT"),
    }
}
