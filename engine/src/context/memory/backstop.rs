//! Ends the process where no operator or decoder looks at the limit in time.
//!
//! Operators look at the limit after each batch ([`super::check`]), and decoders ask before they allocate
//! ([`formats::memory::ask`]). Neither sees a vector that doubles inside a function, a decoder of another crate that
//! believes a forged length, or the planner. So the allocator looks itself: at each large request before its memory is
//! touched, and at the sum of small requests. An allocator can't return an error. It ends the process by the function
//! that the binary sets ([`end_by`]).

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::account::{of_all_now, pass};
use super::{LIMIT, human, most_of, used};
use crate::error::Error;

/// Ends the process with an error.
static END: OnceLock<fn(Error) -> !> = OnceLock::new();

/// Small requests may take this part of the limit (1/4) beyond it before they end the process. Operators that keep rows
/// look at the limit after a batch. They then spill or give a better error.
const SMALL_REQUESTS: u64 = 4;

thread_local! {
    static PLANNING: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread ends the process. The allocator grants the memory that it needs for that.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Sets the function that ends the process when a request passes the limit.
pub fn end_by(end: fn(Error) -> !) {
    // It is set once, before the limit. A second call sets the same.
    let _ = END.set(end);
}

/// Runs `plan`, which plans a statement on this thread. The planner does not look at the limit, so that the allocator
/// does.
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

/// Compares one large request with the limit, before the request is granted.
#[cold]
pub(super) fn look_at_request(asked: u64) {
    let would_use = used().saturating_add(asked);
    if would_use > limit() {
        pass(would_use);
        end(asked);
    }
}

/// Compares the bytes in use with the limit. The allocator calls it when a thread settles its balance.
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
