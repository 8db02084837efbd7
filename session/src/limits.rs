//! The limits of parsing, opening files and planning: memory, time, and cancel.
//!
//! The rules of the planner can't be interrupted, and some take time that grows with the square of a statement. They
//! recurse once for each level of an expression, and `a AND b AND …` of thousands of terms is as deep. So planning runs
//! on another thread, with a stack that is large enough. The caller gets an error once planning takes too long. The
//! thread then goes on until it is done, or until the process ends. The allocator limits its memory.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use engine::context::cancel::Cancel;

use crate::error::{Error, Result};
use crate::planners::{Planners, Stat};

static PLANNERS: Planners = Planners::new();

/// The most processor time that planning a statement may take.
const MOST: Duration = Duration::from_secs(10);

/// How often the caller looks at the time.
const LOOK: Duration = Duration::from_millis(200);

/// How often the caller looks whether the statement was cancelled.
const LOOK_FOR_CANCEL: Duration = Duration::from_millis(20);

/// How many units a second the system counts in for the time of threads: 100 on Linux, whatever its kernel counts in.
const TICKS: u64 = 100;

/// Parses or plans a statement within the limits.
///
/// # Errors
/// The time is over, the statement was cancelled, no thread can be started, or the planner panicked.
pub fn within_limits<T: Send + 'static>(
    cancel: &Cancel,
    plan: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let run = move || engine::context::memory::planning(plan);
    let mut clock = None;
    wait_for(run, cancel, |stat| match clock.get_or_insert_with(|| Clock::of(stat)).elapsed() > MOST {
        true => Err(Error::PlanningTime { seconds: MOST.as_secs() }),
        false => Ok(()),
    })
}

/// Runs `work`, such as opening files, until it is done or cancelled. After a cancel the work goes on, but the caller
/// does not wait for it.
///
/// # Errors
/// The work was cancelled, no thread can be started, or the work panicked.
pub fn until<T: Send + 'static>(cancel: &Cancel, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    wait_for(work, cancel, |_| Ok(()))
}

/// Waits for work on another thread, as long as `look` gives no error.
fn wait_for<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    cancel: &Cancel,
    mut look: impl FnMut(&Stat) -> Result<()>,
) -> Result<T> {
    let (done, waiting) = channel();
    let run = move || {
        let result = engine::context::panics::catch(|| Ok(work()));
        // The caller is gone if it has waited too long.
        let _ = done.send(result);
    };
    cancel.check()?;
    let stat = PLANNERS.run(Box::new(run)).map_err(|e| engine::Error::Start(e.to_string()))?;
    let mut looked = Instant::now();
    loop {
        match waiting.recv_timeout(LOOK_FOR_CANCEL) {
            Ok(result) => return Ok(result?),
            Err(RecvTimeoutError::Timeout) => {
                cancel.check()?;
                if looked.elapsed() >= LOOK {
                    look(&stat)?;
                    looked = Instant::now();
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let what = "the thread that opens files or plans has ended";
                return Err(engine::Error::Start(what.into()).into());
            }
        }
    }
}

/// The processor time of a thread: time of a busy machine in which the thread does not run does not count.
struct Clock {
    stat: Stat,
    begun: Duration,
    /// Elapsed time, for systems without that file.
    start: Instant,
}

impl Clock {
    fn of(stat: &Stat) -> Clock {
        let begun = stat.path().and_then(time_of).unwrap_or_default();
        Clock { stat: stat.clone(), begun, start: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let time = self.stat.path().and_then(time_of).map(|time| time.saturating_sub(self.begun));
        time.unwrap_or_else(|| self.start.elapsed())
    }
}

/// The processor time of a thread, by its `stat` file of proc(5).
fn time_of(file: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(file).ok()?;
    // The name of the thread, in parentheses, may hold spaces. Behind it stand its state and ten numbers, then the
    // times.
    let mut numbers = text.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = numbers.next()?.ok()? + numbers.next()?.ok()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_counts_what_a_thread_does() {
        let stat = Stat::default();
        stat.set();
        let clock = Clock::of(&stat);
        assert!(clock.stat.path().is_some());
        let start = Instant::now();
        let mut sum = 0_u64;
        while clock.elapsed() < Duration::from_millis(50) {
            (0..100_000_u64).for_each(|i| sum = std::hint::black_box(sum ^ i));
        }
        assert!(start.elapsed() >= Duration::from_millis(40), "{sum}");
    }

    #[test]
    fn what_was_planned_is_given() {
        let cancel = Cancel::default();
        assert_eq!(within_limits(&cancel, || 7).unwrap(), 7);
        let error = within_limits(&cancel, || -> u8 { panic!("on purpose") }).unwrap_err();
        assert!(error.to_string().contains("on purpose"), "{error}");
        cancel.cancel();
        let error = within_limits(&cancel, || 7).unwrap_err();
        assert!(matches!(error, Error::Query(engine::Error::Cancelled)), "{error}");
    }

    #[test]
    fn nobody_waits_for_what_is_not_wanted_any_more() {
        let (cancel, (go_on, wait)) = (Cancel::default(), channel::<()>());
        let asking = cancel.clone();
        let asker = std::thread::spawn(move || asking.cancel());
        let error = until(&cancel, move || wait.recv()).unwrap_err();
        assert!(matches!(error, Error::Query(engine::Error::Cancelled)), "{error}");
        asker.join().unwrap();
        drop(go_on);
    }
}
