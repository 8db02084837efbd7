//! One operator, one file.

pub mod absorb;
pub mod aggregate;
#[cfg(test)]
mod driven;
pub mod exchange;
pub mod expand;
pub mod filter;
pub mod in_order;
pub mod join;
pub mod limit;
pub mod memory_tracker;
pub mod merge;
pub mod order;
pub mod output;
pub mod project;
pub mod repeat;
pub mod scan;
pub mod shared;
pub mod sort;
pub mod transform;
pub mod union;
pub mod unnest;
pub mod values;
pub mod window;

use std::collections::VecDeque;

use arrow_array::{ArrayRef, RecordBatch};
use queries::plan::Expr;

use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_bytes};
use crate::dataflow::operator::Pull;
use crate::error::Result;

/// Evaluates an expression to one value a row.
pub fn evaluate(expr: &Expr, batch: &RecordBatch) -> Result<ArrayRef> {
    Ok(expr.evaluate(batch)?.into_array(batch.num_rows())?)
}

/// Evaluates several.
pub fn evaluate_all(exprs: &[Expr], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    exprs.iter().map(|e| evaluate(e, batch)).collect()
}

/// The batches that an operator has ready.
#[derive(Default)]
pub struct Ready(VecDeque<RecordBatch>);

impl Ready {
    /// Adds a batch.
    pub fn add(&mut self, batch: RecordBatch) {
        if batch.num_rows() > 0 {
            self.0.push_back(batch);
        }
    }

    /// Gives the oldest one.
    pub fn pull(&mut self) -> Pull {
        self.0.pop_front().map_or(Pull::Empty, |b| Pull::Batch(ExchangeBatch::from(b)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The rows of an exchange batch. Those that operators see always have some.
pub fn rows_of(given: &ExchangeBatch) -> &RecordBatch {
    given.batch.as_ref().expect("timely hands parcels over whole")
}

/// Cuts a large batch into batches of at most [`BATCH_ROWS`] rows, and if rows are large, of about so many bytes.
pub fn slices(batch: RecordBatch, bytes: usize) -> impl Iterator<Item = RecordBatch> {
    let total = batch.num_rows();
    let rows = (total.saturating_mul(bytes) / batch_bytes(&batch)).clamp(1, BATCH_ROWS);
    (0..total).step_by(rows).map(move |from| batch.slice(from, rows.min(total - from)))
}
