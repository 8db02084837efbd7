//! Casts in comparisons.
//!
//! The optimiser takes the cast off a column that is compared with a literal, and casts the literal instead:
//! `CAST(dec AS INT) = 1` becomes `dec = 1.00`. That is right only of a cast under which different values stay
//! different, in their order, and which never fails. Other casts are put into a call that it can't look into while it
//! simplifies, and taken out again behind it. So are other expressions that it would make something else of, and operands
//! of types of which one value has many representations: a literal that becomes of them is compared by its own.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TryCast, Volatility,
};
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use expressions::compare::is_ambiguous;
use expressions::values::normal::normalised;

use super::literals;
use super::nullability::with_nullable_inputs;
use crate::tree;

/// The optimiser's simplification, which leaves casts alone that change what is compared.
#[derive(Debug, Default)]
pub struct Simplify(SimplifyExpressions);

impl OptimizerRule for Simplify {
    of_unguarded!();

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let schema = tree::columns_below(&plan)?;
        let plan = tree::expressions_up(plan, &mut literals::normal)?;
        // With their names: the condition of an aggregate is a part of its name.
        let kept = plan.transform_data(|plan| tree::expressions_up(plan, &mut |e| keep(e, &schema)))?;
        let mut simplified = with_nullable_inputs(kept.data, &mut |plan| self.0.rewrite(plan, config))?;
        if kept.transformed {
            // Below the node too: an aggregate may have become a projection of one.
            let released = tree::plan_down(simplified.data, &mut |node| {
                tree::expressions(node, &mut |e| tree::expr_up(e, &mut release))
            })?;
            simplified.data = released.data;
        }
        Ok(simplified)
    }
}

/// Puts the operands of a comparison that may not lose their cast into a call.
fn keep(e: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let kept = |e: &Expr, others: &[&Expr]| kept(e, others, schema);
    Ok(match &e {
        Expr::BinaryExpr(b) if b.op.supports_propagation() => {
            let (left, right) = (kept(&b.left, &[&b.right]), kept(&b.right, &[&b.left]));
            if left.is_none() && right.is_none() {
                return Ok(Transformed::no(e));
            }
            let side = |kept: Option<Expr>, old: &Expr| Box::new(kept.unwrap_or_else(|| old.clone()));
            let (left, right) = (side(left, &b.left), side(right, &b.right));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(left, b.op, right)))
        }
        Expr::Between(b) => {
            // The bounds are compared with the value each, and the value with both.
            let compared =
                [kept(&b.expr, &[&b.low, &b.high]), kept(&b.low, &[&b.expr]), kept(&b.high, &[&b.expr])];
            let changed = compared.iter().any(Option::is_some);
            let mut between = b.clone();
            let old = [&mut between.expr, &mut between.low, &mut between.high];
            for (old, new) in old.into_iter().zip(compared) {
                if let Some(new) = new {
                    **old = new;
                }
            }
            Transformed::new_transformed(Expr::Between(between), changed)
        }
        Expr::InList(l) => {
            let value = kept(&l.expr, &l.list.iter().collect::<Vec<_>>());
            let items: Vec<Option<Expr>> = l.list.iter().map(|item| kept(item, &[&l.expr])).collect();
            if value.is_none() && items.iter().all(Option::is_none) {
                return Ok(Transformed::no(e));
            }
            let mut list = l.clone();
            if let Some(value) = value {
                *list.expr = value;
            }
            for (old, new) in list.list.iter_mut().zip(items) {
                if let Some(new) = new {
                    *old = new;
                }
            }
            Transformed::yes(Expr::InList(list))
        }
        Expr::Case(case) if case.expr.is_some() => {
            let mut case = case.clone();
            let whens: Vec<Expr> =
                case.when_then_expr.iter().map(|(when, _)| when.as_ref().clone()).collect();
            let mut changed = false;
            let compared = case.expr.iter_mut().chain(case.when_then_expr.iter_mut().map(|(when, _)| when));
            for operand in compared {
                if let Some(new) = kept(operand, &whens.iter().collect::<Vec<_>>()) {
                    **operand = new;
                    changed = true;
                }
            }
            Transformed::new_transformed(Expr::Case(case), changed)
        }
        // They give one of their arguments as it was.
        Expr::ScalarFunction(f)
            if matches!(f.func.name(), "nullif" | "greatest" | "least")
                && f.args.first().is_some_and(|e| e.get_type(schema).is_ok_and(|t| is_ambiguous(&t))) =>
        {
            let mut f = f.clone();
            let first = std::mem::take(&mut f.args[0]);
            f.args[0] = call(Kept::open(), first);
            Transformed::yes(Expr::ScalarFunction(f))
        }
        // The optimiser takes the negation for that of each bit: `-(a | b)` would become `-a & -b`.
        Expr::Negative(inner) if is_of_bits(inner) => {
            Transformed::yes(Expr::Negative(Box::new(call(Kept::as_it_is(), inner.as_ref().clone()))))
        }
        Expr::IsNull(value) | Expr::IsNotNull(value) if !matches!(**value, Expr::Literal(..)) => {
            let value = Box::new(call(Kept::as_it_is(), value.as_ref().clone()));
            Transformed::yes(if matches!(e, Expr::IsNull(_)) {
                Expr::IsNull(value)
            } else {
                Expr::IsNotNull(value)
            })
        }
        _ => Transformed::no(e),
    })
}

