//! The counting allocator and the limit.
//!
//! The binary installs [`Counting`] as its global allocator, so that the figures here are those of all memory of the
//! process, whoever asked for it. Each thread keeps a small balance of its own and settles it with the shared counter
//! when it passes 256 KiB, so that counting costs no contention.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::error::{Error, Result};

static USED: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static TOO_LARGE: OnceLock<fn(u64) -> !> = OnceLock::new();

const SETTLE: i64 = 256 << 10;
/// Requests below this are not compared with the limit one by one.
const LARGE: i64 = 16 << 20;

thread_local! {
    static BALANCE: Cell<i64> = const { Cell::new(0) };
}

/// Counts what the allocator `A` hands out.
pub struct Counting<A>(pub A);

/// Sets what ends the process when one request alone is larger than the limit. A decoder of another crate that believes
/// a forged length asks for it; the allocator has no way to give an error back, and the process would be aborted.
pub fn on_too_large(end: fn(bytes: u64) -> !) {
    // Set once, before the limit is; who sets it again wants the same.
    let _ = TOO_LARGE.set(end);
}

#[cold]
fn check_large(bytes: i64) {
    if bytes as u64 > limit()
        && let Some(end) = TOO_LARGE.get()
    {
        end(bytes as u64);
    }
}

fn count(bytes: i64) {
    if bytes > LARGE {
        check_large(bytes);
    }
    // A thread that is being torn down has no balance any more; its last allocations are counted at once.
    let settled = BALANCE.try_with(|b| {
        let balance = b.get() + bytes;
        if balance.abs() < SETTLE {
            b.set(balance);
            0
        } else {
            b.set(0);
            balance
        }
    });
    let settled = settled.unwrap_or(bytes);
    if settled != 0 {
        let used = USED.fetch_add(settled, Ordering::Relaxed) + settled;
        if settled > 0 {
            PEAK.fetch_max(used, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call is handed to the inner allocator unchanged; counting allocates nothing (the thread-local is
// const-initialised and has no destructor) and does not unwind: what is too large ends the process.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promises on `layout` are the inner allocator's.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: `ptr` came from this allocator, that is from the inner one, with this layout.
        unsafe { self.0.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as i64 - layout.size() as i64);
        // SAFETY: as above.
        unsafe { self.0.realloc(ptr, layout, new_size) }
    }
}

/// Bytes in use, within 256 KiB a thread.
pub fn used() -> u64 {
    USED.load(Ordering::Relaxed).max(0) as u64
}

/// The most bytes that were in use at once since the process began.
pub fn peak() -> u64 {
    PEAK.load(Ordering::Relaxed).max(0) as u64
}

/// Sets the limit of the process.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// The limit of the process.
pub fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Fails if `more` bytes on top of those in use would pass the limit; `who` says what needs them.
pub fn check(more: usize, who: impl FnOnce() -> String) -> Result<()> {
    let (used, limit) = (used(), limit());
    if used.saturating_add(more as u64) <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        needed_by: who(),
        used: human(used.saturating_add(more as u64)),
        limit: human(limit),
        help: "raise --memory-limit, read fewer columns or rows, or group by fewer distinct values".into(),
    })
}

/// A number of bytes for people.
pub fn human(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// What the machine, or the control group that the process lies in, has: bytes.
pub fn available() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("MemTotal:"))?.split_whitespace().nth(1)?;
            line.parse::<u64>().ok().map(|kib| kib * 1024)
        })
        .unwrap_or(4 << 30);
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|p| std::fs::read_to_string(p).ok()?.trim().parse::<u64>().ok())
        .min()
        .unwrap_or(u64::MAX);
    machine.min(group)
}
