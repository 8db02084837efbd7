//! What ends a query where nobody looks at the limit in time.
//!
//! Operators look at the limit after each batch ([`super::check`]), and decoders ask before they allocate
//! ([`formats::memory::ask`]). Neither sees a vector that doubles inside of a function, a decoder of another crate that
//! believes a forged length, or the planner. So the allocator looks itself: at each large request before its memory is
//! touched, and at the sum of small ones. An allocator can't give an error back. It ends the process, by the way that the
//! binary says.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::account::{of_all_now, pass};
use super::{LIMIT, human, most_of, used};
use crate::error::Error;

/// Ends the process with an error.
static END: OnceLock<fn(Error) -> !> = OnceLock::new();

/// What small requests may take beyond the limit before they end the process, in parts of the limit. Operators that keep
/// rows look at the limit after a batch, and put states on disk or give a better error.
const SMALL_REQUESTS: u64 = 4;

thread_local! {
    static PLANNING: Cell<bool> = const { Cell::new(false) };
    /// This thread ends the process. What it needs for that is granted.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Sets what ends the process when memory is asked for beyond the limit.
pub fn end_by(end: fn(Error) -> !) {
    // Set once, before the limit is; a second call wants the same.
    let _ = END.set(end);
}

/// Plans a statement on this thread. Nobody looks at the limit meanwhile, so that the allocator does.
pub fn planning<T>(plan: impl FnOnce() -> T) -> T {
    struct Leave(bool);
    impl Drop for Leave {
        fn drop(&mut self) {
            PLANNING.set(self.0);
        }
    }
    let _leave = Leave(PLANNING.replace(true));
    plan()
}

fn is_planning() -> bool {
    PLANNING.try_with(Cell::get).unwrap_or(false)
}

/// Looks at one large request, before it is granted.
#[cold]
pub(super) fn look_at_request(asked: u64) {
    let would_use = used().saturating_add(asked);
    if would_use > limit() {
        pass(would_use);
        end(asked);
    }
}

/// Looks at what is in use, at times.
pub(super) fn look_at_sum(used: u64) {
    let limit = limit();
    if used > limit {
        pass(used);
        if is_planning() || used > limit.saturating_add(limit / SMALL_REQUESTS) {
            end(0);
        }
    }
}

/// The limit of the process.
fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

#[cold]
fn end(asked: u64) {
    let Some(end) = END.get() else { return };
    if !ENDS.try_with(|ends| ends.replace(true)).unwrap_or(true) {
        end(error(asked));
    }
}

fn error(asked: u64) -> Error {
    let (limit, would_use) = (limit(), used().saturating_add(asked));
    let reading = formats::memory::reading();
    if asked > limit {
        let claims =
            "a file that is read claims more than it can hold and is damaged, or --memory-limit is too low";
        return Error::Request {
            asked: human(asked),
            limit: human(limit),
            purpose: reading.as_ref().map(|file| format!(", to read {file}")).unwrap_or_default(),
            help: if reading.is_some() { claims } else { "raise --memory-limit" },
        };
    }
    let most = most_of(of_all_now(), would_use).map(|(label, help)| (label, help.to_string()));
    let (needed_by, help) = if is_planning() {
        ("planning the statement".to_string(), "write a shorter statement".to_string())
    } else if let Some(file) = reading.filter(|_| asked > would_use / 2 || most.is_none()) {
        (format!("reading {file}"), "read fewer columns".to_string())
    } else {
        most.unwrap_or_else(|| {
            ("the query".into(), "read fewer columns or rows, or make smaller values".into())
        })
    };
    Error::Memory {
        needed_by,
        whose: "the process",
        used: human(would_use),
        limit: format!("--memory-limit {}", human(limit)),
        help: format!("raise --memory-limit, or {help}"),
    }
}