fn is_of_bits(e: &Expr) -> bool {
    matches!(e, Expr::BinaryExpr(b) if matches!(b.op, Operator::BitwiseAnd | Operator::BitwiseOr))
}

/// An operand compared with `others`, where it is a cast that may not be taken off, or one around such a cast; or where
/// it may turn out to be a literal, in the representation that stands for all equal ones.
fn kept(e: &Expr, others: &[&Expr], schema: &DFSchema) -> Option<Expr> {
    if !matches!(e, Expr::Column(_) | Expr::Literal(..)) && e.get_type(schema).is_ok_and(|t| is_ambiguous(&t))
    {
        return Some(call(Kept::normalised(), e.clone()));
    }
    let (Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. })) = e else { return None };
    if !is_removable(e, others, schema) {
        return Some(call(Kept::as_it_is(), e.clone()));
    }
    let inner = Box::new(kept(expr, others, schema)?);
    Some(match e {
        Expr::Cast(cast) => Expr::Cast(Cast { expr: inner, ..cast.clone() }),
        Expr::TryCast(cast) => Expr::TryCast(TryCast { expr: inner, ..cast.clone() }),
        other => other.clone(),
    })
}

/// Takes a cast out of its call.
fn release(e: Expr) -> Result<Transformed<Expr>> {
    Ok(match e {
        Expr::ScalarFunction(mut f) if f.func.name() == NAME => Transformed::yes(f.args.swap_remove(0)),
        other => Transformed::no(other),
    })
}

/// Whether a cast can be taken off and the literals that it is compared with be cast instead.
fn is_removable(cast: &Expr, others: &[&Expr], schema: &DFSchema) -> bool {
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = cast else {
        return false;
    };
    match (expr.get_type(schema), field.data_type()) {
        (Ok(DataType::Timestamp(from, zone)), DataType::Timestamp(to, to_zone)) => {
            // The optimiser truncates the literal.
            zone == *to_zone && decimals(from) <= decimals(*to) && others.iter().all(|e| is_exact(e, from))
        }
        (Ok(from), to) => is_injection(&from, to),
        (Err(_), _) => false,
    }
}

/// Whether a timestamp is a literal that the unit `coarse` can hold.
fn is_exact(e: &Expr, coarse: TimeUnit) -> bool {
    let (value, digits) = match e {
        Expr::Literal(ScalarValue::TimestampSecond(Some(v), _), _) => (v, 0),
        Expr::Literal(ScalarValue::TimestampMillisecond(Some(v), _), _) => (v, 3),
        Expr::Literal(ScalarValue::TimestampMicrosecond(Some(v), _), _) => (v, 6),
        Expr::Literal(ScalarValue::TimestampNanosecond(Some(v), _), _) => (v, 9),
        _ => return false,
    };
    let more = digits - decimals(coarse);
    u32::try_from(more).map_or(true, |more| value % 10_i64.pow(more) == 0)
}

