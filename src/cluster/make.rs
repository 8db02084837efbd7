//! `palais cluster generate` and `palais cluster convert`: files that several processes make together.

use std::any::Any;
use std::sync::Arc;

use cluster::hosts::Hosts;
use cluster::leader::{PATIENCE, Request, ask};
use cluster::making::{Group, Listener, Made, Task};
use cluster::remote::Event;
use engine::QueryState;
use engine::context::query::Skipped;

use crate::placement::{VERSION, client, hosts};
use crate::progress::Progress;
use crate::query::warn;
use crate::say::{self, say};
use crate::{Usage, args, convert, generate, signals};

/// `palais cluster generate`.
pub fn generate(c: &args::ClusterGenerate) -> anyhow::Result<()> {
    run(Task::Generate(generate::generation(&c.generate)?), &c.generate.write, &c.place)
}

/// `palais cluster convert`.
pub fn convert(c: &args::ClusterConvert) -> anyhow::Result<()> {
    if c.convert.partition_by.is_some() {
        let help = "palais convert writes directories by values, in one process";
        let text = "--partition-by is not for several processes";
        return Err(Usage(format!("{text}\n  help: {help}")).into());
    }
    if c.convert.rejects.is_some() {
        let help = "palais convert writes them, in one process";
        return Err(Usage(format!("--rejects is not for several processes\n  help: {help}")).into());
    }
    run(Task::Convert(convert::conversion(&c.convert)?), &c.convert.write, &c.place)
}

fn run(task: Task, write: &args::Write, place: &args::MakeTarget) -> anyhow::Result<()> {
    if let Some(at) = place.nodes() {
        let request = Request::Files { task, workers: write.workers, retries: place.retries };
        return ask_nodes(&request, write.no_progress, &at);
    }
    let started = &place.started;
    let file = started.hosts.as_deref().map(Hosts::read).transpose()?;
    let local_parts = file.as_ref().is_some_and(|file| file.local_parts);
    if local_parts && matches!(task, Task::Convert(_)) {
        let help =
            "leave local_parts out of the file of hosts, or write with COPY (SELECT …) TO 'directory/'";
        let text = "convert keeps the order of rows, and hosts with files of their own have none";
        return Err(Usage(format!("{text}\n  help: {help}")).into());
    }
    let asked = write.workers.map(usize::from).or(file.and_then(|file| file.workers));
    let start = |without: &[String]| {
        let workers = |fewest| asked.unwrap_or(fewest);
        Group::start(VERSION.into(), hosts(started, without)?.0, started.timeout, workers)
    };
    Ok(task.make(place.retries, local_parts, start, &Shown { no_progress: write.no_progress })?)
}

/// Shows the progress of the making of files on this terminal.
struct Shown {
    no_progress: bool,
}

impl Listener for Shown {
    fn begin(&self, bytes: u64, state: &Arc<QueryState>) -> Box<dyn Any> {
        signals::cancel_on_interrupt(state);
        Box::new(Progress::of_bytes(bytes, state, self.no_progress))
    }

    fn skipped(&self, skipped: Skipped) {
        warn(skipped);
    }

    fn made(&self, made: &Made<'_>) {
        say(convert::report(made));
    }

    fn warn(&self, text: String) {
        say::warn(text);
    }
}

/// Has nodes make files.
fn ask_nodes(request: &Request, no_progress: bool, at: &args::At) -> anyhow::Result<()> {
    let state = Arc::new(QueryState::default());
    signals::cancel_on_interrupt(&state);
    let shown = state.clone();
    let remote = ask(&client(at, PATIENCE)?, request, true)?;
    let mut progress: Option<Progress> = None;
    let hear = move |besides| {
        // A bar must not stand on the line of a text, and there must not be two bars.
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
