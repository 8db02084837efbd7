//! The end of a plan, on worker 0: hands batches to the caller's thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use arrow_array::RecordBatch;
use timely::scheduling::SyncActivator;

use super::rows_of;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Operator, Pull, Wake};
use crate::error::Result;

/// A bounded queue between worker 0 and the caller.
#[derive(Default)]
pub struct Queue {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    batches: VecDeque<RecordBatch>,
    /// Whoever takes batches sleeps until there are so many.
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

/// What was there when a batch was asked for.
pub enum Taken {
    /// A batch.
    Batch(RecordBatch),
    /// None came in time.
    Late,
    /// No more come.
    End,
}

const CAPACITY: usize = 16;
/// Who waits for room is woken when there is some more of it: to be woken costs more than to put a batch.
const ROOMY: usize = CAPACITY / 2;

/// Whoever takes batches faster than they come sleeps until there are so many, but not longer than that: each time it is
/// woken costs as much as to make some hundred rows.
const SOME: usize = ROOMY;
const MOMENT: Duration = Duration::from_millis(3);

/// How long is waited for room before it is looked whether the query was stopped.
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

    /// Puts a batch from a thread that is no worker, and waits while the queue is full; false if it was `stopped`.
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

    /// No more batches come.
    pub fn end(&self) {
        self.inner.lock().expect("nothing panics with this lock").ended = true;
        self.changed.notify_all();
    }

    /// The next batch.
    pub fn take(&self, patience: Duration) -> Taken {
        let mut inner = self.inner.lock().expect("nothing panics with this lock");
        let mut waited = false;
        loop {
            if let Some(batch) = inner.batches.pop_front() {
                if inner.batches.len() <= ROOMY
                    && let Some(blocked) = inner.blocked.take()
                {
                    // A worker that is gone needs no waking.
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

/// Puts batches into the queue, and waits while it is full.
pub struct Output {
    queue: Arc<Queue>,
    wake: Wake,
    waiting: Option<ExchangeBatch>,
}

impl Output {
    /// Into `queue`.
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
