//! `palais cluster generate` and `palais cluster convert`: files that several processes make together.
//!
//! - `group`: the processes, and what each table takes.
//! - [`nodes`]: those that nodes make, asked for and led.

mod group;
pub mod nodes;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cluster::hosts::Hosts;
use cluster::remote::Caller;
use engine::QueryState;
use engine::writing::dataset::Destination;
use formats::store::input::STDIN;
use serde::{Deserialize, Serialize};

use super::retry::{Undone, retried};
use super::{hosts, remote};
use crate::progress::Progress;
use crate::query::warn;
use crate::say::{self, say};
use crate::{Usage, args, convert, generate, signals};
use group::Group;

/// What is made.
#[derive(Serialize, Deserialize)]
pub enum Task {
    /// Tables of the benchmark.
    Generate(args::Generate),
    /// Files of other files.
    Convert(args::Convert),
}

/// `palais cluster generate`.
pub fn generate(c: &args::ClusterGenerate) -> anyhow::Result<()> {
    run(Task::Generate(c.generate.clone()), &c.place)
}

/// `palais cluster convert`.
pub fn convert(c: &args::ClusterConvert) -> anyhow::Result<()> {
    run(Task::Convert(c.convert.clone()), &c.place)
}

fn run(task: Task, place: &args::MakePlace) -> anyhow::Result<()> {
    if let Some(at) = place.nodes() {
        return nodes::ask(task, place.retries, &at);
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
    let asked = task.write().workers.map(usize::from).or(file.and_then(|file| file.workers));
    let start = |without: &[String]| {
        Group::start(hosts(started, without)?.0, started.timeout, |fewest| asked.unwrap_or(fewest))
    };
    let listener = Listener::Here { no_progress: task.write().no_progress };
    task.make(place.retries, local_parts, start, &listener)
}

impl Task {
    fn write(&self) -> &args::Write {
        match self {
            Task::Generate(asked) => &asked.write,
            Task::Convert(asked) => &asked.write,
        }
    }

    /// It, for those who look at what runs.
    fn text(&self) -> String {
        match self {
            Task::Generate(asked) => format!("cluster generate {}", asked.directory.display()),
            Task::Convert(asked) => {
                format!("cluster convert {} {}", asked.source, asked.destination.display())
            }
        }
    }

    /// Has processes make it that `start` gives, and others while one is lost, so often at most.
    fn make(
        &self,
        retries: u32,
        local_parts: bool,
        start: impl Fn(&[String]) -> anyhow::Result<Group>,
        listener: &Listener,
    ) -> anyhow::Result<()> {
        let again = |attempt: &mut dyn FnMut(Group) -> anyhow::Result<()>| {
            let warn = |text| listener.warn(text);
            let attempt = |without: &[String]| start(without).and_then(&mut *attempt).map_err(Undone::from);
            retried(retries, local_parts, "the files are made", warn, attempt)
        };
        match self {
            Task::Generate(asked) => {
                let (tables, format) = (generate::tables(asked)?, generate::format(&asked.write));
                // Tables that have appeared are not made again.
                let mut left = tables.iter().peekable();
                again(&mut |group| {
                    while let Some(table) = left.peek() {
                        let start = Instant::now();
                        let written = group.generate(asked, table, &format, listener)?;
                        listener.tell(convert::report(table.spec.table.name(), &written, start));
                        left.next();
                    }
                    Ok(())
                })
            }
            Task::Convert(asked) => {
                let start = Instant::now();
                // What lies outside of what a node serves is not even looked at.
                formats::store::roots::check(&asked.destination)?;
                if asked.partition_by.is_some() {
                    let help = "palais convert writes directories by values, in one process";
                    let text = "--partition-by is not for several processes";
                    return Err(Usage(format!("{text}\n  help: {help}")).into());
                }
                let (destination, format) = convert::target_of(asked)?;
                let Destination::Dataset(path) = destination else {
                    let shown = asked.destination.display();
                    let help = "name a directory and give --to, or write it with palais convert";
                    let text = format!("{shown} is one file, which one process writes\n  help: {help}");
                    return Err(Usage(text).into());
                };
                if asked.source == STDIN {
                    return Err(Usage(not_a_file("standard input")).into());
                }
                again(&mut |group| {
                    let written = group.convert(asked, &path, &format, listener)?;
                    listener.tell(convert::report_converted(asked, &written, start));
                    Ok(())
                })
            }
        }
    }
}

/// Refuses a source that one process alone could read, where the processes are.
pub fn check_source(source: &str) -> anyhow::Result<()> {
    let path = Path::new(source);
    // What may not be touched is refused by whoever opens it.
    match formats::store::roots::check(path).is_ok() && convert::is_device(path) {
        true => Err(Usage(not_a_file(source)).into()),
        false => Ok(()),
    }
}

fn not_a_file(what: &str) -> String {
    format!(
        "{what} can't be read by several processes\n  help: write it to a file first, or use palais convert"
    )
}

/// Who hears how far it is.
enum Listener {
    /// Whoever has started this process.
    Here { no_progress: bool },
    /// The one who has asked nodes for it.
    Caller(Arc<Caller>),
}

impl Listener {
    /// Something begins for which about so many bytes are read or made; what is given shows it until it is dropped.
    fn begin(&self, bytes: u64, state: &Arc<QueryState>) -> Option<Progress> {
        signals::cancel_on_interrupt(state);
        match self {
            Listener::Here { no_progress } => Some(Progress::of_bytes(bytes, state, *no_progress)),
            Listener::Caller(caller) => {
                caller.begin(bytes, state);
                None
            }
        }
    }

    /// What was passed over.
    fn skipped(&self, state: &QueryState) {
        match self {
            Listener::Here { .. } => warn(state.skipped()),
            // It is told when all is done.
            Listener::Caller(_) => {}
        }
    }

    fn tell(&self, text: String) {
        match self {
            Listener::Here { .. } => say(text),
            Listener::Caller(caller) => caller.note(text),
        }
    }

    fn warn(&self, text: String) {
        match self {
            Listener::Here { .. } => say::warn(text),
            Listener::Caller(caller) => remote::warn(caller, text),
        }
    }
}
