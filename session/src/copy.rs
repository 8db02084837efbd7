//! `COPY … TO`: where the rows of a query are written, and how.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arrow_schema::SchemaRef;
use engine::QueryState;
use engine::context::cancel::Cancel;
use engine::writing::atomic::Overwrite;
use engine::writing::dataset::{Destination, Output, WriteOptions};
use queries::CopyOptions;
use queries::parse::Query;

use crate::error::{Error, Result};
use crate::parsed::Parsed;
use crate::results::{Results, Run};
use crate::session::{Begun, Session};
use crate::variables;
use crate::writers::{self, FileOutput, ResultFormat, ResultWriter, TableOptions};

/// A part of a dataset whose rows have an order has about this many bytes where nobody says how many.
const PART_BYTES: u64 = 256_000_000;

/// The options of COPY, for messages.
const OPTIONS: &str =
    "FORMAT, COMPRESSION, OVERWRITE, PER_THREAD_OUTPUT, FILE_SIZE_BYTES, HEADER, DELIMITER and ARRAYS";

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

    /// As a COPY statement says; `overwrite` is the setting.
    ///
    /// # Errors
    /// Its name tells no form, options that are none, and what does not go together.
    pub fn of_statement(target: &str, options: &CopyOptions, overwrite: bool) -> Result<CopyTarget> {
        let (path, mut dataset) = directory(PathBuf::from(target));
        let mut to = CopyTarget::of_csv(path);
        if overwrite {
            to.overwrite = Overwrite::Yes;
        }
        let mut form = None;
        for (name, value) in options {
            match name.as_str() {
                "format" => form = Some(form_of(value)?),
                "compression" => to.compression = Some(value.to_lowercase()),
                "overwrite" if switch(name, value)? => to.overwrite = Overwrite::Yes,
                "overwrite" => {}
                "per_thread_output" => dataset |= switch(name, value)?,
                "file_size_bytes" => {
                    to.part_bytes = Some(variables::size(value).map_err(Error::Settings)?.max(1));
                    dataset = true;
                }
                "arrays" => to.arrays = switch(name, value)?,
                "header" => to.header = Some(switch(name, value)?),
                "delimiter" | "delim" | "sep" => match value.as_bytes() {
                    [byte] => to.delimiter = Some(*byte),
                    _ => return Err(Error::Settings(format!("the DELIMITER '{value}' is not one byte"))),
                },
                _ => {
                    let name = name.to_uppercase();
                    return Err(Error::Settings(format!("COPY has no option {name}; it has {OPTIONS}")));
                }
            }
        }
        to.dataset = dataset;
        to.form = form.or_else(|| ResultFormat::by_suffix(&to.path)).ok_or_else(|| {
            Error::Settings(format!("the name {target} tells no format; add (FORMAT parquet) or another"))
        })?;
        to.checked()
    }

    fn of_csv(path: PathBuf) -> CopyTarget {
        CopyTarget {
            path,
            dataset: false,
            form: ResultFormat::Csv,
            overwrite: Overwrite::Unless("add the option (OVERWRITE)"),
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
        let inside = matches!(self.form, ResultFormat::Parquet | ResultFormat::Arrow | ResultFormat::Buren);
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
        if self.arrays && !matches!(self.form, ResultFormat::Msgpack | ResultFormat::Cbor) {
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
        self.dataset || formats::store::roots::metadata(&self.path).map_or(true, |there| there.is_file())
    }

    /// A writer for one thread, in any form; `plan` as of [`writers::writer`].
    ///
    /// # Errors
    /// It can't be written, and a compression around a table for people.
    pub fn writer(&self, plan: Option<usize>) -> writers::Result<Box<dyn ResultWriter>> {
        // Before it is opened: a pipe waits for whoever reads it.
        writers::check_compression(self.form, &self.compression(), &self.path)?;
        let out = Box::new(FileOutput::create(&self.path, self.overwrite)?);
        writers::writer(self.form, out, &self.compression(), TableOptions::default(), plan)
    }

    /// Opens it for rows of these columns; `parts` says that those of a dataset come in one stream, of which parts are
    /// to be made.
    pub fn open(
        &self,
        format: schema::FormatOptions,
        columns: arrow_schema::SchemaRef,
        parts: bool,
        workers: usize,
    ) -> engine::Result<Output> {
        if !self.dataset && formats::store::roots::is_dir(&self.path) {
            let help = "name a file in it, or end the name with / to write a dataset".to_string();
            let message = "a file is to be written, and this is a directory";
            return Err(formats::Error::location(self.path.display(), message, Some(help)).into());
        }
        let destination = match self.dataset {
            true => Destination::Dataset(self.path.clone()),
            false => Destination::File(self.path.clone()),
        };
        Output::open(None, columns, &destination, &self.options(format, parts, workers))
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
        if let Some(results) = self.taken(statement, cancel)? {
            return Ok(results);
        }
        match to.dataset && self.runner().writes_datasets() {
            true => self.write_there(statement, cancel, begun),
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
        let (start, gathers) = (Instant::now(), self.runner().gathers());
        if let Some(results) = self.taken(statement, cancel)? {
            let columns = results.schema().clone();
            return self.write_rows(to, &columns, true, given, || Ok(results));
        }
        let planning = queries::Settings { spread_result: to.dataset || gathers, ..self.planning() };
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
                let (columns, shape) = writers::shape(to.form, columns);
                let output = to.open(format, columns, parts, self.settings().workers)?;
                let mut results = begin()?;
                results.copy(output, |batch| {
                    give();
                    shape(batch)
                })?;
                Results::counted(results.into_run(), None)
            }
            None => {
                let mut writer = to.writer(None)?;
                let mut results = begin()?;
                let schema = results.schema().clone();
                writers::write_all(&schema, &mut results, writer.as_mut(), give)?;
                results.end_run();
                Results::counted(results.into_run(), writer.warning())
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
        let (rows, state) = self.runner().write(self, &planned, &mut begin)?;
        let run = Run {
            plan: Some(planned.plan.clone()),
            state,
            planning,
            workers: planned.planning.workers,
            begun: now,
            took: Some(now.elapsed()),
            rows,
            _kept: Vec::new(),
        };
        Results::counted(Some(run), None)
    }
}

/// The query whose rows a statement writes.
fn query_of(statement: &Parsed) -> Result<Arc<Query>> {
    statement.query().ok_or_else(|| Error::Settings("the statement has no rows to be written".into()))
}

/// A path without the slash at its end, and whether it had one.
fn directory(path: PathBuf) -> (PathBuf, bool) {
    let text = path.as_os_str().to_string_lossy();
    let bare = text.trim_end_matches('/');
    match bare.len() == text.len() || bare.is_empty() {
        true => (path.clone(), false),
        // Components leave the slash away, whatever bytes the rest of the path has.
        false => (path.components().collect(), true),
    }
}

fn form_of(name: &str) -> Result<ResultFormat> {
    ResultFormat::named(name).ok_or_else(|| {
        let names = ResultFormat::ALL.map(|(_, name, _)| name).join(", ");
        Error::Settings(format!("there is no format {name}; there are {names}"))
    })
}

fn switch(name: &str, value: &str) -> Result<bool> {
    match value.to_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => {
            Err(Error::Settings(format!("the option {} is true or false, not {value}", name.to_uppercase())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(target: &str, options: &[(&str, &str)]) -> Result<CopyTarget, String> {
        let options = options.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        CopyTarget::of_statement(target, &options, false).map_err(|e| e.to_string())
    }

    #[test]
    fn names_and_options_tell_what_is_written() {
        let to = copy("x.csv.gz", &[("header", "false"), ("delimiter", "|")]).unwrap();
        let format = to.format().unwrap();
        assert_eq!((to.dataset, to.form, format.compression.as_str()), (false, ResultFormat::Csv, "gzip"));
        assert_eq!((format.header, format.delimiter), (false, b'|'));
        let to = copy("out/", &[("format", "parquet"), ("overwrite", "true")]).unwrap();
        assert_eq!((to.dataset, to.path.as_path()), (true, Path::new("out")));
        assert_eq!((to.overwrite, to.part_bytes), (Overwrite::Yes, None));
        let to = copy("x.parquet", &[("per_thread_output", "true")]).unwrap();
        assert!(to.dataset && to.overwrite != Overwrite::Yes);
        let to = copy("x.parquet", &[("file_size_bytes", "100MB")]).unwrap();
        assert_eq!((to.dataset, to.part_bytes), (true, Some(100_000_000)));
        assert_eq!(copy("x.json", &[]).unwrap().format(), None);
        let arrays = |options: &[(&str, &str)]| copy("x.cbor", options).unwrap().format().unwrap().row_arrays;
        assert_eq!((arrays(&[]), arrays(&[("arrays", "true")])), (false, true));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let wrong = |target, options: &[(&str, &str)]| copy(target, options).unwrap_err();
        assert!(wrong("out/", &[]).contains("FORMAT parquet"));
        assert!(wrong("x", &[]).contains("FORMAT parquet"));
        assert!(wrong("x.csv", &[("partition_by", "a")]).contains("PARTITION_BY; it has FORMAT,"));
        assert!(wrong("x", &[("format", "xls")]).contains("no format xls; there are table, csv"));
        assert!(wrong("out/", &[("format", "json")]).contains("jsonl"));
        assert!(wrong("x.parquet", &[("header", "true")]).contains("FORMAT csv"));
        assert!(wrong("x.csv", &[("arrays", "true")]).contains("msgpack and cbor"));
        assert!(wrong("x.csv", &[("delimiter", "::")]).contains("one byte"));
        assert!(wrong("x.csv", &[("overwrite", "maybe")]).contains("OVERWRITE is true or false"));
    }
}
