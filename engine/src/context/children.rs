//! The child processes of this process (commands of `transform()`, runs of `palais bench`). This module ends them, so
//! that none outlives this process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

static RUNNING: Mutex<Vec<i32>> = Mutex::new(Vec::new());
/// Whether this process is ending. Then it starts no more child processes.
static ENDING: AtomicBool = AtomicBool::new(false);

/// How often [`end_all`] tries to get the lock while another thread starts a child process, and how long it sleeps
/// between two tries.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// A process group. Dropping it kills the group.
#[derive(Debug)]
pub struct Group(i32);

/// Starts a command in a process group of its own, which ends with this process.
///
/// Once this process is ending, the function starts nothing and does not return. The caller would otherwise see a child
/// that was killed, and report or repeat that.
///
/// # Errors
/// The system can't start the command.
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

/// Starts a command as [`spawn`] does. The system kills the child when this process ends, however it ends.
///
/// The system does so when the *thread* ends that has started a child. So one starts it that lasts as long as this process,
/// and the caller may end before the child does.
///
/// # Errors
/// The system can't start the command, or the thread.
pub fn spawn_bound(mut command: Command) -> io::Result<(Child, Group)> {
    type Asked = (Command, SyncSender<io::Result<(Child, Group)>>);
    static STARTER: Mutex<Option<Sender<Asked>>> = Mutex::new(None);
    end_with_this_thread(&mut command);
    let (answer, answered) = sync_channel(1);
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    let asks = match &mut *starter {
        Some(asks) => asks,
        none => {
            let (asks, asked) = channel::<Asked>();
            let start = move || {
                for (mut command, answer) in asked {
                    // The caller waits for it.
                    let _ = answer.send(spawn(&mut command));
                }
            };
            std::thread::Builder::new().name("palais-children".into()).spawn(start)?;
            none.insert(asks)
        }
    };
    let sent = asks.send((command, answer));
    drop(starter);
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    sent.map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

/// Makes the system kill the command's process when the calling thread ends. The child asks for that between fork and
/// exec. A child that asked later could be stopped before it asks, and would then outlive the thread.
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

/// Kills all child processes, and lets no more be started. The thread that ends this process calls it.
pub fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
    // A thread that panics may hold the lock. Then the child that it was about to start or end is left alone, and ends
    // when it sees its pipes closed.
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
