//! Panics of other people's decoders become errors.
//!
//! The parquet and arrow-ipc crates check most of what they read, but not all: some bad lengths end in a slice index
//! out of range. Bytes from outside must not end the process, so every call into these decoders goes through
//! [`guarded`]. A process-wide panic hook that ends the process has to leave such panics alone: [`is_guarded`] tells.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether a panic on this thread would be caught and turned into an error.
pub fn is_guarded() -> bool {
    DEPTH.get() > 0
}

/// Calls a decoder of another crate. A decoder that panicked must not be used again.
pub fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    let caught = catch_unwind(AssertUnwindSafe(|| {
        DEPTH.set(DEPTH.get() + 1);
        let _leave = Leave;
        decode()
    }));
    caught.unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("unknown cause");
        Err(Error::corrupt(format!("the file is damaged: its decoder gave up ({text})")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_the_depth_falls_back() {
        assert!(!is_guarded());
        let error = guarded::<()>(|| {
            assert!(is_guarded());
            panic!("index 7 out of range")
        });
        assert!(error.unwrap_err().to_string().contains("index 7 out of range"));
        assert!(!is_guarded());
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
    }
}
