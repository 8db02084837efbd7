//! The processes that a query has started (commands of `transform()`), so that none outlives it.

use std::sync::Mutex;

static RUNNING: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// A process group that is ended when this is dropped.
#[derive(Debug)]
pub struct Group(i32);

impl Group {
    /// Takes over the group of this leader.
    pub fn new(leader: u32) -> Group {
        let id = leader as i32;
        RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(id);
        Group(id)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).retain(|id| *id != self.0);
        kill(self.0);
    }
}

/// Ends all of them; for the panic hook.
pub fn kill_all() {
    // The thread that panics may hold the lock: then what it was about to start or end is left to its closed pipes.
    if let Ok(running) = RUNNING.try_lock() {
        running.iter().for_each(|id| kill(*id));
    }
}

fn kill(group: i32) {
    // SAFETY: kill(2) takes any numbers; a group that has ended gives ESRCH, which is what is wanted.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}
