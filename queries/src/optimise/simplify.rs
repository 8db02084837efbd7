//! The optimiser's simplification, which is kept from what it would make something else of.
//!
//! Such expressions are put into a call that it can't look into, and taken out again behind it: casts that may not be
//! taken off what is compared ([`casts`]), and operands of types of which one value has many representations. A literal
//! that becomes of one of these is compared by its value.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TryCast, Volatility,
};
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use expressions::compare::is_ambiguous;
use expressions::values::normal::normalised;

use super::nullability::with_nullable_inputs;
use super::{casts, literals};
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
        let kept = kept.transform_data(keep_lists_apart)?;
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
        Expr::BinaryExpr(b)
            if matches!(b.op, Operator::RegexMatch | Operator::RegexIMatch) && is_anything(&b.right) =>
        {
            let pattern = Box::new(empty(&b.right)?);
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(b.left.clone(), b.op, pattern)))
        }
        Expr::BinaryExpr(b) if b.op.supports_propagation() => {
            let (left, right) = (kept(&b.left, &[&b.right]), kept(&b.right, &[&b.left]));
            if left.is_none() && right.is_none() {
                return Ok(Transformed::no(e));
            }
            let side = |kept: Option<Expr>, old: &Expr| Box::new(kept.unwrap_or_else(|| old.clone()));
            let (left, right) = (side(left, &b.left), side(right, &b.right));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(left, b.op, right)))
        }
        Expr::ScalarFunction(f)
            if f.func.name() == "regexp_like" && f.args.get(1).is_some_and(is_anything) =>
        {
            let mut f = f.clone();
            f.args[1] = empty(&f.args[1])?;
            Transformed::yes(Expr::ScalarFunction(f))
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

/// Puts lists into calls where an expression has several with the same value. The optimiser makes one list of two as if
/// NULL, and columns among their items, were constants that differ from all others, and an empty one false.
fn keep_lists_apart(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    tree::expressions(plan, &mut |e| {
        let name = names.save(&e);
        // What is compared, with a list too, may have lists of its own.
        let within = tree::expr_up(e, &mut |mut e| {
            let parts: Vec<&mut Expr> = match &mut e {
                Expr::InList(list) => std::iter::once(&mut *list.expr).chain(&mut list.list).collect(),
                Expr::BinaryExpr(b) if b.op.supports_propagation() => vec![&mut *b.left, &mut *b.right],
                _ => vec![],
            };
            let mut changed = false;
            for part in parts {
                let kept = lists_apart(std::mem::take(part))?;
                changed |= kept.transformed;
                *part = kept.data;
            }
            Ok(Transformed::new_transformed(e, changed))
        })?;
        let whole = lists_apart(within.data)?;
        match within.transformed || whole.transformed {
            true => Ok(Transformed::yes(name.restore(whole.data))),
            false => Ok(Transformed::no(whole.data)),
        }
    })
}

/// The same of one expression, without the lists inside of others.
fn lists_apart(e: Expr) -> Result<Transformed<Expr>> {
    let (mut values, mut repeated) = (HashSet::new(), HashSet::new());
    tree::look_at_expr(&e, &mut |e| {
        let Some(value) = value_of_list(e) else { return Ok(TreeNodeRecursion::Continue) };
        if !values.insert(value.clone()) {
            repeated.insert(value.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    if repeated.is_empty() {
        return Ok(Transformed::no(e));
    }
    tree::expr_down(e, &mut |e| {
        let is_kept = value_of_list(&e).is_some_and(|value| repeated.contains(value));
        Ok(match is_kept {
            true => Transformed::new(call(Kept::as_it_is(), e), true, TreeNodeRecursion::Jump),
            false => Transformed::no(e),
        })
    })
}

/// The value of which a list says what it is, or is not: that of IN, or `a` of `a = 1 OR a = 2` and of `a <> 1 AND a <> 2`,
/// of which the optimiser makes lists, under NOT too.
fn value_of_list(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::InList(list) => Some(uncast(&list.expr)),
        Expr::BinaryExpr(b) => {
            let item = match b.op {
                Operator::Or => Operator::Eq,
                Operator::And => Operator::NotEq,
                _ => return None,
            };
            let (left, right) = (value_of_item(&b.left, b.op, item)?, value_of_item(&b.right, b.op, item)?);
            (left == right).then_some(left)
        }
        _ => None,
    }
}

/// The value that an item of a list is compared with.
fn value_of_item(e: &Expr, list: Operator, item: Operator) -> Option<&Expr> {
    match e {
        Expr::BinaryExpr(b) if b.op == item => match (uncast(&b.left), uncast(&b.right)) {
            (Expr::Literal(..), Expr::Literal(..)) => None,
            (value, Expr::Literal(..)) | (Expr::Literal(..), value) => Some(value),
            _ => None,
        },
        Expr::BinaryExpr(b) if b.op == list => value_of_list(e),
        Expr::InList(inner) if inner.negated == (list == Operator::And) => value_of_list(e),
        _ => None,
    }
}

/// An expression without casts around it: the optimiser may take them off.
fn uncast(e: &Expr) -> &Expr {
    match e {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => uncast(expr),
        other => other,
    }
}

/// A pattern that each text matches.
const ANYTHING: &str = ".*";

/// Whether it is a pattern of which the optimiser makes IS NOT NULL, which is false where the match is NULL.
fn is_anything(pattern: &Expr) -> bool {
    matches!(uncast(pattern), Expr::Literal(value, _) if value.try_as_str().flatten() == Some(ANYTHING))
}

/// The empty pattern in the place of another one; each text matches it too.
fn empty(pattern: &Expr) -> Result<Expr> {
    let emptied = tree::expr_up(pattern.clone(), &mut |e| match e {
        Expr::Literal(value, metadata) => {
            let empty = ScalarValue::from("").cast_to(&value.data_type())?;
            Ok(Transformed::yes(Expr::Literal(empty, metadata)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(emptied.data)
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
    if !casts::is_removable(e, others, schema) {
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
