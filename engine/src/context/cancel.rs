//! A handle that stops a query from any thread: before the query runs, while it runs, or between its stages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::context::query::QueryState;
use crate::error::{Error, Result};

/// Stops the queries that follow it. All clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    running: Mutex<Vec<Weak<QueryState>>>,
}

impl Cancel {
    /// Stops the queries that follow this handle, and those that will.
    pub fn cancel(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.running().iter().filter_map(Weak::upgrade).for_each(|state| state.cancel());
    }

    /// Whether [`Cancel::cancel`] was called.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// Fails if [`Cancel::cancel`] was called.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_asked() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Makes a query follow this handle. If the handle was cancelled before, the query stops at once.
    pub fn stops(&self, state: &Arc<QueryState>) {
        let mut running = self.running();
        running.retain(|known| known.strong_count() > 0);
        running.push(Arc::downgrade(state));
        drop(running);
        // A thread that has cancelled before this moment may not have seen the query in the list.
        if self.is_asked() {
            state.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<Weak<QueryState>>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_and_what_follows_is_stopped() {
        let (cancel, [one, other]) = (Cancel::default(), [(); 2].map(|()| Arc::new(QueryState::default())));
        cancel.stops(&one);
        assert!(cancel.check().is_ok() && !one.stopped());
        cancel.clone().cancel();
        assert!(one.stopped() && matches!(cancel.check(), Err(Error::Cancelled)));
        cancel.stops(&other);
        assert!(matches!(other.take_error(), Some(Error::Cancelled)));
    }
}
