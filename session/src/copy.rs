//! `COPY … TO`: where the rows of a query are written, and how.
//!
//! - `options`: what stands in parentheses behind the path.

mod options;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arrow_schema::SchemaRef;
use engine::QueryState;
use engine::context::cancel::Cancel;
use engine::writing::dataset::partitions::columns::partition_columns;
use engine::writing::dataset::{Destination, Output, WriteOptions};
use formats::store::atomic::Overwrite;
use formats::store::input::STDIN;
use formats::store::{remote, roots};
use queries::parse::Query;
use schema::instants::UTC;

use crate::error::{Error, Result};
use crate::parsed::Parsed;
use crate::results::{Results, Run};
use crate::session::{Begun, Session};
use crate::writers::{self, FileOutput, ResultFormat, ResultWriter, TableOptions};

/// A part of a dataset whose rows have an order has about this many bytes where nobody says how many.
const PART_BYTES: u64 = 256_000_000;

/// Where rows are written, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTarget {
    /// The file or directory.
    pub path: PathBuf,
    /// Whether it is a directory with part files.
    pub dataset: bool,
    /// The form of the files.
    pub form: ResultFormat,
    /// Whether what is there may be replaced.
    pub overwrite: Overwrite,
    /// The columns whose values name directories in it; none of a dataset or a file.
    pub partition_by: Vec<String>,
    compression: Option<String>,
    part_bytes: Option<u64>,
    header: Option<bool>,
    delimiter: Option<u8>,
    arrays: bool,
}

impl CopyTarget {
    /// A file, or a directory if the path ends with a slash. Its form and compression are those that are given, or what
    /// its name tells.
    ///
    /// # Errors
    /// Its name tells no form, and what does not go together.
    pub fn of_path(
        path: &Path,
        format: Option<ResultFormat>,
        compression: Option<&str>,
        overwrite: Overwrite,
    ) -> Result<CopyTarget> {
        let (path, dataset) = directory(path.to_path_buf());
        let form = match (format, ResultFormat::by_suffix(&path)) {
            (Some(form), _) => form,
            (None, Some(form)) if !dataset => form,
            (None, None) if !dataset && path.extension().is_some() => {
                return Err(Error::Settings(format!(
                    "the name {} tells no format that is written; add --format csv or another",
                    path.display()
                )));
            }
            (None, _) => ResultFormat::Csv,
        };
        let compression = compression.map(String::from);
        CopyTarget { dataset, form, overwrite, compression, ..CopyTarget::of_csv(path) }.checked()
    }

    /// The same place as a directory of directories that the values of these columns name.
    ///
    /// # Errors
    /// It is a file, or its form is not written by many at once.
    pub fn partitioned(self, names: Vec<String>) -> Result<CopyTarget> {
        let (shown, named) = (self.path.display(), formats::discover::by_name(&self.path));
        if self.path == Path::new(STDIN) {
            let text =
                "PARTITION_BY writes a directory, and - is none\n  help: name a directory, such as 'out'";
            return Err(Error::Settings(text.into()));
        }
        let is_file = ResultFormat::by_suffix(&self.path).is_some() || named.compression.is_some();
        if is_file && !self.dataset {
            let text = format!("PARTITION_BY writes a directory, and {shown} is the name of a file");
            let bare = self.path.file_name().unwrap_or_default().to_string_lossy();
            let bare = bare.split('.').next().filter(|bare| !bare.is_empty()).unwrap_or("out").to_string();
            let bare = self.path.with_file_name(bare);
            return Err(Error::Settings(format!("{text}\n  help: name a directory: {}", bare.display())));
        }
        CopyTarget { dataset: true, partition_by: names, ..self }.checked()
    }

    fn of_csv(path: PathBuf) -> CopyTarget {
        CopyTarget {
            path,
            dataset: false,
            form: ResultFormat::Csv,
            overwrite: Overwrite::Unless("add the option (OVERWRITE)"),
            partition_by: Vec::new(),
            compression: None,
            part_bytes: None,
            header: None,
            delimiter: None,
            arrays: false,
        }
    }

    /// Refuses what does not go together.
    fn checked(self) -> Result<CopyTarget> {
        let refuse = |text: &str| Err(Error::Settings(text.into()));
        if self.dataset && self.format().is_none() {
            return refuse(
                "a directory is not written as json, markdown or table; jsonl has an object a line",
            );
        }
        let named = formats::discover::by_name(&self.path).compression;
        let inside = writers::compresses_inside(self.form);
        if let Some(named) = named.filter(|_| inside && !self.dataset) {
            let (form, bare) = (self.form.name(), self.path.with_extension(""));
            return refuse(&format!(
                "{form} is compressed inside, and no {named} goes around it; name it {}",
                bare.display()
            ));
        }
        let is_csv = matches!(self.form, ResultFormat::Csv | ResultFormat::Tsv);
        if !is_csv && (self.header.is_some() || self.delimiter.is_some()) {
            return refuse("HEADER and DELIMITER go with FORMAT csv");
        }
        if self.arrays && !writers::is_tagged(self.form) {
            return refuse("ARRAYS goes with FORMAT msgpack and cbor, whose rows are maps or arrays");
        }
        Ok(self)
    }

