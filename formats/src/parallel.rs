//! Does the same work for many files, a few at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;
use crate::threads;

/// The most threads, and so the most files that are open at once.
const AT_ONCE: usize = 8;

/// The stack of a thread, in bytes. A nested value is decoded with a call for each of its levels.
const STACK: usize = 64 << 20;

/// The most numbers that a thread takes at once.
const MOST_TAKEN: usize = 64;

/// Does `work` for each of `0..count`, and gives the results in order.
///
/// # Errors
/// The error of the least number that has one. Numbers are begun in order, so that the error does not depend on which
/// thread is faster.
pub fn each<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    each_with(count, || (), |(), number| work(number))
}

/// As [`each`], with a value that each thread makes for itself.
pub fn each_with<S, T: Send>(
    count: usize,
    make: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if count <= 2 {
        let mut own = make();
        return (0..count).map(|number| work(&mut own, number)).collect();
    }
    // To take many numbers at once costs less. To take few keeps all threads busy to the end.
    let taken = (count / (AT_ONCE * 8)).clamp(1, MOST_TAKEN);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<Vec<T>>)>> = Mutex::new(Vec::with_capacity(count / taken + 1));
    let serve = || {
        let (mut own, mut results) = (make(), Vec::new());
        while !failed.load(Ordering::Relaxed) {
            let first = next.fetch_add(taken, Ordering::Relaxed);
            if first >= count {
                break;
            }
            let numbers = first..count.min(first + taken);
            let result: Result<Vec<T>> = numbers.map(|number| work(&mut own, number)).collect();
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            results.push((first, result));
        }
        done.lock().expect("nothing panics while it holds this lock").extend(results);
    };
    threads::side_by_side("palais-open", STACK, AT_ONCE.min(count) - 1, serve);
    let mut done = done.into_inner().expect("nothing panics while it holds this lock");
    done.sort_unstable_by_key(|(first, _)| *first);
    let mut all = Vec::with_capacity(count);
    for (_, results) in done {
        all.extend(results?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order() {
        for count in [0, 1, 2, 3, 1000, 100_001] {
            assert_eq!(each(count, Ok).unwrap(), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_in_order_is_given() {
        for _ in 0..50 {
            let error =
                each(100, |i| if i % 7 == 6 { Err(Error::Unsupported(i.to_string())) } else { Ok(()) });
            assert_eq!(error.unwrap_err().to_string(), "6");
            let error =
                each(9999, |i| if i % 70 > 60 { Err(Error::Unsupported(i.to_string())) } else { Ok(()) });
            assert_eq!(error.unwrap_err().to_string(), "61");
        }
    }
}
