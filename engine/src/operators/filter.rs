//! Keeps the rows for which a predicate is true.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_select::coalesce::BatchCoalescer;
use arrow_select::filter::filter_record_batch;
use queries::plan::Expr;

use super::{Ready, evaluate, rows_of};
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Keeps the rows for which the predicate is true. NULL is not true.
///
/// If few rows of a batch are kept, the filter copies them together into full batches. If many are kept, the batch
/// stays small, and its strings are not copied.
pub struct Filter {
    predicate: Expr,
    sparse: BatchCoalescer,
    ready: Ready,
}

/// A batch is sparse if the filter keeps less than one row in so many.
const SPARSE: usize = 8;

impl Filter {
    /// Filters batches of this schema.
    pub fn new(predicate: Expr, schema: arrow_schema::SchemaRef) -> Filter {
        Filter { predicate, sparse: BatchCoalescer::new(schema, BATCH_ROWS), ready: Ready::default() }
    }

    fn drain(&mut self) {
        while let Some(batch) = self.sparse.next_completed_batch() {
            self.ready.add(batch);
        }
    }
}

impl Operator for Filter {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch: &RecordBatch = rows_of(&given);
        let mask = evaluate(&self.predicate, batch)?;
        let mask = mask.as_boolean();
        match mask.true_count() {
            0 => {}
            n if n == batch.num_rows() => self.ready.add(batch.clone()),
            n if n * SPARSE < batch.num_rows() => {
                self.sparse.push_batch_with_filter(batch.clone(), mask)?;
                self.drain();
            }
            _ => self.ready.add(filter_record_batch(batch, mask)?),
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        self.flush()
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.ready.pull())
    }

    fn flush(&mut self) -> Result<()> {
        self.sparse.finish_buffered_batch()?;
        self.drain();
        Ok(())
    }
}