    /// How files of this form are encoded in parallel; `None` of forms that are written by one thread.
    pub fn format(&self) -> Option<schema::FormatOptions> {
        let mut format = writers::file_format(self.form, &self.compression())?;
        format.row_arrays = self.arrays;
        format.header = self.header.unwrap_or(format.header);
        format.delimiter = self.delimiter.unwrap_or(format.delimiter);
        Some(format)
    }

    /// The compression that was asked for, or that the name says, or that is usual.
    fn compression(&self) -> String {
        let by_name = || formats::discover::by_name(&self.path).compression;
        let usual = || by_name().unwrap_or_else(|| writers::usual_compression(self.form)).to_string();
        self.compression.clone().unwrap_or_else(usual)
    }

    /// Whether what is written appears when it is whole, so that it may be begun anew. A pipe or a device has no such
    /// moment.
    pub fn appears_whole(&self) -> bool {
        let is_file = || roots::metadata(&self.path).map_or(true, |there| there.is_file());
        self.dataset || remote::is_location(&self.path) || is_file()
    }

    /// A writer for one thread, in any form; `plan` as of [`writers::writer`].
    ///
    /// # Errors
    /// It can't be written, and a compression around a table for people.
    pub fn writer(&self, plan: Option<usize>) -> writers::Result<Box<dyn ResultWriter>> {
        // Before it is opened: a pipe waits for whoever reads it.
        writers::check_compression(self.form, &self.compression(), &self.path)?;
        let out = Box::new(FileOutput::create(&self.path, self.overwrite)?);
        // Files don't depend on who writes them.
        writers::writer(self.form, out, &self.compression(), TableOptions::default(), plan, UTC)
    }

    /// Opens it for rows of a result of this schema, once [`writers::shape`] has given them the columns of a file.
    /// `parts` says that those of a dataset come in one stream, of which parts are to be made.
    pub fn open(
        &self,
        format: schema::FormatOptions,
        schema: &arrow_schema::SchemaRef,
        parts: bool,
        workers: usize,
    ) -> engine::Result<Output> {
        let (columns, _) = writers::shape(self.form, schema);
        if !self.dataset && !remote::is_location(&self.path) && roots::is_dir(&self.path) {
            let help = "name a file in it, or end the name with / to write a dataset".to_string();
            let message = "a file is to be written, and this is a directory";
            return Err(formats::Error::location(self.path.display(), message, Some(help)).into());
        }
        let destination = match self.dataset {
            // By the result's own columns: those of a file may have other names, and lists be text there.
            true if self.is_partitioned() => {
                Destination::Partitions(self.path.clone(), partition_columns(schema, &self.partition_by)?)
            }
            true => Destination::Dataset(self.path.clone()),
            false => Destination::File(self.path.clone()),
        };
        Output::open(None, columns, &destination, &self.options(format, parts, workers))
    }

    /// Whether values of columns name directories in it.
    pub fn is_partitioned(&self) -> bool {
        !self.partition_by.is_empty()
    }

    /// How files are written; `parts` as for [`CopyTarget::open`].
    pub fn options(&self, format: schema::FormatOptions, parts: bool, workers: usize) -> WriteOptions {
        let part_bytes = self.part_bytes.or(parts.then_some(PART_BYTES));
        WriteOptions { format, workers, overwrite: self.overwrite, part_bytes, verify: false }
    }
}

impl Session {
    /// Runs the query of a COPY statement, and writes its rows where they are computed if that is a directory;
    /// else as [`Session::write`].
    ///
    /// # Errors
    /// As of [`Session::write`].
    pub fn copy(
        &self,
        statement: &Parsed,
        to: &CopyTarget,
        cancel: &Cancel,
        given: &AtomicBool,
        begun: Begun<'_>,
    ) -> Result<Results> {
        if let Some(results) = self.placed(statement, self.taken(statement, cancel))? {
            return Ok(results);
        }
        // Each process would have files of its own in every directory of a tree. Only this one need know the store.
        let together = to.dataset && !to.is_partitioned() && !remote::is_location(&to.path);
        match together && self.runner().writes_datasets() {
            true => self.placed(statement, self.write_there(statement, cancel, begun)),
            false => self.write(statement, to, cancel, given, begun),
        }
    }

