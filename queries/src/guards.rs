//! Guards: what can fail on a row is evaluated only where what stands beside it lets the row through.
//!
//! `WHERE i <> 0 AND 100 / i > 5` must not divide by zero. The optimiser takes AND and OR for sets: it pushes, merges
//! and reorders their operands, and turns a boolean CASE into AND and OR. So before it runs, [`mark`] wraps each
//! operand that can fail in a call that the optimiser can't look into, with its place in the order of evaluation: a
//! filter of a derived table before the one outside, the left operand before the right one. [`arrange`] takes the
//! marks away when an expression is lowered: operands that can't fail come first, then the marked ones in their
//! order, each evaluated on those rows only that the ones before it leave open ([`expressions::short_circuit`]).
//!
//! The same mark hides from the optimiser that the column of a scalar subquery is never NULL: of no row the value is.
//!
//! - [`failing`]: what can fail.

pub mod failing;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{DFSchema, DataFusionError, Result as DfResult, ScalarValue, internal_err};
use datafusion_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{
    BinaryExpr, Case, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use expressions::short_circuit;

use crate::error::Result;
use crate::guards::failing::fails;
use crate::tree;

/// The mark: its first argument as it is. The second one is its place in the order of evaluation.
#[derive(Debug, PartialEq, Eq, Hash)]
struct InOrder {
    signature: Signature,
}

const NAME: &str = "in_order";

impl ScalarUDFImpl for InOrder {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> DfResult<DataType> {
        types.first().cloned().map_or_else(|| internal_err!("a mark has an argument"), Ok)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> DfResult<FieldRef> {
        let data_type = args.arg_fields[0].data_type().clone();
        Ok(Arc::new(Field::new(NAME, data_type, true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        Ok(args.args.swap_remove(0))
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> DfResult<ExprSimplifyResult> {
        Ok(match args.first() {
            Some(value @ Expr::Literal(..)) => ExprSimplifyResult::Simplified(value.clone()),
            _ => ExprSimplifyResult::Original(args),
        })
    }

    /// Nothing in a mark is computed ahead of its place.
    fn short_circuits(&self) -> bool {
        true
    }
}

fn marked(e: Expr, place: u64, volatility: Volatility) -> Expr {
    let signature = Signature::any(2, volatility);
    let udf = Arc::new(ScalarUDF::new_from_impl(InOrder { signature }));
    Expr::ScalarFunction(ScalarFunction::new_udf(udf, vec![e, lit(place)]))
}

/// The inside of a mark, and its place.
fn mark_of(e: &Expr) -> Option<(&Expr, u64)> {
    match e {
        Expr::ScalarFunction(f) if f.func.name() == NAME => match f.args.as_slice() {
            [inner, Expr::Literal(ScalarValue::UInt64(Some(place)), _)] => Some((inner, *place)),
            _ => None,
        },
        _ => None,
    }
}

/// The expression without marks.
pub fn unmarked(e: Expr) -> DfResult<Expr> {
    let plain = tree::expr_up(e, &mut |e| {
        let inner = mark_of(&e).map(|(inner, _)| inner.clone());
        Ok(inner.map_or_else(|| Transformed::no(e), Transformed::yes))
    })?;
    Ok(plain.data)
}

/// Marks the operands that can fail, and scalar subqueries, in a plan whose types are settled.
pub fn mark(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut place = 0;
    let plan = tree::plan_up(plan, &mut |node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        let filter = matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
        tree::expressions(node, &mut |e| {
            let mut one = |e: Expr| {
                let name = names.save(&e);
                let before = place;
                let subqueries = tree::expr_up(e, &mut |e| {
                    let is = matches!(e, Expr::ScalarSubquery(_));
                    Ok(if is {
                        Transformed::yes(marked(e, 0, Volatility::Immutable))
                    } else {
                        Transformed::no(e)
                    })
                })?;
                let changed = subqueries.transformed;
                let e = operands(subqueries.data, filter, &schema, &mut place)?;
                Ok(Transformed::new_transformed(name.restore(e), changed || place > before))
            };
            if matches!(e, Expr::GroupingSet(_)) { tree::expr_children(e, &mut one) } else { one(e) }
        })
    })?;
    Ok(plan.data)
}

/// Marks what can fail among the operands of AND and OR and in the branches of a CASE; `operand`: whether the
/// expression itself is one.
fn operands(e: Expr, operand: bool, schema: &DFSchema, place: &mut u64) -> DfResult<Expr> {
    let e = match e {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let left = Box::new(operands(*left, true, schema, place)?);
            let right = Box::new(operands(*right, true, schema, place)?);
            return Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }));
        }
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let condition = expr.is_none();
            let mut branches = Vec::with_capacity(when_then_expr.len());
            for (when, then) in when_then_expr {
                let when = operands(*when, condition, schema, place)?;
                let result = is_boolean(&then, schema);
                branches.push((Box::new(when), Box::new(operands(*then, result, schema, place)?)));
            }
            let else_expr = match else_expr {
                Some(e) => {
                    let result = is_boolean(&e, schema);
                    Some(Box::new(operands(*e, result, schema, place)?))
                }
                None => None,
            };
            Expr::Case(Case { expr, when_then_expr: branches, else_expr })
        }
        Expr::AggregateFunction(call) if call.params.filter.is_some() => {
            return aggregate(call, schema, place);
        }
        e => tree::expr_children(e, &mut |e| operands(e, false, schema, place).map(Transformed::yes))?.data,
    };
    let marks =
        operand && is_boolean(&e, schema) && fails(&e, schema) && !is_join_key(&e) && !has_subquery(&e);
    if !marks {
        return Ok(e);
    }
    *place += 1;
    Ok(marked(e, *place, Volatility::Immutable))
}

