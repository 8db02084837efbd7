//! Aggregates. Arguments, and keys of their order, that can fail are evaluated only on the rows that FILTER lets through.

use std::sync::Arc;

use arrow_schema::SortOptions;
use datafusion_physical_expr::PhysicalSortExpr;
use datafusion_physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion_physical_expr::expressions::case;

use super::{Compiler, Layout};
use crate::algebra::{Call, Expr};
use crate::error::Result;
use crate::plan;

impl Compiler {
    /// Compiles a call of an aggregate over the columns of batches. These are the function with its arguments, the
    /// condition of FILTER, and the keys of its ORDER BY. The arguments of the function
    /// ([`AggregateFunctionExpr::expressions`]) and the keys are as they have to be evaluated; nothing is left to be
    /// checked.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn aggregate(
        &self,
        call: &Call,
        input: &Layout,
        name: &str,
    ) -> Result<(Arc<AggregateFunctionExpr>, Option<plan::Expr>, Vec<plan::SortKey>)> {
        let filter = match &call.filter {
            Some(filter) => Some(self.part(filter, input, true)?.expr),
            None => None,
        };
        let guarded = |e: &Expr| -> Result<plan::Expr> {
            let part = self.part(e, input, false)?;
            Ok(match &filter {
                Some(filter) if part.fails => case(None, vec![(filter.clone(), part.expr)], None)?,
                _ => part.expr,
            })
        };
        let args = call.args.iter().map(guarded).collect::<Result<Vec<_>>>()?;
        let mut keys: Vec<plan::SortKey> = Vec::with_capacity(call.order_by.len());
        for key in &call.order_by {
            let expr = guarded(&key.expr)?;
            let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
            // A key that stands twice decides nothing the second time, and accumulators fail on it.
            if keys.iter().all(|known| !known.expr.eq(&expr)) {
                keys.push(plan::SortKey { expr, options });
            }
        }
        let order = keys.iter().map(|key| PhysicalSortExpr { expr: key.expr.clone(), options: key.options });
        let function = AggregateExprBuilder::new(call.function.clone(), args)
            .order_by(order.collect())
            .schema(input.schema().clone())
            .alias(name)
            .with_ignore_nulls(call.ignore_nulls.unwrap_or(false))
            .with_distinct(call.distinct)
            .build()?;
        Ok((Arc::new(function), filter, keys))
    }
}
