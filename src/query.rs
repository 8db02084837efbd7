//! `palais query` and `palais bdb`: a statement to rows on the screen, in a file or in memory.

mod late;

use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::Results;
use formats::rows::cells::Cells;
use queries::{Plan, Statement, parse, summarize};

use crate::Usage;
use crate::args;
use crate::copy::To;
use crate::flags;
use crate::print::{self, Format, ResultWriter, Target};
use crate::profile::Profile;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signals;
use crate::stats::Stats;
use crate::tables::Tables;
use crate::terminal;

/// `palais query`.
pub fn run(q: &args::Query) -> anyhow::Result<()> {
    let sql = match (&q.sql, &q.file) {
        (Some(sql), _) => sql.clone(),
        (None, Some(path)) => std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read the statement", path.display()))?,
        (None, None) => {
            let mut sql = String::new();
            std::io::stdin()
                .read_to_string(&mut sql)
                .context("cannot read the statement from standard input")?;
            if sql.trim().is_empty() {
                let help = "give it in quotes, with --file FILE, or on standard input";
                return Err(Usage(format!("there is no statement\n  help: {help}")).into());
            }
            sql
        }
    };
    let session = Session::new(&q.input, &q.run)?;
    if q.plan_fingerprint {
        let mut statements = sql.split("\n;\n").filter(|s| !s.trim().is_empty());
        return statements.try_for_each(|s| session.fingerprint(s));
    }
    session.statement(&sql)
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
    eprintln!("{}: {:.3} s", b.name.to_lowercase(), start.elapsed().as_secs_f64());
    Ok(())
}

/// The command of query 4's own script. The script goes into the command, so that it is wherever palais is.
fn url_count() -> String {
    let script = include_str!("../bench/url_count.py");
    format!("python3 -c '{}'", script.replace('\'', r"'\''"))
}

/// Says what `--on-error` passed over.
pub fn warn_skipped(state: &engine::QueryState) {
    let skipped = state.skipped();
    for (count, what) in [
        (skipped.rows, "rows left out, because a value did not fit the schema"),
        (skipped.values, "values read as NULL, because they did not fit the schema"),
        (skipped.replaced, "sequences of bytes that are not UTF-8, read as U+FFFD"),
    ] {
        if count > 0 {
            eprintln!("warning: {count} {what}");
        }
    }
}

