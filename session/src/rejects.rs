//! Rows and values that were passed over, as tables of the session and as a file.
//!
//! `store_rejects = true` of `read_csv()` and the setting `rejects` have readers keep them. When a query ends without an
//! error, its rejects become rows of two tables, which have DuckDB's columns, and of the file that the setting names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema, SchemaRef};
use engine::QueryState;
use formats::discover::open_batches;
use formats::rejects::{Line, Reject, Rejects, number_lines};
use formats::store::atomic::Overwrite;
use schema::text::types::sql_name;
use schema::{FileSet, FormatOptions, Source, Table};

use crate::copy::CopyTarget;
use crate::error::{Error, Result};
use crate::planned_query::PlannedQuery;
use crate::session::Session;
use crate::tables::Tables;
use crate::writers::{self, ResultWriter};

/// What a session has kept of what its queries passed over.
#[derive(Debug, Default)]
pub(crate) struct KeptRejects {
    /// The number of the last scan.
    scans: u64,
    /// The rows of tables, by the names of both.
    tables: BTreeMap<(String, String), RejectTables>,
    /// The rows of files, of one query behind another.
    files: BTreeMap<PathBuf, Vec<Reject>>,
}

/// The rows of the table of rejects and of the table of scans.
#[derive(Debug, Default)]
struct RejectTables {
    errors: Vec<ErrorRow>,
    scans: Vec<ScanRow>,
}

/// A reject, with its scan and its file there.
#[derive(Debug)]
struct ErrorRow {
    scan: u64,
    file: u64,
    reject: Reject,
}

/// A file that was read.
#[derive(Debug)]
struct ScanRow {
    scan: u64,
    file: u64,
    path: PathBuf,
    format: Arc<FormatOptions>,
    columns: Arc<str>,
}

/// What is kept of one run of a plan.
pub(crate) struct RejectRun {
    kept: Arc<Mutex<KeptRejects>>,
    tables: Arc<RwLock<Tables>>,
    /// The tables of files whose rejects are kept.
    read: Vec<Arc<Table>>,
    /// The file, which appears when the run ends without an error.
    file: Option<(PathBuf, Mutex<Box<dyn ResultWriter>>)>,
}

/// The limit of a table's rejects, and the names of the tables that have them. `None` if they are not kept.
fn keeping(table: &Table) -> Option<(&FileSet, &schema::KeepRejects)> {
    match &table.source {
        Source::Files(set) => Some((set, set.format.rejects.as_deref()?)),
        _ => None,
    }
}

impl Session {
    /// Gets ready for the rejects of a run of this plan. `None` if it keeps none.
    ///
    /// # Errors
    /// A table of another kind has the name of one of theirs, the file can't be written, or the session keeps none.
    pub(crate) fn reject_run(&self, planned: &PlannedQuery) -> Result<Option<RejectRun>> {
        let read: Vec<_> =
            planned.catalog.tables().filter(|table| keeping(table).is_some()).cloned().collect();
        let settings = self.settings();
        if read.is_empty() && settings.rejects.is_none() {
            return Ok(None);
        }
        self.runner().check_is_here("store_rejects")?;
        for (_, keep) in read.iter().filter_map(|table| keeping(table)) {
            self.check_names(keep)?;
        }
        let file =
            settings.rejects.as_deref().map(|path| self.begin_file(path, settings.overwrite)).transpose()?;
        Ok(Some(RejectRun {
            kept: self.kept_rejects().clone(),
            tables: self.tables_of_all().clone(),
            read,
            file,
        }))
    }

    /// Refuses names of tables that are something else.
    fn check_names(&self, keep: &schema::KeepRejects) -> Result<()> {
        let kept = locked(self.kept_rejects());
        let is_own = |name: &str| {
            kept.tables.keys().any(|(errors, scans)| [errors, scans].contains(&&name.to_lowercase()))
        };
        for name in [&keep.errors, &keep.scans] {
            if !is_own(name) && self.kind(name).is_some() {
                let help = "rejects_table and rejects_scan of read_csv() give those of rejects other names";
                return Err(Error::Settings(format!(
                    "'{name}' is a table or view already, and rejects would be kept by this name\n  help: {help}"
                )));
            }
        }
        Ok(())
    }

    /// Begins the file of rejects. A file that an earlier query of the session has written is replaced.
    fn begin_file(&self, path: &Path, overwrite: bool) -> Result<(PathBuf, Mutex<Box<dyn ResultWriter>>)> {
        let is_own = locked(self.kept_rejects()).files.contains_key(path);
        let target = target(path, Overwrite::flag(overwrite || is_own))?;
        Ok((path.to_path_buf(), Mutex::new(target.writer(None)?)))
    }
}

