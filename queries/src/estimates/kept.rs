//! Which part of the rows predicates keep.
//!
//! Where the catalog knows from which value to which a column goes, a comparison with a constant keeps the part that it
//! leaves, as if values lay evenly. Else the usual guesses are made (Selinger et al. 1979, table 1).

use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::Estimate;
use super::values::Spread;
use crate::algebra::{ColumnId, Expr, Kind};

/// About which part of the rows of `input` a conjunction keeps, and what is known afterwards of the columns that it
/// compares with constants.
pub fn filtered(predicates: &[Expr], input: &Estimate) -> (f64, Vec<(ColumnId, Spread)>) {
    let mut part = 1.0;
    let mut left: BTreeMap<ColumnId, Spread> = BTreeMap::new();
    for predicate in predicates {
        match one_column(predicate, input, &left) {
            Some((column, narrowed, kept)) => {
                part *= kept;
                left.insert(column, narrowed);
            }
            None => part *= any(predicate, input),
        }
    }
    (part, left.into_iter().collect())
}

/// The column that a predicate compares with constants, its values afterwards, and the part of the rows that it keeps.
fn one_column(
    predicate: &Expr,
    input: &Estimate,
    known: &BTreeMap<ColumnId, Spread>,
) -> Option<(ColumnId, Spread, f64)> {
    let spread = |id: ColumnId| known.get(&id).copied().or_else(|| input.spread(&column(id)));
    if let Some((id, from, to)) = bounds(predicate)
        && let Some(before) = spread(id)
        && let Some((least, greatest)) = before.span
    {
        let length = |from: f64, to: f64| (to - from + 1.0).max(0.0);
        let span = (from.max(least), to.min(greatest));
        let kept = length(span.0, span.1) / length(least, greatest).max(1.0);
        return Some((id, Spread { whole: before.whole, kept: before.kept * kept, span: Some(span) }, kept));
    }
    let (id, constants) = equals(predicate)?;
    let before = spread(id)?;
    // Of a column whose span is not known, it is not known either how many values it has.
    let kept = match before.span {
        Some(_) => (constants / before.values().max(1.0)).min(1.0),
        None => guess(predicate),
    };
    Some((id, Spread { kept: before.kept * kept, ..before }, kept))
}

fn column(id: ColumnId) -> Expr {
    Expr { kind: Kind::Column(id), data_type: DataType::Null }
}

/// About which part of the rows of `input` a predicate keeps.
fn any(predicate: &Expr, input: &Estimate) -> f64 {
    match &predicate.kind {
        Kind::And(terms) => filtered(terms, input).0,
        Kind::Or(terms) => terms.iter().map(|term| any(term, input)).sum::<f64>().min(1.0),
        Kind::Not(inner) => (1.0 - any(inner, input)).max(0.0),
        _ => match one_column(predicate, input, &BTreeMap::new()) {
            Some((_, _, kept)) => kept,
            None => guess(predicate),
        },
    }
}

/// About which part of the rows a predicate keeps of which nothing is known.
pub fn guess(predicate: &Expr) -> f64 {
    match &predicate.kind {
        Kind::And(terms) => terms.iter().map(guess).product(),
        Kind::Or(terms) => terms.iter().map(guess).sum::<f64>().min(1.0),
        Kind::Not(inner) => (1.0 - guess(inner)).max(0.0),
        Kind::Binary(Operator::Eq | Operator::IsNotDistinctFrom, ..) | Kind::IsNull(_) => 0.1,
        Kind::Binary(Operator::NotEq | Operator::IsDistinctFrom, ..) => 0.9,
        Kind::Between { negated, .. } => turned(0.25, *negated),
        Kind::InList { list, negated, .. } => turned((0.1 * list.len() as f64).min(0.5), *negated),
        Kind::Like { negated, .. } => turned(0.1, *negated),
        Kind::Literal(ScalarValue::Boolean(Some(true))) => 1.0,
        Kind::Literal(_) => 0.0,
        _ => 1.0 / 3.0,
    }
}

fn turned(part: f64, negated: bool) -> f64 {
    if negated { 1.0 - part } else { part }
}

/// The column that a comparison with constants bounds, and both bounds.
fn bounds(e: &Expr) -> Option<(ColumnId, f64, f64)> {
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    match &e.kind {
        Kind::Binary(op, left, right) => {
            let (column, value, op) = match (left.as_column(), right.as_column()) {
                (Some(column), None) => (column, right.as_literal()?, *op),
                (None, Some(column)) => (column, left.as_literal()?, op.swap()?),
                _ => return None,
            };
            let value = number(value)?;
            match op {
                Operator::Eq => Some((column, value, value)),
                Operator::Lt | Operator::LtEq => Some((column, least, value)),
                Operator::Gt | Operator::GtEq => Some((column, value, most)),
                _ => None,
            }
        }
        Kind::Between { expr, low, high, negated: false } => {
            Some((expr.as_column()?, number(low.as_literal()?)?, number(high.as_literal()?)?))
        }
        _ => None,
    }
}

/// The column that equals one of so many constants.
fn equals(e: &Expr) -> Option<(ColumnId, f64)> {
    match &e.kind {
        Kind::Binary(Operator::Eq, left, right) => match (left.as_column(), right.as_column()) {
            (Some(column), None) => right.as_literal().map(|_| (column, 1.0)),
            (None, Some(column)) => left.as_literal().map(|_| (column, 1.0)),
            _ => None,
        },
        Kind::InList { expr, list, negated: false } => {
            let is_constant = list.iter().all(|item| item.as_literal().is_some());
            is_constant.then_some((expr.as_column()?, list.len() as f64))
        }
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
