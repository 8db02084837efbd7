//! Comparisons of whole numbers and decimals with decimals of more digits behind the point.
//!
//! `i > 0.5` compares `CAST(i AS DECIMAL(20, 1))`. That is what `i > 0` says, which needs no cast, and which zone maps
//! can be asked.

use arrow_schema::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator};

use super::casts::widens;
use crate::tree;

/// Takes such casts off in a plan whose types are settled and whose constants are computed.
pub fn narrow(plan: LogicalPlan) -> crate::Result<LogicalPlan> {
    Ok(tree::all_expressions_up(plan, &mut |e, columns| {
        Ok(narrowed(&e, columns).map_or_else(|| Transformed::no(e), Transformed::yes))
    })?)
}

fn narrowed(e: &Expr, schema: &DFSchema) -> Option<Expr> {
    match e {
        Expr::BinaryExpr(b) if b.op.supports_propagation() => {
            let swapped = || comparison(&b.right, b.op.swap()?, &b.left, schema);
            comparison(&b.left, b.op, &b.right, schema).or_else(swapped)
        }
        Expr::Between(between) => {
            let (value, t) = widened(&between.expr, schema)?;
            let low = Bound::of(&between.low, &t)?;
            let high = Bound::of(&between.high, &t)?;
            let mut between = between.clone();
            *between.low = low.value(&t, if low.exact { 0 } else { 1 })?;
            *between.high = high.value(&t, 0)?;
            *between.expr = value;
            Some(Expr::Between(between))
        }
        Expr::InList(list) => {
            let (value, t) = widened(&list.expr, schema)?;
            let bounds: Vec<Bound> = list.list.iter().map(|e| Bound::of(e, &t)).collect::<Option<_>>()?;
            // What has digits behind those of the type equals no value of it.
            let items: Vec<Expr> =
                bounds.iter().filter(|b| b.exact).map(|b| b.value(&t, 0)).collect::<Option<_>>()?;
            if items.is_empty() {
                return None;
            }
            let mut list = list.clone();
            list.list = items;
            *list.expr = value;
            Some(Expr::InList(list))
        }
        _ => None,
    }
}

fn comparison(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (value, t) = widened(left, schema)?;
    let bound = Bound::of(right, &t)?;
    let op = match op {
        _ if bound.exact => op,
        // Between two values of the type.
        Operator::Lt | Operator::LtEq => Operator::LtEq,
        Operator::Gt | Operator::GtEq => Operator::Gt,
        _ => return None,
    };
    Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(value), op, Box::new(bound.value(&t, 0)?))))
}

/// What is cast to a decimal of more digits, and its type.
fn widened(e: &Expr, schema: &DFSchema) -> Option<(Expr, DataType)> {
    let Expr::Cast(Cast { expr, field }) = e else { return None };
    if matches!(expr.as_ref(), Expr::Literal(..)) {
        return None;
    }
    let t = expr.get_type(schema).ok()?;
    widens(&t, field.data_type()).then(|| (expr.as_ref().clone(), t))
}

/// The greatest value of a type that is not above a constant.
struct Bound {
    units: i128,
    /// Whether it is the constant.
    exact: bool,
}

impl Bound {
    fn of(constant: &Expr, t: &DataType) -> Option<Bound> {
        let (units, scale) = match decimal(constant)? {
            ScalarValue::Decimal128(Some(units), _, scale) => (units, scale),
            ScalarValue::Decimal256(Some(units), _, scale) => (units.to_i128()?, scale),
            _ => return None,
        };
        let kept = if let DataType::Decimal128(_, scale) = t { *scale } else { 0 };
        let by = 10_i128.checked_pow(u32::try_from(i32::from(scale) - i32::from(kept)).ok()?)?;
        Some(Bound { units: units.div_euclid(by), exact: units.rem_euclid(by) == 0 })
    }

    /// The value, or one that is so many above it, as a literal of the type; `None` if the type does not hold it.
    fn value(&self, t: &DataType, above: i128) -> Option<Expr> {
        let units = self.units.checked_add(above)?;
        let value = match t {
            DataType::Decimal128(precision, scale) => {
                let fits = units.unsigned_abs() < 10_u128.checked_pow(u32::from(*precision))?;
                fits.then_some(ScalarValue::Decimal128(Some(units), *precision, *scale))?
            }
            _ if units.unsigned_abs() >= 10_u128.pow(38) => return None,
            _ => ScalarValue::Decimal128(Some(units), 38, 0).cast_to(t).ok()?,
        };
        Some(Expr::Literal(value, None))
    }
}

/// The value of a literal, or of one that is cast.
fn decimal(e: &Expr) -> Option<ScalarValue> {
    match e {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast(cast)
            if matches!(cast.field.data_type(), DataType::Decimal128(..) | DataType::Decimal256(..)) =>
        {
            decimal(&cast.expr)?.cast_to(cast.field.data_type()).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(units: i128, scale: i8) -> Expr {
        Expr::Literal(ScalarValue::Decimal128(Some(units), 38, scale), None)
    }

    #[test]
    fn a_bound_is_the_value_at_or_below() {
        let of = |units, scale, t| Bound::of(&literal(units, scale), &t).map(|b| (b.units, b.exact));
        assert_eq!(of(5, 1, DataType::Int64), Some((0, false)));
        assert_eq!(of(-5, 1, DataType::Int64), Some((-1, false)));
        assert_eq!(of(10, 1, DataType::Int64), Some((1, true)));
        assert_eq!(of(71, 3, DataType::Decimal128(15, 2)), Some((7, false)));
        assert_eq!(of(70, 3, DataType::Decimal128(15, 2)), Some((7, true)));
        assert_eq!(of(7, 1, DataType::Decimal128(15, 2)), None);
    }

    #[test]
    fn a_type_does_not_hold_every_bound() {
        let bound = |units| Bound { units, exact: true };
        assert!(bound(127).value(&DataType::Int8, 0).is_some());
        assert!(bound(127).value(&DataType::Int8, 1).is_none());
        assert!(bound(-1).value(&DataType::UInt64, 0).is_none());
        assert!(bound(1000).value(&DataType::Decimal128(3, 1), 0).is_none());
        assert!(bound(999).value(&DataType::Decimal128(3, 1), 0).is_some());
    }
}