/// The file of rejects.
///
/// # Errors
/// The name is of standard output or a directory, or tells no format.
pub fn target(path: &Path, overwrite: Overwrite) -> Result<CopyTarget> {
    let to = CopyTarget::of_path(path, None, None, overwrite)?;
    if to.dataset || path == Path::new("-") {
        let text = "rejects are written into one file\n  help: name a file such as rejects.csv";
        return Err(Error::Settings(text.into()));
    }
    Ok(to)
}

/// Writes rejects, which [`number_lines`] has seen, and ends the file.
///
/// # Errors
/// The file can't be written.
pub fn write(writer: &mut dyn ResultWriter, rejects: &[Reject]) -> writers::Result<()> {
    let batch = file_rows(rejects).map_err(|e| writers::Error::Refused(e.to_string()))?;
    writer.begin(&batch.schema())?;
    if batch.num_rows() > 0 {
        writer.batch(&batch)?;
    }
    writer.end()
}

impl RejectRun {
    /// Takes what the run has passed over.
    ///
    /// # Errors
    /// The file can't be written.
    pub(crate) fn finish(self, state: &QueryState) -> engine::Result<()> {
        let mut rejects = state.skipped().rejects;
        self.read.iter().for_each(|table| number_lines(&mut rejects, table));
        let mut kept = locked(&self.kept);
        for table in &self.read {
            kept.add(table, &rejects);
        }
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        for (_, keep) in self.read.iter().filter_map(|table| keeping(table)) {
            if let Some(rows) = kept.tables.get(&names(keep)) {
                tables.add_table(&keep.errors, table_of(&keep.errors, rows.errors()?)?);
                tables.add_table(&keep.scans, table_of(&keep.scans, rows.scans()?)?);
            }
        }
        drop(tables);
        let Some((path, writer)) = self.file else { return Ok(()) };
        let of_file = kept.files.entry(path).or_default();
        of_file.extend_from_slice(rejects.kept());
        let mut writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(write(writer.as_mut(), of_file).map_err(|error| match error {
            writers::Error::Format(error) => error,
            writers::Error::Io { path, action, source } => formats::Error::io(path, action, source),
            error => formats::Error::Unsupported(format!("the file of rejects: {error}")),
        })?)
    }
}

/// Under which names the rows of two tables are kept.
fn names(keep: &schema::KeepRejects) -> (String, String) {
    (keep.errors.to_lowercase(), keep.scans.to_lowercase())
}

impl KeptRejects {
    /// Forgets the rows of tables of which one has this name: it is removed, or becomes something else.
    pub(crate) fn forget(&mut self, name: &str) {
        let name = name.to_lowercase();
        self.tables.retain(|(errors, scans), _| *errors != name && *scans != name);
    }

    /// Adds a scan of a table, and its rejects, of which a run keeps no more than its limit.
    fn add(&mut self, table: &Table, rejects: &Rejects) {
        let Some((set, keep)) = keeping(table) else { return };
        self.scans += 1;
        let scan = self.scans;
        let rows = self.tables.entry(names(keep)).or_default();
        let format = Arc::new(set.format.clone());
        let columns: Arc<str> = columns(table, set).into();
        let scanned = set.files.iter().zip(0..).map(|(file, number)| ScanRow {
            scan,
            file: number,
            path: file.path.clone(),
            format: format.clone(),
            columns: columns.clone(),
        });
        rows.scans.extend(scanned);
        let numbers: BTreeMap<&Path, u64> =
            set.files.iter().map(|file| file.path.as_path()).zip(0..).collect();
        let errors = rejects.kept().iter().filter_map(|reject| {
            let file = *numbers.get(reject.file.as_path())?;
            Some(ErrorRow { scan, file, reject: reject.clone() })
        });
        rows.errors.extend(errors);
    }
}

/// The columns of a table's files, as DuckDB writes them.
fn columns(table: &Table, set: &FileSet) -> String {
    let fields = table.schema.fields().iter().take(set.file_columns);
    let pairs = fields.map(|field| {
        let name = sql_name(field.data_type()).unwrap_or_else(|| field.data_type().to_string());
        format!("'{}': '{name}'", field.name().replace('\'', "''"))
    });
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn table_of(name: &str, rows: RecordBatch) -> engine::Result<Table> {
    Ok(open_batches(name, &rows.schema(), &[rows])?)
}

/// A batch of these columns, each of which may be NULL.
fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> engine::Result<RecordBatch> {
    let fields = columns.iter().map(|(name, values)| Field::new(*name, values.data_type().clone(), true));
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, values)| values).collect();
    Ok(RecordBatch::try_new(schema, arrays)?)
}

fn numbers(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.collect::<UInt64Array>())
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// The line of a reject, where it is known.
fn line(reject: &Reject) -> Option<u64> {
    match reject.line {
        Line::Known(line) => Some(line),
        Line::Uncounted | Line::None => None,
    }
}

