//! Threads that plan, and wait for the next statement when they are done.
//!
//! To begin and to end a thread with a stack of [`stack::DEEP`] takes longer than to parse or plan a small statement.
//! And a statement needs several. A thread that is done therefore waits some time for more work.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use engine::context::{memory, stack};

/// So many threads wait at most.
const MOST: usize = 4;

/// A thread that has waited so long ends.
const WAIT: Duration = Duration::from_secs(10);

/// A thread that has worked longer ends, because it may have used much of its stack, and keeps what it has used.
const SHORT: Duration = Duration::from_millis(50);

/// What a thread is to do. It does not panic.
pub type PlanningJob = Box<dyn FnOnce() + Send>;

/// The threads that wait.
pub struct Planners {
    idle: Mutex<Vec<Idle>>,
    next: AtomicU64,
}

struct Idle {
    number: u64,
    work: Sender<PlanningJob>,
    stat: Stat,
}

/// The file in which the system tells the times of a thread, by proc(5). Nothing until the thread has begun, and on systems
/// without such a file.
#[derive(Clone, Default)]
pub struct Stat(Arc<OnceLock<PathBuf>>);

impl Stat {
    /// Its path.
    pub fn path(&self) -> Option<&Path> {
        self.0.get().map(PathBuf::as_path)
    }

    /// From now on it is that of the calling thread.
    pub fn set(&self) {
        if let Ok(thread) = std::fs::read_link("/proc/thread-self") {
            // It is set once.
            let _ = self.0.set(Path::new("/proc").join(thread).join("stat"));
        }
    }
}

impl Planners {
    /// No threads yet.
    pub const fn new() -> Planners {
        Planners { idle: Mutex::new(Vec::new()), next: AtomicU64::new(0) }
    }

    /// Has a thread do this work: one that waits, or a new one.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn run(&'static self, mut work: PlanningJob) -> std::io::Result<Stat> {
        while let Some(idle) = self.take() {
            match idle.work.send(work) {
                Ok(()) => return Ok(idle.stat),
                // It has ended.
                Err(returned) => work = returned.0,
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let stat = Stat::default();
        let of_thread = stat.clone();
        let thread = Builder::new().name("palais-planning".into()).stack_size(stack::DEEP);
        stack::leave(thread.spawn(move || self.serve(number, &of_thread, work))?);
        Ok(stat)
    }

    fn serve(&self, number: u64, stat: &Stat, mut work: PlanningJob) {
        stack::mark_deep();
        stat.set();
        loop {
            let begun = Instant::now();
            work();
            // It may wait for long, and what is counted of it must be right meanwhile.
            memory::settle();
            if begun.elapsed() > SHORT {
                return;
            }
            let (sender, given) = channel();
            {
                let mut idle = self.lock();
                if idle.len() >= MOST {
                    return;
                }
                idle.push(Idle { number, work: sender, stat: stat.clone() });
            }
            work = match given.recv_timeout(WAIT) {
                Ok(work) => work,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let mut idle = self.lock();
                    if let Some(place) = idle.iter().position(|idle| idle.number == number) {
                        idle.remove(place);
                        return;
                    }
                    drop(idle);
                    // Somebody has taken it, and is about to send.
                    let Ok(work) = given.recv() else { return };
                    work
                }
            };
        }
    }

    /// The thread that began to wait last: what it has used is still in the caches.
    fn take(&self) -> Option<Idle> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{ThreadId, current, sleep};

    use super::*;

    static PLANNERS: Planners = Planners::new();

    /// The thread that has done some work, once it waits or has ended.
    fn worked(time: Duration) -> (ThreadId, usize) {
        let (done, waiting) = channel();
        let work = move || {
            sleep(time);
            done.send(current().id()).unwrap();
        };
        PLANNERS.run(Box::new(work)).unwrap();
        let thread = waiting.recv().unwrap();
        let start = Instant::now();
        while PLANNERS.lock().is_empty() && start.elapsed() < 10 * SHORT {
            sleep(Duration::from_millis(1));
        }
        (thread, PLANNERS.lock().len())
    }

    #[test]
    fn a_thread_works_again_unless_it_has_worked_for_long() {
        let (first, idle) = worked(Duration::ZERO);
        assert_eq!(idle, 1);
        let (second, idle) = worked(2 * SHORT);
        assert_eq!((second, idle), (first, 0));
        assert_ne!(worked(Duration::ZERO).0, first);
    }
}
