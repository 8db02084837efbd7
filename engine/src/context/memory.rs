//! The counting allocator and the limit.
//!
//! The binary installs [`Counting`] as its global allocator, so that the figures here are those of all memory of the
//! process, whoever asked for it. Each thread keeps a small balance of its own and settles it with the shared counter
//! when it passes 256 KiB, so that counting costs no contention.
//!
//! - [`account`]: what the operators of one query keep.
//! - `backstop`: what ends a query where nobody looks at the limit in time.
//! - `machine`: how much memory there is.

pub mod account;
mod backstop;
mod machine;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use account::Account;
pub use backstop::{end_by, planning};
pub use machine::default_limit;

use crate::error::{Error, Result};

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

/// Whether so much is in use that what the operators keep is worth noting, and worth keeping small.
pub fn is_scarce() -> bool {
    used() > LIMIT.load(Ordering::Relaxed) / 4
        || of_own_limit(|account, limit| account.kept() > limit / 4).unwrap_or(false)
}

/// Whether what an operator keeps is to be noted: there is not much memory left, or its query has a limit of its own.
pub fn is_counted() -> bool {
    used() > LIMIT.load(Ordering::Relaxed) / 4 || of_own_limit(|_, _| ()).is_some()
}

/// Whether so little would be left after `more` bytes that what can be put on disk should be: a quarter of the limit, and
/// where that is small what rows on their way between operators may take. Or of what there is, however much is counted.
pub fn is_short(more: u64) -> bool {
    let short = |used: u64, limit: u64| {
        used.saturating_add(more) > limit - (limit / 4).max(ON_THE_WAY).min(limit / 2)
    };
    SQUEEZED.load(Ordering::Relaxed)
        || short(used(), LIMIT.load(Ordering::Relaxed))
        || of_own_limit(|account, limit| short(account.kept(), limit)).unwrap_or(false)
}

/// The account of this thread's query with its limit, if that is less than the limit of the process, for which all memory
/// is counted and not what operators keep alone.
fn of_own_limit<T>(with: impl FnOnce(&Account, u64) -> T) -> Option<T> {
    account::own(|account| {
        let limit = account.limit();
        (limit < LIMIT.load(Ordering::Relaxed)).then(|| with(account, limit))
    })?
}

/// Sets the limit of the process.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
    THERE.store(machine::available(), Ordering::Relaxed);
    formats::memory::ask_by(excess);
    formats::memory::count_threads_by(settle_at_end);
}

/// Gives the process the usual limit if it has none.
pub fn set_default_limit() {
    if LIMIT.load(Ordering::Relaxed) == u64::MAX {
        set_limit(default_limit());
    }
}

/// What so many more bytes would lead to, unless the limit allows them.
fn excess(more: u64) -> Option<String> {
    let (would_use, limit) = (used().saturating_add(more), LIMIT.load(Ordering::Relaxed));
    let text = || format!("take the process to {} of --memory-limit {}", human(would_use), human(limit));
    (would_use > limit).then(text)
}

/// The limit of this thread's query, or of the process if that is less.
pub fn limit() -> u64 {
    of_own_limit(|_, limit| limit).unwrap_or_else(|| LIMIT.load(Ordering::Relaxed))
}

/// An operator that keeps rows or states, and how many bytes of them, so that the message can name the one that took
/// the memory and not the one that noticed. Several with one label are one: an operator on several workers.
#[derive(Debug)]
pub struct Holder {
    label: String,
    help: &'static str,
    bytes: AtomicUsize,
    account: Arc<Account>,
}

impl Holder {
    /// Registers an operator of this thread's query until it is dropped. `help` says what would lessen what it keeps, behind
    /// "or".
    pub fn new(label: String, help: &'static str) -> Arc<Holder> {
        let account = Account::of_this_thread();
        let holder = Arc::new(Holder { label, help, bytes: AtomicUsize::new(0), account });
        holder.account.add(&holder);
        holder
    }

    /// Notes how much it keeps, in bytes.
    pub fn keeps(&self, bytes: usize) {
        self.account.change(self.bytes.swap(bytes, Ordering::Relaxed), bytes);
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.keeps(0);
    }
}

/// An operator with what it keeps.
struct Kept {
    bytes: usize,
    holder: Arc<Holder>,
}

impl Kept {
    fn of(holder: Arc<Holder>) -> Kept {
        Kept { bytes: holder.bytes.load(Ordering::Relaxed), holder }
    }
}

/// The operator that keeps most, with what would help, if that is a good part of `used`.
fn most_of(all: Vec<Kept>, used: u64) -> Option<(String, &'static str)> {
    let mut sums: Vec<Kept> = Vec::new();
    for kept in all {
        match sums.iter_mut().find(|known| known.holder.label == kept.holder.label) {
            Some(known) => known.bytes += kept.bytes,
            None => sums.push(kept),
        }
    }
    let most = sums.into_iter().max_by_key(|kept| kept.bytes)?;
    (most.bytes as u64 >= used / 8).then(|| (most.holder.label.clone(), most.holder.help))
}

