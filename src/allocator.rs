//! Where the memory of all threads comes from.

use libmimalloc_sys::{mi_collect, mi_option_set_default, mi_option_t};

#[global_allocator]
static ALLOCATOR: engine::context::memory::Counting<mimalloc::MiMalloc> =
    engine::context::memory::Counting(mimalloc::MiMalloc);

/// The number of mimalloc's option of that name, which its crate does not name.
const PURGE_DELAY: mi_option_t = 15;

/// Milliseconds until memory that was freed is given back to the system.
///
/// By default it is one second, so that a query of several gives back and takes again what its workers reuse all the
/// time: a tenth of the time of 2A on buren went into clearing such pages. MIMALLOC_PURGE_DELAY says otherwise.
const DELAY: libc::c_long = 10_000;

/// Keeps memory that was freed for a while, or until the machine has little left.
pub fn keep_freed_memory() {
    engine::context::memory::give_back_by(give_back);
    // SAFETY: the function takes any number and writes to the allocator's own table of options, which no other thread
    // does; those that read it at the same time see the one or the other number.
    unsafe { mi_option_set_default(PURGE_DELAY, DELAY) };
}

/// Gives memory that was freed back to the system.
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