fn decimals(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Whether every value of one type has one of its own in the other, in the same order. The optimiser asks itself
/// whether a literal of the other type is one of these.
fn is_injection(from: &DataType, to: &DataType) -> bool {
    let text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let width = |t: &DataType| t.primitive_width().unwrap_or(0);
    if from == to || text(from) && text(to) {
        return true;
    }
    if from.is_integer() && to.is_integer() {
        return width(from) < width(to) && (from.is_unsigned_integer() || to.is_signed_integer());
    }
    if from.is_integer() && text(to) {
        // Only = and <> are asked of a text, and the text of an integer is one.
        return true;
    }
    matches!(to, DataType::Decimal128(..)) && widens(from, to)
}

/// Whether a type is a decimal that holds every integer or decimal of another type.
pub fn widens(from: &DataType, to: &DataType) -> bool {
    // The digits before the point, and those behind it.
    let digits = |t: &DataType| match *t {
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            Some((i16::from(precision) - i16::from(scale), i16::from(scale)))
        }
        _ => None,
    };
    let decimal = matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..));
    match (digits(from), digits(to)) {
        (Some((whole, scale)), Some((to_whole, to_scale))) => {
            decimal && whole <= to_whole && scale <= to_scale
        }
        _ => false,
    }
}

fn call(kept: Kept, e: Expr) -> Expr {
    Arc::new(ScalarUDF::new_from_impl(kept)).call(vec![e])
}

/// The call: its argument, and by its name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kept {
    signature: Signature,
    /// Whether a constant becomes the one that stands for all equal ones.
    normalised: bool,
}

impl Kept {
    fn as_it_is() -> Kept {
        Kept { signature: Signature::any(1, Volatility::Immutable), normalised: false }
    }

    fn normalised() -> Kept {
        Kept { normalised: true, ..Kept::as_it_is() }
    }

    /// Never a constant, whatever its argument is.
    fn open() -> Kept {
        Kept { signature: Signature::any(1, Volatility::Volatile), normalised: false }
    }
}

const NAME: &str = "kept";

impl ScalarUDFImpl for Kept {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args[0].schema_name().to_string())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of what is kept is that of its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field: &Field = &args.arg_fields[0];
        // Whether it can be NULL is not known.
        Ok(Arc::new(field.clone().with_nullable(true)))
    }

    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match &args[0] {
            Expr::Literal(value, _) if self.normalised => {
                ExprSimplifyResult::Simplified(Expr::Literal(literals::of_all_equal(value)?, None))
            }
            Expr::Literal(..) if self.signature.volatility == Volatility::Immutable => {
                ExprSimplifyResult::Simplified(args.swap_remove(0))
            }
            _ => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.swap_remove(0) {
            value if !self.normalised => Ok(value),
            ColumnarValue::Scalar(value) => Ok(ColumnarValue::Scalar(literals::of_all_equal(&value)?)),
            ColumnarValue::Array(values) => Ok(ColumnarValue::Array(normalised(&values))),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType::{Date32, Decimal128, Int8, Int32, Int64, UInt32, UInt64, Utf8View};

    use super::*;

    #[test]
    fn only_a_cast_that_keeps_values_apart_is_taken_off() {
        for (from, to) in [
            (Int32, Int64),
            (UInt32, Int64),
            (Int32, Utf8View),
            (Int64, Decimal128(20, 0)),
            (Int32, Decimal128(12, 2)),
            (Decimal128(5, 2), Decimal128(6, 3)),
        ] {
            assert!(is_injection(&from, &to), "{from} to {to}");
        }
        for (from, to) in [
            (Int64, Int8),
            (UInt64, Int64),
            (Int32, UInt32),
            (Date32, Int32),
            (Decimal128(5, 2), Int64),
            (Decimal128(5, 2), Decimal128(5, 1)),
            (Decimal128(5, 2), Decimal128(5, 3)),
            (Int64, Decimal128(20, 2)),
            (Utf8View, Int64),
        ] {
            assert!(!is_injection(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn a_timestamp_is_exact_if_nothing_is_behind_its_last_digit() {
        let literal = |v| Expr::Literal(ScalarValue::TimestampNanosecond(Some(v), None), None);
        assert!(is_exact(&literal(5_000_000), TimeUnit::Millisecond));
        assert!(!is_exact(&literal(5_000_001), TimeUnit::Millisecond));
        assert!(is_exact(&literal(5_000_001), TimeUnit::Nanosecond));
    }
}
