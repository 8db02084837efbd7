//! What the operators of one query keep, and how much that may be.
//!
//! A query's threads enter its account, and what an operator keeps is noted there ([`super::Holder`]). So one query can be
//! held to less than the process, and the one that took the memory is told from those beside it.

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

/// The memory of one query.
#[derive(Debug)]
pub struct Account {
    limit: u64,
    /// The sum of what its operators keep, in bytes.
    kept: AtomicUsize,
    holders: Mutex<Vec<Weak<Holder>>>,
    /// What was in use when one of its threads passed the limit of the process.
    passed: AtomicU64,
    /// Why nothing could be put on disk, if that was wanted.
    refused: OnceLock<String>,
}

/// The account of this thread, until this is dropped.
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Account>>,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        // A thread that is being torn down has none any more.
        let _ = OWN.try_with(|own| own.replace(before));
    }
}

impl Account {
    /// Of a query whose operators may keep so many bytes.
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

    /// Has this thread work for the query.
    pub fn enter(self: &Arc<Account>) -> Entered {
        Entered { before: OWN.replace(Some(self.clone())), _thread: PhantomData }
    }

    /// That of this thread, or a new one.
    pub(super) fn of_this_thread() -> Arc<Account> {
        own(Arc::clone).unwrap_or_else(|| Account::new(u64::MAX))
    }

    /// The most that its operators may keep, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What its operators keep, in bytes.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed) as u64
    }

    /// Why nothing could be put on disk, if that was wanted.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// What was in use when one of its threads passed the limit of the process, or 0.
    pub(super) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// An operator keeps something.
    pub(super) fn add(&self, holder: &Arc<Holder>) {
        let mut holders = lock(&self.holders);
        holders.retain(|known| known.strong_count() > 0);
        holders.push(Arc::downgrade(holder));
    }

    /// An operator keeps `now` bytes and not `before`.
    pub(super) fn change(&self, before: usize, now: usize) {
        match now.checked_sub(before) {
            Some(more) => self.kept.fetch_add(more, Ordering::Relaxed),
            None => self.kept.fetch_sub(before - now, Ordering::Relaxed),
        };
    }

    /// What its operators keep, each with its bytes.
    pub(super) fn operators(&self) -> Vec<Kept> {
        lock(&self.holders).iter().filter_map(Weak::upgrade).map(Kept::of).collect()
    }
}

/// The account of this thread, if it works for a query.
pub(super) fn own<T>(with: impl FnOnce(&Arc<Account>) -> T) -> Option<T> {
    OWN.try_with(|own| own.try_borrow().ok()?.as_ref().map(with)).ok()?
}

/// Notes that a request of this thread has passed the limit of the process.
pub(super) fn pass(would_use: u64) {
    own(|account| account.passed.fetch_max(would_use, Ordering::Relaxed));
}

/// Notes why nothing could be put on disk for the query of this thread.
pub fn refuse(why: impl FnOnce() -> String) {
    own(|account| account.refused.get_or_init(why).len());
}

/// What the operators of all queries keep.
pub(super) fn of_all() -> Vec<Kept> {
    let all: Vec<Arc<Account>> = lock(&ALL).iter().filter_map(Weak::upgrade).collect();
    all.iter().flat_map(|account| account.operators()).collect()
}

/// The same for a thread that may hold a lock itself: it does not wait, and gives less.
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
