//! The events that operators of one worker wait for: room before a consumer, the end of a producer, and a complete
//! build side.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use timely::scheduling::Activator;

/// Stands between two operators of a worker. The gate counts the batches that wait before the consumer, and wakes the
/// producer when there is room. It says when the producer has given its last batch.
///
/// timely's frontier says that too, but only once the producers of *all* workers are done. A worker without rows could
/// then not tell the other workers that it is done, while they wait for that.
#[derive(Default)]
pub struct Gate {
    pub(super) waiting: Cell<usize>,
    ended: Cell<bool>,
    producer: RefCell<Option<Rc<Activator>>>,
    consumer: RefCell<Option<Rc<Activator>>>,
}

impl Gate {
    /// The most batches that wait before a consumer.
    pub const LIMIT: usize = 4;

    /// Whether one more batch may wait. If not, `producer` is activated once there is room.
    pub(super) fn has_room(&self, producer: &Rc<Activator>) -> bool {
        if self.waiting.get() < Gate::LIMIT {
            return true;
        }
        *self.producer.borrow_mut() = Some(producer.clone());
        false
    }

    /// Sets the consumer, which is activated when the producer has ended.
    pub(super) fn tell(&self, consumer: Rc<Activator>) {
        *self.consumer.borrow_mut() = Some(consumer);
    }

    /// Notes that the producer gives no more batches.
    pub(super) fn end(&self) {
        self.ended.set(true);
        if let Some(consumer) = self.consumer.borrow().as_ref() {
            consumer.activate();
        }
    }

    /// Whether the consumer has taken the last batch.
    pub(super) fn is_over(&self) -> bool {
        self.ended.get() && self.waiting.get() == 0
    }

    /// Notes that the consumer has taken batches.
    pub(super) fn release(&self, batches: usize) {
        self.waiting.set(self.waiting.get() - batches);
        if self.waiting.get() < Gate::LIMIT
            && let Some(producer) = self.producer.borrow_mut().take()
        {
            producer.activate();
        }
    }
}

/// A build barrier: opens when the build side of a join is complete on one worker. The scans of the probe side wait for
/// it.
#[derive(Default)]
pub struct BuildBarrier {
    open: Cell<bool>,
    waiting: RefCell<Vec<Rc<Activator>>>,
}

impl BuildBarrier {
    /// Whether the barrier is open. If not, `waiter` is activated once it is.
    pub fn wait(&self, waiter: &Rc<Activator>) -> bool {
        if !self.open.get() {
            self.waiting.borrow_mut().push(waiter.clone());
        }
        self.open.get()
    }

    /// Opens the barrier.
    pub fn open(&self) {
        self.open.set(true);
        self.waiting.borrow_mut().drain(..).for_each(|w| w.activate());
    }
}
