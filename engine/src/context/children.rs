//! The processes that this one has started (commands of `transform()`, runs of `palais bench`), so that none outlives it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

static RUNNING: Mutex<Vec<i32>> = Mutex::new(Vec::new());
/// Whether this process is ending, so that no more are to be started.
static ENDING: AtomicBool = AtomicBool::new(false);

/// How often and how long is waited for whoever is starting a process.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// A process group that is ended when this is dropped.
#[derive(Debug)]
pub struct Group(i32);

/// Starts a command in a group of its own, that goes with this process. Once this process is ending none is started, and
/// the call does not return: nobody is to take the end of a child that was ended for something to be told or tried again.
pub fn spawn(command: &mut Command) -> io::Result<(Child, Group)> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if ENDING.load(Ordering::SeqCst) {
        drop(running);
        wait_for_the_end();
    }
    let child = command.process_group(0).spawn()?;
    let group = Group(child.id() as i32);
    running.push(group.0);
    Ok((child, group))
}

/// Has the system kill what the command starts when this thread ends, from its first moment: who is stopped before it
/// could ask for that itself would stay.
pub fn end_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        // SAFETY: prctl(2) with this option takes a signal and touches no memory; neither does getppid(2).
        let (asked, has) =
            unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid() as u32) };
        match asked {
            0 if has == parent => Ok(()),
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec are only these two calls of the system, and nothing is allocated.
    unsafe { command.pre_exec(ask) };
}

fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| *id != self.0);
        kill(self.0);
        if ENDING.load(Ordering::SeqCst) {
            wait_for_the_end();
        }
    }
}

/// Ends all of them, and lets no more be started; for whoever ends this process.
pub fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
    // The thread that panics may hold the lock: then what it was about to start or end is left to its closed pipes.
    for _ in 0..TRIES {
        let running = match RUNNING.try_lock() {
            Ok(running) => running,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(PAUSE);
                continue;
            }
        };
        running.iter().for_each(|id| kill(*id));
        return;
    }
}

fn kill(group: i32) {
    // SAFETY: kill(2) takes any numbers; a group that has ended gives ESRCH, which is what is wanted.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}
