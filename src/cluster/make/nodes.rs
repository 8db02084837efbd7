//! Files that nodes make: who asks for them, and the process there that leads it.

use std::sync::Arc;

use cluster::coordinator::Host;
use cluster::remote::{Caller, Event};
use engine::QueryState;
use serde::{Deserialize, Serialize};

use super::{Group, Listener, Task};
use crate::args;
use crate::cluster::remote::{self, PATIENCE, Request};
use crate::progress::Progress;
use crate::query::warn;
use crate::say::{self, say};
use crate::signals;

/// What a caller asks for.
#[derive(Serialize, Deserialize)]
pub struct Asked {
    /// What is made.
    task: Task,
    /// As the flag.
    retries: u32,
}

impl Asked {
    /// It, for those who look at what runs.
    pub fn text(&self) -> String {
        self.task.text()
    }

    /// Has processes make it on hosts that `hosts` gives, without those that were lost, for a caller.
    pub fn lead(
        &self,
        hosts: impl Fn(&[String]) -> anyhow::Result<Vec<Host>>,
        caller: &Arc<Caller>,
    ) -> anyhow::Result<()> {
        let asked = self.task.write().workers.map_or(usize::MAX, usize::from);
        let start = |without: &[String]| {
            Group::start(hosts(without)?, PATIENCE, |fewest| asked.clamp(1, fewest.max(1)))
        };
        self.task.make(self.retries, false, start, &Listener::Caller(caller.clone()))
    }
}

/// Has nodes make files.
pub fn ask(task: Task, retries: u32, at: &args::At) -> anyhow::Result<()> {
    let state = Arc::new(QueryState::default());
    signals::cancel_on_interrupt(&state);
    let (no_progress, shown) = (task.write().no_progress, state.clone());
    let remote = remote::enter(&Request::Files(Asked { task, retries }), true, at)?;
    let mut progress: Option<Progress> = None;
    let hear = move |besides| {
        // No bar is to stand on the line of a text, nor two at once.
        drop(progress.take());
        match besides {
            Event::Work(bytes) => progress = Some(Progress::of_bytes(bytes, &shown, no_progress)),
            Event::Note(text) => say(text),
            Event::Warning(text) => say::warn(text),
        }
    };
    for rows in remote.results(state.clone(), hear)? {
        rows?;
    }
    warn(state.skipped());
    Ok(())
}
