//! Writes the rows of a query to files. As many threads as there are workers encode them.
//!
//! Rows that lie on worker 0 have an order (`ORDER BY`, `LIMIT`), which is kept: their blocks are encoded in parallel
//! and written in order. Rows that lie on all workers are not brought together: the rows of each worker go into files
//! of their own.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;

use crate::context::memory;
use crate::error::{Error, Result};
use crate::execution::run::Results;
use crate::operators::output::{Queue, Taken};
use crate::writing::dataset::{Output, Parts, Rows, Written};
use crate::writing::ordered_pipeline::Step;

/// How long a thread waits for a batch before it looks for other work.
const PATIENCE: Duration = Duration::from_millis(10);

/// Writes all rows of a running query, and makes them appear. `lay_out` gives a batch the columns with which `output`
/// was opened.
pub fn copy(
    results: &mut Results,
    mut output: Output,
    lay_out: impl Fn(RecordBatch) -> formats::Result<RecordBatch> + Sync,
) -> Result<Written> {
    let parts = copy_parts(results, &mut output, lay_out)?;
    output.finish(parts, results.state())
}

/// Writes all rows of a running query into files. They appear when the caller hands them to [`Output::finish`].
pub fn copy_parts(
    results: &mut Results,
    output: &mut Output,
    lay_out: impl Fn(RecordBatch) -> formats::Result<RecordBatch> + Sync,
) -> Result<Parts> {
    let outcome = {
        // The threads that write do so too.
        let _entered = results.enter();
        let results = &*results;
        let state = results.state().as_ref();
        let read = |queue: &mut Arc<Queue>| match queue.take(PATIENCE) {
            _ if state.stopped() => Err(Error::Cancelled),
            Taken::Batch(batch) => {
                memory::check(0, || "writing".into())?;
                Ok(Step::Item(lay_out(results.named(&batch)?)?))
            }
            Taken::Late => Ok(Step::Wait),
            Taken::End => Ok(Step::Done),
        };
        match results.queues() {
            [queue] => {
                let mut lane = Some(queue.clone());
                let rows = Rows {
                    files: 1,
                    deal: Box::new(|| Ok(lane.take())),
                    read: Box::new(|lane: &mut Arc<Queue>| Ok(read(lane)?.map(|batch| (0, batch)))),
                };
                output.write(rows, state)
            }
            queues => output.write_apart(queues.to_vec(), read, state),
        }
    };
    match outcome {
        Ok(parts) => {
            results.finish();
            Ok(parts)
        }
        Err(e) => Err(results.stop(e)),
    }
}
