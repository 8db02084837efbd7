//! Sorts, or keeps the first rows of an order.
//!
//! Rows whose keys fit in an integer wait until all of them are there, and are sorted at once ([`packed_run`]). Where
//! memory is scarce, and for other keys, some rows at a time become a sorted run, and the runs are merged.
//!
//! - [`packed`]: the keys of a row as one integer.
//! - [`columns`]: rows by their places.

mod columns;
mod packed;
mod packed_run;

use std::collections::VecDeque;
use std::rc::Rc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use columns::MOST_BATCHES;
use packed::Keys;
use packed_run::PackedRun;

use super::merge::{Merger, Step};
use super::order::{Order, Part, Sorter, gather};
use super::rows_of;
use crate::context::memory;
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
    pending: VecDeque<Pending>,
    rows: usize,
    bytes: usize,
    /// What is known of the keys so far, if all rows shall be sorted at once.
    keys: Option<Keys>,
    /// Of a top-k, the prefix of the last row that may be among the first ones.
    worst: Option<u128>,
    /// Of a top-k, the bytes that those rows took when they were last sorted.
    top_bytes: usize,
    sorter: Sorter,
    runs: Vec<VecDeque<RecordBatch>>,
    /// The bytes of the runs before they are merged.
    run_bytes: usize,
    /// What gives the rows, once all have come.
    gives: Option<Gives>,
    ended: bool,
}

/// A batch that waits, and the columns by which it is sorted.
struct Pending {
    batch: RecordBatch,
    columns: Vec<ArrayRef>,
    /// The columns that are packed, if all rows shall be sorted at once.
    packable: Vec<ArrayRef>,
    bytes: usize,
}

/// What gives the sorted rows.
enum Gives {
    Packed(Box<PackedRun>),
    Merged(Merger),
}

impl Sort {
    /// Sorts batches of `schema`.
    pub fn new(order: Order, fetch: Option<usize>, schema: SchemaRef) -> Sort {
        let is_top = fetch.is_some_and(|rows| rows <= TOP_ROWS);
        let types = order.types(&schema).filter(|_| !is_top);
        let keys = types.and_then(|types| Keys::new(&types));
        Sort {
            order: Rc::new(order),
            fetch,
            schema,
            pending: VecDeque::new(),
            rows: 0,
            bytes: 0,
            keys,
            worst: None,
            top_bytes: 0,
            sorter: Sorter::default(),
            runs: Vec::new(),
            run_bytes: 0,
            gives: None,
            ended: false,
        }
    }

    /// The rows wanted, if they are few enough for a top-k.
    fn top(&self) -> Option<usize> {
        self.fetch.filter(|n| *n <= TOP_ROWS)
    }

    fn keep(&mut self, batch: RecordBatch, columns: Vec<ArrayRef>, packable: Vec<ArrayRef>) {
        let bytes = batch_bytes(&batch);
        self.rows += batch.num_rows();
        self.bytes += bytes;
        self.pending.push_back(Pending { batch, columns, packable, bytes });
    }

