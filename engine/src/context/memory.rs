//! The counting allocator and the memory limit.
//!
//! The binary installs [`Counting`] as its global allocator, so that this module counts all memory of the process. Each
//! thread keeps a small balance of its own. It settles the balance with the shared counter when the balance passes 256
//! KiB, so that counting costs no contention.
//!
//! - [`account`]: the bytes that the operators of one query keep.
//! - `backstop`: ends the process where no operator or decoder looks at the limit in time.
//! - `machine`: how much memory the machine or the control group has.
//! - `peak`: the most memory that was in use at once while a query ran.

pub mod account;
mod backstop;
mod machine;
mod peak;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use account::{Account, Entered};
pub use backstop::{end_by, planning};
pub use machine::default_limit;
pub use peak::Peak;

use crate::error::{Error, Result};

static USED: AtomicI64 = AtomicI64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// The memory of the machine or of the control group, in bytes.
static THERE: AtomicU64 = AtomicU64::new(u64::MAX);

const SETTLE: i64 = 256 << 10;
/// Requests of fewer bytes are not compared with the limit one by one.
const LARGE: i64 = 1 << 20;

/// The bytes that rows between two operators may take.
const ON_THE_WAY: u64 = 64 << 20;

/// The percentage of the memory of the machine or the control group at which a query ends.
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
    // A thread that is being torn down has no balance any more. Its last allocations are counted at once.
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
            peak::note(used);
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

/// Settles the balance of a thread when the thread ends. The shared counter would otherwise be wrong for ever.
struct Settle;

impl Drop for Settle {
    fn drop(&mut self) {
        settle();
    }
}

/// Settles the balance of the calling thread, for one that then waits for long.
pub fn settle() {
    USED.fetch_add(BALANCE.try_with(Cell::take).unwrap_or(0), Ordering::Relaxed);
}

/// Makes the calling thread settle its balance when it ends, after everything that it owns is dropped.
pub fn settle_at_end() {
    thread_local! {
        static SETTLE: Settle = const { Settle };
    }
    // A thread that is being torn down has nothing left to settle.
    let _ = SETTLE.try_with(|_| ());
}

/// Bytes in use, to within 256 KiB a thread.
pub fn used() -> u64 {
    USED.load(Ordering::Relaxed).max(0) as u64
}

/// The most bytes that were resident at once since the process began, as the system says. 0 if the system does not say
/// it.
pub fn peak_resident() -> u64 {
    of_status("VmHWM:").unwrap_or_default()
}

/// Whether operators should note how much they keep, and should keep little. They should if more than a quarter of the
/// process's limit, or of the query's own limit, is in use.
pub fn is_scarce() -> bool {
    used() > LIMIT.load(Ordering::Relaxed) / 4
        || of_own_limit(|account, limit| account.kept() > limit / 4).unwrap_or(false)
}

/// Whether operators should note how much they keep. They should if more than a quarter of the limit is in use, or
/// their query has a limit of its own.
pub fn is_counted() -> bool {
    used() > LIMIT.load(Ordering::Relaxed) / 4 || of_own_limit(|_, _| ()).is_some()
}

/// Whether operators should spill what they can: after `more` bytes too little of the limit would be left.
///
/// Too little is a quarter of the limit, or `ON_THE_WAY` if that is more, but at most half of the limit. Operators
/// should also spill if the process takes more than `GIVE_BACK_AT` percent of the machine's memory, however much is
/// counted.
pub fn is_short(more: u64) -> bool {
    let short = |used: u64, limit: u64| {
        used.saturating_add(more) > limit - (limit / 4).max(ON_THE_WAY).min(limit / 2)
    };
    SQUEEZED.load(Ordering::Relaxed)
        || short(used(), LIMIT.load(Ordering::Relaxed))
        || of_own_limit(|account, limit| short(account.kept(), limit)).unwrap_or(false)
}

/// Calls `with` with the account of this thread's query and its limit, if that limit is lower than the limit of the
/// process.
///
/// An account counts only what operators keep. The limit of the process is compared with all memory.
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

/// What a request of `more` bytes would do, as text for a message. `None` if the limit allows the request.
fn excess(more: u64) -> Option<String> {
    let (would_use, limit) = (used().saturating_add(more), LIMIT.load(Ordering::Relaxed));
    let text = || format!("take the process to {} of --memory-limit {}", human(would_use), human(limit));
    (would_use > limit).then(text)
}

