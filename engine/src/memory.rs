//! The counting allocator and the limit.
//!
//! The binary installs [`Counting`] as its global allocator, so that the figures here are those of all memory of the
//! process, whoever asked for it. Each thread keeps a small balance of its own and settles it with the shared counter
//! when it passes 256 KiB, so that counting costs no contention.
//!
//! - `backstop`: what ends a query where nobody looks at the limit in time.
//! - `machine`: how much memory there is.

mod backstop;
mod machine;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError, Weak};
use std::time::Instant;

pub use backstop::{end_by, planning};
pub use machine::default_limit;

use crate::error::{Error, Result};
use crate::spill;

static USED: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// What the machine or the control group has.
static THERE: AtomicU64 = AtomicU64::new(u64::MAX);

const SETTLE: i64 = 256 << 10;
/// Requests below this are not compared with the limit one by one.
const LARGE: i64 = 1 << 20;

/// What rows on their way between operators may take, in bytes.
const ON_THE_WAY: u64 = 64 << 20;

/// Where a query ends because the process takes nearly all that there is, in hundredths of it.
const NEAR_THE_END: u64 = 92;

thread_local! {
    static BALANCE: Cell<i64> = const { Cell::new(0) };
}

/// Counts what the allocator `A` hands out.
pub struct Counting<A>(pub A);