/// Marks what can fail among the arguments of an aggregate with a FILTER, and in its ORDER BY. What two such aggregates
/// have in common would be computed once for both, and so on all rows: what is volatile is not.
fn aggregate(mut call: AggregateFunction, schema: &DFSchema, place: &mut u64) -> DfResult<Expr> {
    let mut argument = |e: Expr| {
        let e = operands(e, false, schema, place)?;
        if !fails(&e, schema) {
            return Ok::<_, DataFusionError>(e);
        }
        *place += 1;
        Ok(marked(e, *place, Volatility::Volatile))
    };
    call.params.args = call.params.args.into_iter().map(&mut argument).collect::<DfResult<_>>()?;
    for key in &mut call.params.order_by {
        key.expr = argument(std::mem::take(&mut key.expr))?;
    }
    if let Some(filter) = call.params.filter.take() {
        call.params.filter = Some(Box::new(operands(*filter, true, schema, place)?));
    }
    Ok(Expr::AggregateFunction(call))
}

fn is_boolean(e: &Expr, schema: &DFSchema) -> bool {
    e.get_type(schema).is_ok_and(|t| t == DataType::Boolean)
}

/// Whether it is an equality of two tables, which the optimiser shall find and make a join's key of.
fn is_join_key(e: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = e else { return false };
    let tables = |e: &Expr| e.column_refs().into_iter().map(|c| c.relation.clone()).collect::<HashSet<_>>();
    let (left, right) = (tables(left), tables(right));
    e.contains_outer() || !left.is_empty() && !right.is_empty() && left.is_disjoint(&right)
}

fn has_subquery(e: &Expr) -> bool {
    let found = tree::any_expr(e, &mut |e| {
        matches!(e, Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_))
            || matches!(e, Expr::ScalarSubquery(s) if !s.outer_ref_columns.is_empty())
    });
    found || e.contains_outer()
}

