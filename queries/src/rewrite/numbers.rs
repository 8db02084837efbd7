//! The types of numbers, of decimals above all.
//!
//! - A decimal beside a DOUBLE is a DOUBLE, beside a FLOAT a FLOAT. The analyser would make both decimals of 15 digits
//!   behind the point, in which 1e-20 is 0 and 1e30 is out of range.
//! - Decimals and whole numbers of different digits are compared in as many digits as that takes.
//! - `/` of decimals is one of DOUBLEs.
//! - Functions of floats take decimals as DOUBLEs.
//!
//! What an expression's type is follows from those of its parts, so the analyser's own rules are applied here too, from
//! the inside to the outside: to `CASE WHEN a THEN 1 ELSE 1e0 END * 0.5` its first operand is an integer before.
//!
//! - [`types`]: the type that several numbers have in common.

mod types;

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion, TreeNodeRewriter};
use datafusion_common::{
    Column, DFSchema, DFSchemaRef, ExprSchema, Result as DfResult, ScalarValue, plan_err,
};
use datafusion_expr::expr::{AggregateFunction, InSubquery, ScalarFunction, SetComparison};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::{Aggregate, Projection, Subquery, Union};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, GroupingSet, LogicalPlan, LogicalPlanBuilder, Operator,
};
use datafusion_optimizer::analyzer::type_coercion::TypeCoercionRewriter;
use expressions::functions::{decimal_rounding, nullif};

use super::casts;
use crate::error::Result;
use crate::tree;
use types::{Use, align, as_decimal, is_decimal, to};

/// Functions whose arguments are brought to one type.
const OF_ONE_TYPE: [&str; 6] = ["coalesce", "greatest", "least", "nvl", "ifnull", "nvl2"];

/// Functions of floats.
const OF_FLOATS: [&str; 31] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "cot",
    "degrees",
    "exp",
    "isnan",
    "iszero",
    "ln",
    "log",
    "log10",
    "log2",
    "nanvl",
    "pow",
    "power",
    "radians",
    "signum",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "factorial",
    "erf",
];

/// Aggregates that take decimals as they are. Others take floats.
const OF_DECIMALS: [&str; 17] = [
    "any_value",
    "approx_distinct",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "first_value",
    "last_value",
    "max",
    "median",
    "min",
    "nth_value",
    "sum",
];

/// Settles the types of a plan that has decimals in it.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    if has_decimals(&plan)? { Ok(plan_of(plan, &[])?) } else { Ok(plan) }
}

