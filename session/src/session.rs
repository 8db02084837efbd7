//! A session: its settings and tables, and the statements that it runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use arrow_array::RecordBatchReader;
use engine::QueryState;
use engine::context::cancel::Cancel;
use engine::context::stack::Deep;
use formats::discover::SchemaChoice;
use queries::parse::{Query, tables};
use queries::position::StatementPosition;
use queries::{Kind, Statement};
use schema::{DeferredValidation, FileSet, Source, Table};

use crate::copy::CopyTarget;
use crate::error::{Error, Result};
use crate::limits::within_limits;
use crate::parsed::{Parsed, parse_all_until};
use crate::planned_query::PlannedQuery;
use crate::rejects::KeptRejects;
use crate::results::{Results, Run};
use crate::runner::Runner;
use crate::settings::Settings;
use crate::sources::Sources;
use crate::tables::{Opened, Tables};
use crate::threads::{self, Threads};

/// Called with each run of a plan when it begins. A statement whose files turn out to be unlike is run twice.
pub type Begun<'a> = &'a mut dyn FnMut(&PlannedQuery, &Arc<QueryState>);

/// Tables and views by name, and a runner of statements over them. Several threads may run statements at once.
pub struct Session {
    settings: RwLock<Settings>,
    /// The settings that the session was made with.
    first: Settings,
    tables: Arc<RwLock<Tables>>,
    rejects: Arc<Mutex<KeptRejects>>,
    runner: Arc<dyn Runner>,
}

impl Session {
    /// A session without tables, whose queries threads of this process run. Sessions of one process share its memory
    /// alone.
    pub fn new(settings: Settings) -> Session {
        engine::context::memory::set_default_limit();
        let first = settings.clone();
        Session {
            settings: RwLock::new(settings),
            first,
            tables: Arc::default(),
            rejects: Arc::default(),
            runner: Arc::new(Threads),
        }
    }

    /// Sets the tables.
    pub fn with_tables(self, tables: Tables) -> Session {
        Session { tables: Arc::new(RwLock::new(tables)), ..self }
    }

    /// Sets the runner of its queries.
    pub fn run_by(&mut self, runner: Arc<dyn Runner>) {
        let mut settings = self.settings_mut();
        settings.workers = runner.workers(settings.workers);
        drop(settings);
        self.runner = runner;
    }

    /// The settings, as statements have left them.
    pub fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Names a file, a glob, a directory or a dataset as a table. A table of this name is replaced.
    pub fn register(&self, name: &str, location: &str) {
        self.tables_mut().add(name, location);
    }

    /// Reads record batches to their end, keeps them in memory, and names them as a table. A table of this name is
    /// replaced, unless there is an error. Only threads of this process can read it. [`arrow_array::RecordBatchIterator`]
    /// makes a reader of any iterator.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
    /// use session::{Session, Settings};
    ///
    /// # fn main() -> session::Result<()> {
    /// let session = Session::new(Settings::default());
    /// let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// let batch = RecordBatch::try_from_iter([("n", column)]).expect("there is one column");
    /// let schema = batch.schema();
    /// session.register_batches("numbers", RecordBatchIterator::new([Ok(batch)], schema))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of the reader, and batches that do not fit the memory limit of the process. Batches with other columns
    /// than the reader's schema, and a column of a type that no operator knows.
    pub fn register_batches(&self, name: &str, reader: impl RecordBatchReader) -> Result<()> {
        let (schema, mut batches) = (reader.schema(), Vec::new());
        for batch in reader {
            batches.push(batch.map_err(engine::Error::from)?);
            engine::context::memory::check(0, || format!("the record batches of '{name}'"))?;
        }
        self.tables_mut().add_batches(name, &schema, &batches)
    }

    /// Removes the table or view of this name; false if there is none. Queries that run go on.
    pub fn remove(&self, name: &str) -> bool {
        let mut tables = self.tables_mut();
        match tables.kind(name) {
            Some(Kind::View) => tables.remove_view(name),
            Some(Kind::Table) => tables.remove(name),
            None => false,
        }
    }

    /// Gives the table of this name, or at this path, a schema in place of the one that its files have.
    pub fn set_schema(&self, name: &str, schema: SchemaChoice) {
        self.tables_mut().set_schema(name, schema);
    }

    /// The names of the tables and views.
    ///
    /// # Errors
    /// Errors of the runner.
    pub fn table_names(&self) -> Result<Vec<String>> {
        self.runner.names(self)
    }

