//! What computes each aggregate: palais' own accumulator where it has one.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion_physical_expr::expressions::{CastExpr, Literal};
use expressions::compare::is_interval;
use expressions::functions::aggregates::COUNTED_APART;

use crate::error::Result;
use crate::plan::{AggregateCall, AggregateFunction, Expr};

/// The accumulator of an aggregate over columns of `input`.
pub(crate) fn call(
    f: Arc<AggregateFunctionExpr>,
    filter: Option<Expr>,
    input: &Schema,
) -> Result<AggregateCall> {
    let args = f.expressions();
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
            (AggregateFunction::SumFloat, cast_first(&args, &DataType::Float64, input)?, 1)
        }
        ("sum", DataType::Int64) if plain => {
            (AggregateFunction::SumInt { unsigned: false }, cast_first(&args, &DataType::Int64, input)?, 1)
        }
        ("sum", DataType::UInt64) if plain => {
            (AggregateFunction::SumInt { unsigned: true }, cast_first(&args, &DataType::UInt64, input)?, 1)
        }
        ("sum", DataType::Decimal128(precision, scale)) if plain => {
            let (precision, scale) = (*precision, *scale);
            (AggregateFunction::SumDecimal { precision, scale }, args, 1)
        }
        ("sum", DataType::Duration(_)) if plain => {
            (AggregateFunction::SumInt { unsigned: false }, cast_first(&args, &DataType::Int64, input)?, 1)
        }
        ("sum", t) if plain && is_interval(t) => (AggregateFunction::SumInterval, args, 3),
        ("avg", DataType::Float64) if plain => {
            match args.first().map(|arg| arg.data_type(input)).transpose()? {
                Some(DataType::Decimal128(_, scale)) => (AggregateFunction::AvgDecimal { scale }, args, 2),
                _ => (AggregateFunction::AvgFloat, cast_first(&args, &DataType::Float64, input)?, 2),
            }
        }
        (name @ ("min" | "max"), t) if plain && is_extreme(t) => {
            let function = AggregateFunction::Extreme { max: name == "max", data_type: t.clone() };
            (function, cast_first(&args, t, input)?, 1)
        }
        _ => {
            // An accumulator that depends on an order is given the keys of the order behind its arguments.
            let args = args.into_iter().chain(f.order_bys().iter().map(|s| s.expr.clone())).collect();
            let states = f.state_fields()?.len();
            (AggregateFunction::General(f), args, states)
        }
    };
    Ok(AggregateCall { function, args, filter, state_columns })
}

/// Whether palais itself keeps the values of a DISTINCT aggregate apart. It does so where DataFusion's sum of them
/// would wrap, its count takes intervals of equal length for different ones, or it can't.
pub(crate) fn counts_apart(f: &AggregateFunctionExpr, arg: &Expr, input: &Schema) -> Result<bool> {
    let t = arg.data_type(input)?;
    Ok(match f.fun().name() {
        "sum" | "avg" => !t.is_floating(),
        "count" => is_interval(&t),
        "stddev" | "stddev_pop" | "approx_median" | "bit_xor" => true,
        name => COUNTED_APART.contains(&name),
    })
}

/// Whether palais computes MIN and MAX of this type itself.
pub(crate) fn is_extreme(t: &DataType) -> bool {
    t.is_integer()
        || is_interval(t)
        || t.is_nested()
        || matches!(t, DataType::Float32 | DataType::Float64 | DataType::Date32)
}

/// The arguments, the first of the accumulator's type.
fn cast_first(args: &[Expr], to: &DataType, input: &Schema) -> Result<Vec<Expr>> {
    let mut args = args.to_vec();
    if let Some(first) = args.first_mut()
        && first.data_type(input)? != *to
    {
        *first = Arc::new(CastExpr::new(first.clone(), to.clone(), None));
    }
    Ok(args)
}

/// The columns that carry the states from the partial to the final phase.
pub(crate) fn states(calls: &[AggregateCall]) -> Result<Vec<Field>> {
    let mut fields = Vec::new();
    for (i, c) in calls.iter().enumerate() {
        let field = |t| Field::new(format!("state {i}"), t, true);
        match &c.function {
            AggregateFunction::Count => fields.push(field(DataType::Int64)),
            AggregateFunction::SumFloat => fields.push(field(DataType::Float64)),
            AggregateFunction::SumInt { .. } => fields.push(field(DataType::Decimal128(38, 0))),
            AggregateFunction::SumDecimal { scale, .. } => {
                fields.push(field(DataType::Decimal128(38, *scale)))
            }
            AggregateFunction::Extreme { data_type, .. } => fields.push(field(data_type.clone())),
            AggregateFunction::SumInterval => {
                fields.extend([0; 3].map(|_| field(DataType::Decimal128(38, 0))))
            }
            AggregateFunction::Distinct { data_type, .. } => {
                fields.push(field(DataType::new_list(data_type.clone(), true)))
            }
            AggregateFunction::AvgFloat => fields.extend([field(DataType::Float64), field(DataType::Int64)]),
            AggregateFunction::AvgDecimal { scale } => {
                fields.extend([field(DataType::Decimal128(38, *scale)), field(DataType::Int64)])
            }
            AggregateFunction::General(f) => {
                fields.extend(f.state_fields()?.iter().map(|f| f.as_ref().clone().with_nullable(true)))
            }
        }
    }
    Ok(fields)
}
