//! `palais query` and `palais bdb`: run statements, and write rows to the screen, into a file or into memory.

mod remote;

use std::cell::Cell;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::QueryState;
use engine::context::query::Skipped;
use formats::store::atomic::Overwrite;
use queries::Statement;
use queries::parse::Query;
pub use remote::run_among;
use session::session::Begun;
use session::statistics::before_operators;
use session::writers::{self, ResultWriter};
use session::{Cancel, CopyTarget, Parsed, PlannedQuery, Results, Session, Settings, Sources, Statistics};

use crate::Usage;
use crate::args;
use crate::flags;
use crate::print;
use crate::profile::Profile;
use crate::progress::Progress;
use crate::say::{self, say};
use crate::settings;
use crate::signals;
use crate::stats;
use crate::tables;

/// `palais query`.
pub fn run(q: &args::Query) -> anyhow::Result<()> {
    let sql = text(q.sql.as_deref(), q.file.as_deref())?;
    if let (Some(cluster), Some(token_file)) = (&q.cluster, &q.token_file) {
        let at = args::At { cluster: cluster.clone(), token_file: token_file.clone(), tls: q.tls.clone() };
        return remote::run_on_nodes(q, &at, &sql);
    }
    let command = QueryCommand::new(&tables::sources(&q.input)?, &q.run)?;
    if q.plan_fingerprint {
        let statements = sql.split("\n;\n").filter(|s| !s.trim().is_empty());
        let fingerprints = statements.map(|s| command.fingerprint(s)).collect::<anyhow::Result<String>>()?;
        return Ok(print::text(&fingerprints)?);
    }
    command.statements(&sql)
}

/// A text without the byte order mark that editors of Windows put before it.
fn without_mark(text: String) -> String {
    text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text)
}

/// The statement of the command line, of a file or of standard input.
fn text(sql: Option<&str>, file: Option<&Path>) -> anyhow::Result<String> {
    match (sql, file) {
        (Some(sql), _) => Ok(sql.to_string()),
        (None, Some(path)) if path != Path::new("-") => std::fs::read_to_string(path)
            .map(without_mark)
            .with_context(|| format!("{}: cannot read the statement", path.display())),
        (None, _) => {
            let mut sql = String::new();
            std::io::stdin()
                .read_to_string(&mut sql)
                .context("cannot read the statement from standard input")?;
            if sql.trim().is_empty() {
                let help = "give it in quotes, with --file FILE, or on standard input";
                return Err(Usage(format!("there is no statement\n  help: {help}")).into());
            }
            Ok(without_mark(sql))
        }
    }
}

/// `palais bdb`.
pub fn run_bdb(b: &args::Bdb) -> anyhow::Result<()> {
    let script = b.script.clone().unwrap_or_else(url_count);
    let Some(sql) = queries::bdb::sql(&b.name, &script) else {
        let names = queries::bdb::NAMES.join(", ");
        return Err(Usage(format!("there is no benchmark query '{}'; there are {names}", b.name)).into());
    };
    let start = Instant::now();
    QueryCommand::new(&tables::sources(&b.input)?, &b.run)?.statement(&sql)?;
    say(format_args!("{}: {:.3} s", b.name.to_lowercase(), start.elapsed().as_secs_f64()));
    Ok(())
}

/// The command of query 4 with the script of palais. The command contains the script, so that it is wherever palais is.
fn url_count() -> String {
    let script = include_str!("../bench/url_count.py");
    format!("python3 -c '{}'", script.replace('\'', r"'\''"))
}

/// Prints what was passed over.
pub fn warn(skipped: Skipped) {
    if let Some(path) = &skipped.rows_below {
        let said = formats::jsonl::path::in_shell(path);
        say::warn(format_args!(
            "the rows are those of the array at '{path}' of each file, and what stands beside it is left out\n  \
             help: --json-path {said} says so, --json-path $ makes a row of each file's object"
        ));
    }
    if skipped.unknown > 0 {
        let key = skipped.unknown_key.as_deref().unwrap_or_default();
        say::warn(format_args!(
            "{} values left out, because the records from which columns were inferred don't have their keys, such as \
             '{key}'\n  help: --infer-rows N looks at more records",
            skipped.unknown
        ));
    }
    for (count, what) in [
        (skipped.rows, "rows left out, because a value did not fit the schema"),
        (skipped.values, "values read as NULL, because they did not fit the schema"),
        (skipped.replaced, "sequences of bytes that are not UTF-8, read as U+FFFD"),
    ] {
        if count > 0 {
            say::warn(format_args!("{count} {what}"));
        }
    }
    let beyond = skipped.rejects.beyond();
    if beyond > 0 {
        say::warn(format_args!(
            "{beyond} of what was passed over are not among the rejects, of which {} are kept\n  \
             help: rejects_limit of read_csv() and the like keeps more",
            skipped.rejects.limit()
        ));
    }
}

