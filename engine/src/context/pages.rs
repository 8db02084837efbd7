//! The size of the memory pages that the process gets: 2 MiB, or the system's small ones.
//!
//! The allocator asks for pages of 2 MiB, which suit the rows of a query. They waste memory before the first row. Each
//! thread has blocks of its own for each size of allocation, so a process with many threads touches a little of many
//! such pages.

use std::sync::atomic::{AtomicBool, Ordering};

static SMALL: AtomicBool = AtomicBool::new(false);
/// An argument of prctl(2) that is not used.
const NONE: libc::c_ulong = 0;

/// Makes the system use small pages for memory that is touched from now on, until [`large`] is called.
pub fn small() {
    // If the environment or the parent process has asked for small pages, they stay.
    if !are_small() {
        set_small(true);
        SMALL.store(true, Ordering::Relaxed);
    }
}

/// Makes the system use large pages again for memory that is touched from now on, if [`small`] was called. Memory that
/// lies in small pages stays there.
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