    /// Keeps a batch whose rows are sorted with all others.
    fn keep_for_all(&mut self, batch: &RecordBatch) -> Result<()> {
        for from in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            let batch = compact(&batch.slice(from, BATCH_ROWS.min(batch.num_rows() - from)));
            let columns = self.order.columns(&batch)?;
            let packable = match &mut self.keys {
                Some(keys) => keys.add(&columns, batch.num_rows())?,
                None => None,
            };
            if packable.is_none() {
                self.keys = None;
            }
            self.keep(batch, columns, packable.unwrap_or_default());
        }
        if memory::is_scarce() || self.pending.len() >= MOST_BATCHES {
            self.keys = None;
        }
        Ok(())
    }

    /// The rows of the first `batches` pending batches in their order, at most `fetch` of them.
    fn sort_pending(&mut self, batches: usize) -> Result<VecDeque<RecordBatch>> {
        let (mut pieces, mut keys) = (Vec::with_capacity(batches), Vec::with_capacity(batches));
        for first in self.pending.drain(..batches) {
            self.rows -= first.batch.num_rows();
            self.bytes -= first.bytes;
            keys.push(self.order.keys_of(&first.columns)?);
            pieces.push(first.batch);
        }
        let parts = keys.iter().map(|keys| Part { keys, rows: 0..keys.count() });
        self.sorter.sort(&parts.collect::<Vec<_>>(), self.fetch);
        let sorted = self.sorter.sorted();
        if let (Some(n), Some((last, row))) = (self.top(), sorted.last())
            && sorted.len() == n
        {
            self.worst = Some(keys[*last].prefix(*row));
        }
        let pieces: Vec<&RecordBatch> = pieces.iter().collect();
        sorted
            .chunks(PIECE_ROWS)
            .map(|rows| Ok(compact(&gather(&self.schema, &pieces, rows)?)))
            .collect::<Result<_>>()
    }

    /// Makes a run of the first pending rows.
    fn add_run(&mut self) -> Result<()> {
        let (mut batches, mut rows, mut bytes) = (0, 0, 0);
        for pending in &self.pending {
            if self.top().is_none() && (rows >= RUN_ROWS || bytes >= RUN_BYTES) {
                break;
            }
            batches += 1;
            rows += pending.batch.num_rows();
            bytes += pending.bytes;
        }
        let run = self.sort_pending(batches)?;
        self.run_bytes += run.iter().map(batch_bytes).sum::<usize>();
        self.runs.push(run);
        Ok(())
    }

    /// Keeps the rows of a batch that may be among the first `n`.
    fn push_to_top(&mut self, batch: &RecordBatch, n: usize) -> Result<()> {
        let batch = match self.worst {
            None => compact(batch),
            Some(worst) => {
                let keys = self.order.keys(batch)?;
                let mask: BooleanArray = keys.prefixes().iter().map(|p| Some(*p <= worst)).collect();
                if mask.true_count() == 0 {
                    return Ok(());
                }
                compact(&filter_record_batch(batch, &mask)?)
            }
        };
        let columns = self.order.columns(&batch)?;
        self.keep(batch, columns, Vec::new());
        if self.rows >= (4 * n).max(2 * BATCH_ROWS) || self.bytes >= RUN_BYTES.max(4 * self.top_bytes) {
            for batch in self.sort_pending(self.pending.len())? {
                let columns = self.order.columns(&batch)?;
                self.keep(batch, columns, Vec::new());
            }
            self.top_bytes = self.bytes;
        }
        Ok(())
    }

    /// Takes the pending rows to sort them at once, if their keys fit in integers and there is memory for those.
    fn packed_run(&mut self) -> Result<Option<PackedRun>> {
        let Some(keys) = self.keys.take().filter(|_| self.rows > 0) else { return Ok(None) };
        if memory::is_short((2 * self.rows * size_of::<u128>()) as u64) {
            return Ok(None);
        }
        let Some(packing) = keys.packing(self.order.options())? else { return Ok(None) };
        let (batches, keys) = self.pending.drain(..).map(|p| (p.batch, p.packable)).unzip();
        self.rows = 0;
        Ok(Some(PackedRun::new(batches, keys, packing, self.fetch)))
    }
}

impl Operator for Sort {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        match self.top() {
            Some(0) => {}
            Some(n) => self.push_to_top(batch, n)?,
            None if self.keys.is_some() => self.keep_for_all(batch)?,
            None => {
                // A run is compacted when it is sorted, so that strings are copied once.
                let columns = self.order.columns(batch)?;
                self.keep(batch.clone(), columns, Vec::new());
                if self.rows >= RUN_ROWS || self.bytes >= RUN_BYTES {
                    self.add_run()?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        self.gives = self.packed_run()?.map(|run| Gives::Packed(Box::new(run)));
        self.ended = true;
        Ok(())
    }

    fn kept(&self) -> usize {
        let integers = match &self.gives {
            Some(Gives::Packed(run)) => run.bytes(),
            _ => self.keys.as_ref().map_or(0, Keys::bytes),
        };
        self.bytes + self.run_bytes + integers
    }

    fn pull(&mut self) -> Result<Pull> {
        if !self.ended {
            return Ok(Pull::Empty);
        }
        // Nothing is given yet: the glue looks at the flags, and pulls again.
        let nothing = RecordBatch::new_empty(self.schema.clone());
        match &mut self.gives {
            None if self.pending.is_empty() => {
                let (order, schema) = (self.order.clone(), self.schema.clone());
                let merger = Merger::new(order, schema, self.runs.len(), self.fetch);
                self.gives = Some(Gives::Merged(merger));
                self.pull()
            }
            None => {
                self.add_run()?;
                Ok(Pull::Batch(ExchangeBatch::from(nothing)))
            }
            Some(Gives::Packed(run)) if run.is_done() => Ok(Pull::Empty),
            Some(Gives::Packed(run)) => Ok(Pull::Batch(ExchangeBatch::from(run.step()?.unwrap_or(nothing)))),
            Some(Gives::Merged(merger)) => loop {
                match merger.step()? {
                    Step::Batch(batch) => break Ok(Pull::Batch(ExchangeBatch::from(batch))),
                    Step::Done => break Ok(Pull::Empty),
                    Step::Wants(run) => match self.runs[run].pop_front() {
                        Some(batch) => merger.give(run, batch)?,
                        None => merger.end(run),
                    },
                }
            },
        }
    }
}
