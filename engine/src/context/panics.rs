//! Panics of a query's threads become its error, so that the query ends alone.
//!
//! Not caught, so that the process ends: a stack that overflows, an abort, and a panic while another one unwinds.

use formats::panics::{self, Panic};

use crate::context::memory;
use crate::error::{Error, Result};

/// Runs a part of a query on this thread, whose memory is counted to its end. What it has changed must not be used after a
/// panic, but for what all threads of the query share: they hold no lock while code runs that can panic.
///
/// # Errors
/// Those of `run`, and [`Error::Panic`].
pub fn catch<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    memory::settle_at_end();
    panics::catch(run).unwrap_or_else(|Panic { text, place }| Err(Error::Panic { text, place }))
}
