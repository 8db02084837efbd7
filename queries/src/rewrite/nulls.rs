//! Sums and bits of NULL. A column of which nothing but NULL is known has the type NULL, and there is no sum of that, and
//! are no bits: it is an integer here.

use arrow_schema::DataType;
use datafusion_common::Result as DfResult;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::logical_plan::Aggregate;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, cast};

use crate::error::Result;
use crate::tree;

/// Aggregates that take no NULL without a type.
const OF_INTEGERS: [&str; 4] = ["sum", "bit_and", "bit_or", "bit_xor"];

/// Gives their arguments a type.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = false;
    let rewritten = tree::plan_up(plan.clone(), &mut |node| {
        let node = match node {
            LogicalPlan::Aggregate(aggregate) => {
                let (aggregate, typed) = of_aggregate(aggregate)?;
                found |= typed;
                LogicalPlan::Aggregate(aggregate)
            }
            other => other,
        };
        if found {
            Transformed::yes(node).map_data(LogicalPlan::recompute_schema)
        } else {
            Ok(Transformed::no(node))
        }
    })?;
    Ok(if found { rewritten.data } else { plan })
}

fn of_aggregate(mut aggregate: Aggregate) -> DfResult<(Aggregate, bool)> {
    let schema = aggregate.input.schema().clone();
    let mut found = false;
    for call in &mut aggregate.aggr_expr {
        let typed = tree::expr_up(call.clone(), &mut |mut e| {
            let Expr::AggregateFunction(f) = &mut e else { return Ok(Transformed::no(e)) };
            if !OF_INTEGERS.contains(&f.func.name()) {
                return Ok(Transformed::no(e));
            }
            let mut changed = false;
            for argument in &mut f.params.args {
                if argument.get_type(schema.as_ref())? == DataType::Null {
                    *argument = cast(std::mem::take(argument), DataType::Int64);
                    changed = true;
                }
            }
            Ok(Transformed::new_transformed(e, changed))
        })?;
        found |= typed.transformed;
        *call = typed.data;
    }
    match found {
        true => {
            let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
            Ok((Aggregate::try_new(input, group_expr, aggr_expr)?, true))
        }
        false => Ok((aggregate, false)),
    }
}