    /// The places of the tables of these names, and of all other tables with a path, and how their files are read.
    /// Another process opens the tables by that.
    ///
    /// # Errors
    /// A table of `names` lies in the memory of this process, or its name could mean several files.
    pub fn sources(&self, names: &[String]) -> Result<Sources> {
        self.tables().sources(names, &self.settings().open)
    }

    /// What a name stands for, if it is defined. A file needs no name.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.tables().kind(name)
    }

    /// Runs a statement, or several with semicolons between them. Each statement is run to its end before the next one
    /// begins, and the first error ends all. The rows are those of the last statement.
    ///
    /// # Errors
    /// The statement is wrong, or can't be begun. The rows give later errors.
    pub fn execute(&self, sql: &str) -> Result<Results> {
        self.execute_until(sql, &Cancel::default())
    }

    /// As [`Session::execute`], until another thread cancels it: while it is planned, while its files are opened, and
    /// while it runs.
    ///
    /// # Errors
    /// As [`Session::execute`], and the cancel.
    pub fn execute_until(&self, sql: &str, cancel: &Cancel) -> Result<Results> {
        let statements = parse_all_until(sql, cancel)?;
        let Some((last, before)) = statements.split_last() else { return Ok(Results::nothing()) };
        for statement in before {
            self.run(statement, cancel, &mut |_, _| ())?.try_for_each(|batch| batch.map(|_| ()))?;
        }
        self.run(last, cancel, &mut |_, _| ())
    }

    /// Runs a statement that was parsed.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn run(&self, statement: &Parsed, cancel: &Cancel, begun: Begun<'_>) -> Result<Results> {
        self.placed(statement, self.run_parsed(statement, cancel, begun))
    }

    fn run_parsed(&self, statement: &Parsed, cancel: &Cancel, begun: Begun<'_>) -> Result<Results> {
        if let Some(results) = self.taken(statement, cancel)? {
            return Ok(results);
        }
        let text = statement.written();
        match &**statement {
            Statement::Query(query) => self.rows(query, text, cancel, begun),
            Statement::Explain { analyze: false, query } => self.explain(query, cancel),
            Statement::Explain { analyze: true, query } => self.explain_analyze(query, text, cancel, begun),
            Statement::Describe(name) => self.describe(name, cancel),
            Statement::DescribeQuery(query) => self.describe_query(query, cancel),
            Statement::ShowTables => self.show_tables(),
            Statement::ShowAllTables => self.show_all_tables(cancel),
            Statement::Summarize(query) => self.summarize(query, text, cancel, begun),
            Statement::Copy { target, options, .. } => {
                let to = CopyTarget::of_statement(target, options, self.settings().overwrite)?;
                self.copy(statement, &to, cancel, &AtomicBool::new(false), begun)
            }
            Statement::CreateView(definition) => self.create_view(definition, statement.whole(), cancel),
            Statement::CreateTable(definition) => self.create_table(definition, cancel, begun),
            Statement::CreateMacro(definition) => self.create_macro(definition),
            Statement::DropMacros { is_table, names, if_exists } => {
                self.drop_macros(*is_table, names, *if_exists)
            }
            Statement::Drop { kind, names, if_exists } => self.drop_names(*kind, names, *if_exists),
            Statement::Set { name, value } => self.set(name, value.as_deref()),
        }
    }

    /// What a statement gives. An error has the line of the statement's text that it is about, or of a view's.
    pub fn placed<T>(&self, statement: &Parsed, done: Result<T>) -> Result<T> {
        done.map_err(|error| {
            let view = match &error {
                Error::Statement(wrong) => {
                    wrong.place().and_then(StatementPosition::view).map(str::to_string)
                }
                _ => None,
            };
            let Some(view) = view else { return statement.shown(error) };
            let text = self.tables().views().get(&view).and_then(|view| view.text.clone());
            match (error, text) {
                (Error::Statement(wrong), Some(text)) => Error::Statement(wrong.in_text(&text)),
                (error, _) => error,
            }
        })
    }

    /// The settings of planning for a statement that begins now.
    pub fn planning(&self) -> queries::Settings {
        let (settings, processes) = (self.settings(), self.runner.processes());
        queries::Settings {
            workers: settings.workers * processes,
            processes,
            spread_result: self.runner.gathers(),
            ..settings.planning()
        }
    }

    /// Plans a query.
    ///
    /// # Errors
    /// The statement is wrong, names something that does not exist, or is cancelled.
    pub fn plan(
        &self,
        query: &Arc<Query>,
        planning: &queries::Settings,
        cancel: &Cancel,
    ) -> Result<PlannedQuery> {
        let (query, names) = self.ready(query, cancel)?;
        PlannedQuery::over(&query, self.open(&names, false, cancel)?, planning, cancel)
    }

    /// Plans a query over these tables and views.
    pub(crate) fn plan_over(
        &self,
        tables: &Tables,
        query: &Arc<Query>,
        cancel: &Cancel,
    ) -> Result<PlannedQuery> {
        let query = expanded(tables, query, cancel)?;
        let (query, names) = self.listed(query, cancel)?;
        let opened = self.opened(&names, false, cancel, |names| {
            threads::open(tables, names, false, &self.settings(), cancel)
        })?;
        PlannedQuery::over(&query, opened, &self.planning(), cancel)
    }

    /// Plans a query and calls `run` with the plan. At first not all of many small files are looked at. If a file turns
    /// out to be unlike the others, all files are looked at, and the query is planned and run anew. The result warns of
    /// that. `text` is the text of its statement, for other processes. `given` says that rows were given, which can't
    /// be taken back.
    pub(crate) fn plan_and_run(
        &self,
        query: &Arc<Query>,
        text: Option<&Arc<str>>,
        planning: &queries::Settings,
        cancel: &Cancel,
        given: &AtomicBool,
        mut run: impl FnMut(&PlannedQuery) -> Result<Results>,
    ) -> Result<Results> {
        let (query, names) = &self.ready(query, cancel)?;
        let plan = |opened| {
            let planned = PlannedQuery::over(query, opened, planning, cancel)?;
            Ok::<_, Error>(PlannedQuery { text: text.cloned(), ..planned })
        };
        let opened = self.open(names, true, cancel)?;
        if !opened.catalog.tables().any(|table| is_late(table)) {
            return run(&plan(opened)?);
        }
        // A plan that gives rows before it has read all files can't be run anew.
        let first = plan(opened).ok().filter(|p| p.plan.root.reads_first());
        let Some(first) = first else { return run(&plan(self.open(names, false, cancel)?)?) };
        let first = PlannedQuery { may_run_anew: true, ..first };
        let error = match run(&first) {
            Err(error) if !given.load(Ordering::Relaxed) => error,
            done => return done,
        };
        let unlike = match error.of_query() {
            Some(engine::Error::Format(formats::Error::Unlike { path })) => Some(path.clone()),
            Some(engine::Error::Cancelled) | None => return Err(error),
            Some(_) => None,
        };
        // Types that hold the values of all files may be wider, and with them there may be no error.
        let all = self.open(names, false, cancel)?;
        let is_as_before = || {
            let mut pairs = all.catalog.tables().zip(first.catalog.tables());
            pairs.all(|(all, some)| all.schema == some.schema)
        };
        if unlike.is_none() && is_as_before() {
            return Err(error);
        }
        let mut results = run(&plan(all)?)?;
        results.warn(anew(unlike.as_deref()));
        Ok(results)
    }

    /// Begins to run a plan.
    ///
    /// # Errors
    /// The plan can't be begun.
    pub fn begin(&self, planned: &PlannedQuery, cancel: &Cancel) -> Result<engine::Results> {
        self.runner.begin(self, planned, cancel)
    }

    /// Opens the tables of these names.
    pub(crate) fn open(&self, names: &[String], late: bool, cancel: &Cancel) -> Result<Opened> {
        self.opened(names, true, cancel, |names| self.runner.open(self, names, late, cancel))
    }

    /// The query with the macros that it calls and the views that it reads.
    pub(crate) fn expanded(&self, query: &Arc<Query>, cancel: &Cancel) -> Result<Deep<Query>> {
        let tables = self.tables().clone();
        expanded(&tables, query, cancel)
    }

    /// The query with the views that it reads, and the tables that it names.
    pub(crate) fn expanded_and_named(
        &self,
        query: &Arc<Query>,
        cancel: &Cancel,
    ) -> Result<(Deep<Query>, Vec<String>)> {
        let query = self.expanded(query, cancel)?;
        let names = named(&query, cancel)?;
        Ok((query, names))
    }

    /// The query with the views that it reads and the values of its PIVOTs, and the tables that it names.
    fn ready(&self, query: &Arc<Query>, cancel: &Cancel) -> Result<(Deep<Query>, Vec<String>)> {
        self.listed(self.expanded(query, cancel)?, cancel)
    }

    /// Begins to run a plan, whose planning began at `start`.
    pub(crate) fn start(
        &self,
        planned: &PlannedQuery,
        start: Instant,
        cancel: &Cancel,
        begun: Begun<'_>,
    ) -> Result<Results> {
        let rejects = self.reject_run(planned)?;
        let (planning, now) = (start.elapsed(), Instant::now());
        let results = self.begin(planned, cancel)?;
        let state = results.state().clone();
        begun(planned, &state);
        let workers = planned.planning.workers;
        let plan = Some(results.plan().unwrap_or(&planned.plan).clone());
        let kept = planned.kept.clone();
        let run = Run {
            plan,
            state,
            total: Some(planned.total),
            planning,
            workers,
            begun: now,
            took: None,
            rows: 0,
            rejects,
            _kept: kept,
        };
        Ok(Results::computed(results, run))
    }

    /// Has a runner of statements run a whole statement; `None` if the runner takes plans. A statement without columns,
    /// such as COPY, has ended when this returns.
    pub(crate) fn taken(&self, statement: &Parsed, cancel: &Cancel) -> Result<Option<Results>> {
        let begun = Instant::now();
        let Some(results) = self.runner.take(self, statement, cancel)? else { return Ok(None) };
        let (state, workers) = (results.state().clone(), self.planning().workers);
        let planning = Duration::ZERO;
        let run = Run {
            plan: None,
            state,
            total: None,
            planning,
            workers,
            begun,
            took: None,
            rows: 0,
            rejects: None,
            _kept: Vec::new(),
        };
        let mut results = Results::computed(results, run);
        if results.schema().fields().is_empty() {
            results.by_ref().try_for_each(|batch| batch.map(|_| ()))?;
        }
        Ok(Some(results))
    }

    pub(crate) fn rows(
        &self,
        query: &Arc<Query>,
        text: Option<&Arc<str>>,
        cancel: &Cancel,
        begun: Begun<'_>,
    ) -> Result<Results> {
        let (start, given) = (Instant::now(), AtomicBool::new(false));
        self.plan_and_run(query, text, &self.planning(), cancel, &given, |planned| {
            let mut results = self.start(planned, start, cancel, begun)?;
            if planned.may_run_anew {
                results.wait_for_rows()?;
            }
            Ok(results)
        })
    }

    pub(crate) fn tables(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tables_mut(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What queries have passed over.
    pub(crate) fn kept_rejects(&self) -> &Arc<Mutex<KeptRejects>> {
        &self.rejects
    }

    /// The tables, for a run that adds some when it ends.
    pub(crate) fn tables_of_all(&self) -> &Arc<RwLock<Tables>> {
        &self.tables
    }

    pub(crate) fn settings_mut(&self) -> RwLockWriteGuard<'_, Settings> {
        self.settings.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn first_settings(&self) -> &Settings {
        &self.first
    }

    /// The tables and views that a statement names, for another process that knows those with a path alone.
    ///
    /// # Errors
    /// One of them is a view of this session, or somebody asks for the end.
    pub fn names_in(&self, statement: &Parsed, cancel: &Cancel) -> Result<Vec<String>> {
        let names = match (&**statement, statement.query()) {
            (Statement::Describe(name), _) => vec![name.clone()],
            (_, Some(query)) => named(&query, cancel)?,
            (_, None) => Vec::new(),
        };
        match names.iter().find(|name| self.kind(name) == Some(Kind::View)) {
            None => Ok(names),
            Some(view) => {
                let what = format!("the view '{view}', which other processes don't know");
                Err(queries::Error::Unsupported(what).into())
            }
        }
    }

    pub(crate) fn runner(&self) -> &dyn Runner {
        &*self.runner
    }
}

fn expanded(tables: &Tables, query: &Arc<Query>, cancel: &Cancel) -> Result<Deep<Query>> {
    let (views, macros, query) = (tables.views().clone(), tables.macros().clone(), query.clone());
    if views.is_empty() && macros.is_empty() {
        return Ok(query.into());
    }
    let expand = move || macros.expand(&query).and_then(|query| views.expand(&query)).map(Deep::from);
    Ok(within_limits(cancel, expand)??)
}

/// The warning of a query that was run anew, since this file or another one may differ from those that were looked at.
fn anew(unlike: Option<&Path>) -> String {
    let file = unlike.map_or("a file".into(), |path| path.display().to_string());
    format!(
        "{file} may have other columns than the files that were looked at first, so that all files were looked at, and \
         the query was run anew\n  help: --schema gives the columns"
    )
}

/// Whether a table has files that are looked at only when they are read.
fn is_late(table: &Table) -> bool {
    matches!(&table.source, Source::Files(FileSet { unseen: DeferredValidation::Records { .. }, .. }))
}

/// The tables that a query names.
pub(crate) fn named(query: &Arc<Query>, cancel: &Cancel) -> Result<Vec<String>> {
    let query = query.clone();
    within_limits(cancel, move || tables(&query))
}