/// The rows of a file of rejects. Bytes are counted from 0, as in messages.
fn file_rows(rejects: &[Reject]) -> engine::Result<RecordBatch> {
    let all = || rejects.iter();
    batch([
        ("file", texts(all().map(|r| Some(r.file.display().to_string())))),
        ("line", numbers(all().map(line))),
        ("byte", numbers(all().map(|r| r.is_placed.then_some(r.value)))),
        ("column", texts(all().map(|r| r.name.as_deref()))),
        ("error_type", texts(all().map(|r| Some(r.kind.name())))),
        ("reason", texts(all().map(|r| Some(&r.message)))),
        ("record", texts(all().map(|r| Some(&r.text)))),
    ])
}

impl RejectTables {
    /// The rows of the table of rejects. Bytes and columns are counted from 1, as DuckDB counts them.
    fn errors(&self) -> engine::Result<RecordBatch> {
        let all = || self.errors.iter();
        let rejects = || all().map(|row| &row.reject);
        batch([
            ("scan_id", numbers(all().map(|row| Some(row.scan)))),
            ("file_id", numbers(all().map(|row| Some(row.file)))),
            ("line", numbers(rejects().map(line))),
            ("line_byte_position", numbers(rejects().map(|r| r.is_placed.then_some(r.record + 1)))),
            ("byte_position", numbers(rejects().map(|r| r.is_placed.then_some(r.value + 1)))),
            ("column_idx", numbers(rejects().map(|r| r.column.map(|column| column as u64 + 1)))),
            ("column_name", texts(rejects().map(|r| r.name.as_deref()))),
            ("error_type", texts(rejects().map(|r| Some(r.kind.name())))),
            ("csv_line", texts(rejects().map(|r| Some(&r.text)))),
            ("error_message", texts(rejects().map(|r| Some(&r.message)))),
        ])
    }

    /// The rows of the table of scans. What says how csv is written is NULL of other formats.
    fn scans(&self) -> engine::Result<RecordBatch> {
        let all = || self.scans.iter();
        let csv = || all().map(|row| Some(&*row.format).filter(|format| format.encoding == "csv"));
        let character = |byte: u8| Some(char::from(byte).to_string());
        let dialect = || csv().map(|format| format?.dialect.as_deref());
        batch([
            ("scan_id", numbers(all().map(|row| Some(row.scan)))),
            ("file_id", numbers(all().map(|row| Some(row.file)))),
            ("file_path", texts(all().map(|row| Some(row.path.display().to_string())))),
            ("delimiter", texts(csv().map(|format| character(format?.delimiter)))),
            ("quote", texts(csv().map(|format| character(format?.quote)))),
            ("escape", texts(csv().map(|format| character(format?.escape().unwrap_or(format?.quote))))),
            ("newline_delimiter", texts(all().map(|_| None::<&str>))),
            ("skip_rows", {
                let skip = |format: &FormatOptions| format.dialect.as_ref().map_or(0, |dialect| dialect.skip);
                let rows =
                    csv().map(|format| format.map(|format| u32::try_from(skip(format)).unwrap_or(u32::MAX)));
                Arc::new(rows.collect::<UInt32Array>())
            }),
            ("has_header", Arc::new(csv().map(|format| Some(format?.header)).collect::<BooleanArray>())),
            ("columns", texts(all().map(|row| Some(&*row.columns)))),
            ("date_format", texts(dialect().map(|dialect| dialect?.date_format.clone()))),
            ("timestamp_format", texts(dialect().map(|dialect| dialect?.timestamp_format.clone()))),
            ("user_arguments", texts(all().map(|_| None::<&str>))),
        ])
    }
}

/// What is kept.
pub(crate) fn locked(kept: &Mutex<KeptRejects>) -> std::sync::MutexGuard<'_, KeptRejects> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    #[test]
    fn tables_have_the_types_that_duckdb_has() {
        let tables = RejectTables::default();
        let types = |batch: RecordBatch| {
            let of = |field: &Arc<Field>| field.data_type().clone();
            batch.schema().fields().iter().map(of).collect::<Vec<DataType>>()
        };
        use DataType::{Boolean, UInt32, UInt64, Utf8};
        let errors = types(tables.errors().expect("no rows are a batch"));
        assert_eq!(errors, [UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, Utf8, Utf8, Utf8, Utf8]);
        let scans = types(tables.scans().expect("no rows are a batch"));
        let head = [UInt64, UInt64, Utf8, Utf8, Utf8, Utf8, Utf8, UInt32, Boolean, Utf8, Utf8, Utf8, Utf8];
        assert_eq!(scans, head);
    }
}
