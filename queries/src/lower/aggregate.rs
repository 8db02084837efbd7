//! Aggregations: accumulators, key layouts, one phase or two.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::logical_plan::Aggregate as LogicalAggregate;
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Expr as LogicalExpr, GroupingSet, LogicalPlan};
use datafusion_physical_expr::aggregate::{
    AggregateExprBuilder, AggregateFunctionExpr, LoweredAggregateBuilder,
};
use datafusion_physical_expr::expressions::{CastExpr, Literal};
use expressions::checked::checked;
use expressions::compare::is_interval;

use super::{Lowering, batch_schema, columns, estimate, nullable};
use crate::error::{Error, Result};
use crate::guards;
use crate::physical::accumulators::{counts_apart, is_extreme, states};
use crate::plan::{
    Aggregate, AggregateCall, AggregateFunction, Exchange, Expr, KeyLayout, Node, Op, Phase, SortKey,
};

/// `SELECT DISTINCT`: groups without aggregates.
pub(super) fn distinct(lowering: &mut Lowering, input: &LogicalPlan) -> Result<Node> {
    let node = lowering.lower(input)?;
    let keys = columns(&node.schema, 0, node.schema.fields().len());
    let output = node.schema.clone();
    let groups = estimate::groups(node.rows, keys.len());
    let layout = layout(&keys, &node.schema);
    let (global, totals, aggregates) = (false, vec![], vec![]);
    let plan = Aggregate { phase: Phase::Single, keys, layout, aggregates, groups, global, totals };
    phases(lowering, node, plan, output)
}

pub(super) fn lower(lowering: &mut Lowering, a: &LogicalAggregate) -> Result<Node> {
    let exprs: Vec<_> = a.group_expr.iter().chain(&a.aggr_expr).cloned().collect();
    let mut input = lowering.lower_below(&a.input, &exprs)?;
    let schema = a.input.schema();
    let output = batch_schema(&a.schema);
    let mut calls = Vec::new();
    let mut orderings: Vec<Vec<SortKey>> = Vec::new();
    for e in &a.aggr_expr {
        let e = guards::arrange_aggregate(e, schema)?;
        let lowered = LoweredAggregateBuilder::new(
            &e,
            schema,
            schema.as_arrow(),
            &lowering.compiler.props,
            &lowering.compiler.context,
        )
        .build()?;
        let filter = lowered.filter.map(|f| checked(f, schema.as_arrow())).transpose()?;
        let keys: Vec<SortKey> = lowered
            .order_bys
            .iter()
            .map(|s| Ok(SortKey { expr: checked(s.expr.clone(), schema.as_arrow())?, options: s.options }))
            .collect::<Result<_>>()?;
        let name = lowered.aggregate.fun().name();
        if matches!(name, "first_value" | "last_value") && has_nested(&keys, schema.as_arrow())? {
            // They compare them otherwise than ORDER BY does where these hold NULL.
            let what = "ORDER BY a list, struct or map in first_value(), last_value() or with DISTINCT ON";
            return Err(Error::Unsupported(what.into()));
        }
        // Some accumulators keep the order themselves (first_value); the others need their rows sorted.
        let sorted = lowered.aggregate.order_sensitivity() == AggregateOrderSensitivity::HardRequirement;
        if sorted && !keys.is_empty() && !orderings.iter().any(|o| same(o, &keys)) {
            orderings.push(keys);
        }
        calls.push(call(lowered.aggregate, filter, schema.as_arrow())?);
    }
    if orderings.len() > 1 {
        return Err(Error::Unsupported("aggregates with different ORDER BY in one query".into()));
    }

    let mut totals = vec![];
    let (keys, global) = match a.group_expr.as_slice() {
        [LogicalExpr::GroupingSet(sets)] => {
            let width = input.schema.fields().len();
            (input, totals) = expand(lowering, input, a, sets)?;
            (columns(&input.schema, width, input.schema.fields().len()), false)
        }
        keys => (lowering.compiler.compile_all(keys, schema)?, keys.is_empty()),
    };
    let groups = estimate::groups(input.rows, keys.len());
    let layout = layout(&keys, &input.schema);
    let plan = Aggregate { phase: Phase::Single, keys, layout, aggregates: calls, groups, global, totals };
    match orderings.pop() {
        Some(order) => Ok(ordered(lowering, input, plan, order, output)),
        None => phases(lowering, input, plan, output),
    }
}

fn has_nested(keys: &[SortKey], schema: &Schema) -> Result<bool> {
    let types = keys.iter().map(|key| key.expr.data_type(schema)).collect::<Result<Vec<_>, _>>()?;
    Ok(types.iter().any(DataType::is_nested))
}

fn same(a: &[SortKey], b: &[SortKey]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.options == b.options && a.expr.eq(&b.expr))
}

