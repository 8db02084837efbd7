//! Panics that are caught on the thread where they happen.
//!
//! A process-wide panic hook that ends the process must leave these alone: [`is_caught`] tells.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic that was caught.
#[derive(Debug)]
pub struct Panic {
    /// What it says.
    pub text: String,
    /// Its file and line, as a clause that follows the text; empty if no hook has called [`is_caught`].
    pub place: String,
}

/// For a panic hook: whether this thread's panic is caught. Notes its place.
pub fn is_caught(info: &PanicHookInfo<'_>) -> bool {
    let is_caught = DEPTH.try_with(Cell::get).unwrap_or(0) > 0;
    if is_caught {
        let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
        PLACE.set(place);
    }
    is_caught
}

/// Runs something that may panic. What it has changed must not be used after a panic.
///
/// # Errors
/// The panic.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    let caught = catch_unwind(AssertUnwindSafe(|| {
        DEPTH.set(DEPTH.get() + 1);
        let _leave = Leave;
        run()
    }));
    caught.map_err(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("unknown cause");
        Panic { text: text.to_string(), place: PLACE.take() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_given_and_the_depth_falls_back() {
        let panic = catch::<()>(|| {
            assert_eq!(DEPTH.get(), 1);
            panic!("index 7 out of range")
        });
        assert_eq!(panic.unwrap_err().text, "index 7 out of range");
        assert_eq!(catch(|| 3).unwrap(), 3);
        assert_eq!(DEPTH.get(), 0);
    }
}
