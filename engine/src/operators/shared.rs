//! Reads the rows of a stage.

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use queries::plan::Shared as Plan;

use crate::context::query::QueryState;
use crate::dataflow::batch::{ExchangeBatch, batch_of};
use crate::dataflow::operator::{BuildBarrier, Operator, Pull, Wake};
use crate::error::Result;
use crate::state::kept::Reading;

/// Reads batches of a stage on one worker. The workers of a process take the batches in turn.
pub struct Shared {
    plan: Plan,
    schema: SchemaRef,
    reading: Arc<Reading>,
    state: Arc<QueryState>,
    barriers: Vec<Rc<BuildBarrier>>,
    wake: Wake,
    /// Rows that are still wanted of this worker, if that is limited.
    left: Option<usize>,
    /// The batch whose number was told, for readings in order.
    waiting: Option<RecordBatch>,
}

impl Shared {
    /// Takes batches of `reading` once all barriers are open, and gives them with the columns of `schema`.
    pub fn new(
        plan: &Plan,
        schema: SchemaRef,
        reading: Arc<Reading>,
        state: Arc<QueryState>,
        barriers: Vec<Rc<BuildBarrier>>,
        wake: Wake,
    ) -> Shared {
        let left = plan.fetch;
        Shared { plan: plan.clone(), schema, reading, state, barriers, wake, left, waiting: None }
    }

    fn given(&mut self, batch: &RecordBatch) -> Result<Pull> {
        let rows = batch.num_rows();
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(rows);
        }
        let columns = self.plan.projection.iter().map(|column| batch.column(*column).clone()).collect();
        Ok(Pull::Batch(ExchangeBatch::from(batch_of(&self.schema, columns, rows)?)))
    }
}

impl Operator for Shared {
    fn push(&mut self, _port: usize, _given: ExchangeBatch) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        while let Some(barrier) = self.barriers.last() {
            if !barrier.wait(&self.wake.local) {
                return Ok(Pull::Blocked);
            }
            self.barriers.pop();
        }
        if let Some(batch) = self.waiting.take() {
            return self.given(&batch);
        }
        if self.left == Some(0) || self.state.stopped() {
            return Ok(Pull::Empty);
        }
        let Some((number, batch)) = self.reading.take()? else { return Ok(Pull::Empty) };
        if !self.plan.in_order {
            return self.given(&batch);
        }
        self.waiting = Some(batch);
        let beginning = RecordBatch::new_empty(self.schema.clone());
        Ok(Pull::Batch(ExchangeBatch { begins: Some(number as u64), ..ExchangeBatch::from(beginning) }))
    }
}
