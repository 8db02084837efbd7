//! Which part of the rows predicates keep.
//!
//! The catalog may know from which value to which a column goes, or how many values it has. Then a comparison with a
//! constant keeps the part that it leaves, as if values lay evenly. Else the usual guesses are made (Selinger et al.
//! 1979, table 1).

use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::Estimate;
use super::values::{Number, Spread};
use crate::algebra::{ColumnId, Expr, Kind};

/// At least this part of the rows lies in a range outside of the span of a sample.
const LEAST_OF_SAMPLE: f64 = 0.01;

/// About which part of the rows a BETWEEN keeps of which nothing is known.
pub const BETWEEN: f64 = 0.25;

/// About which part of the rows of `input` a conjunction keeps, and what is known afterwards of the columns that it
/// compares with constants.
pub fn filtered(predicates: &[Expr], input: &Estimate) -> (f64, Vec<(ColumnId, Spread)>) {
    let mut all = 1.0;
    let mut left: BTreeMap<ColumnId, Spread> = BTreeMap::new();
    for predicate in predicates {
        match one_column(predicate, input, &left) {
            Some((column, narrowed, kept)) => {
                all *= kept;
                left.insert(column, narrowed);
            }
            None => all *= part(predicate, input),
        }
    }
    (all, left.into_iter().collect())
}

/// The column that a predicate compares with constants, its values afterwards, and the part of the rows that it keeps.
fn one_column(
    predicate: &Expr,
    input: &Estimate,
    known: &BTreeMap<ColumnId, Spread>,
) -> Option<(ColumnId, Spread, f64)> {
    let spread = |id: ColumnId| known.get(&id).copied().or_else(|| input.spread(&column(id)));
    if let Some((id, step, from, to)) = bounds(predicate)
        && let Some(before) = spread(id)
        && let Some(all) = before.span
    {
        let span = (from.max(all.0), to.min(all.1));
        let kept = match span.0 <= span.1 {
            true if from == to => 1.0 / before.values().max(1.0),
            // A span of one value has no length if numbers may lie as near to each other as they like.
            true => ((span.1 - span.0 + step) / (all.1 - all.0 + step).max(f64::MIN_POSITIVE)).min(1.0),
            false => 0.0,
        };
        let kept = if before.is_sampled && from != to { kept.max(LEAST_OF_SAMPLE) } else { kept };
        return Some((id, Spread { kept: before.kept * kept, span: Some(span), ..before }, kept));
    }
    let (id, constants) = equals(predicate)?;
    let before = spread(id)?;
    let kept = match before.number {
        Number::OfRows => guess(predicate),
        Number::Most | Number::Counted => (constants / before.values().max(1.0)).min(1.0),
    };
    Some((id, Spread { kept: before.kept * kept, ..before }, kept))
}

fn column(id: ColumnId) -> Expr {
    Expr { kind: Kind::Column(id), data_type: DataType::Null }
}

/// About which part of the rows of `input` a predicate keeps.
pub fn part(predicate: &Expr, input: &Estimate) -> f64 {
    match &predicate.kind {
        Kind::And(terms) => filtered(terms, input).0,
        Kind::Or(terms) => terms.iter().map(|term| part(term, input)).sum::<f64>().min(1.0),
        Kind::Not(inner) => (1.0 - part(inner, input)).max(0.0),
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
        Kind::Between { negated, .. } => turned(BETWEEN, *negated),
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

/// The column that a comparison with constants bounds, how far its values lie apart at least, and both bounds.
fn bounds(e: &Expr) -> Option<(ColumnId, f64, f64, f64)> {
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    let read = |e: &Expr| Some((e.as_column()?, if e.data_type.is_floating() { 0.0 } else { 1.0 }));
    match &e.kind {
        Kind::Binary(op, left, right) => {
            let ((column, step), value, op) = match (read(left), read(right)) {
                (Some(column), None) => (column, right.as_literal()?, *op),
                (None, Some(column)) => (column, left.as_literal()?, op.swap()?),
                _ => return None,
            };
            let value = number(value)?;
            match op {
                Operator::Eq => Some((column, step, value, value)),
                Operator::Lt | Operator::LtEq => Some((column, step, least, value)),
                Operator::Gt | Operator::GtEq => Some((column, step, value, most)),
                _ => None,
            }
        }
        Kind::Between { expr, low, high, negated: false } => {
            let (column, step) = read(expr)?;
            Some((column, step, number(low.as_literal()?)?, number(high.as_literal()?)?))
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
pub(super) fn number(value: &ScalarValue) -> Option<f64> {
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
