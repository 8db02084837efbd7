//! Flow control of exchanges, by credit in bytes.
//!
//! timely's channels are unbounded, so every sender takes credit before it sends a batch. Within a process the credit
//! comes back when the last copy of the batch is dropped. Between processes the receiver sends a note to the process
//! that sent the batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use timely::scheduling::SyncActivator;

use crate::distributed::processes::{Network, Note};

/// The credit of one exchange. The senders of a process share it.
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

/// Credit that was taken for one batch. Dropping it gives the credit back.
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
    /// Credit that a sender in another process has taken. Dropping it sends `note` to that process.
    pub fn of(network: Arc<dyn Network>, process: usize, note: Note) -> Arc<Credit> {
        Arc::new(Credit(From::There { network, process, note }))
    }
}

impl Pool {
    /// Credit for `limit` bytes that are on their way at once.
    pub fn new(limit: usize) -> Arc<Pool> {
        Arc::new(Pool { limit, used: AtomicUsize::new(0), waiting: Mutex::default() })
    }

    /// Takes credit for `bytes`, if there is enough. A batch gets credit, however large it is, if no other is on its
    /// way. Without credit, `activator` is activated once credit has come back.
    pub fn take(
        self: &Arc<Pool>,
        bytes: usize,
        activator: impl Fn() -> SyncActivator,
    ) -> Option<Arc<Credit>> {
        let taken = self.take_to_be_given(bytes, activator);
        taken.then(|| Arc::new(Credit(From::Here { pool: self.clone(), bytes })))
    }

    /// Takes credit for `bytes`, as [`Pool::take`] does. The caller gives it back by [`Pool::give`].
    pub fn take_to_be_given(&self, bytes: usize, activator: impl Fn() -> SyncActivator) -> bool {
        if self.try_take(bytes) {
            return true;
        }
        let mut waiting = self.waiting.lock().expect("nothing panics with this lock");
        // Credit may have come back between the two looks. Then nothing would wake this waiter.
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
        // A wrong note of another process can give more than was taken.
        let given = |used: usize| Some(used.saturating_sub(bytes));
        let _ = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, given);
        let waiting = std::mem::take(&mut *self.waiting.lock().expect("nothing panics with this lock"));
        for waiter in waiting {
            // A worker that has ended needs no waking.
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