/// The limit of this thread's query, or the limit of the process if that is lower.
pub fn limit() -> u64 {
    of_own_limit(|_, limit| limit).unwrap_or_else(|| LIMIT.load(Ordering::Relaxed))
}

/// An operator that keeps rows or states, and how many bytes it keeps. So an error names the operator that took the
/// memory, and not the one that noticed the limit. Holders of one label count as one: they are one operator on several
/// workers.
#[derive(Debug)]
pub struct Holder {
    label: String,
    help: &'static str,
    bytes: AtomicUsize,
    account: Arc<Account>,
}

impl Holder {
    /// Registers an operator of this thread's query until the holder is dropped. `help` is text behind "or" in an
    /// error: what the user can do so that the operator keeps less.
    pub fn new(label: String, help: &'static str) -> Arc<Holder> {
        let account = Account::of_this_thread();
        let holder = Arc::new(Holder { label, help, bytes: AtomicUsize::new(0), account });
        holder.account.add(&holder);
        holder
    }

    /// Notes how many bytes the operator keeps now.
    pub fn keeps(&self, bytes: usize) {
        self.account.change(self.bytes.swap(bytes, Ordering::Relaxed), bytes);
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.keeps(0);
    }
}

/// A holder with the bytes that its operator keeps.
struct Kept {
    bytes: usize,
    holder: Arc<Holder>,
}

impl Kept {
    fn of(holder: Arc<Holder>) -> Kept {
        Kept { bytes: holder.bytes.load(Ordering::Relaxed), holder }
    }
}

/// The label and the help of the operator that keeps most, if that is at least an eighth of `used` bytes.
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

/// The label and the help of the operator that took the memory of the process. It is one of this thread's query, or
/// else one of another query.
fn keeps_most(used: u64) -> Option<(String, &'static str)> {
    let Some(own) = account::own(|account| account.operators()) else {
        return most_of(account::of_all(), used);
    };
    most_of(own, used).or_else(|| {
        let (others, _) = most_of(account::of_all(), used)?;
        Some((format!("{others}, of another query,"), "run fewer queries at once"))
    })
}

/// Fails if `more` bytes on top of those in use would pass the limit of this thread's query or of the process. It also
/// fails if a thread of the query has passed the process's limit since the query began. A single large allocation may
/// be freed before an operator looks. `who` names the operator that looks.
///
/// # Errors
/// [`Error::Memory`].
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

/// Why this thread's query could not spill, as text behind other help. Empty if the query did not try or could spill.
fn refused() -> String {
    let why = account::own(|account| account.refused().map(str::to_string)).flatten();
    why.map(|why| format!("; nothing could be put on disk ({why}): set TMPDIR")).unwrap_or_default()
}

/// The milliseconds between two questions to the system how much memory the process takes.
const ASK_AGAIN: u64 = 10;

/// The percentage of the machine's memory above which the process gives freed memory back.
const GIVE_BACK_AT: u64 = 80;

/// Whether the process took more than [`GIVE_BACK_AT`] percent at the last look.
static SQUEEZED: AtomicBool = AtomicBool::new(false);

/// The milliseconds between two tries to give memory back.
const GIVE_BACK_AGAIN: u64 = 500;

/// Gives the memory that the allocator keeps after it was freed back to the system.
static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Sets the function that gives freed memory back to the system. [`check`] calls it when the machine has little memory
/// left.
pub fn give_back_by(give_back: fn()) {
    GIVE_BACK.get_or_init(|| give_back);
}

/// The bytes of the machine's memory that the process takes, if the system would soon end the process. Else `None`.
///
/// The allocator keeps freed memory for a while, so that the process can take much more memory than is counted.
fn resident_near_the_end() -> Option<u64> {
    static START: OnceLock<Instant> = OnceLock::new();
    static ASKED: AtomicU64 = AtomicU64::new(0);
    static GIVEN_BACK: AtomicU64 = AtomicU64::new(0);
    let there = THERE.load(Ordering::Relaxed);
    // In measurements the process never took three times what is counted.
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

/// The name in `/proc/self/status` of the memory that the system can't take from the process. The system takes pages of
/// files, such as the program's own, when memory runs out.
const RESIDENT: &str = "RssAnon:";

/// The bytes that `/proc/self/status` gives under this name.
fn of_status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// A number of bytes as text for people.
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
