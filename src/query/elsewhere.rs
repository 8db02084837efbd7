//! Statements that other processes run, and statements that this process leads for somebody else.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cluster::remote::Caller;
use engine::QueryState;
use queries::parse;

use super::{Session, text, warn_skipped};
use crate::args;
use crate::cluster::remote::{self, Asking};
use crate::cluster::retry::{Undone, retried};
use crate::cluster::{Runner, has_local_parts, sweep_up};
use crate::copy::To;
use crate::flags;
use crate::planning::within_limits;
use crate::print;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::{say, signals};

impl Session<'_> {
    /// Has these processes run its queries.
    fn run_by(&mut self, runner: Runner) {
        self.settings.workers = runner.workers();
        let planning = &mut self.settings.planning;
        planning.processes = runner.processes();
        planning.workers = runner.workers() * runner.processes();
        // Each process brings its rows here.
        planning.spread_result = true;
        self.runner = Some(runner);
    }

    /// Has the processes write the rows of a query, each its own into files of its own.
    pub(super) fn write_there(&self, query: &parse::Query, runner: &Runner) -> anyhow::Result<()> {
        let prepared = self.prepare(query, &self.settings.planning)?;
        let mut stats = self.stats();
        let begun = Instant::now();
        let mut progress = None;
        let (rows, state) = runner.write(&prepared, self.run.overwrite, |state| {
            self.caller.iter().for_each(|caller| caller.follow(state));
            progress = Some(Progress::start(&prepared.plan, state, self.run.no_progress));
        })?;
        drop(progress);
        stats.execution_seconds.push(begun.elapsed().as_secs_f64());
        stats.take(&prepared.plan, &state, rows);
        warn_skipped(&state);
        self.finish(rows, &stats)
    }
}

/// Runs a statement with processes that `start` gives, and again while one is lost, so often at most; without its host,
/// unless that has `local_parts` of tables. `warn` takes what is to be known besides.
fn try_again<'a>(
    session: impl Fn() -> anyhow::Result<Session<'a>>,
    retries: u32,
    local_parts: bool,
    warn: impl Fn(String),
    start: impl Fn(&Session<'_>, &[String]) -> anyhow::Result<Runner>,
    sql: &str,
) -> anyhow::Result<()> {
    retried(retries, local_parts, "the query is run", warn, |without| {
        let mut session = session()?;
        let outcome = start(&session, without).and_then(|runner| {
            session.run_by(runner.with_local_parts(local_parts));
            session.statement(sql)
        });
        outcome.map_err(|error| {
            let Undone { error, lost } = error.into();
            let lost = session.runner.as_ref().and_then(Runner::lost).or(lost);
            // Rows that were given can't be taken back.
            Undone { error, lost: lost.filter(|_| !session.given.load(Ordering::Relaxed)) }
        })
    })
}

/// `palais cluster run`.
pub fn run_among(c: &args::ClusterRun) -> anyhow::Result<()> {
    let sql = text(c.sql.as_deref(), c.file.as_deref())?;
    // Where tables lie, processes look: a directory need not be here.
    let input = args::Input { data: None, ..c.input.clone() };
    // What can be known without the processes is told before they are started.
    engine::memory::set_limit(Settings::resolve(&c.run.execution).memory_limit);
    flags::check(&c.run, &within_limits(|| queries::parse(&sql))?)?;
    let start = |session: &Session<'_>, without: &[String]| {
        Runner::of_flags(c, &sql, session.settings.memory_limit, without)
    };
    let local_parts = has_local_parts(c)?;
    try_again(|| Session::new(&input, &c.run), c.retries, local_parts, say::warn, start, &sql)
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
        overwrite: request.overwrite,
        stats: None,
        profile: None,
        repeat: None,
        read_ahead: request.read_ahead,
        no_progress: true,
    };
    let input = args::Input { data: None, ..request.input.clone() };
    let session = || {
        let mut session = Session::new(&input, &run)?;
        session.caller = Some(caller.clone());
        Ok(session)
    };
    let start = |_: &Session<'_>, without: &[String]| {
        let runner = start(without)?;
        let workers = request.workers.map_or(usize::MAX, usize::from).clamp(1, runner.workers().max(1));
        let settings = engine::Settings { workers, read_ahead: request.read_ahead.into() };
        Ok(runner.with(settings, request.memory_limit))
    };
    let warn = |text| remote::warn(caller, text);
    try_again(session, request.retries, request.local_parts, warn, start, &request.statement)
}

/// `palais query --cluster`.
pub fn run_on_nodes(q: &args::Query, at: &args::At, sql: &str) -> anyhow::Result<()> {
    engine::memory::set_limit(Settings::resolve(&q.run.execution).memory_limit);
    let statement = within_limits(|| queries::parse(sql))?;
    flags::check(&q.run, &statement)?;
    let writes = matches!(statement, queries::Statement::Copy { .. });
    sweep_up();
    // What lies on the nodes is looked at there.
    let input = args::Input { data: None, tables: Vec::new(), schemas: Vec::new(), ..q.input.clone() };
    let session = Session::new(&input, &q.run)?;
    let to = q.run.output.as_deref().map(|path| To::of_flags(path, &q.run)).transpose()?;
    let state = Arc::new(QueryState::new(0, 1));
    signals::cancel_on_interrupt(&state);
    let mut stats = session.stats();
    let begun = Instant::now();
    let mut results = remote::ask(q, at, sql, writes, state.clone())?;
    // COPY has no rows to show.
    let shown = !results.schema().fields().is_empty();
    let mut progress = Progress::of_bytes(0, &state, true);
    let rows = match to {
        _ if !shown => {
            results.by_ref().try_for_each(|batch| batch.map(|_| ()))?;
            0
        }
        None => session.print_rows(&mut results, &mut progress, session.writer()?.as_mut())?,
        Some(to) => match to.format() {
            Some(format) => {
                let (columns, shape) = print::shape(to.form, results.schema());
                let output = to.open(format, columns, true, session.settings.workers)?;
                engine::copy::copy(&mut results, output, shape)?.rows
            }
            None => session.print_rows(&mut results, &mut progress, to.writer()?.as_mut())?,
        },
    };
    stats.execution_seconds.push(begun.elapsed().as_secs_f64());
    stats.take_sums(&state, rows);
    warn_skipped(&state);
    match shown {
        true => session.finish(rows, &stats),
        false => Ok(()),
    }
}
