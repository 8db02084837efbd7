//! The same work for many files, a few at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;

/// The most files that are open at once.
const AT_ONCE: usize = 8;

/// Does `work` for `0..count` and gives the results in order, or the error of the least number that has one. Numbers
/// are begun in order, so that this is the same error whoever was faster.
pub fn each<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    if count <= 2 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(count) {
            scope.spawn(|| {
                let mut own = Vec::new();
                while !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = work(number);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    own.push((number, result));
                }
                done.lock().expect("nothing panics while it holds this lock").extend(own);
            });
        }
    });
    let mut done = done.into_inner().expect("nothing panics while it holds this lock");
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order() {
        for count in [0, 1, 2, 3, 1000] {
            assert_eq!(each(count, Ok).unwrap(), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_in_order_is_given() {
        for _ in 0..50 {
            let error =
                each(100, |i| if i % 7 == 6 { Err(Error::Unsupported(i.to_string())) } else { Ok(()) });
            assert_eq!(error.unwrap_err().to_string(), "6");
        }
    }
}
