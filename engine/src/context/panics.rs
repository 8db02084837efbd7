//! A panic of a query's thread becomes the query's error, so that no other query ends.
//!
//! A stack that overflows, an abort, and a panic while another one unwinds are not caught. They end the process.

use formats::panics::{self, Panic};

use crate::context::memory;
use crate::error::{Error, Result};

/// Runs a part of a query on this thread, and turns a panic into an error. The memory of the thread is counted until
/// the thread ends.
///
/// After a panic the caller must not use what `run` has changed, except for what all threads of the query share. The
/// threads hold no lock on that while code runs that can panic.
///
/// # Errors
/// The errors of `run`, and [`Error::Panic`].
pub fn catch<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    memory::settle_at_end();
    panics::catch(run).unwrap_or_else(|Panic { text, place }| Err(Error::Panic { text, place }))
}