    /// Runs the query of a statement and writes its rows. Those of the result say how many. `given` is set when rows go to a
    /// pipe or a device, which can't be taken back.
    ///
    /// # Errors
    /// Those of the query, and those of writing. Nothing is left then, but in a pipe or a device.
    pub fn write(
        &self,
        statement: &Parsed,
        to: &CopyTarget,
        cancel: &Cancel,
        given: &AtomicBool,
        begun: Begun<'_>,
    ) -> Result<Results> {
        self.placed(statement, self.write_parsed(statement, to, cancel, given, begun))
    }

    fn write_parsed(
        &self,
        statement: &Parsed,
        to: &CopyTarget,
        cancel: &Cancel,
        given: &AtomicBool,
        begun: Begun<'_>,
    ) -> Result<Results> {
        let (start, gathers) = (Instant::now(), self.runner().gathers());
        if let Some(results) = self.taken(statement, cancel)? {
            let columns = results.schema().clone();
            return self.write_rows(to, &columns, true, given, || Ok(results));
        }
        // A tree is written in one order, that of the table where there is no other.
        let spread_result = to.dataset && !to.is_partitioned() || gathers;
        let planning = queries::Settings { spread_result, ..self.planning() };
        let (query, text) = (query_of(statement)?, statement.written());
        self.plan_and_run(&query, text, &planning, cancel, given, |planned| {
            // Rows that lie on all workers of this process make a part a worker anyhow.
            let parts = planned.plan.root.single || gathers;
            let begin = || self.start(planned, start, cancel, begun);
            self.write_rows(to, &planned.plan.schema, parts, given, begin)
        })
    }

    /// Writes the rows that `begin` begins to compute, which have these columns; `parts` as for [`CopyTarget::open`].
    fn write_rows(
        &self,
        to: &CopyTarget,
        columns: &SchemaRef,
        parts: bool,
        given: &AtomicBool,
        begin: impl FnOnce() -> Result<Results>,
    ) -> Result<Results> {
        // It is opened first: one that can't be written is known before the query runs.
        let is_whole = to.appears_whole();
        let give = || {
            given.fetch_or(!is_whole, Ordering::Relaxed);
        };
        match to.format() {
            Some(format) => {
                let (_, shape) = writers::shape(to.form, columns);
                let output = to.open(format, columns, parts, self.settings().workers)?;
                let mut results = begin()?;
                results.copy(output, |batch| {
                    give();
                    shape(batch)
                })?;
                Results::counted(results.into_run(), Vec::new())
            }
            None => {
                let mut writer = to.writer(None)?;
                let mut results = begin()?;
                let schema = results.schema().clone();
                writers::write_all(&schema, &mut results, writer.as_mut(), give)?;
                results.end_run();
                Results::counted(results.into_run(), writer.warning().into_iter().collect())
            }
        }
    }

    /// Has other processes write the rows of a query, each its own into files of its own.
    fn write_there(&self, statement: &Parsed, cancel: &Cancel, begun: Begun<'_>) -> Result<Results> {
        let start = Instant::now();
        let planned = self.plan(&query_of(statement)?, &self.planning(), cancel)?.of(statement);
        let (planning, now) = (start.elapsed(), Instant::now());
        let mut begin = |state: &Arc<QueryState>| {
            cancel.stops(state);
            begun(&planned, state);
        };
        let rejects = self.reject_run(&planned)?;
        let (rows, state) = self.runner().write(self, &planned, &mut begin)?;
        state.end();
        let mut run = Run {
            plan: Some(planned.plan.clone()),
            state,
            total: Some(planned.total),
            planning,
            workers: planned.planning.workers,
            begun: now,
            took: Some(now.elapsed()),
            rows,
            rejects,
            _kept: Vec::new(),
        };
        run.keep_rejects()?;
        Results::counted(Some(run), Vec::new())
    }
}

/// The query whose rows a statement writes.
fn query_of(statement: &Parsed) -> Result<Arc<Query>> {
    statement.query().ok_or_else(|| Error::Settings("the statement has no rows to be written".into()))
}

/// A path without the slash at its end, and whether it had one.
fn directory(path: PathBuf) -> (PathBuf, bool) {
    // The slashes of a location are part of what it names.
    if let Some((scheme, name)) = path.to_str().and_then(remote::parts) {
        let bare = name.trim_end_matches('/');
        return (format!("{scheme}://{bare}").into(), bare.len() < name.len());
    }
    let text = path.as_os_str().to_string_lossy();
    let bare = text.trim_end_matches('/');
    match bare.len() == text.len() || bare.is_empty() {
        true => (path.clone(), false),
        // Components leave the slash away, whatever bytes the rest of the path has.
        false => (path.components().collect(), true),
    }
}
