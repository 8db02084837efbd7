//! What operators of one worker wait for: room before a consumer, the end of a producer, and events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use timely::scheduling::Activator;

/// Stands between two operators of a worker. It counts the batches that wait before the consumer, wakes the producer
/// when there is room, and says when the producer has given its last batch.
///
/// timely would say that too, by a frontier, but a frontier moves once the producers of *all* workers are done: a worker
/// without rows could then not tell the others so while they wait for just that.
#[derive(Default)]
pub struct Gate {
    pub(super) waiting: Cell<usize>,
    ended: Cell<bool>,
    producer: RefCell<Option<Rc<Activator>>>,
    consumer: RefCell<Option<Rc<Activator>>>,
}

impl Gate {
    /// The most batches that wait.
    pub const LIMIT: usize = 4;

    /// Whether a batch more may wait; if not, `producer` is activated once it may.
    pub(super) fn has_room(&self, producer: &Rc<Activator>) -> bool {
        if self.waiting.get() < Gate::LIMIT {
            return true;
        }
        *self.producer.borrow_mut() = Some(producer.clone());
        false
    }

    /// `consumer` is activated when the producer has ended.
    pub(super) fn tell(&self, consumer: Rc<Activator>) {
        *self.consumer.borrow_mut() = Some(consumer);
    }

    /// The producer gives nothing more.
    pub(super) fn end(&self) {
        self.ended.set(true);
        if let Some(consumer) = self.consumer.borrow().as_ref() {
            consumer.activate();
        }
    }

    /// Whether the consumer has had the last batch.
    pub(super) fn is_over(&self) -> bool {
        self.ended.get() && self.waiting.get() == 0
    }

    /// Batches were taken.
    pub(super) fn release(&self, batches: usize) {
        self.waiting.set(self.waiting.get() - batches);
        if self.waiting.get() < Gate::LIMIT
            && let Some(producer) = self.producer.borrow_mut().take()
        {
            producer.activate();
        }
    }
}

/// An event that operators of one worker wait for (a build side is complete).
#[derive(Default)]
pub struct BuildBarrier {
    open: Cell<bool>,
    waiting: RefCell<Vec<Rc<Activator>>>,
}

impl BuildBarrier {
    /// Whether it is open; if not, `waiter` is activated once it is.
    pub fn wait(&self, waiter: &Rc<Activator>) -> bool {
        if !self.open.get() {
            self.waiting.borrow_mut().push(waiter.clone());
        }
        self.open.get()
    }

    /// Opens it.
    pub fn open(&self) {
        self.open.set(true);
        self.waiting.borrow_mut().drain(..).for_each(|w| w.activate());
    }
}