/// What took the memory of the process, with what would help: an operator of this thread's query, or of another one.
fn keeps_most(used: u64) -> Option<(String, &'static str)> {
    let Some(own) = account::own(|account| account.operators()) else {
        return most_of(account::of_all(), used);
    };
    most_of(own, used).or_else(|| {
        let (others, _) = most_of(account::of_all(), used)?;
        Some((format!("{others}, of another query,"), "run fewer queries at once"))
    })
}

/// Fails if `more` bytes on top of those in use would pass a limit, that of this thread's query or of the process, or if a
/// thread of the query has passed that of the process: a single large allocation may be over when somebody looks. `who` says
/// what noticed.
pub fn check(more: usize, who: impl FnOnce() -> String) -> Result<()> {
    let usual = "read fewer columns or rows, or make smaller values";
    if let Some((used, limit, operators)) = of_own_limit(|account, limit| {
        let used = account.kept().saturating_add(more as u64);
        (used > limit).then(|| (used, limit, account.operators()))
    })
    .flatten()
    {
        let (needed_by, help) = most_of(operators, used).unwrap_or_else(|| (who(), usual));
        return Err(Error::Memory {
            needed_by,
            whose: "the query",
            used: human(used),
            limit: human(limit),
            help: format!("give the query more memory, or {help}{}", refused()),
        });
    }
    let passed = account::own(|account| account.passed()).unwrap_or_default();
    let used = used().saturating_add(more as u64).max(passed);
    let limit = LIMIT.load(Ordering::Relaxed);
    let (used, limit, change) = if used > limit {
        (used, format!("--memory-limit {}", human(limit)), "raise --memory-limit")
    } else if let Some(resident) = resident_near_the_end() {
        let there = human(THERE.load(Ordering::Relaxed));
        (resident, format!("the {there} that the machine or its control group has"), "give it more memory")
    } else {
        return Ok(());
    };
    let (needed_by, help) = keeps_most(used).unwrap_or_else(|| (who(), usual));
    let help = format!("{change}, or {help}{}", refused());
    Err(Error::Memory { needed_by, whose: "the process", used: human(used), limit, help })
}

/// Why nothing could be put on disk for the query of this thread, if that was wanted, behind other help.
fn refused() -> String {
    let why = account::own(|account| account.refused().map(str::to_string)).flatten();
    why.map(|why| format!("; nothing could be put on disk ({why}): set TMPDIR")).unwrap_or_default()
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
        let account = Account::new(u64::MAX);
        let most = |used| most_of(account.operators(), used);
        let entered = account.enter();
        let little = (Holder::new("sort by a".into(), "x"), Holder::new("join".into(), "x"));
        let much = [Holder::new("aggregate".into(), "group less"), Holder::new("aggregate".into(), "x")];
        drop(entered);
        little.0.keeps(30);
        much.iter().for_each(|h| h.keeps(20));
        assert_eq!(most(100), Some(("aggregate".into(), "group less")));
        assert_eq!(most(1000), None, "others took it");
        drop(much);
        assert_eq!(most(100).map(|(label, _)| label), Some("sort by a".into()));
        assert_eq!(account.kept(), 30);
    }

    #[test]
    fn a_query_is_held_to_its_own_limit() {
        let (one, other) = (Account::new(1000), Account::new(u64::MAX));
        let fails = |more| check(more, || "sort".into()).map_err(|e| e.to_string());
        {
            let _entered = one.enter();
            let join = Holder::new("join (build side)".into(), "join less");
            join.keeps(600);
            assert!(is_scarce() && is_counted() && is_short(0) && limit() == 1000);
            assert_eq!(fails(400), Ok(()));
            let error = fails(401).unwrap_err();
            assert!(error.contains("join (build side) took the query to 1001 B of 1000 B"), "{error}");
            {
                let _entered = other.enter();
                assert!(!is_counted());
                assert_eq!(fails(401), Ok(()));
            }
            assert!(fails(401).is_err(), "the thread works for the first query again");
        }
        assert_eq!(one.kept(), 0, "what is dropped is kept no more");
        assert_eq!(fails(401), Ok(()));
    }

    #[test]
    fn another_query_is_told_from_this_one() {
        let (one, other) = (Account::new(u64::MAX), Account::new(u64::MAX));
        let much = {
            let _entered = other.enter();
            Holder::new("sort by b".into(), "x")
        };
        much.keeps(1 << 40);
        let _entered = one.enter();
        let (needed_by, help) = keeps_most(1 << 41).unwrap();
        assert_eq!((needed_by.as_str(), help), ("sort by b, of another query,", "run fewer queries at once"));
    }
}
