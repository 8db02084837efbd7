//! An allocator that counts what each thread keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a target may keep at once: some decompressors have windows of many megabytes, whatever the input's size.
pub const MOST: isize = 192 << 20;

thread_local! {
    static KEPT: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counting;

fn count(bytes: isize) {
    let _ = KEPT.try_with(|kept| {
        kept.set(kept.get() + bytes);
        PEAK.set(PEAK.get().max(kept.get()));
    });
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

/// Calls `run`, which may keep [`MOST`] bytes at once beside what this thread has.
pub fn bounded(run: impl FnOnce()) {
    let before = KEPT.get();
    PEAK.set(before);
    run();
    let peak = PEAK.get() - before;
    assert!(peak <= MOST, "{peak} bytes were kept at once, {MOST} are the most");
}
