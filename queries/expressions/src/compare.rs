//! What equals what, and what is less, among floats and intervals, of which one value has many representations, and
//! among lists and structs of them.
//!
//! A NaN equals every NaN, whatever its sign, and is greater than all numbers; -0.0 equals 0.0; 36 hours are a day and
//! a half. The kernels compare bits, and the fields of an interval in turn. So floats, and lists and structs, in which
//! NULL is a value ([`nested`]), have comparison operators of their own ([`comparison`]). Elsewhere operands are
//! brought to one representation ([`normal`]) where they are compared. Where one of them is the result it stays as it
//! was ([`choice`]). Items of IN that are no constants are kept from being taken for ones ([`varying`]).

pub mod choice;
pub mod comparison;
pub mod nested;
pub mod normal;
pub mod varying;

use std::sync::Arc;

use arrow_schema::{DataType, IntervalUnit, Schema};
use datafusion_common::Result;
use datafusion_physical_expr::ScalarFunctionExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CaseExpr, InListExpr};

use crate::Expr;
use choice::{Extreme, NullIf};
use comparison::Comparison;
use normal::{Normal, normal};
use varying::{in_list, is_open};

/// Whether values of a type are compared otherwise than the kernels do: equal ones may have different representations,
/// or hold NULLs.
pub fn is_ambiguous(t: &DataType) -> bool {
    t.is_floating() || is_interval(t) || t.is_nested()
}

/// Whether values of a type are intervals of months, days and nanoseconds.
pub fn is_interval(t: &DataType) -> bool {
    matches!(t, DataType::Interval(IntervalUnit::MonthDayNano))
}

/// The expression in place of one that compares floats or intervals; none for another expression, and for one that has
/// been replaced.
pub fn replaced(e: &Expr, schema: &Schema) -> Result<Option<Expr>> {
    if let Some(binary) = e.downcast_ref::<BinaryExpr>() {
        let (left, op, right) = (binary.left(), *binary.op(), binary.right());
        if !op.supports_propagation() || left.is::<Normal>() || right.is::<Normal>() {
            return Ok(None);
        }
        return Ok(match left.data_type(schema)? {
            t if t.is_floating() || t.is_nested() => {
                Some(Arc::new(Comparison::new(left.clone(), op, right.clone())))
            }
            t if is_ambiguous(&t) => Some(Arc::new(BinaryExpr::new(normal(left)?, op, normal(right)?))),
            _ => None,
        });
    }
    if let Some(list) = e.downcast_ref::<InListExpr>() {
        let negated = list.negated();
        if list.expr().is::<Normal>() || !is_ambiguous(&list.expr().data_type(schema)?) {
            let open = is_open(list).then(|| (list.expr().clone(), list.list().to_vec()));
            return open.map(|(value, items)| in_list(value, items, negated, schema)).transpose();
        }
        let items = list.list().iter().map(normal).collect::<Result<_>>()?;
        return in_list(normal(list.expr())?, items, negated, schema).map(Some);
    }
    if let Some(case) = e.downcast_ref::<CaseExpr>() {
        let Some(base) = case.expr() else { return Ok(None) };
        if base.is::<Normal>() || !is_ambiguous(&base.data_type(schema)?) {
            return Ok(None);
        }
        let branches = case.when_then_expr().iter();
        let branches =
            branches.map(|(when, then)| Ok((normal(when)?, then.clone()))).collect::<Result<_>>()?;
        let case = CaseExpr::try_new(Some(normal(base)?), branches, case.else_expr().cloned())?;
        return Ok(Some(Arc::new(case)));
    }
    let Some(call) = e.downcast_ref::<ScalarFunctionExpr>() else { return Ok(None) };
    if !is_ambiguous(call.return_type()) {
        return Ok(None);
    }
    Ok(match (call.name(), call.args()) {
        ("nullif", [value, other]) => Some(Arc::new(NullIf::new(value.clone(), other.clone()))),
        (name @ ("greatest" | "least"), args) => {
            Some(Arc::new(Extreme::new(args.to_vec(), name == "greatest")))
        }
        _ => None,
    })
}
