//! Row counts and widths, from the catalog alone, so that every process estimates the same.

use arrow_schema::{DataType, Schema};
use datafusion_expr::{Expr, Operator};
use schema::{Source, Table};

/// About how many rows a table has.
pub fn table_rows(table: &Table) -> f64 {
    if let Some(rows) = table.rows {
        return rows as f64;
    }
    match &table.source {
        Source::Files(set) => {
            let ratio = if set.format.compression == "none" { 1.0 } else { 4.0 };
            set.bytes() as f64 * ratio / width(&table.schema)
        }
        _ => 1e6,
    }
}

/// About how many bytes a row takes in memory.
pub fn width(schema: &Schema) -> f64 {
    schema.fields().iter().map(|f| type_width(f.data_type())).sum::<f64>().max(1.0)
}

fn type_width(t: &DataType) -> f64 {
    match t {
        DataType::Boolean => 1.0,
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => 32.0,
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary => 32.0,
        other => other.primitive_width().unwrap_or(32) as f64,
    }
}

/// About which part of the rows a predicate keeps: the usual guesses of System R (Selinger et al., 1979, table 1).
pub fn selectivity(predicate: &Expr) -> f64 {
    match predicate {
        Expr::BinaryExpr(b) => match b.op {
            Operator::And => selectivity(&b.left) * selectivity(&b.right),
            Operator::Or => (selectivity(&b.left) + selectivity(&b.right)).min(1.0),
            Operator::Eq => 0.1,
            Operator::NotEq => 0.9,
            _ => 1.0 / 3.0,
        },
        Expr::Between(_) => 0.25,
        Expr::InList(l) => (0.1 * l.list.len() as f64).min(0.5),
        Expr::IsNotNull(_) => 0.9,
        Expr::IsNull(_) => 0.1,
        Expr::Not(inner) => 1.0 - selectivity(inner),
        _ => 1.0 / 3.0,
    }
}

/// About how many groups the keys make of so many rows.
pub fn groups(rows: f64, keys: usize) -> f64 {
    if keys == 0 { 1.0 } else { rows.powf(0.85).max(1.0).min(rows.max(1.0)) }
}
