//! Flow control of exchanges. timely's channels are unbounded, so every sender takes credit, in bytes, before it
//! sends, and what has absorbed a batch gives it back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use timely::scheduling::SyncActivator;

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
#[derive(Debug)]
pub struct Credit {
    pool: Arc<Pool>,
    bytes: usize,
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
        if let Some(credit) = self.try_take(bytes) {
            return Some(credit);
        }
        let mut waiting = self.waiting.lock().expect("nothing panics with this lock");
        // Credit may have come back between the two looks: then nobody would wake this waiter.
        if let Some(credit) = self.try_take(bytes) {
            return Some(credit);
        }
        waiting.push(Waiter(activator()));
        None
    }

    fn try_take(self: &Arc<Pool>, bytes: usize) -> Option<Arc<Credit>> {
        let fits = |used: usize| (used == 0 || used + bytes <= self.limit).then_some(used + bytes);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        Some(Arc::new(Credit { pool: self.clone(), bytes }))
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        self.pool.used.fetch_sub(self.bytes, Ordering::AcqRel);
        let waiting = std::mem::take(&mut *self.pool.waiting.lock().expect("nothing panics with this lock"));
        for waiter in waiting {
            // A worker that is gone needs no waking.
            let _ = waiter.0.activate();
        }
    }
}
