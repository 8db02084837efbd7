//! `palais query` and `palais bdb`: a statement to rows on the screen, in a file or in memory.

mod about;
mod elsewhere;
mod late;
mod prepared;

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use cluster::remote::Caller;
pub use elsewhere::{lead, run_among};
use engine::Results;
use engine::state::Skipped;
pub use prepared::Prepared;
use queries::{Statement, parse};

use crate::Usage;
use crate::args;
use crate::cluster::Runner;
use crate::cluster::remote::Teller;
use crate::copy::To;
use crate::flags;
use crate::planning::within_limits;
use crate::print::{self, Format, ResultWriter, Target};
use crate::profile::Profile;
use crate::progress::Progress;
use crate::say::{self, say};
use crate::settings::Settings;
use crate::signals;
use crate::stats::Stats;
use crate::tables::Tables;
use crate::terminal;

/// `palais query`.
pub fn run(q: &args::Query) -> anyhow::Result<()> {
    let sql = text(q.sql.as_deref(), q.file.as_deref())?;
    if let (Some(cluster), Some(token_file)) = (&q.cluster, &q.token_file) {
        let at = args::At { cluster: cluster.clone(), token_file: token_file.clone(), tls: q.tls.clone() };
        return elsewhere::run_on_nodes(q, &at, &sql);
    }
    let session = Session::new(&q.input, &q.run)?;
    if q.plan_fingerprint {
        let mut statements = sql.split("\n;\n").filter(|s| !s.trim().is_empty());
        return statements.try_for_each(|s| session.fingerprint(s));
    }
    session.statement(&sql)
}

