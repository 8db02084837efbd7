//! The most memory that was in use at once while something lasted, such as a query.
//!
//! The allocator keeps one maximum. It begins anew whenever a [`Peak`] begins, and what it was until then is given to the
//! peaks that had begun before. So a request costs the same, however many peaks there are.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::USED;

/// The most bytes that were in use at once since a peak began last.
static LATEST: AtomicI64 = AtomicI64::new(0);

/// The peaks that have begun. The lock is held wherever [`LATEST`] begins anew or is read.
static BEGUN: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// Notes that the process has so many bytes in use. Takes no lock, because the allocator calls it.
pub(super) fn note(used: i64) {
    LATEST.fetch_max(used, Ordering::Relaxed);
}

/// The most bytes that the process had in use at once from the moment in which this began to [`Peak::end`], or until now.
/// It counts all of the process: what was in use before too, and what others do at the same time.
#[derive(Debug)]
pub struct Peak(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The most until [`LATEST`] began anew the last time.
    most: AtomicI64,
    has_ended: AtomicBool,
}

impl Inner {
    /// Takes the maximum of a time that is over. The caller holds the lock.
    fn take(&self, latest: i64) {
        if !self.has_ended.load(Ordering::Relaxed) {
            self.most.fetch_max(latest, Ordering::Relaxed);
        }
    }
}

impl Peak {
    /// Begins now.
    pub fn begin() -> Peak {
        let peak = Peak(Arc::default());
        let mut begun = begun();
        let latest = LATEST.swap(0, Ordering::Relaxed);
        note(USED.load(Ordering::Relaxed));
        begun.retain(|known| known.upgrade().inspect(|known| known.take(latest)).is_some());
        begun.push(Arc::downgrade(&peak.0));
        peak
    }

    /// The most bytes so far.
    pub fn bytes(&self) -> u64 {
        let _begun = begun();
        self.0.take(LATEST.load(Ordering::Relaxed));
        self.0.most.load(Ordering::Relaxed).max(0) as u64
    }

    /// Ends now: what the process does later does not count.
    pub fn end(&self) {
        let _begun = begun();
        self.0.take(LATEST.load(Ordering::Relaxed));
        self.0.has_ended.store(true, Ordering::Relaxed);
    }
}

impl Default for Peak {
    fn default() -> Peak {
        Peak::begin()
    }
}

fn begun() -> MutexGuard<'static, Vec<Weak<Inner>>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_the_most_of_its_own_time() {
        // No allocator counts in these tests, and no other test notes what is in use.
        let first = Peak::begin();
        note(100);
        let second = Peak::begin();
        assert_eq!((first.bytes(), second.bytes()), (100, 0));
        note(30);
        assert_eq!((first.bytes(), second.bytes()), (100, 30));
        second.end();
        note(200);
        let third = Peak::begin();
        note(7);
        assert_eq!([first, second, third].map(|peak| peak.bytes()), [200, 30, 7]);
    }
}
