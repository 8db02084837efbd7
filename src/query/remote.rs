//! Statements that other processes run, and statements that this process leads for somebody else.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cluster::remote::Caller;
use engine::QueryState;
use session::{Runner as _, Sources, writers};

use super::{QueryCommand, text, warn};
use crate::args;
use crate::cluster::remote::{self, Asking};
use crate::cluster::retry::{Undone, retried};
use crate::cluster::{Runner, has_local_parts, sweep_up};
use crate::flags;
use crate::{say, settings, signals, tables};

impl QueryCommand<'_> {
    /// Has these processes run its queries.
    fn run_by(&mut self, runner: Runner) {
        let runner = Arc::new(runner);
        self.session.run_by(runner.clone());
        self.runner = Some(runner);
    }
}

/// Runs a statement with processes that `start` gives, and again while one is lost, so often at most; without its host,
/// unless that has `local_parts` of tables. `warn` takes what is to be known besides.
fn try_again<'a>(
    command: impl Fn() -> anyhow::Result<QueryCommand<'a>>,
    retries: u32,
    local_parts: bool,
    warn: impl Fn(String),
    start: impl Fn(&QueryCommand<'_>, &[String]) -> anyhow::Result<Runner>,
    sql: &str,
) -> anyhow::Result<()> {
    retried(retries, local_parts, "the query is run", warn, |without| {
        let mut command = command()?;
        let outcome = start(&command, without).and_then(|runner| {
            command.run_by(runner.with_local_parts(local_parts));
            command.statement(sql)
        });
        outcome.map_err(|error| {
            let Undone { error, lost } = error.into();
            let lost = command.runner.as_ref().and_then(|runner| runner.lost()).or(lost);
            // Rows that were given can't be taken back.
            Undone { error, lost: lost.filter(|_| !command.given.load(Ordering::Relaxed)) }
        })
    })
}

/// `palais cluster run`.
pub fn run_among(c: &args::ClusterRun) -> anyhow::Result<()> {
    let sql = text(c.sql.as_deref(), c.file.as_deref())?;
    // Where tables lie, processes look: a directory need not be here.
    let sources = tables::sources(&c.input)?;
    let here = Sources { directory: None, ..sources.clone() };
    // What can be known without the processes is told before they are started.
    engine::context::memory::set_limit(settings::memory_limit(&c.run.execution));
    flags::check(&c.run, &session::parse(&sql)?)?;
    let start = |command: &QueryCommand<'_>, without: &[String]| {
        Runner::of_flags(c, &sql, &sources, command.session.settings().memory_limit, without)
    };
    let local_parts = has_local_parts(c)?;
    try_again(|| QueryCommand::new(&here, &c.run), c.retries, local_parts, say::warn, start, &sql)
}

/// Leads a statement for a caller within this memory of its own; `start` gives the processes, without those of nodes that were lost.
pub fn lead(
    request: &Asking,
    memory_limit: u64,
    start: impl Fn(&[String]) -> anyhow::Result<Runner>,
    caller: &Arc<Caller>,
) -> anyhow::Result<()> {
    let run = args::Run {
        execution: args::Execution {
            workers: None,
            memory_limit: Some(memory_limit),
            broadcast_limit: request.broadcast_limit,
            allow_scripts: request.allow_scripts,
        },
        format: None,
        output: None,
        compression: None,
        partition_by: None,
        overwrite: request.overwrite,
        stats: None,
        profile: None,
        repeat: None,
        read_ahead: request.read_ahead,
        no_progress: true,
    };
    let here = Sources { directory: None, ..request.sources.clone() };
    let command = || {
        let mut command = QueryCommand::new(&here, &run)?;
        command.caller = Some(caller.clone());
        Ok(command)
    };
    let start = |_: &QueryCommand<'_>, without: &[String]| {
        let runner = start(without)?;
        let workers = request.workers.map_or(usize::MAX, usize::from).clamp(1, runner.workers().max(1));
        let settings =
            engine::Settings { read_ahead: request.read_ahead.into(), ..engine::Settings::new(workers) };
        Ok(runner.with(settings, request.memory_limit))
    };
    let warn = |text| remote::warn(caller, text);
    try_again(command, request.retries, request.local_parts, warn, start, &request.statement)
}

/// `palais query --cluster`.
pub fn run_on_nodes(q: &args::Query, at: &args::At, sql: &str) -> anyhow::Result<()> {
    engine::context::memory::set_limit(settings::memory_limit(&q.run.execution));
    let statement = session::parse(sql)?;
    flags::check(&q.run, &statement)?;
    let writes = matches!(statement, queries::Statement::Copy { .. });
    sweep_up();
    // What lies on the nodes is looked at there.
    let sources = tables::sources(&q.input)?;
    let command = QueryCommand::new(&Sources { open: sources.open.clone(), ..Sources::default() }, &q.run)?;
    let to = q.run.output.as_deref().map(|path| command.target(path)).transpose()?;
    let state = Arc::new(QueryState::new(0, 1));
    signals::cancel_on_interrupt(&state);
    let mut statistics = command.statistics();
    let begun = Instant::now();
    let mut results = remote::ask(q, at, sql, sources, writes, state.clone())?;
    // COPY has no rows to show.
    let shown = !results.schema().fields().is_empty();
    let rows = match to {
        _ if !shown => {
            results.by_ref().try_for_each(|batch| batch.map(|_| ()))?;
            0
        }
        None => {
            let mut writer = command.writer(&statement)?;
            command.print_rows(&results.schema().clone(), &mut results, &mut None, writer.as_mut())?
        }
        Some(to) => match to.format() {
            Some(format) => {
                let (_, shape) = writers::shape(to.form, results.schema());
                let output = to.open(format, results.schema(), true, command.session.settings().workers)?;
                engine::writing::copy::copy(&mut results, output, shape)?.rows
            }
            None => {
                let mut writer = to.writer(None)?;
                command.print_rows(&results.schema().clone(), &mut results, &mut None, writer.as_mut())?
            }
        },
    };
    statistics.execution_seconds.push(begun.elapsed().as_secs_f64());
    statistics.take_sums(&state, rows);
    warn(state.skipped());
    match shown {
        true => command.finish(rows, &statistics),
        false => Ok(()),
    }
}
