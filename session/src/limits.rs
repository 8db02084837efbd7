//! The limits of planning: memory and time.
//!
//! The planner's rules can't be interrupted, and some take time that grows with the square of a statement. They recurse
//! once for each level of an expression, and `a AND b AND …` of thousands of terms is as deep. Planning so runs on a thread
//! of its own, with a stack that is large enough, and whoever asked for it gets an error once it takes too long. The thread
//! then goes on until it is done, or until the process ends. The allocator looks at its memory.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The most time of a processor that planning a statement may take.
const MOST: Duration = Duration::from_secs(10);

/// How often the time is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The stack of a thread that plans, in bytes; memory is taken only as far as it is used.
const STACK: usize = 512 << 20;

/// The system's unit of the time of threads: a hundredth of a second on Linux, whatever its kernel counts in.
const TICKS: u64 = 100;

/// Parses or plans a statement within the limits.
///
/// # Errors
/// The time is over, there is no thread, or the planner panicked.
pub fn within_limits<T: Send + 'static>(plan: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (done, waiting) = channel();
    let (told, clock) = channel();
    let run = move || {
        let _ = told.send(Clock::of_this_thread());
        let planned = engine::panics::catch(|| Ok(engine::memory::planning(plan)));
        // Whoever has waited too long has gone.
        let _ = done.send(planned);
    };
    let thread = std::thread::Builder::new().name("palais-planning".into()).stack_size(STACK);
    thread.spawn(run).map_err(|e| engine::Error::Start(e.to_string()))?;
    let clock = clock.recv().ok();
    loop {
        match waiting.recv_timeout(LOOK) {
            Ok(planned) => return Ok(planned?),
            Err(RecvTimeoutError::Timeout) if clock.as_ref().is_some_and(|clock| clock.elapsed() > MOST) => {
                return Err(Error::PlanningTime { seconds: MOST.as_secs() });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(engine::Error::Start("the thread that plans has ended".into()).into());
            }
        }
    }
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
        assert_eq!(within_limits(|| 7).unwrap(), 7);
        let error = within_limits(|| -> u8 { panic!("on purpose") }).unwrap_err();
        assert!(error.to_string().contains("on purpose"), "{error}");
    }
}