/// Whether a decimal stands in some schema or expression.
fn has_decimals(plan: &LogicalPlan) -> DfResult<bool> {
    let mut found = false;
    tree::look_at_plans(plan, &mut |node| {
        found |= node.schema().fields().iter().any(|f| is_decimal(f.data_type()));
        if let LogicalPlan::TableScan(scan) = node {
            found |= scan.source.schema().fields().iter().any(|f| is_decimal(f.data_type()));
        }
        for e in node.expressions() {
            found |= tree::any_expr(&e, &mut |e| match e {
                Expr::Literal(value, _) => is_decimal(&value.data_type()),
                Expr::Cast(cast) => is_decimal(cast.field.data_type()),
                Expr::TryCast(cast) => is_decimal(cast.field.data_type()),
                _ => false,
            });
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// A plan whose correlated columns are of the `outer` schemas, the nearest last.
fn plan_of(plan: LogicalPlan, outer: &[DFSchemaRef]) -> DfResult<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::Join(mut join) => {
            join.left = Arc::new(plan_of(Arc::unwrap_or_clone(join.left), outer)?);
            // A subquery on the right side may be correlated with the left one.
            let outer = [outer, &[join.left.schema().clone()]].concat();
            join.right = Arc::new(plan_of(Arc::unwrap_or_clone(join.right), &outer)?);
            for (left, right) in &mut join.on {
                let (of_left, of_right) = (join.left.schema().as_ref(), join.right.schema().as_ref());
                *left = expr_of(std::mem::take(left), join.left.schema(), &outer)?;
                *right = expr_of(std::mem::take(right), join.right.schema(), &outer)?;
                align(&mut [(left, of_left), (right, of_right)], Use::Compared)?;
            }
            LogicalPlan::Join(join)
        }
        // Their types were settled before.
        LogicalPlan::Values(_) => return Ok(plan),
        other => tree::plan_children(other, &mut |child| plan_of(child, outer).map(Transformed::yes))?.data,
    };
    let plan = match plan {
        LogicalPlan::Union(union) => LogicalPlan::Union(of_union(union)?),
        other => other,
    };
    let schema = Arc::new(merge_schema(&plan.inputs()));
    let names = NamePreserver::new(&plan);
    let mut sets = Vec::new();
    let plan = tree::expressions(plan, &mut |e| {
        if let Expr::GroupingSet(set) = e {
            let set = grouping_set(set, &schema, outer, &mut sets)?;
            return Ok(Transformed::yes(Expr::GroupingSet(set)));
        }
        let name = names.save(&e);
        let e = replace_keys(expr_of(e, &schema, outer)?, &sets)?;
        Ok(Transformed::yes(name.restore(e)))
    })?
    .data;
    let plan = match plan {
        LogicalPlan::Aggregate(aggregate) if !sets.is_empty() => keys_below(aggregate, sets)?,
        other => other,
    };
    let plan = TypeCoercionRewriter::new(&schema).coerce_plan(plan)?;
    match plan {
        union @ LogicalPlan::Union(_) => Ok(union),
        other => other.recompute_schema(),
    }
}

/// The keys of grouping sets whose names would change, each under the name that it has had. Names of keys that stand
/// in sets can't be kept otherwise.
fn grouping_set(
    set: GroupingSet,
    schema: &DFSchemaRef,
    outer: &[DFSchemaRef],
    keys: &mut Vec<(Expr, String)>,
) -> DfResult<GroupingSet> {
    let mut key = |e: Expr| {
        let name = e.schema_name().to_string();
        let e = expr_of(e, schema, outer)?;
        if e.schema_name().to_string() == name {
            return Ok(e);
        }
        if !keys.iter().any(|(_, known)| *known == name) {
            keys.push((e, name.clone()));
        }
        Ok(Expr::Column(Column::from_name(name)))
    };
    let mut list = |all: Vec<Expr>| all.into_iter().map(&mut key).collect::<DfResult<Vec<_>>>();
    Ok(match set {
        GroupingSet::Rollup(all) => GroupingSet::Rollup(list(all)?),
        GroupingSet::Cube(all) => GroupingSet::Cube(list(all)?),
        GroupingSet::GroupingSets(sets) => {
            GroupingSet::GroupingSets(sets.into_iter().map(list).collect::<DfResult<_>>()?)
        }
    })
}

/// An expression in which keys are the columns that they are computed to.
fn replace_keys(e: Expr, keys: &[(Expr, String)]) -> DfResult<Expr> {
    if keys.is_empty() {
        return Ok(e);
    }
    let replaced = tree::expr_down(e, &mut |e| {
        let key = keys.iter().find(|(key, _)| *key == e);
        Ok(match key {
            Some((_, name)) => {
                Transformed::new(Expr::Column(Column::from_name(name)), true, TreeNodeRecursion::Jump)
            }
            None => Transformed::no(e),
        })
    })?;
    Ok(replaced.data)
}

/// An aggregation whose keys are computed below it.
fn keys_below(aggregate: Aggregate, keys: Vec<(Expr, String)>) -> DfResult<LogicalPlan> {
    let columns = aggregate.input.schema().columns().into_iter().map(Expr::Column);
    let keys = keys.into_iter().map(|(key, name)| key.alias(name));
    let below = Projection::try_new(columns.chain(keys).collect(), aggregate.input)?;
    let input = Arc::new(LogicalPlan::Projection(below));
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(input, aggregate.group_expr, aggregate.aggr_expr)?))
}

/// An expression over columns of `schema`.
fn expr_of(e: Expr, schema: &DFSchemaRef, outer: &[DFSchemaRef]) -> DfResult<Expr> {
    let within = [outer, std::slice::from_ref(schema)].concat();
    let mut coercion = TypeCoercionRewriter::new(schema);
    let settled = tree::expr_up(e, &mut |e| {
        let e = subqueries(e, outer, &within)?;
        coercion.f_up(own(e, schema)?)
    })?;
    Ok(settled.data)
}