/// The expression as it is evaluated, without marks. `filter`: whether NULL counts as false, as in WHERE.
pub fn arrange(e: Expr, schema: &DFSchema, filter: bool) -> DfResult<Expr> {
    match e {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
            let mut terms = Vec::new();
            flatten(&e, op, &mut terms);
            let mut keyed = Vec::with_capacity(terms.len());
            for term in terms {
                let place = place_of(&term, schema);
                keyed.push((place, arrange(term, schema, filter)?));
            }
            if keyed.iter().all(|(place, _)| *place == 0) {
                let join = |a, b| Expr::BinaryExpr(BinaryExpr::new(Box::new(a), op, Box::new(b)));
                return Ok(keyed.into_iter().map(|(_, e)| e).reduce(join).unwrap_or_else(|| lit(true)));
            }
            keyed.sort_by_key(|(place, _)| *place);
            Ok(in_order(keyed, op, filter))
        }
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let condition = expr.is_none();
            let boxed = |e: Expr, filter| arrange(e, schema, filter).map(Box::new);
            let expr = expr.map(|e| boxed(*e, false)).transpose()?;
            let when_then_expr = when_then_expr
                .into_iter()
                .map(|(when, then)| Ok((boxed(*when, condition)?, boxed(*then, false)?)))
                .collect::<DfResult<_>>()?;
            let else_expr = else_expr.map(|e| boxed(*e, false)).transpose()?;
            Ok(Expr::Case(Case { expr, when_then_expr, else_expr }))
        }
        e => match mark_of(&e) {
            Some((inner, _)) => arrange(inner.clone(), schema, filter),
            None => {
                Ok(tree::expr_children(e, &mut |e| arrange(e, schema, false).map(Transformed::yes))?.data)
            }
        },
    }
}

/// An aggregate as it is evaluated: arguments and keys of its order that can fail only on the rows that its FILTER lets
/// through.
pub fn arrange_aggregate(e: &Expr, schema: &DFSchema) -> DfResult<Expr> {
    let arranged = tree::expr_down(e.clone(), &mut |e| {
        let Expr::AggregateFunction(mut call) = e else { return Ok(Transformed::no(e)) };
        let Some(filter) = call.params.filter.take() else {
            return Ok(Transformed::new(Expr::AggregateFunction(call), false, TreeNodeRecursion::Jump));
        };
        let filter = arrange(*filter, schema, true)?;
        let keys = call.params.order_by.iter_mut().map(|key| &mut key.expr);
        for arg in call.params.args.iter_mut().chain(keys) {
            if fails(arg, schema) {
                let then = (Box::new(filter.clone()), Box::new(arg.clone()));
                *arg = Expr::Case(Case { expr: None, when_then_expr: vec![then], else_expr: None });
            }
        }
        call.params.filter = Some(Box::new(filter));
        Ok(Transformed::new(Expr::AggregateFunction(call), true, TreeNodeRecursion::Jump))
    })?;
    arrange(arranged.data, schema, false)
}

fn flatten(e: &Expr, op: Operator, terms: &mut Vec<Expr>) {
    match e {
        Expr::BinaryExpr(b) if b.op == op => {
            flatten(&b.left, op, terms);
            flatten(&b.right, op, terms);
        }
        e => terms.push(e.clone()),
    }
}

/// When an operand is evaluated: 0 for one that can't fail (by now, if it was marked: the text of a date is one), the
/// last place for one that got no mark.
fn place_of(e: &Expr, schema: &DFSchema) -> u64 {
    if !fails(e, schema) {
        return 0;
    }
    let mut last = None;
    // Looking fails never: the closure does not.
    let _ = tree::look_at_expr(e, &mut |e| {
        last = last.max(mark_of(e).map(|(_, place)| place));
        Ok(TreeNodeRecursion::Continue)
    });
    last.filter(|place| *place > 0).unwrap_or(u64::MAX)
}

/// `a AND b AND c`, or the same with OR, each but those at place 0 on the rows that are still open.
fn in_order(mut terms: Vec<(u64, Expr)>, op: Operator, filter: bool) -> Expr {
    let both = |a: Expr, b: Expr| Expr::BinaryExpr(BinaryExpr::new(Box::new(a), op, Box::new(b)));
    let total = terms.partition_point(|(place, _)| *place == 0);
    let failing = terms.split_off(total);
    let first = terms.into_iter().map(|(_, e)| e).reduce(both);
    let all = first.into_iter().chain(failing.into_iter().map(|(_, e)| e)).collect();
    short_circuit::call(short_circuit::Kind { and: op == Operator::And, filter }, all)
}