/// The statement that is given, or in a file, or on standard input.
fn text(sql: Option<&str>, file: Option<&Path>) -> anyhow::Result<String> {
    match (sql, file) {
        (Some(sql), _) => Ok(sql.to_string()),
        (None, Some(path)) => std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read the statement", path.display())),
        (None, None) => {
            let mut sql = String::new();
            std::io::stdin()
                .read_to_string(&mut sql)
                .context("cannot read the statement from standard input")?;
            if sql.trim().is_empty() {
                let help = "give it in quotes, with --file FILE, or on standard input";
                return Err(Usage(format!("there is no statement\n  help: {help}")).into());
            }
            Ok(sql)
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
    Session::new(&b.input, &b.run)?.statement(&sql)?;
    say(format_args!("{}: {:.3} s", b.name.to_lowercase(), start.elapsed().as_secs_f64()));
    Ok(())
}

/// The command of query 4's own script. The script goes into the command, so that it is wherever palais is.
fn url_count() -> String {
    let script = include_str!("../bench/url_count.py");
    format!("python3 -c '{}'", script.replace('\'', r"'\''"))
}

/// Says what `--on-error` passed over in a query.
pub fn warn_skipped(state: &engine::QueryState) {
    warn(state.skipped());
}

/// Says what `--on-error` passed over.
pub fn warn(skipped: Skipped) {
    for (count, what) in [
        (skipped.rows, "rows left out, because a value did not fit the schema"),
        (skipped.values, "values read as NULL, because they did not fit the schema"),
        (skipped.replaced, "sequences of bytes that are not UTF-8, read as U+FFFD"),
    ] {
        if count > 0 {
            say::warn(format_args!("{count} {what}"));
        }
    }
}

struct Session<'a> {
    run: &'a args::Run,
    settings: Settings,
    engine: engine::Settings,
    tables: Tables,
    /// The processes that run its queries, if this one doesn't.
    runner: Option<Runner>,
    /// Who takes the rows, if they are not for whoever has started this process.
    caller: Option<Arc<Caller>>,
    start: Instant,
    /// Rows of the result were given.
    given: AtomicBool,
}

impl<'a> Session<'a> {
    fn new(input: &args::Input, run: &'a args::Run) -> anyhow::Result<Session<'a>> {
        let start = Instant::now();
        let settings = Settings::resolve(&run.execution);
        engine::memory::set_limit(settings.memory_limit);
        let engine = engine::Settings { workers: settings.workers, read_ahead: run.read_ahead.into() };
        Ok(Session {
            run,
            settings,
            engine,
            tables: Tables::resolve(input)?,
            runner: None,
            caller: None,
            start,
            given: AtomicBool::new(false),
        })
    }

    fn fingerprint(&self, sql: &str) -> anyhow::Result<()> {
        let Statement::Query(query) = within_limits(|| queries::parse(sql))? else {
            return Err(Usage("only a query has a plan".into()).into());
        };
        // The query's time is given, not read, where plans are compared.
        let planning = queries::Settings { now_ns: 0, ..self.settings.planning.clone() };
        let fingerprint = queries::explain::fingerprint(&self.prepare(&query, &planning)?.plan);
        Ok(print::text(&format!("{fingerprint:016x}\n"))?)
    }

    fn statement(&self, sql: &str) -> anyhow::Result<()> {
        let statement = within_limits(|| queries::parse(sql))?;
        flags::check(self.run, &statement)?;
        // The file is opened first: one that can't be written is known before the query runs.
        let profile = self.run.profile.as_deref().map(|path| Profile::start(path, self.run.overwrite));
        let profile = profile.transpose()?;
        self.execute_statement(statement)?;
        profile.map_or(Ok(()), |profile| profile.finish(sql))
    }

    fn execute_statement(&self, statement: Statement) -> anyhow::Result<()> {
        match statement {
            Statement::Query(query) => self.query(&query),
            Statement::Explain { analyze, query } => self.explain(&query, analyze),
            Statement::Describe(name) => self.describe(&name),
            Statement::ShowTables => {
                let names: Vec<String> = match &self.runner {
                    Some(runner) => runner.names()?,
                    None => self.tables.names().map(String::from).collect(),
                };
                let names: ArrayRef = Arc::new(StringArray::from(names));
                self.show(&[("table_name", names)])
            }
            Statement::Summarize(query) => self.summarize(&query),
            Statement::Copy { query, target, options } => {
                let to = To::of_copy(&target, &options, self.run.overwrite)?;
                match &self.runner {
                    Some(runner) if to.dataset => self.write_there(&query, runner),
                    _ => self.write(&query, &to),
                }
            }
        }
    }

    fn query(&self, query: &parse::Query) -> anyhow::Result<()> {
        if let (Some(path), None) = (&self.run.output, self.run.repeat) {
            return self.write(query, &To::of_flags(path, self.run)?);
        }
        let Some(times) = self.run.repeat else {
            return self.planned(query, &self.settings.planning, |prepared| {
                let mut stats = self.stats();
                let rows = self.show_rows(prepared, &mut stats, self.writer()?.as_mut())?;
                self.finish(rows, &stats)
            });
        };
        let prepared = self.prepare(query, &self.settings.planning)?;
        let mut stats = self.stats();
        for _ in 0..times {
            self.show_rows(&prepared, &mut stats, &mut Memory::default())?;
        }
        self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))
    }

    fn stats(&self) -> Stats {
        let processes = self.runner.as_ref().map_or(1, Runner::processes);
        Stats::new(self.start.elapsed(), self.settings.workers * processes)
    }

    /// Says what came of a query.
    fn finish(&self, rows: u64, stats: &Stats) -> anyhow::Result<()> {
        self.summary(rows);
        self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))
    }

    /// Runs a plan once; `take` takes its rows and tells how many there were.
    fn execute(
        &self,
        prepared: &Prepared,
        stats: &mut Stats,
        take: impl FnOnce(&mut Results, &mut Progress) -> anyhow::Result<u64>,
    ) -> anyhow::Result<u64> {
        let start = Instant::now();
        let plan = &prepared.plan;
        let mut results = match &self.runner {
            Some(runner) => runner.run(prepared)?,
            None => engine::run(plan, &self.engine)?,
        };
        signals::cancel_on_interrupt(results.state());
        self.caller.iter().for_each(|caller| caller.follow(results.state()));
        let mut progress = Progress::start(plan, results.state(), self.run.no_progress);
        let rows = take(&mut results, &mut progress)?;
        stats.execution_seconds.push(start.elapsed().as_secs_f64());
        stats.take(plan, results.state(), rows);
        drop(progress);
        warn_skipped(results.state());
        Ok(rows)
    }

    /// Runs a plan once and hands its rows to the writer.
    fn show_rows(
        &self,
        prepared: &Prepared,
        stats: &mut Stats,
        writer: &mut dyn ResultWriter,
    ) -> anyhow::Result<u64> {
        self.execute(prepared, stats, |results, progress| self.print_rows(results, progress, writer))
    }

    /// Hands the rows of a result to the writer.
    fn print_rows(
        &self,
        results: &mut Results,
        progress: &mut Progress,
        writer: &mut dyn ResultWriter,
    ) -> anyhow::Result<u64> {
        // Nothing is written before there is something to write: an error comes without half a result before it.
        let schema = results.schema().clone();
        let (mut rows, mut begun) = (0, false);
        for batch in results.by_ref() {
            let batch = batch?;
            if !begun {
                self.given.store(true, Ordering::Relaxed);
                writer.begin(&schema)?;
                begun = true;
            }
            rows += batch.num_rows() as u64;
            progress.hide_before_output();
            writer.batch(&batch)?;
            // Some writers keep what they are given.
            engine::memory::check(0, || "the result".into())?;
        }
        progress.hide_before_output();
        if !begun {
            writer.begin(&schema)?;
        }
        writer.end()?;
        Ok(rows)
    }

    /// Writes the rows of a query.
    fn write(&self, query: &parse::Query, to: &To) -> anyhow::Result<()> {
        let spread_result = to.dataset || self.runner.is_some();
        let planning = queries::Settings { spread_result, ..self.settings.planning.clone() };
        self.planned(query, &planning, |prepared| self.write_rows(prepared, to))
    }

    fn write_rows(&self, prepared: &Prepared, to: &To) -> anyhow::Result<()> {
        let plan = &prepared.plan;
        let mut stats = self.stats();
        // The target is opened first: one that can't be written is known before the query runs.
        let rows = match to.format() {
            Some(format) => {
                let (columns, shape) = print::shape(to.form, &plan.schema);
                // Rows that lie on all workers of this process make a part a worker anyhow.
                let parts = plan.root.single || self.runner.is_some();
                let output = to.open(format, columns, parts, self.settings.workers)?;
                let shape = |batch| {
                    self.given.store(true, Ordering::Relaxed);
                    shape(batch)
                };
                self.execute(prepared, &mut stats, |results, _| {
                    Ok(engine::copy::copy(results, output, shape)?.rows)
                })?
            }
            None => {
                let mut writer = to.writer()?;
                self.show_rows(prepared, &mut stats, writer.as_mut())?
            }
        };
        self.finish(rows, &stats)
    }

    /// The writer that the flags ask for, of a result that is small.
    fn writer(&self) -> anyhow::Result<Box<dyn ResultWriter>> {
        if let Some(caller) = &self.caller {
            return Ok(Box::new(Teller(caller.clone())));
        }
        let Some(path) = &self.run.output else {
            let usual = if std::io::stdout().is_terminal() { Format::Table } else { Format::Csv };
            let form = self.run.format.unwrap_or(usual);
            return Ok(print::writer(form, &Target::Standard, terminal::table_options(true))?);
        };
        let to = To::of_flags(path, self.run)?;
        if to.dataset {
            return Err(Usage("this result goes into one file, not into a directory".into()).into());
        }
        let target = Target::File { path: to.path, overwrite: to.overwrite, compression: None };
        Ok(print::writer(to.form, &target, terminal::table_options(false))?)
    }

    /// The line below a result, for people.
    fn summary(&self, rows: u64) {
        if std::io::stderr().is_terminal() {
            say(print::summary(rows, self.start.elapsed()));
        }
    }
}

/// Keeps a result in memory.
#[derive(Default)]
struct Memory {
    batches: Vec<RecordBatch>,
}

impl ResultWriter for Memory {
    fn begin(&mut self, _schema: &SchemaRef) -> print::Result<()> {
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> print::Result<()> {
        self.batches.push(batch.clone());
        Ok(())
    }

    fn end(&mut self) -> print::Result<()> {
        Ok(())
    }
}
