//! An allocator that counts what each thread keeps, and targets that are run with a bound on it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// A name, and what is done with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// The longest input that is tried.
pub const LONGEST: usize = 64 << 10;

thread_local! {
    static KEPT: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static BEFORE: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counting;

/// What this thread keeps more than when its target began.
pub fn kept() -> isize {
    KEPT.try_with(|kept| kept.get() - BEFORE.get()).unwrap_or_default()
}

fn count(bytes: isize) {
    let _ = KEPT.try_with(|kept| kept.set(kept.get() + bytes));
    let _ = PEAK.try_with(|peak| peak.set(peak.get().max(kept())));
}

// SAFETY: every call is handed to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// Runs one of some targets, which may keep `most` bytes at once beside what this thread has.
pub fn run(targets: &[Target], most: isize, name: &str, bytes: &[u8]) {
    let Some((_, target)) = targets.iter().find(|(known, _)| *known == name) else {
        panic!("there is no target {name}");
    };
    if bytes.len() > LONGEST {
        return;
    }
    BEFORE.set(KEPT.get());
    PEAK.set(0);
    target(bytes);
    let peak = PEAK.get();
    assert!(peak <= most, "{peak} bytes were kept at once, {most} are the most");
}
