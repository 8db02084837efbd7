//! The account of a query: how many bytes its operators keep, and how many they may keep.
//!
//! A query's threads enter its account, and each operator notes there how much it keeps ([`super::Holder`]). So a query
//! can have a lower limit than the process, and an error names the query that took the memory.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};

use super::{Holder, Kept};

/// The accounts of all queries of the process.
static ALL: Mutex<Vec<Weak<Account>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Option<Arc<Account>>> = const { RefCell::new(None) };
}

/// The account of one query.
#[derive(Debug)]
pub struct Account {
    limit: u64,
    /// The bytes that its operators keep together.
    kept: AtomicUsize,
    holders: Mutex<Vec<Weak<Holder>>>,
    /// The most bytes that were in use when one of its threads passed the limit of the process. 0 if none has.
    passed: AtomicU64,
    /// Why the query could not spill, if it tried.
    refused: OnceLock<String>,
}

/// Makes an account the calling thread's own until it is dropped. Then the thread has its former account again.
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Account>>,
    /// Keeps the value on its thread.
    _thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        // A thread that is being torn down has no account any more.
        let _ = OWN.try_with(|own| own.replace(before));
    }
}

impl Account {
    /// The account of a query whose operators may keep `limit` bytes.
    pub fn new(limit: u64) -> Arc<Account> {
        let account = Arc::new(Account {
            limit,
            kept: AtomicUsize::new(0),
            holders: Mutex::default(),
            passed: AtomicU64::new(0),
            refused: OnceLock::new(),
        });
        let mut all = lock(&ALL);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&account));
        account
    }

    /// Makes the calling thread work for the query, until the result is dropped.
    pub fn enter(self: &Arc<Account>) -> Entered {
        Entered { before: OWN.replace(Some(self.clone())), _thread: PhantomData }
    }

    /// The account of this thread, if the thread works for a query. A thread that this one starts enters it too.
    pub fn entered() -> Option<Arc<Account>> {
        own(Arc::clone)
    }

    /// The account of this thread, or a new one without a limit.
    pub(super) fn of_this_thread() -> Arc<Account> {
        Account::entered().unwrap_or_else(|| Account::new(u64::MAX))
    }

    /// The most that its operators may keep, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The bytes that its operators keep.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed) as u64
    }

    /// Why the query could not spill, if it tried.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// The most bytes that were in use when one of its threads passed the limit of the process, or 0.
    pub(super) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Adds an operator that keeps rows or states.
    pub(super) fn add(&self, holder: &Arc<Holder>) {
        let mut holders = lock(&self.holders);
        holders.retain(|known| known.strong_count() > 0);
        holders.push(Arc::downgrade(holder));
    }

    /// Notes that an operator keeps `now` bytes instead of `before`.
    pub(super) fn change(&self, before: usize, now: usize) {
        match now.checked_sub(before) {
            Some(more) => self.kept.fetch_add(more, Ordering::Relaxed),
            None => self.kept.fetch_sub(before - now, Ordering::Relaxed),
        };
    }

    /// The operators, each with the bytes that it keeps.
    pub(super) fn operators(&self) -> Vec<Kept> {
        lock(&self.holders).iter().filter_map(Weak::upgrade).map(Kept::of).collect()
    }
}

/// Calls `with` with the account of this thread, if the thread works for a query.
pub(super) fn own<T>(with: impl FnOnce(&Arc<Account>) -> T) -> Option<T> {
    OWN.try_with(|own| own.try_borrow().ok()?.as_ref().map(with)).ok()?
}

/// Notes that a request of this thread has passed the limit of the process: `would_use` bytes would be in use after it.
pub(super) fn pass(would_use: u64) {
    own(|account| account.passed.fetch_max(would_use, Ordering::Relaxed));
}

/// Notes why the query of this thread could not spill. The first reason is kept.
pub fn refuse(why: impl FnOnce() -> String) {
    own(|account| account.refused.get_or_init(why).len());
}

/// The operators of all queries, each with the bytes that it keeps.
pub(super) fn of_all() -> Vec<Kept> {
    let all: Vec<Arc<Account>> = lock(&ALL).iter().filter_map(Weak::upgrade).collect();
    all.iter().flat_map(|account| account.operators()).collect()
}

/// As [`of_all`], for a thread that may hold one of the locks itself. It does not wait, and leaves out accounts that
/// are locked.
pub(super) fn of_all_now() -> Vec<Kept> {
    fn now<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
        match lock.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    let Some(all) = now(&ALL) else { return Vec::new() };
    let holders = all.iter().filter_map(Weak::upgrade).filter_map(|account| {
        let holders = now(&account.holders)?;
        Some(holders.iter().filter_map(Weak::upgrade).map(Kept::of).collect::<Vec<_>>())
    });
    holders.flatten().collect()
}

fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
