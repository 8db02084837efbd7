//! Sorts, or keeps the first rows of an order.

use std::collections::VecDeque;
use std::rc::Rc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use super::merge::{Merger, Step};
use super::order::{Keys, Order, Part, Sorter, gather};
use super::rows_of;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_bytes, compact};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;

/// Rows that are sorted at once: so many, or so many bytes. Such a run is sorted well within 50 ms and mostly within
/// the processor's cache; at the end the runs are merged.
const RUN_ROWS: usize = 8 * BATCH_ROWS;
const RUN_BYTES: usize = 32 << 20;

/// A top-k keeps at most so many rows; where more are wanted all are sorted.
const TOP_ROWS: usize = RUN_ROWS / 4;

/// A sorted run lies in batches of so many rows, each with its own strings. The batches are dropped one by one as the
/// runs are merged. The merge holds the keys of one batch a run.
const PIECE_ROWS: usize = BATCH_ROWS / 2;

/// Sorts all rows; with `fetch` it gives only so many of the first ones.
pub struct Sort {
    order: Rc<Order>,
    fetch: Option<usize>,
    schema: SchemaRef,
    /// Rows that are in no run yet.
    pending: Vec<(RecordBatch, Keys)>,
    rows: usize,
    bytes: usize,
    /// Of a top-k, the prefix of the last row that may be among the first ones.
    worst: Option<u128>,
    /// Of a top-k, the bytes that those rows took when they were last sorted.
    top_bytes: usize,
    sorter: Sorter,
    runs: Vec<VecDeque<RecordBatch>>,
    /// The bytes of the runs before they are merged.
    run_bytes: usize,
    merger: Option<Merger>,
}

impl Sort {
    /// Sorts batches of `schema`.
    pub fn new(order: Order, fetch: Option<usize>, schema: SchemaRef) -> Sort {
        Sort {
            order: Rc::new(order),
            fetch,
            schema,
            pending: Vec::new(),
            rows: 0,
            bytes: 0,
            worst: None,
            top_bytes: 0,
            sorter: Sorter::default(),
            runs: Vec::new(),
            run_bytes: 0,
            merger: None,
        }
    }

    /// The rows wanted, if they are few enough for a top-k.
    fn top(&self) -> Option<usize> {
        self.fetch.filter(|n| *n <= TOP_ROWS)
    }

    fn keep(&mut self, batch: RecordBatch) -> Result<()> {
        let keys = self.order.keys(&batch)?;
        self.rows += batch.num_rows();
        self.bytes += batch_bytes(&batch);
        self.pending.push((batch, keys));
        Ok(())
    }

    /// The pending rows in their order, the first `fetch` of them.
    fn sort_pending(&mut self) -> Result<VecDeque<RecordBatch>> {
        let parts = self.pending.iter().map(|(_, keys)| Part { keys, rows: 0..keys.count() });
        self.sorter.sort(&parts.collect::<Vec<_>>(), self.fetch);
        let sorted = self.sorter.sorted();
        if let (Some(n), Some((last, row))) = (self.top(), sorted.last())
            && sorted.len() == n
        {
            self.worst = Some(self.pending[*last].1.prefix(*row));
        }
        let pieces: Vec<&RecordBatch> = self.pending.iter().map(|(batch, _)| batch).collect();
        let run = sorted
            .chunks(PIECE_ROWS)
            .map(|rows| Ok(compact(&gather(&self.schema, &pieces, rows)?)))
            .collect::<Result<_>>()?;
        self.pending.clear();
        (self.rows, self.bytes) = (0, 0);
        Ok(run)
    }

    fn add_run(&mut self) -> Result<()> {
        let run = self.sort_pending()?;
        self.run_bytes += run.iter().map(batch_bytes).sum::<usize>();
        self.runs.push(run);
        Ok(())
    }
}

impl Operator for Sort {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        let Some(n) = self.top() else {
            // A run is compacted when it is sorted, so that strings are copied once.
            self.keep(batch.clone())?;
            if self.rows >= RUN_ROWS || self.bytes >= RUN_BYTES {
                self.add_run()?;
            }
            return Ok(());
        };
        if n == 0 {
            return Ok(());
        }
        match self.worst {
            None => self.keep(compact(batch))?,
            Some(worst) => {
                let keys = self.order.keys(batch)?;
                let mask: BooleanArray = keys.prefixes().iter().map(|p| Some(*p <= worst)).collect();
                if mask.true_count() > 0 {
                    self.keep(compact(&filter_record_batch(batch, &mask)?))?;
                }
            }
        }
        if self.rows >= (4 * n).max(2 * BATCH_ROWS) || self.bytes >= RUN_BYTES.max(4 * self.top_bytes) {
            self.sort_pending()?.into_iter().try_for_each(|batch| self.keep(batch))?;
            self.top_bytes = self.bytes;
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        if self.rows > 0 {
            self.add_run()?;
        }
        let merger = Merger::new(self.order.clone(), self.schema.clone(), self.runs.len(), self.fetch);
        self.merger = Some(merger);
        Ok(())
    }

    fn kept(&self) -> usize {
        self.bytes + self.run_bytes
    }

    fn pull(&mut self) -> Result<Pull> {
        let Some(merger) = &mut self.merger else { return Ok(Pull::Empty) };
        loop {
            match merger.step()? {
                Step::Batch(batch) => return Ok(Pull::Batch(ExchangeBatch::from(batch))),
                Step::Done => return Ok(Pull::Empty),
                Step::Wants(run) => match self.runs[run].pop_front() {
                    Some(batch) => merger.give(run, batch)?,
                    None => merger.end(run),
                },
            }
        }
    }
}