/// The types within the subquery of an expression, and that of a correlated column.
fn subqueries(e: Expr, outer: &[DFSchemaRef], within: &[DFSchemaRef]) -> DfResult<Expr> {
    let settled = |subquery: Subquery| {
        let plan = plan_of(subquery.subquery.as_ref().clone(), within)?;
        let mut settled = subquery.with_plan(Arc::new(plan));
        for column in &mut settled.outer_ref_columns {
            *column = outer_column(std::mem::take(column), within);
        }
        Ok::<_, datafusion_common::DataFusionError>(settled)
    };
    Ok(match e {
        Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(settled(subquery)?),
        Expr::Exists(mut exists) => {
            exists.subquery = settled(exists.subquery)?;
            Expr::Exists(exists)
        }
        Expr::InSubquery(mut list) => {
            list.subquery = settled(list.subquery)?;
            Expr::InSubquery(list)
        }
        Expr::SetComparison(mut comparison) => {
            comparison.subquery = settled(comparison.subquery)?;
            Expr::SetComparison(comparison)
        }
        other => outer_column(other, outer),
    })
}

fn outer_column(e: Expr, outer: &[DFSchemaRef]) -> Expr {
    let Expr::OuterReferenceColumn(field, column) = e else { return e };
    let found = outer.iter().rev().find_map(|schema| schema.field_from_column(&column).ok().cloned());
    Expr::OuterReferenceColumn(found.unwrap_or(field), column)
}

/// The rules of this module for one expression, whose parts have their types.
fn own(e: Expr, schema: &DFSchema) -> DfResult<Expr> {
    Ok(match e {
        Expr::Cast(cast) => literal(cast),
        Expr::Negative(inner) => match inner.as_ref() {
            Expr::Literal(value @ ScalarValue::Decimal128(Some(_), ..), metadata) => {
                Expr::Literal(value.arithmetic_negate()?, metadata.clone())
            }
            _ => Expr::Negative(inner),
        },
        Expr::BinaryExpr(binary) if binary.op.supports_propagation() => {
            let mut binary = binary;
            align(&mut [(&mut binary.left, schema), (&mut binary.right, schema)], Use::Compared)?;
            Expr::BinaryExpr(binary)
        }
        Expr::BinaryExpr(binary) => arithmetic(binary, schema)?,
        Expr::Between(mut b) => {
            align(&mut [(&mut b.expr, schema), (&mut b.low, schema), (&mut b.high, schema)], Use::Compared)?;
            Expr::Between(b)
        }
        Expr::InList(mut list) => {
            let mut all: Vec<_> = list.list.iter_mut().map(|e| (e, schema)).collect();
            all.push((&mut list.expr, schema));
            align(&mut all, Use::Compared)?;
            Expr::InList(list)
        }
        Expr::Case(mut case) => {
            let mut compared = case.expr.iter_mut().map(|e| (e.as_mut(), schema)).collect::<Vec<_>>();
            let mut given = case.else_expr.iter_mut().map(|e| (e.as_mut(), schema)).collect::<Vec<_>>();
            let conditions = compared.is_empty();
            for (when, then) in &mut case.when_then_expr {
                if !conditions {
                    compared.push((when, schema));
                }
                given.push((then, schema));
            }
            align(&mut compared, Use::Compared)?;
            align(&mut given, Use::Result)?;
            Expr::Case(case)
        }
        Expr::ScalarFunction(call) => match nullif(&call, schema)? {
            Some(case) => case,
            None => Expr::ScalarFunction(function(call, schema)?),
        },
        Expr::AggregateFunction(call) => Expr::AggregateFunction(aggregate(call, schema)?),
        Expr::InSubquery(InSubquery { mut expr, mut subquery, negated }) => {
            of_subquery(&mut expr, &mut subquery, schema)?;
            Expr::InSubquery(InSubquery { expr, subquery, negated })
        }
        Expr::SetComparison(mut comparison) => {
            let SetComparison { expr, subquery, .. } = &mut comparison;
            of_subquery(expr, subquery, schema)?;
            Expr::SetComparison(comparison)
        }
        other => other,
    })
}

/// The decimal that a text is.
fn literal(cast: Cast) -> Expr {
    let target = cast.field.data_type();
    if let (Expr::Literal(ScalarValue::Utf8(Some(text)), metadata), DataType::Decimal128(..)) =
        (cast.expr.as_ref(), target)
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-')
        && let Ok(value) = ScalarValue::try_from_string(text.clone(), target)
    {
        return Expr::Literal(value, metadata.clone());
    }
    Expr::Cast(cast)
}

