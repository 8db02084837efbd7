//! The end of a plan: hands batches to the caller's thread, from worker 0 or from each worker.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use arrow_array::RecordBatch;
use timely::scheduling::SyncActivator;

use super::rows_of;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Operator, Pull, Wake};
use crate::error::Result;

/// A bounded queue of batches between a worker and the caller.
#[derive(Default)]
pub struct Queue {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    batches: VecDeque<RecordBatch>,
    /// The consumer sleeps until there are so many batches.
    wanted: usize,
    ended: bool,
    blocked: Option<SyncActivator>,
}

impl Inner {
    fn put(&mut self, batch: &RecordBatch, changed: &Condvar) {
        self.batches.push_back(batch.clone());
        if self.batches.len() >= self.wanted {
            changed.notify_all();
        }
    }
}

/// The answer of [`Queue::take`].
pub enum Taken {
    /// A batch.
    Batch(RecordBatch),
    /// No batch came in time.
    Late,
    /// No more batches come.
    End,
}

const CAPACITY: usize = 16;
/// A producer that waits for room is woken when only so many batches are left. To wake it costs more than to put a
/// batch.
const ROOMY: usize = CAPACITY / 2;

/// A consumer that is faster than the producer sleeps until there are so many batches, but for [`MOMENT`] at most. To
/// wake it costs as much as to compute some hundred rows.
const SOME: usize = ROOMY;
const MOMENT: Duration = Duration::from_millis(3);

/// How long [`Queue::put_waiting`] waits for room before it checks whether the query was stopped.
const PATIENCE: Duration = Duration::from_millis(20);

impl Queue {
    fn put(&self, batch: &RecordBatch, wake: &Wake) -> bool {
        let mut inner = self.inner.lock().expect("nothing panics with this lock");
        if inner.batches.len() >= CAPACITY {
            inner.blocked = Some(wake.sync());
            return false;
        }
        inner.put(batch, &self.changed);
        true
    }

    /// Puts a batch into the queue, and waits while the queue is full. False if the query was `stopped`. A thread that
    /// is no worker calls it.
    pub fn put_waiting(&self, batch: &RecordBatch, stopped: impl Fn() -> bool) -> bool {
        let mut inner = self.inner.lock().expect("nothing panics with this lock");
        while inner.batches.len() >= CAPACITY {
            if stopped() {
                return false;
            }
            let waited = self.changed.wait_timeout(inner, PATIENCE);
            inner = waited.expect("nothing panics with this lock").0;
        }
        inner.put(batch, &self.changed);
        true
    }

    /// Notes that no more batches come.
    pub fn end(&self) {
        self.inner.lock().expect("nothing panics with this lock").ended = true;
        self.changed.notify_all();
    }

    /// Takes the next batch. Waits about `patience` for it.
    pub fn take(&self, patience: Duration) -> Taken {
        let mut inner = self.inner.lock().expect("nothing panics with this lock");
        let mut waited = false;
        loop {
            if let Some(batch) = inner.batches.pop_front() {
                if inner.batches.len() <= ROOMY
                    && let Some(blocked) = inner.blocked.take()
                {
                    // A worker that has ended needs no waking.
                    let _ = blocked.activate();
                }
                if inner.batches.len() == ROOMY {
                    self.changed.notify_all();
                }
                return Taken::Batch(batch);
            }
            if inner.ended {
                return Taken::End;
            }
            inner.wanted = if waited { 1 } else { SOME };
            let time = if waited { patience } else { MOMENT };
            let (next, timeout) =
                self.changed.wait_timeout(inner, time).expect("nothing panics with this lock");
            inner = next;
            if waited && timeout.timed_out() && inner.batches.is_empty() && !inner.ended {
                return Taken::Late;
            }
            waited |= timeout.timed_out();
        }
    }
}

/// Puts batches into a queue, and is blocked while the queue is full.
pub struct Output {
    queue: Arc<Queue>,
    wake: Wake,
    waiting: Option<ExchangeBatch>,
}

impl Output {
    /// Puts batches into `queue`.
    pub fn new(queue: Arc<Queue>, wake: Wake) -> Output {
        Output { queue, wake, waiting: None }
    }
}

impl Operator for Output {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        self.waiting = Some(given);
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        if let Some(given) = &self.waiting
            && !self.queue.put(rows_of(given), &self.wake)
        {
            return Ok(Pull::Blocked);
        }
        self.waiting = None;
        Ok(Pull::Empty)
    }
}
