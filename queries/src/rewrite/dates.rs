//! Dates plus and minus a number of days. The analyser would make the number an interval of nanoseconds, which dates
//! don't have.

use arrow_schema::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result as DfResult};
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, cast};

use crate::error::Result;
use crate::tree;

/// Rewrites the sums of a plan that is not analysed yet.
pub fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(tree::all_expressions_up(plan, &mut days)?)
}

/// Whether an operand is a long sum itself. It is no date then: with a date at its beginning it would be a cast by now.
/// To ask for the type of every part of a sum of thousands would take long.
fn is_long(mut e: &Expr) -> bool {
    let mut depth = 0;
    while let Expr::BinaryExpr(sum) = e {
        depth += 1;
        e = &sum.left;
    }
    depth > 8
}

/// A sum of a date and an integer, over the days since 1970, as which dates lie in memory.
fn days(e: Expr, schema: &DFSchema) -> DfResult<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::Plus | Operator::Minus), right }) = &e else {
        return Ok(Transformed::no(e));
    };
    if is_long(left) || is_long(right) {
        return Ok(Transformed::no(e));
    }
    let (Ok(of_left), Ok(of_right)) = (left.get_type(schema), right.get_type(schema)) else {
        return Ok(Transformed::no(e));
    };
    let forward = of_left == DataType::Date32 && of_right.is_integer();
    let backward = of_left.is_integer() && of_right == DataType::Date32 && *op == Operator::Plus;
    if !forward && !backward {
        return Ok(Transformed::no(e));
    }
    let day = |e: &Expr| cast(e.clone(), DataType::Int32);
    let sum = Expr::BinaryExpr(BinaryExpr::new(Box::new(day(left)), *op, Box::new(day(right))));
    Ok(Transformed::yes(cast(sum, DataType::Date32)))
}
