//! The allocator of all threads: mimalloc, which counts.

use libmimalloc_sys::{mi_collect, mi_option_set_default, mi_option_t};

#[global_allocator]
static ALLOCATOR: engine::context::memory::Counting<mimalloc::MiMalloc> =
    engine::context::memory::Counting(mimalloc::MiMalloc);

/// The number of mimalloc's option of that name; its crate has no name for it.
const PURGE_DELAY: mi_option_t = 15;

/// Milliseconds until the allocator gives freed memory back to the system.
///
/// The default is one second. A query of several seconds then gives back and takes again pages that its workers reuse
/// all the time. A tenth of the time of 2A on buren went into clearing such pages. MIMALLOC_PURGE_DELAY sets another
/// delay.
const DELAY: libc::c_long = 10_000;

/// Keeps freed memory for [`DELAY`], or until the machine has little memory left.
pub fn keep_freed_memory() {
    engine::context::memory::give_back_by(give_back);
    // SAFETY: the function takes any number and writes to the allocator's own table of options, which no other thread
    // does; those that read it at the same time see the one or the other number.
    unsafe { mi_option_set_default(PURGE_DELAY, DELAY) };
}

/// Gives freed memory back to the system.
fn give_back() {
    // SAFETY: the function may be called at any time by any thread.
    unsafe { mi_collect(true) };
}

#[cfg(test)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    use super::*;

    #[test]
    fn the_option_is_that_of_the_delay() {
        // SAFETY: the function takes any number and reads the allocator's own table of options.
        let get = || unsafe { mi_option_get(PURGE_DELAY) };
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
            assert_eq!(get(), 1000, "what mimalloc documents as the default of its purge_delay");
            keep_freed_memory();
            assert_eq!(get(), DELAY);
        }
    }
}
