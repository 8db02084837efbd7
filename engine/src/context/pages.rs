//! The size of the pages that memory comes in.
//!
//! The allocator asks for pages of 2 MiB, which the rows of a query want. A process with many threads touches a little
//! in each of many such pages before it has a row: each thread has blocks of its own for each size of what it keeps.

use std::sync::atomic::{AtomicBool, Ordering};

static SMALL: AtomicBool = AtomicBool::new(false);
/// An argument of prctl(2) that is not used.
const NONE: libc::c_ulong = 0;

/// Has memory that is touched from now on come in small pages, until [`large`].
pub fn small() {
    // What the environment or whoever started this process has said goes on to hold.
    if !are_small() {
        set_small(true);
        SMALL.store(true, Ordering::Relaxed);
    }
}

/// Has memory that is touched from now on come in large pages again, if [`small`] was called. What has small ones keeps
/// them.
pub fn large() {
    if SMALL.swap(false, Ordering::Relaxed) {
        set_small(false);
    }
}

fn are_small() -> bool {
    // SAFETY: prctl(2) with this option takes no other arguments and touches no memory.
    unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, NONE, NONE, NONE, NONE) == 1 }
}

fn set_small(small: bool) {
    // SAFETY: prctl(2) with this option takes a flag and touches no memory. Where the kernel does not know it, nothing
    // changes.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(small), NONE, NONE, NONE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_holds() {
        set_small(true);
        small();
        large();
        assert!(are_small());
        set_small(false);
        small();
        assert!(are_small());
        large();
        assert!(!are_small());
    }
}
