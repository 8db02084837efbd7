//! Panics of a query's threads become its error, so that the query ends alone.
//!
//! Not caught, so that the process ends: a stack that overflows, an abort, and a panic while another one unwinds.
//!
//! A process-wide panic hook that ends the process must leave caught panics alone: [`is_caught`] tells.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use crate::error::{Error, Result};
use crate::memory;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// For a panic hook: whether [`catch`] makes an error of this thread's panic. The error then names its place.
pub fn is_caught(info: &PanicHookInfo<'_>) -> bool {
    let is_caught = DEPTH.try_with(Cell::get).unwrap_or(0) > 0;
    if is_caught {
        let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
        PLACE.set(place);
    }
    is_caught
}

/// Runs a part of a query on this thread, whose memory is counted to its end. What it has touched must not be used after a panic, but for what all threads of the query
/// share: they hold no lock while code runs that can panic.
///
/// # Errors
/// Those of `run`, and [`Error::Panic`].
pub fn catch<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    memory::settle_at_end();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        DEPTH.set(DEPTH.get() + 1);
        let _leave = Leave;
        run()
    }));
    caught.unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("unknown cause");
        Err(Error::Panic { text: text.to_string(), place: PLACE.take() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_errors_and_values_pass() {
        let error = catch::<()>(|| panic!("index 7 out of range")).unwrap_err();
        assert!(error.to_string().contains("index 7 out of range"), "{error}");
        assert!(matches!(catch::<()>(|| Err(Error::Cancelled)), Err(Error::Cancelled)));
        assert_eq!(catch(|| Ok(3)).unwrap(), 3);
        assert_eq!(DEPTH.get(), 0);
    }
}
