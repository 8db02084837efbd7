//! A handle that stops a query from any thread: before it runs, while it does, or between its stages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::context::query::QueryState;
use crate::error::{Error, Result};

/// Stops what follows it. Clones are one handle.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    running: Mutex<Vec<Weak<QueryState>>>,
}

impl Cancel {
    /// Stops what is running, and whatever follows this handle from now on.
    pub fn cancel(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.running().iter().filter_map(Weak::upgrade).for_each(|state| state.cancel());
    }

    /// Whether somebody has asked for the end.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// Fails if somebody has asked for the end.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        if self.is_asked() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Stops this query too once somebody asks for it, or now if somebody has.
    pub fn stops(&self, state: &Arc<QueryState>) {
        let mut running = self.running();
        running.retain(|known| known.strong_count() > 0);
        running.push(Arc::downgrade(state));
        drop(running);
        // Who has asked before may not have seen it.
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
