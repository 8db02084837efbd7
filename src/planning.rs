//! The limits of planning: memory and time.
//!
//! The planner's rules can't be interrupted, and some take time that grows with the square of a statement. Planning runs on
//! the thread that called, and ends the process with an error where it passes a limit: the allocator looks at its memory, and
//! a thread of its own at its time. Ctrl-C ends the process in any case while no query runs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::signals;

/// The most time of a processor that planning a statement may take.
const MOST: Duration = Duration::from_secs(10);

/// How often the time is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The system's unit of the time of threads: a hundredth of a second on Linux, whatever its kernel counts in.
const TICKS: u64 = 100;

/// Parses or plans a statement within the limits.
pub fn within_limits<T>(plan: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    let clock = Clock::of_this_thread();
    let watch = move || {
        while waiting.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if clock.elapsed() > MOST {
                signals::fail(&anyhow::anyhow!(
                    "planning the statement took more than {} seconds\n  \
                     help: write a shorter statement, or several with COPY (…) TO 'file' between them",
                    MOST.as_secs()
                ));
            }
        }
    };
    // Without the thread the time has no limit.
    let _ = std::thread::Builder::new().name("palais-planning".into()).spawn(watch);
    let planned = engine::memory::planning(plan);
    drop(done);
    planned
}

/// The time that a thread has a processor, so that a machine that is busy does not count.
struct Clock {
    /// Where the system tells it.
    file: Option<PathBuf>,
    begun: Duration,
    /// For where it does not.
    start: Instant,
}

impl Clock {
    fn of_this_thread() -> Clock {
        let file = std::fs::read_link("/proc/thread-self").ok();
        let file = file.map(|thread| Path::new("/proc").join(thread).join("stat"));
        let begun = file.as_deref().and_then(time_of).unwrap_or_default();
        Clock { file, begun, start: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let time = self.file.as_deref().and_then(time_of).map(|time| time.saturating_sub(self.begun));
        time.unwrap_or_else(|| self.start.elapsed())
    }
}

/// The time that a thread had a processor, by its `stat` file of proc(5).
fn time_of(file: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(file).ok()?;
    // The name of the thread, in parentheses, may hold spaces. Behind it stand its state and ten numbers, then the times.
    let mut numbers = text.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = numbers.next()?.ok()? + numbers.next()?.ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_counts_what_a_thread_does() {
        let clock = Clock::of_this_thread();
        assert!(clock.file.is_some());
        let start = Instant::now();
        let mut sum = 0_u64;
        while clock.elapsed() < Duration::from_millis(50) {
            (0..100_000_u64).for_each(|i| sum = std::hint::black_box(sum ^ i));
        }
        assert!(start.elapsed() >= Duration::from_millis(40), "{sum}");
    }

    #[test]
    fn what_was_planned_is_given() {
        assert_eq!(within_limits(|| 7), 7);
    }
}