fn count(bytes: i64) {
    if bytes >= LARGE {
        backstop::look_at_request(bytes as u64);
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
            backstop::look_at_sum(used.max(0) as u64);
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

/// Settles the balance of a thread when it ends: what it has not settled would be counted for ever.
struct Settle;

impl Drop for Settle {
    fn drop(&mut self) {
        USED.fetch_add(BALANCE.try_with(Cell::take).unwrap_or(0), Ordering::Relaxed);
    }
}

/// Has the balance of this thread settled when it ends, after all that it has is dropped.
pub fn settle_at_end() {
    thread_local! {
        static SETTLE: Settle = const { Settle };
    }
    // A thread that is being torn down has nothing left to settle.
    let _ = SETTLE.try_with(|_| ());
}

/// Bytes in use, within 256 KiB a thread.
pub fn used() -> u64 {
    USED.load(Ordering::Relaxed).max(0) as u64
}

/// The most bytes that were in use at once since the process began.
pub fn peak() -> u64 {
    PEAK.load(Ordering::Relaxed).max(0) as u64
}

/// The most bytes that were resident at once since the process began, by the system; 0 where it does not tell.
pub fn peak_resident() -> u64 {
    of_status("VmHWM:").unwrap_or_default()
}

/// Whether so much is in use that what the operators keep is worth noting.
pub fn is_scarce() -> bool {
    used() > limit() / 4
}

/// Whether so little would be left after `more` bytes that what can be put on disk should be: a quarter of the limit, and
/// where that is small what rows on their way between operators may take. Or of what there is, however much is counted.
pub fn is_short(more: u64) -> bool {
    let limit = limit();
    SQUEEZED.load(Ordering::Relaxed)
        || used().saturating_add(more) > limit - (limit / 4).max(ON_THE_WAY).min(limit / 2)
}

/// Sets the limit of the process.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
    THERE.store(machine::available(), Ordering::Relaxed);
    formats::memory::ask_by(excess);
}

/// What so many more bytes would lead to, unless the limit allows them.
fn excess(more: u64) -> Option<String> {
    let (would_use, limit) = (used().saturating_add(more), limit());
    let text = || format!("take the process to {} of --memory-limit {}", human(would_use), human(limit));
    (would_use > limit).then(text)
}

/// The limit of the process.
pub fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// An operator that keeps rows or states, and how many bytes of them, so that the message can name the one that took
/// the memory and not the one that noticed. Several with one label are one: an operator on several workers.
#[derive(Debug)]
pub struct Holder {
    label: String,
    help: &'static str,
    bytes: AtomicUsize,
}

static HOLDERS: Mutex<Vec<Weak<Holder>>> = Mutex::new(Vec::new());

impl Holder {
    /// Registers an operator until it is dropped. `help` says what would lessen what it keeps, behind "or".
    pub fn new(label: String, help: &'static str) -> Arc<Holder> {
        let holder = Arc::new(Holder { label, help, bytes: AtomicUsize::new(0) });
        let mut holders = HOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        holders.retain(|known| known.strong_count() > 0);
        holders.push(Arc::downgrade(&holder));
        holder
    }

    /// Notes how much it keeps, in bytes.
    pub fn keeps(&self, bytes: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// The operator that keeps most, with what would help, if that is a good part of `used`.
fn keeps_most(used: u64) -> Option<(String, &'static str)> {
    most_of(&HOLDERS.lock().unwrap_or_else(PoisonError::into_inner), used)
}

/// The same for a thread that may hold the lock itself: it does not wait.
fn keeps_most_now(used: u64) -> Option<(String, &'static str)> {
    match HOLDERS.try_lock() {
        Ok(holders) => most_of(&holders, used),
        Err(TryLockError::Poisoned(holders)) => most_of(&holders.into_inner(), used),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn most_of(holders: &[Weak<Holder>], used: u64) -> Option<(String, &'static str)> {
    let mut sums: Vec<(usize, Arc<Holder>)> = Vec::new();
    for holder in holders.iter().filter_map(Weak::upgrade) {
        let bytes = holder.bytes.load(Ordering::Relaxed);
        match sums.iter_mut().find(|(_, known)| known.label == holder.label) {
            Some((sum, _)) => *sum += bytes,
            None => sums.push((bytes, holder)),
        }
    }
    let (bytes, most) = sums.into_iter().max_by_key(|(bytes, _)| *bytes)?;
    (bytes as u64 >= used / 8).then(|| (most.label.clone(), most.help))
}

/// Fails if `more` bytes on top of those in use would pass the limit, or if the limit was passed since it was set: a
/// single large allocation may be over when somebody looks. `who` says what noticed.
pub fn check(more: usize, who: impl FnOnce() -> String) -> Result<()> {
    let (used, limit) = (used().saturating_add(more as u64).max(peak()), limit());
    let (used, limit, change) = if used > limit {
        (used, format!("--memory-limit {}", human(limit)), "raise --memory-limit")
    } else if let Some(resident) = resident_near_the_end() {
        let there = human(THERE.load(Ordering::Relaxed));
        (resident, format!("the {there} that the machine or its control group has"), "give it more memory")
    } else {
        return Ok(());
    };
    let (needed_by, help) =
        keeps_most(used).unwrap_or_else(|| (who(), "read fewer columns or rows, or make smaller values"));
    let refused = spill::refused().map(|why| format!("; nothing could be put on disk ({why}): set TMPDIR"));
    let help = format!("{change}, or {help}{}", refused.unwrap_or_default());
    Err(Error::Memory { needed_by, used: human(used), limit, help })
}

/// How often the system is asked what the process takes, in milliseconds.
const ASK_AGAIN: u64 = 10;

/// How much of what there is the process takes, in percent, when freed memory is given back.
const GIVE_BACK_AT: u64 = 80;

/// Whether the process took more than that when it was looked at last.
static SQUEEZED: AtomicBool = AtomicBool::new(false);

/// How often that is tried, in milliseconds.
const GIVE_BACK_AGAIN: u64 = 500;

/// What gives freed memory back to the system, where the allocator keeps it.
static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Says how memory that was freed is given back to the system, which is done when the machine has little left.
pub fn give_back_by(give_back: fn()) {
    GIVE_BACK.get_or_init(|| give_back);
}

/// What the process takes of the machine, in bytes, once that is so much that the system would soon end it.
///
/// The allocator keeps freed memory for a while, so that the process can take much more than is counted.
fn resident_near_the_end() -> Option<u64> {
    static START: OnceLock<Instant> = OnceLock::new();
    static ASKED: AtomicU64 = AtomicU64::new(0);
    static GIVEN_BACK: AtomicU64 = AtomicU64::new(0);
    let there = THERE.load(Ordering::Relaxed);
    // It has not been seen to take three times what is counted.
    if used() < there / 4 {
        SQUEEZED.store(false, Ordering::Relaxed);
        return None;
    }
    let now = START.get_or_init(Instant::now).elapsed().as_millis() as u64;
    let is_due = |last: &AtomicU64, every: u64| {
        let before = last.load(Ordering::Relaxed);
        now >= before + every
            && last.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    if !is_due(&ASKED, ASK_AGAIN) {
        return None;
    }
    let mut taken = of_status(RESIDENT)?;
    if taken > there / 100 * GIVE_BACK_AT
        && let Some(give_back) = GIVE_BACK.get()
        && is_due(&GIVEN_BACK, GIVE_BACK_AGAIN)
    {
        give_back();
        taken = of_status(RESIDENT)?;
    }
    SQUEEZED.store(taken > there / 100 * GIVE_BACK_AT, Ordering::Relaxed);
    (taken > there / 100 * NEAR_THE_END).then_some(taken)
}

/// The memory that the system can't take from the process: pages of files, such as the program's own, are given back when
/// memory runs out.
const RESIDENT: &str = "RssAnon:";

/// What the system says of the process under this name, in bytes.
fn of_status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_that_keeps_most_is_named() {
        let little = (Holder::new("sort by a".into(), "x"), Holder::new("join".into(), "x"));
        let much = [Holder::new("aggregate".into(), "group less"), Holder::new("aggregate".into(), "x")];
        little.0.bytes.store(30, Ordering::Relaxed);
        much.iter().for_each(|h| h.bytes.store(20, Ordering::Relaxed));
        assert_eq!(keeps_most(100), Some(("aggregate".into(), "group less")));
        assert_eq!(keeps_most(1000), None, "others took it");
        drop(much);
        assert_eq!(keeps_most(100).map(|(label, _)| label), Some("sort by a".into()));
    }
}
