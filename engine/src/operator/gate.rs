//! What operators of one worker wait for: room before a consumer, and events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use timely::scheduling::Activator;

/// Counts the batches that wait before an operator, and wakes its producer when there is room.
#[derive(Default)]
pub struct Gate {
    pub(super) waiting: Cell<usize>,
    producer: RefCell<Option<Rc<Activator>>>,
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
pub struct Latch {
    open: Cell<bool>,
    waiting: RefCell<Vec<Rc<Activator>>>,
}

impl Latch {
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
