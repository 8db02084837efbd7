//! Flow control of exchanges. timely's channels are unbounded, so every sender takes credit, in bytes, before it
//! sends, and what has absorbed a batch gives it back: within a process when the last copy of it is dropped, between
//! processes by a note to the process that sent it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use timely::scheduling::SyncActivator;

use crate::distributed::processes::{Network, Note};

/// The credit of one exchange, shared by its senders.
#[derive(Debug)]
pub struct Pool {
    limit: usize,
    used: AtomicUsize,
    waiting: Mutex<Vec<Waiter>>,
}

struct Waiter(SyncActivator);

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waiter")
    }
}

/// Credit taken for one batch; dropping it gives it back.
pub struct Credit(From);

enum From {
    Here { pool: Arc<Pool>, bytes: usize },
    There { network: Arc<dyn Network>, process: usize, note: Note },
}

impl std::fmt::Debug for Credit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credit")
    }
}

impl Credit {
    /// Credit that a sender in another process has taken.
    pub fn of(network: Arc<dyn Network>, process: usize, note: Note) -> Arc<Credit> {
        Arc::new(Credit(From::There { network, process, note }))
    }
}

impl Pool {
    /// Credit for `limit` bytes on their way at once.
    pub fn new(limit: usize) -> Arc<Pool> {
        Arc::new(Pool { limit, used: AtomicUsize::new(0), waiting: Mutex::default() })
    }

    /// Takes credit for `bytes`, or none; a lone batch is always allowed, however large. Without credit `activator`
    /// is activated once there may be some.
    pub fn take(
        self: &Arc<Pool>,
        bytes: usize,
        activator: impl Fn() -> SyncActivator,
    ) -> Option<Arc<Credit>> {
        let taken = self.take_to_be_given(bytes, activator);
        taken.then(|| Arc::new(Credit(From::Here { pool: self.clone(), bytes })))
    }

    /// Takes credit for `bytes`, as [`Pool::take`] does, which [`Pool::give`] gives back.
    pub fn take_to_be_given(&self, bytes: usize, activator: impl Fn() -> SyncActivator) -> bool {
        if self.try_take(bytes) {
            return true;
        }
        let mut waiting = self.waiting.lock().expect("nothing panics with this lock");
        // Credit may have come back between the two looks: then nobody would wake this waiter.
        if self.try_take(bytes) {
            return true;
        }
        waiting.push(Waiter(activator()));
        false
    }

    fn try_take(&self, bytes: usize) -> bool {
        let fits = |used: usize| (used == 0 || used + bytes <= self.limit).then_some(used + bytes);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    /// Gives credit back.
    pub fn give(&self, bytes: usize) {
        // More than was taken can be given by a note that is wrong.
        let given = |used: usize| Some(used.saturating_sub(bytes));
        let _ = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, given);
        let waiting = std::mem::take(&mut *self.waiting.lock().expect("nothing panics with this lock"));
        for waiter in waiting {
            // A worker that is gone needs no waking.
            let _ = waiter.0.activate();
        }
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        match &self.0 {
            From::Here { pool, bytes } => pool.give(*bytes),
            From::There { network, process, note } => network.tell(*process, note.clone()),
        }
    }
}
