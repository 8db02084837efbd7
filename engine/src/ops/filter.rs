//! Keeps the rows for which a predicate is true.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_select::coalesce::BatchCoalescer;
use queries::plan::Expr;

use super::{evaluate, rows_of};
use crate::batch::{BATCH_ROWS, Parcel};
use crate::error::Result;
use crate::operator::{Operator, Pull};

/// Keeps the rows for which the predicate is true; NULL is not. Small results are put together.
pub struct Filter {
    predicate: Expr,
    kept: BatchCoalescer,
}

impl Filter {
    /// Filters batches of this schema.
    pub fn new(predicate: Expr, schema: arrow_schema::SchemaRef) -> Filter {
        Filter { predicate, kept: BatchCoalescer::new(schema, BATCH_ROWS) }
    }
}

impl Operator for Filter {
    fn push(&mut self, _port: usize, parcel: Parcel) -> Result<()> {
        let batch: &RecordBatch = rows_of(&parcel);
        let mask = evaluate(&self.predicate, batch)?;
        let mask = mask.as_boolean();
        match mask.true_count() {
            0 => {}
            n if n == batch.num_rows() => self.kept.push_batch(batch.clone())?,
            _ => self.kept.push_batch_with_filter(batch.clone(), mask)?,
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(self.kept.finish_buffered_batch()?)
    }

    fn pull(&mut self) -> Result<Pull> {
        Ok(self.kept.next_completed_batch().map_or(Pull::Empty, |b| Pull::Batch(Parcel::from(b))))
    }
}
