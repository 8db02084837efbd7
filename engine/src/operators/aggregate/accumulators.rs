//! The accumulator of each call, and states of rows that are not grouped.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use datafusion_common::Result as DfResult;
use datafusion_expr::GroupsAccumulator;
use queries::accumulators::{self, passes};
use queries::plan::{AggregateCall, AggregateFunction};

use super::distinct::Distinct;
use crate::error::Result;

/// Makes the accumulator of a function. With `empty` there may be a group without rows.
pub fn accumulator(function: &AggregateFunction, empty: bool) -> Result<Box<dyn GroupsAccumulator>> {
    Ok(match function {
        AggregateFunction::Distinct { of, data_type } => {
            Box::new(Distinct::new(of.as_ref().clone(), data_type)?)
        }
        other => accumulators::accumulator(other, empty)?,
    })
}

/// Whether each accumulator can turn rows into states without grouping them.
pub fn all_convert(calls: &[AggregateCall]) -> bool {
    calls.iter().all(|c| !matches!(c.function, AggregateFunction::General(_)))
}

/// The states of rows, as if each row were a group.
pub fn states_of(
    accumulator: &dyn GroupsAccumulator,
    args: &[ArrayRef],
    filter: Option<&BooleanArray>,
    rows: usize,
) -> DfResult<Vec<ArrayRef>> {
    if args.is_empty() {
        // COUNT(*): a row counts one.
        let counts = (0..rows).map(|i| i64::from(passes(filter, i)));
        return Ok(vec![Arc::new(counts.collect::<Int64Array>())]);
    }
    accumulator.convert_to_state(args, filter)
}