fn arithmetic(binary: BinaryExpr, schema: &DFSchema) -> DfResult<Expr> {
    let BinaryExpr { left, op, right } = binary;
    let computes = matches!(
        op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    );
    let bits = matches!(
        op,
        Operator::BitwiseAnd
            | Operator::BitwiseOr
            | Operator::BitwiseXor
            | Operator::BitwiseShiftLeft
            | Operator::BitwiseShiftRight
    );
    let unchanged = |left, right| Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    if !computes && !bits {
        return unchanged(left, right);
    }
    let (of_left, of_right) = (left.get_type(schema)?, right.get_type(schema)?);
    if bits && (is_decimal(&of_left) || is_decimal(&of_right)) {
        // The analyser would cut them.
        return plan_err!("Cannot coerce arithmetic expression {of_left} {op} {of_right} to valid types");
    }
    let numbers = |t: &DataType| t.is_numeric() || t.is_null();
    if bits || !(is_decimal(&of_left) || is_decimal(&of_right)) || !numbers(&of_left) || !numbers(&of_right) {
        return unchanged(left, right);
    }
    let float = match (&of_left, &of_right) {
        (DataType::Float32, _) | (_, DataType::Float32) => Some(DataType::Float32),
        (left, right) if left.is_floating() || right.is_floating() || op == Operator::Divide => {
            Some(DataType::Float64)
        }
        _ => None,
    };
    let side = |e: Expr, t: &DataType, other: &DataType| match &float {
        Some(float) if t == float => Ok(e),
        Some(float) => to(e, float),
        None if t.is_null() => to(e, other),
        None => as_decimal(e, t),
    };
    let left = Box::new(side(*left, &of_left, &of_right)?);
    let right = Box::new(side(*right, &of_right, &of_left)?);
    unchanged(left, right)
}

fn function(mut call: ScalarFunction, schema: &DFSchema) -> DfResult<ScalarFunction> {
    let name = call.func.name();
    if OF_ONE_TYPE.contains(&name) {
        // The first argument of nvl2 is a condition.
        let first = usize::from(name == "nvl2");
        let mut all: Vec<_> = call.args.iter_mut().skip(first).map(|e| (e, schema)).collect();
        align(&mut all, Use::Result)?;
    } else if let Some(rounding) = rounded(&call, schema)? {
        return Ok(rounding);
    } else if OF_FLOATS.contains(&name) {
        call.args = doubles(call.args, schema)?;
    }
    Ok(call)
}

/// `nullif` of a decimal and another number as a CASE: it has the type of its first argument.
fn nullif(call: &ScalarFunction, schema: &DFSchema) -> DfResult<Option<Expr>> {
    let (nullif::NAME, [value, other]) = (call.func.name(), call.args.as_slice()) else { return Ok(None) };
    let (left, right) = (value.get_type(schema)?, other.get_type(schema)?);
    let numbers = left.is_numeric() && right.is_numeric();
    if left == right || !numbers || !(is_decimal(&left) || is_decimal(&right)) {
        return Ok(None);
    }
    let (mut compared, mut with) = (value.clone(), other.clone());
    align(&mut [(&mut compared, schema), (&mut with, schema)], Use::Compared)?;
    nullif::case(value, &left, compared, with).map(Some)
}

/// The rounding of a decimal, whose type is settled here: it depends on the number of digits that is wanted, which the
/// functions that were called are told only once it is a constant.
fn rounded(call: &ScalarFunction, schema: &DFSchema) -> DfResult<Option<ScalarFunction>> {
    let Some(kind) = decimal_rounding::of_function(call.func.name()) else { return Ok(None) };
    let Some(value) = call.args.first() else { return Ok(None) };
    if !matches!(value.get_type(schema)?, DataType::Decimal128(..)) {
        return Ok(None);
    }
    let constant = match call.args.get(1) {
        None => Some(0),
        Some(Expr::Literal(digits, _)) => match digits.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(digits) => digits,
            _ => None,
        },
        Some(_) => None,
    };
    let args = if constant.is_some() { vec![value.clone()] } else { call.args.clone() };
    Ok(Some(ScalarFunction::new_udf(decimal_rounding::function(kind, constant), args)))
}

