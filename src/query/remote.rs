//! Runs statements by other processes: those that this one starts, or nodes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cluster::leader::PATIENCE;
use cluster::nodes::{Bounds, Nodes};
use cluster::query::RemoteTables;
use cluster::remote::Event;
use cluster::retry::{Undone, retried};
use session::Sources;

use super::{QueryCommand, text};
use crate::Usage;
use crate::args;
use crate::flags;
use crate::placement::{client, has_local_parts, processes};
use crate::{cause, say, settings, signals, tables};

/// `palais cluster run`: runs a statement by processes. Runs it again while a process is lost, at most as often as the
/// flag says.
pub fn run_among(c: &args::ClusterRun) -> anyhow::Result<()> {
    let sql = text(c.sql.as_deref(), c.file.as_deref())?;
    // The processes look for the tables: a directory need not exist here.
    let sources = tables::sources(&c.input)?;
    if c.run.rejects.is_some() {
        let help = "palais query writes them, in one process";
        return Err(Usage(format!("--rejects is not for several processes\n  help: {help}")).into());
    }
    let here = Sources { directory: None, ..sources.clone() };
    // Errors that need no process are told before any is started.
    engine::context::memory::set_limit(settings::memory_limit(&c.run.execution));
    let statement = session::parse(&sql)?;
    flags::check(&c.run, &statement)?;
    let local_parts = has_local_parts(c)?;
    retried(c.retries, local_parts, "the query is run", say::warn, |without| {
        let lost = |error: &anyhow::Error| cause(error).and_then(cluster::Error::lost).map(String::from);
        let undone = |error| Undone { lost: lost(&error), error: Box::new(error) };
        let mut command = QueryCommand::new(&here, &c.run).map_err(undone)?;
        let memory_limit = command.session.settings().memory_limit;
        let started = processes(c, &sources, local_parts, memory_limit, without);
        let processes = Arc::new(started.map_err(|error| undone(error.into()))?);
        command.session.run_by(processes.clone());
        command.measured(&statement, &sql).map_err(|error| {
            let lost = processes.lost().or_else(|| lost(&error));
            // Rows that were given can't be taken back.
            Undone { error: Box::new(error), lost: lost.filter(|_| !command.given.load(Ordering::Relaxed)) }
        })
    })
}

/// `palais query --cluster`.
pub fn run_on_nodes(q: &args::Query, at: &args::At, sql: &str) -> anyhow::Result<()> {
    signals::sweep_up();
    if q.run.rejects.is_some() {
        let help = "leave --cluster out";
        return Err(Usage(format!("--rejects does not go with --cluster\n  help: {help}")).into());
    }
    // The nodes look for the tables.
    let sources = tables::sources(&q.input)?;
    let here = Sources { directory: None, ..sources.clone() };
    let mut command = QueryCommand::new(&here, &q.run)?;
    let hear = |event| {
        if let Event::Warning(text) = event {
            say::warn(text);
        }
    };
    let args::Execution { workers, memory_limit, .. } = q.run.execution;
    let nodes = Nodes::new(client(at, PATIENCE)?)
        .with_tables(RemoteTables { directory: sources.directory, local_parts: q.local_parts })
        .with_bounds(Bounds { workers, memory_limit, retries: q.retries })
        .telling(signals::cancel_on_interrupt, hear);
    command.session.run_by(Arc::new(nodes));
    command.statement(sql)
}