/// One aggregate: palais' own accumulator where it has one.
fn call(f: Arc<AggregateFunctionExpr>, filter: Option<Expr>, input: &Schema) -> Result<AggregateCall> {
    let args: Vec<Expr> = f.expressions().into_iter().map(|e| checked(e, input)).collect::<Result<_, _>>()?;
    // The order of its rows matters to none that is computed exactly, and to sums of floats in the last digits at most; and
    // to the least and the greatest value it matters neither how often one is there.
    let unordered = f.order_bys().is_empty()
        || matches!(f.fun().name(), "sum" | "avg" | "stddev" | "stddev_pop" | "approx_median");
    let extreme = matches!(f.fun().name(), "min" | "max");
    let plain = extreme || !f.is_distinct() && unordered;
    let (function, args, state_columns) = match (f.fun().name(), f.field().data_type()) {
        _ if f.is_distinct() && args.len() == 1 && unordered && counts_apart(&f, &args[0], input)? => {
            // The call without DISTINCT, whose accumulator is given each value once.
            let all = AggregateExprBuilder::new(Arc::new(f.fun().clone()), args.clone())
                .schema(Arc::new(input.clone()))
                .alias(f.name())
                .build()?;
            let call = call(Arc::new(all), None, input)?;
            // A count of constants has no arguments.
            let args = if call.args.is_empty() { args } else { call.args };
            let data_type = args[0].data_type(input)?;
            (AggregateFunction::Distinct { of: Box::new(call.function), data_type }, args, 1)
        }
        ("count", _) if plain && args.len() == 1 => {
            let constant = args[0].downcast_ref::<Literal>().is_some_and(|l| !l.value().is_null());
            (AggregateFunction::Count, if constant { vec![] } else { args }, 1)
        }
        ("sum", DataType::Float64) if plain => {
            (AggregateFunction::SumFloat, vec![cast(&args[0], DataType::Float64)], 1)
        }
        ("sum", DataType::Int64) if plain => {
            (AggregateFunction::SumInt { unsigned: false }, vec![cast(&args[0], DataType::Int64)], 1)
        }
        ("sum", DataType::UInt64) if plain => {
            (AggregateFunction::SumInt { unsigned: true }, vec![cast(&args[0], DataType::UInt64)], 1)
        }
        ("sum", DataType::Decimal128(precision, scale)) if plain => {
            let (precision, scale) = (*precision, *scale);
            (AggregateFunction::SumDecimal { precision, scale }, args, 1)
        }
        ("sum", DataType::Duration(_)) if plain => {
            (AggregateFunction::SumInt { unsigned: false }, vec![cast(&args[0], DataType::Int64)], 1)
        }
        ("sum", t) if plain && is_interval(t) => (AggregateFunction::SumInterval, args, 3),
        ("avg", DataType::Float64) if plain => match args[0].data_type(input)? {
            DataType::Decimal128(_, scale) => (AggregateFunction::AvgDecimal { scale }, args, 2),
            _ => (AggregateFunction::AvgFloat, vec![cast(&args[0], DataType::Float64)], 2),
        },
        (name @ ("min" | "max"), t) if plain && is_extreme(t) => {
            let function = AggregateFunction::Extreme { max: name == "max", data_type: t.clone() };
            (function, vec![cast(&args[0], t.clone())], 1)
        }
        _ => {
            // An accumulator that depends on an order is given the keys of the order behind its arguments.
            let order = f.order_bys().iter().map(|s| checked(s.expr.clone(), input));
            let args = args.into_iter().map(Ok).chain(order).collect::<Result<Vec<_>, _>>()?;
            let states = f.state_fields()?.len();
            (AggregateFunction::General(f), args, states)
        }
    };
    Ok(AggregateCall { function, args, filter, state_columns })
}

/// Makes sure that an argument has the accumulator's type; the analyzer has usually cast it already.
fn cast(e: &Expr, to: DataType) -> Expr {
    let is = e.downcast_ref::<CastExpr>().is_some_and(|c| c.target_field().data_type() == &to);
    if is { e.clone() } else { Arc::new(CastExpr::new(e.clone(), to, None)) }
}

fn layout(keys: &[Expr], input: &SchemaRef) -> KeyLayout {
    match keys {
        [] => KeyLayout::None,
        [key] => match key.data_type(input) {
            Ok(DataType::Utf8View) => KeyLayout::View,
            Ok(t)
                if t.is_integer()
                    || matches!(t, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)) =>
            {
                KeyLayout::Word
            }
            _ => KeyLayout::Rows,
        },
        _ => KeyLayout::Rows,
    }
}