fn aggregate(mut call: AggregateFunction, schema: &DFSchema) -> DfResult<AggregateFunction> {
    let name = call.func.name();
    if name == "percentile_cont" {
        let place = call.params.args.split_off(call.params.args.len().min(1));
        call.params.args.extend(doubles(place, schema)?);
    } else if !OF_DECIMALS.contains(&name) && name != "string_agg" && name != "grouping" {
        call.params.args = doubles(call.params.args, schema)?;
    }
    Ok(call)
}

/// Decimals as DOUBLEs.
fn doubles(args: Vec<Expr>, schema: &DFSchema) -> DfResult<Vec<Expr>> {
    let double = |e: Expr| match e.get_type(schema)? {
        t if is_decimal(&t) => to(e, &DataType::Float64),
        _ => Ok(e),
    };
    args.into_iter().map(double).collect()
}

fn of_subquery(expr: &mut Expr, subquery: &mut Subquery, schema: &DFSchema) -> DfResult<()> {
    let plan = &subquery.subquery;
    let Some(column) = plan.schema().columns().first().cloned() else { return Ok(()) };
    let mut value = Expr::Column(column.clone());
    align(&mut [(expr, schema), (&mut value, plan.schema())], Use::Compared)?;
    if matches!(value, Expr::Cast(_)) {
        let value = value.alias_qualified(column.relation, column.name);
        let plan = LogicalPlan::Projection(Projection::try_new(vec![value], plan.clone())?);
        *subquery = subquery.with_plan(Arc::new(plan));
    }
    Ok(())
}

/// A union whose columns of decimals have one type each.
fn of_union(union: Union) -> DfResult<Union> {
    let columns = |input: &Arc<LogicalPlan>| input.schema().columns().into_iter().map(Expr::Column);
    let mut rows: Vec<Vec<Expr>> = union.inputs.iter().map(|input| columns(input).collect()).collect();
    let mut found = false;
    for column in 0..union.schema.fields().len() {
        let inputs = rows.iter_mut().zip(&union.inputs);
        let mut all: Vec<_> = inputs
            .filter_map(|(exprs, input)| Some((exprs.get_mut(column)?, input.schema().as_ref())))
            .collect();
        found |= align(&mut all, Use::Result)?;
    }
    // The schema may be that of inputs that were changed.
    if !found {
        return Union::try_new_with_loose_types(union.inputs);
    }
    let inputs = union.inputs.iter().zip(rows).map(|(input, exprs)| {
        let named = exprs.into_iter().zip(input.schema().columns()).map(|(e, column)| match e {
            Expr::Cast(_) => e.alias_qualified(column.relation, column.name),
            other => other,
        });
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(named.collect(), input.clone())?)))
    });
    Union::try_new_with_loose_types(inputs.collect::<DfResult<_>>()?)
}

/// Settles the types of `VALUES` of decimals, which the planner has cast to types of its own.
pub fn of_values(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    let rewritten = tree::plan_up(plan.clone(), &mut |node| {
        let LogicalPlan::Values(values) = node else {
            return Transformed::yes(node).map_data(LogicalPlan::recompute_schema);
        };
        if !values.schema.fields().iter().any(|f| is_decimal(f.data_type())) {
            return Ok(Transformed::no(LogicalPlan::Values(values)));
        }
        let none = Arc::new(DFSchema::empty());
        let mut rows = Vec::with_capacity(values.values.len());
        for row in &values.values {
            let cells = row.iter().zip(values.schema.fields()).map(|(cell, field)| match cell {
                // What the user cast stands in a call, see `casts`.
                Expr::Cast(planned) if is_decimal(field.data_type()) => planned.expr.as_ref(),
                other => other,
            });
            let cells = cells.map(|cell| expr_of(casts::unwrapped(cell.clone())?, &none, &[]));
            rows.push(cells.collect::<DfResult<Vec<Expr>>>()?);
        }
        for column in 0..values.schema.fields().len() {
            let cells = rows.iter_mut().filter_map(|row| row.get_mut(column));
            let mut all: Vec<_> = cells.map(|e| (e, none.as_ref())).collect();
            align(&mut all, Use::Result)?;
        }
        found = true;
        Ok(Transformed::yes(LogicalPlanBuilder::values(rows)?.build()?))
    })?;
    Ok(if found { rewritten.data } else { plan })
}