struct Session<'a> {
    run: &'a args::Run,
    settings: Settings,
    engine: engine::Settings,
    tables: Tables,
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
            start,
            given: AtomicBool::new(false),
        })
    }

    fn plan(&self, query: &parse::Query, planning: &queries::Settings) -> anyhow::Result<Arc<Plan>> {
        let catalog = self.tables.catalog(&parse::tables(query)?, false)?;
        Ok(queries::plan(query, &catalog, planning)?)
    }

    fn fingerprint(&self, sql: &str) -> anyhow::Result<()> {
        let Statement::Query(query) = queries::parse(sql)? else {
            return Err(Usage("only a query has a plan".into()).into());
        };
        // The query's time is given, not read, where plans are compared.
        let planning = queries::Settings { now_ns: 0, ..self.settings.planning.clone() };
        let fingerprint = queries::explain::fingerprint(&*self.plan(&query, &planning)?);
        Ok(print::text(&format!("{fingerprint:016x}\n"))?)
    }

    fn statement(&self, sql: &str) -> anyhow::Result<()> {
        let statement = queries::parse(sql)?;
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
                let names: ArrayRef = Arc::new(StringArray::from_iter_values(self.tables.names()));
                self.show(&[("table_name", names)])
            }
            Statement::Summarize(query) => self.summarize(&query),
            Statement::Copy { query, target, options } => {
                self.write(&query, &To::of_copy(&target, &options, self.run.overwrite)?)
            }
        }
    }

    fn query(&self, query: &parse::Query) -> anyhow::Result<()> {
        if let (Some(path), None) = (&self.run.output, self.run.repeat) {
            return self.write(query, &To::of_flags(path, self.run)?);
        }
        let Some(times) = self.run.repeat else {
            return self.planned(query, &self.settings.planning, |plan| {
                let mut stats = Stats::new(self.start.elapsed(), self.settings.workers);
                let rows = self.show_rows(plan, &mut stats, self.writer()?.as_mut())?;
                self.finish(rows, &stats)
            });
        };
        let plan = self.plan(query, &self.settings.planning)?;
        let mut stats = Stats::new(self.start.elapsed(), self.settings.workers);
        for _ in 0..times {
            self.show_rows(&plan, &mut stats, &mut Memory::default())?;
        }
        self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))
    }

    /// Says what came of a query.
    fn finish(&self, rows: u64, stats: &Stats) -> anyhow::Result<()> {
        self.summary(rows);
        self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))
    }

    /// Runs a plan once; `take` takes its rows and tells how many there were.
    fn execute(
        &self,
        plan: &Arc<Plan>,
        stats: &mut Stats,
        take: impl FnOnce(&mut Results, &mut Progress) -> anyhow::Result<u64>,
    ) -> anyhow::Result<u64> {
        let start = Instant::now();
        let mut results = engine::run(plan, &self.engine)?;
        signals::cancel_on_interrupt(results.state());
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
        plan: &Arc<Plan>,
        stats: &mut Stats,
        writer: &mut dyn ResultWriter,
    ) -> anyhow::Result<u64> {
        self.execute(plan, stats, |results, progress| {
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
        })
    }

    fn explain(&self, query: &parse::Query, analyze: bool) -> anyhow::Result<()> {
        let plan = self.plan(query, &self.settings.planning)?;
        let mut lines: Vec<String> = queries::explain::explain(&plan).into_iter().map(|l| l.text).collect();
        if analyze {
            let mut stats = Stats::new(self.start.elapsed(), self.settings.workers);
            self.show_rows(&plan, &mut stats, &mut Memory::default())?;
            lines = stats.analyzed(&plan);
            self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))?;
        }
        self.show(&[("plan", Arc::new(StringArray::from(lines)))])
    }

    fn describe(&self, name: &str) -> anyhow::Result<()> {
        let catalog = self.tables.catalog(&[name.to_string()], false)?;
        let schema = catalog.table(name)?.schema.clone();
        let fields = schema.fields();
        self.show(&[
            ("column_name", Arc::new(StringArray::from_iter_values(fields.iter().map(|f| f.name())))),
            (
                "column_type",
                Arc::new(StringArray::from_iter_values(fields.iter().map(|f| type_name(f.data_type())))),
            ),
            ("nullable", Arc::new(fields.iter().map(|f| Some(f.is_nullable())).collect::<BooleanArray>())),
        ])
    }

    fn summarize(&self, query: &parse::Query) -> anyhow::Result<()> {
        let columns = self.plan(query, &self.settings.planning)?.schema.clone();
        let plan = self.plan(&*summarize::query(query, &columns)?, &self.settings.planning)?;
        let mut row = Memory::default();
        let mut stats = Stats::new(self.start.elapsed(), self.settings.workers);
        self.show_rows(&plan, &mut stats, &mut row)?;
        self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))?;
        let batch = row.batches.first().context("an aggregation without GROUP BY gives a row")?;
        let value = |i: usize| -> anyhow::Result<Option<String>> {
            let column = batch.column(i);
            if column.logical_nulls().is_some_and(|nulls| nulls.is_null(0)) {
                return Ok(None);
            }
            let mut text = Vec::new();
            Cells::new(column)?.print(0, &mut text);
            Ok(Some(String::from_utf8(text)?))
        };
        let fields = columns.fields();
        let mut shown: Vec<(&str, ArrayRef)> = vec![
            ("column_name", Arc::new(StringArray::from_iter_values(fields.iter().map(|f| f.name())))),
            (
                "column_type",
                Arc::new(StringArray::from_iter_values(fields.iter().map(|f| type_name(f.data_type())))),
            ),
        ];
        let width = summarize::FIGURES.len();
        for (f, name) in summarize::FIGURES.iter().enumerate() {
            let values =
                (0..fields.len()).map(|c| value(c * width + f)).collect::<anyhow::Result<Vec<_>>>()?;
            shown.push((name, Arc::new(StringArray::from(values))));
        }
        self.show(&shown)
    }

    /// Writes the rows of a query.
    fn write(&self, query: &parse::Query, to: &To) -> anyhow::Result<()> {
        let planning = queries::Settings { spread_result: to.dataset, ..self.settings.planning.clone() };
        self.planned(query, &planning, |plan| self.write_rows(plan, to))
    }

    fn write_rows(&self, plan: &Arc<Plan>, to: &To) -> anyhow::Result<()> {
        let mut stats = Stats::new(self.start.elapsed(), self.settings.workers);
        // The target is opened first: one that can't be written is known before the query runs.
        let rows = match to.format() {
            Some(format) => {
                let (columns, shape) = print::shape(to.form, &plan.schema);
                let output = to.open(format, columns, plan, self.settings.workers)?;
                let shape = |batch| {
                    self.given.store(true, Ordering::Relaxed);
                    shape(batch)
                };
                self.execute(plan, &mut stats, |results, _| {
                    Ok(engine::copy::copy(results, output, shape)?.rows)
                })?
            }
            None => {
                let target = Target::File {
                    path: to.path.clone(),
                    overwrite: to.overwrite,
                    compression: Some(to.compression()),
                };
                let mut writer = print::writer(to.form, &target, terminal::table_options(false))?;
                self.show_rows(plan, &mut stats, writer.as_mut())?
            }
        };
        self.finish(rows, &stats)
    }

    /// The writer that the flags ask for, of a result that is small.
    fn writer(&self) -> anyhow::Result<Box<dyn ResultWriter>> {
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
            eprintln!("{}", print::summary(rows, self.start.elapsed()));
        }
    }

    /// Prints columns that were made here.
    fn show(&self, columns: &[(&str, ArrayRef)]) -> anyhow::Result<()> {
        let fields: Vec<Field> =
            columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), columns.iter().map(|(_, c)| c.clone()).collect())?;
        let mut writer = self.writer()?;
        writer.begin(&schema)?;
        writer.batch(&batch)?;
        Ok(writer.end()?)
    }
}

/// A type as SQL names it, or as Arrow does where SQL has no name for it.
fn type_name(t: &DataType) -> String {
    schema::text::types::sql_name(t).unwrap_or_else(|| t.to_string())
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