/// Runs statements as the flags say.
struct QueryCommand<'a> {
    run: &'a args::Run,
    session: Session,
    start: Cell<Instant>,
    /// Is never cancelled: an interrupt cancels the state of the query that runs, or else ends the process.
    cancel: Cancel,
    /// Whether rows of the result were given.
    given: AtomicBool,
}

impl<'a> QueryCommand<'a> {
    fn new(sources: &Sources, run: &'a args::Run) -> anyhow::Result<QueryCommand<'a>> {
        let start = Cell::new(Instant::now());
        let settings = settings::resolve(&run.execution, Some(run.read_ahead), sources.open.clone());
        let mut settings = Settings { overwrite: run.overwrite, ..settings };
        if let Some(path) = &run.rejects {
            session::rejects::target(path, Overwrite::Yes)?;
            settings.set_rejects(Some(path.clone()));
        }
        engine::context::memory::set_limit(settings.memory_limit);
        let session = Session::new(settings).with_tables(sources.tables()?);
        Ok(QueryCommand { run, session, start, cancel: Cancel::default(), given: AtomicBool::new(false) })
    }

    /// The fingerprint of the plan of a query, as a line.
    fn fingerprint(&self, sql: &str) -> anyhow::Result<String> {
        let statement = session::parse(sql)?;
        let Statement::Query(query) = &*statement else {
            return Err(Usage("only a query has a plan".into()).into());
        };
        // The time of the query is fixed, so that plans can be compared.
        let planning = queries::Settings { now_ns: 0, ..self.session.planning() };
        let planned = self.session.plan(query, &planning, &self.cancel);
        let fingerprint = queries::explain::fingerprint(&self.session.placed(&statement, planned)?.plan);
        Ok(format!("{fingerprint:016x}\n"))
    }

    /// Runs one statement or several, one after another. The first error ends the run.
    fn statements(&self, sql: &str) -> anyhow::Result<()> {
        let statements = session::parse_all(sql)?;
        if let [statement] = statements.as_slice() {
            return self.measured(statement, sql);
        }
        flags::check_several(self.run)?;
        statements.iter().try_for_each(|statement| {
            self.start.set(Instant::now());
            self.given.store(false, Ordering::Relaxed);
            self.execute_statement(statement)
        })
    }

    fn statement(&self, sql: &str) -> anyhow::Result<()> {
        self.measured(&session::parse(sql)?, sql)
    }

    fn measured(&self, statement: &Parsed, sql: &str) -> anyhow::Result<()> {
        flags::check(self.run, statement)?;
        // The profile is opened first, so that the user knows before the query runs if it can't be written.
        let profile = self.run.profile.as_deref().map(|path| Profile::start(path, self.run.overwrite));
        let profile = profile.transpose()?;
        self.execute_statement(statement)?;
        profile.map_or(Ok(()), |profile| profile.finish(sql))
    }

    fn execute_statement(&self, statement: &Parsed) -> anyhow::Result<()> {
        match (&**statement, self.output()) {
            (Statement::Query(query), _) if self.run.repeat.is_some() => self.repeat(statement, query),
            (Statement::Query(_), Some(path)) => {
                let to = self.target(path)?;
                let is_shown = !to.appears_whole();
                self.count(is_shown, |begun| {
                    self.session.write(statement, &to, &self.cancel, &self.given, begun)
                })
            }
            (Statement::Copy { target, options, .. }, _) => {
                let to = CopyTarget::of_statement(target, options, self.session.settings().overwrite)?;
                let is_shown = !to.appears_whole();
                self.count(is_shown, |begun| {
                    self.session.copy(statement, &to, &self.cancel, &self.given, begun)
                })
            }
            (tree, _) if tree.gives_rows() => self.show(statement),
            _ => self.count(false, |begun| self.session.run(statement, &self.cancel, begun)),
        }
    }

    /// The file that `--output` names, which `-` is not: that is standard output.
    fn output(&self) -> Option<&Path> {
        self.run.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// The place for the rows that `--output` names.
    fn target(&self, path: &Path) -> session::Result<CopyTarget> {
        let compression = self.run.compression.as_deref();
        let overwrite = Overwrite::flag(self.run.overwrite);
        let to = CopyTarget::of_path(path, self.run.format, compression, overwrite);
        self.run.partition_by.iter().fold(to, |to, names| to?.partitioned(names.clone()))
    }

    /// Runs a statement and shows its rows.
    fn show(&self, statement: &Parsed) -> anyhow::Result<()> {
        let (mut writer, mut progress) = (self.writer(statement)?, None);
        let mut results = self.session.run(statement, &self.cancel, &mut |planned, state| {
            progress = Some(self.begun(planned, state));
        })?;
        let rows =
            self.print_rows(&results.schema().clone(), &mut results, &mut progress, writer.as_mut())?;
        drop(progress);
        results.warnings().iter().for_each(say::warn);
        warn(results.skipped());
        match results.statistics() {
            Some(statistics) if matches!(&**statement, Statement::Query(_)) => self.finish(rows, &statistics),
            Some(statistics) => self.write_statistics(&statistics),
            None => Ok(()),
        }
    }

    /// Runs a statement that gives no rows to show. `is_shown` says that the rows that it writes may appear on the
    /// terminal as they come.
    fn count(
        &self,
        is_shown: bool,
        run: impl FnOnce(Begun<'_>) -> session::Result<Results>,
    ) -> anyhow::Result<()> {
        let mut progress = None;
        let results = run(&mut |planned, state| {
            let mut bar = self.begun(planned, state);
            if is_shown {
                bar.hide_before_output();
            }
            progress = Some(bar);
        })?;
        drop(progress);
        results.warnings().iter().for_each(say::warn);
        warn(results.skipped());
        match results.statistics() {
            // Nodes that run a COPY don't tell how many rows it wrote.
            Some(statistics) if !results.schema().fields().is_empty() => {
                self.finish(statistics.rows, &statistics)
            }
            _ => Ok(()),
        }
    }

    /// Runs a query as often as `--repeat` says, and keeps its rows in memory.
    fn repeat(&self, statement: &Parsed, query: &Arc<Query>) -> anyhow::Result<()> {
        let planned = self.session.plan(query, &self.session.planning(), &self.cancel);
        let planned = self.session.placed(statement, planned)?.of(statement);
        let workers = self.session.planning().workers;
        let mut statistics = Statistics::new(self.start.get().elapsed(), workers);
        for _ in 0..self.run.repeat.unwrap_or(1) {
            self.execute(&planned, &mut statistics, |results, _| {
                let batches: Vec<RecordBatch> = results.collect::<Result<_, _>>()?;
                Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
            })?;
        }
        self.write_statistics(&statistics)
    }

    /// Prints the line below the result of a query, and writes its figures.
    fn finish(&self, rows: u64, statistics: &Statistics) -> anyhow::Result<()> {
        self.summary(rows);
        self.write_statistics(statistics)
    }

    fn write_statistics(&self, statistics: &Statistics) -> anyhow::Result<()> {
        self.run.stats.as_ref().map_or(Ok(()), |path| stats::write(statistics, path))
    }

    /// Lets an interrupt cancel a plan that begins to run, and shows its progress.
    fn begun(&self, planned: &PlannedQuery, state: &Arc<QueryState>) -> Progress {
        signals::cancel_on_interrupt(state);
        Progress::start(planned.total, state, self.run.no_progress)
    }

    /// Runs a plan once. `take` takes its rows and gives how many there were.
    fn execute(
        &self,
        planned: &PlannedQuery,
        statistics: &mut Statistics,
        take: impl FnOnce(&mut engine::Results, &mut Option<Progress>) -> anyhow::Result<u64>,
    ) -> anyhow::Result<u64> {
        let start = Instant::now();
        let mut results = self.session.begin(planned, &self.cancel)?;
        let mut progress = Some(self.begun(planned, results.state()));
        let rows = take(&mut results, &mut progress)?;
        statistics.execution_seconds.push(start.elapsed().as_secs_f64());
        statistics.take(&planned.plan, results.state(), rows);
        drop(progress);
        warn(results.state().skipped());
        Ok(rows)
    }

    /// Passes the rows of a result to the writer.
    fn print_rows<E>(
        &self,
        schema: &SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, E>>,
        progress: &mut Option<Progress>,
        writer: &mut dyn ResultWriter,
    ) -> anyhow::Result<u64>
    where
        anyhow::Error: From<E>,
    {
        let batches = batches.map(|batch| batch.map_err(anyhow::Error::from));
        let rows = writers::write_all(schema, batches, writer, || {
            self.given.store(true, Ordering::Relaxed);
            progress.iter_mut().for_each(Progress::hide_before_output);
        })?;
        writer.warning().into_iter().for_each(say::warn);
        Ok(rows)
    }

    /// The writer that the flags ask for, for a result of few rows.
    fn writer(&self, statement: &Statement) -> anyhow::Result<Box<dyn ResultWriter>> {
        let plan = before_operators(statement);
        let Some(path) = self.output() else {
            return Ok(print::writer(self.run.format, plan, &self.session.settings().time_zone)?);
        };
        let to = self.target(path)?;
        if to.dataset {
            return Err(Usage("this result goes into one file, not into a directory".into()).into());
        }
        Ok(to.writer(plan)?)
    }

    /// Prints the line below a result, if standard error is a terminal.
    fn summary(&self, rows: u64) {
        if std::io::stderr().is_terminal() {
            say(print::summary(rows, self.start.get().elapsed()));
        }
    }
}