/// One phase where the rows lie together already, else two with an exchange of states between them.
fn phases(lowering: &mut Lowering, input: Node, plan: Aggregate, output: SchemaRef) -> Result<Node> {
    let (groups, global) = (plan.groups, plan.global);
    if input.single || lowering.settings.workers == 1 {
        let mut node = lowering.node(Op::Aggregate(plan), output, vec![input], groups);
        node.single |= global;
        return Ok(node);
    }
    let count = plan.keys.len();
    let key_fields: Vec<Field> = output.fields()[..count].iter().map(|f| f.as_ref().clone()).collect();
    let between = nullable(&Schema::new([key_fields, states(&plan.aggregates)?].concat()));
    let partial = Op::Aggregate(Aggregate { phase: Phase::Partial, ..plan.clone() });
    let partial = lowering.node(partial, between.clone(), vec![input], groups);
    let keys = columns(&between, 0, count);
    let exchange = if global { Exchange::Gather } else { Exchange::Hash(keys.clone()) };
    let moved = lowering.exchange(exchange, partial);
    let last = Op::Aggregate(Aggregate { phase: Phase::Final, keys, ..plan });
    Ok(lowering.node(last, output, vec![moved], groups))
}

/// Aggregates that depend on the order of their rows: rows of a group to one worker, sorted there, one phase.
fn ordered(
    lowering: &mut Lowering,
    input: Node,
    plan: Aggregate,
    order: Vec<SortKey>,
    output: SchemaRef,
) -> Node {
    let groups = plan.groups;
    let input = match (input.single, plan.global) {
        (true, _) => input,
        (false, true) => lowering.exchange(Exchange::Gather, input),
        (false, false) => lowering.exchange(Exchange::Hash(plan.keys.clone()), input),
    };
    let (schema, rows) = (input.schema.clone(), input.rows);
    let sorted = lowering.node(Op::Sort { keys: order, fetch: None }, schema, vec![input], rows);
    lowering.node(Op::Aggregate(plan), output, vec![sorted], groups)
}

/// Gives each row once for each grouping set: the input's columns, then the keys, NULL where the set leaves one out,
/// then the identifier that `GROUPING()` reads: a bit for each key, the first key's the most significant, 1 where it
/// is left out; above them the number of earlier sets with the same bits.
///
/// Beside the node: the keys of the empty sets.
fn expand(
    lowering: &mut Lowering,
    input: Node,
    a: &LogicalAggregate,
    sets: &GroupingSet,
) -> Result<(Node, Vec<Vec<ScalarValue>>)> {
    let schema = a.input.schema();
    let all = sets.distinct_expr();
    let lists: Vec<Vec<&LogicalExpr>> = match sets {
        GroupingSet::GroupingSets(sets) => sets.iter().map(|s| s.iter().collect()).collect(),
        GroupingSet::Rollup(keys) => (0..=keys.len()).rev().map(|n| keys[..n].iter().collect()).collect(),
        GroupingSet::Cube(keys) => (0..1_usize << keys.len())
            .map(|bits| keys.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 0).map(|(_, k)| k).collect())
            .collect(),
    };
    let compiled = all.iter().map(|e| lowering.compiler.compile(e, schema)).collect::<Result<Vec<_>>>()?;
    let id_type = a.schema.field(all.len()).data_type().clone();
    let through = columns(&input.schema, 0, input.schema.fields().len());
    let mut seen: Vec<u64> = Vec::new();
    let mut totals = Vec::new();
    let mut out = Vec::new();
    for list in &lists {
        let mut exprs = through.clone();
        let mut bits = 0_u64;
        for (key, compiled) in all.iter().zip(&compiled) {
            let present = list.contains(key);
            bits = bits << 1 | u64::from(!present);
            exprs.push(if present {
                compiled.clone()
            } else {
                let t = compiled.data_type(&input.schema)?;
                Arc::new(Literal::new(ScalarValue::try_from(&t)?))
            });
        }
        let ordinal = seen.iter().filter(|b| **b == bits).count() as u64;
        seen.push(bits);
        let id = ScalarValue::UInt64(Some(ordinal << all.len() | bits)).cast_to(&id_type)?;
        if list.is_empty() {
            let nulls = compiled.iter().map(|c| ScalarValue::try_from(&c.data_type(&input.schema)?));
            totals.push(nulls.chain([Ok(id.clone())]).collect::<datafusion_common::Result<_>>()?);
        }
        exprs.push(Arc::new(Literal::new(id)));
        out.push(exprs);
    }
    let keys = a.schema.as_arrow().fields()[..=all.len()].iter().map(|f| f.as_ref().clone());
    let fields: Vec<Field> = input.schema.fields().iter().map(|f| f.as_ref().clone()).chain(keys).collect();
    let rows = input.rows * out.len() as f64;
    Ok((lowering.node(Op::Expand { sets: out }, nullable(&Schema::new(fields)), vec![input], rows), totals))
}
