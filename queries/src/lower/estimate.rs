//! Row counts and widths, from the catalog alone, so that every process estimates the same.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{Expr, LogicalPlan, Operator};
use schema::{Source, Table};

use crate::bind::{PlanTable, plan_table};

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

/// About which part of the rows of `input` a predicate keeps. Where the catalog knows from which value to which a column
/// goes, comparisons with constants keep the part of it that they leave, as if values lay evenly; else [`selectivity`].
pub fn kept(predicate: &Expr, input: &LogicalPlan) -> f64 {
    let source = source(input);
    let span = |column: &str| {
        let at = source?.schema.index_of(column).ok()?;
        source?.table.spans.get(at).copied().flatten()
    };
    let mut part = 1.0;
    // What is left of each column's span, by its name.
    let mut left: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for conjunct in split_conjunction(predicate) {
        match bounds(conjunct) {
            Some((column, from, to)) if span(column).is_some() => {
                let both = left.entry(column).or_insert((f64::NEG_INFINITY, f64::INFINITY));
                *both = (both.0.max(from), both.1.min(to));
            }
            _ => part *= selectivity(conjunct),
        }
    }
    for (column, (from, to)) in left {
        let Some((least, greatest)) = span(column) else { continue };
        let length = |from: f64, to: f64| (to - from + 1.0).max(0.0);
        part *= length(from.max(least), to.min(greatest)) / length(least, greatest).max(1.0);
    }
    part
}

/// The table whose rows `input` gives, if nothing but filters and other names lies between.
fn source(input: &LogicalPlan) -> Option<&PlanTable> {
    match input {
        LogicalPlan::TableScan(scan) => plan_table(&scan.source).ok(),
        LogicalPlan::SubqueryAlias(alias) => source(&alias.input),
        LogicalPlan::Filter(filter) => source(&filter.input),
        _ => None,
    }
}

/// The column that a comparison with constants bounds, and both bounds.
fn bounds(e: &Expr) -> Option<(&str, f64, f64)> {
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    match e {
        Expr::BinaryExpr(b) => {
            let (column, value, op) = match (b.left.as_ref(), b.right.as_ref()) {
                (Expr::Column(c), Expr::Literal(v, _)) => (c, v, b.op),
                (Expr::Literal(v, _), Expr::Column(c)) => (c, v, b.op.swap()?),
                _ => return None,
            };
            let value = number(value)?;
            let (from, to) = match op {
                Operator::Eq => (value, value),
                Operator::Lt | Operator::LtEq => (least, value),
                Operator::Gt | Operator::GtEq => (value, most),
                _ => return None,
            };
            Some((column.name.as_str(), from, to))
        }
        Expr::Between(b) if !b.negated => match (b.expr.as_ref(), b.low.as_ref(), b.high.as_ref()) {
            (Expr::Column(c), Expr::Literal(low, _), Expr::Literal(high, _)) => {
                Some((c.name.as_str(), number(low)?, number(high)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A constant as a number, in the unit of [`schema::Table::spans`].
fn number(value: &ScalarValue) -> Option<f64> {
    if let ScalarValue::Decimal128(digits, ..) = value {
        return digits.map(|d| d as f64);
    }
    let value = match value.data_type() {
        DataType::Date32 => value.cast_to(&DataType::Int32).ok()?,
        DataType::Timestamp(..) => value.cast_to(&DataType::Int64).ok()?,
        t if t.is_numeric() => value.clone(),
        _ => return None,
    };
    match value.cast_to(&DataType::Float64).ok()? {
        ScalarValue::Float64(v) => v.filter(|v| v.is_finite()),
        _ => None,
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
