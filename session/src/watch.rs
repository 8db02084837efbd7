//! A query whose result is kept up to date as files are added.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::context::cancel::Cancel;
use engine::context::query::Skipped;
use engine::context::stack;
use engine::dataflow::batch::batch_of;
use engine::incremental;
use queries::Statement;
use queries::binder::paths;
use schema::{FileSet, Source, Table};

use crate::error::{Error, Result};
use crate::introspection::type_name;
use crate::parsed::parse;
use crate::pivots::is_unlisted;
use crate::session::Session;
use crate::settings::Settings;

/// The column of changes that says how often a row came, or with a minus went.
pub const DIFF: &str = "__diff";

/// A query over files that is kept up to date. Each call of [`Watch::poll`] takes in the files that were added since
/// the last one.
pub struct Watch<'a> {
    session: &'a Session,
    cancel: Cancel,
    name: String,
    /// The table as it was at first. The first round takes in its files.
    first: Table,
    /// Whether the query names the column of paths, which the table then has.
    names_paths: bool,
    schema: SchemaRef,
    /// The files that were taken in, with their sizes in bytes and their times in nanoseconds.
    seen: BTreeMap<PathBuf, (u64, i64)>,
    is_begun: bool,
    /// Whether an error has ended the watch: rows of a round may be missing in the next one.
    has_ended: bool,
    live: incremental::Watch,
}

impl Session {
    /// Begins to watch a query over one table of files. Its first change is the result as it is now.
    ///
    /// # Errors
    /// The statement is wrong or no query, or the query can't be kept up to date. It must read exactly one table, and
    /// that must lie in files.
    pub fn watch(&self, sql: &str) -> Result<Watch<'_>> {
        self.watch_until(sql, &Cancel::default())
    }

    /// As [`Session::watch`], until another thread cancels it: while it begins, and in each call of [`Watch::poll`].
    ///
    /// # Errors
    /// As [`Session::watch`], and the cancel.
    pub fn watch_until(&self, sql: &str, cancel: &Cancel) -> Result<Watch<'_>> {
        let statement = parse(sql)?;
        let refuse = |what: String| Err(Error::Settings(format!("watch takes a query{what}")));
        if self.runner().check_is_here("watch").is_err() {
            return refuse(" that threads of this process run".into());
        }
        let Statement::Query(query) = &*statement else { return refuse(String::new()) };
        let (expanded, names) = self.expanded_and_named(query, cancel)?;
        if is_unlisted(&expanded, cancel)? {
            return refuse(" whose PIVOT has its values listed: ON column IN ('a', 'b')".into());
        }
        let [name] = names.as_slice() else {
            return refuse(format!(" over one table, and this one reads {}", names.len()));
        };
        let planned = self.placed(&statement, self.plan(query, &self.planning(), cancel))?;
        let first = Table::clone(planned.catalog.table(name)?);
        if !matches!(first.source, Source::Files(_)) {
            return refuse(" over a table of files".into());
        }
        if matches!(&first.source, Source::Files(set) if set.format.rejects.is_some()) {
            return refuse(" without store_rejects, whose tables would never be whole".into());
        }
        let mut fields: Vec<_> = planned.plan.schema.fields().iter().cloned().collect();
        if fields.iter().any(|field| field.name() == DIFF) {
            let help = "another name with AS";
            return Err(Error::Settings(format!(
                "the result has a column {DIFF}, which is the name of the count of changes\n  help: give it {help}"
            )));
        }
        fields.push(Arc::new(Field::new(DIFF, DataType::Int64, false)));
        let settings = Settings { workers: planned.planning.workers, ..self.settings() }.engine();
        let live = stack::deep(|| incremental::Watch::start(&planned.plan, &settings, cancel))??;
        let (schema, name) = (Arc::new(Schema::new(fields)), name.clone());
        Ok(Watch {
            session: self,
            cancel: cancel.clone(),
            name,
            first,
            names_paths: paths::are_named(&expanded),
            schema,
            seen: BTreeMap::new(),
            is_begun: false,
            has_ended: false,
            live,
        })
    }
}

impl Watch<'_> {
    /// The columns of changes: those of the query, and [`DIFF`].
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Takes in the files that were added since the last call. Gives the rows that came or went, or `None` if no file
    /// was added. The first call gives the result as it is.
    ///
    /// # Errors
    /// A file was removed or has changed, a new file has other columns, or a file can't be read. Or a worker has
    /// panicked, or the watch was cancelled. The watch has ended then, and every further call is an error.
    pub fn poll(&mut self) -> Result<Option<Vec<RecordBatch>>> {
        if self.has_ended {
            return Err(Error::Settings("the watch has ended with an error".into()));
        }
        let polled = self.take_in();
        self.has_ended = polled.is_err();
        polled
    }

    fn take_in(&mut self) -> Result<Option<Vec<RecordBatch>>> {
        self.cancel.check()?;
        let table = match self.is_begun {
            false => self.first.clone(),
            true => self.table_now()?,
        };
        let Source::Files(set) = &table.source else { return Ok(None) };
        let new = self.added(set)?;
        if new.is_empty() && self.is_begun {
            return Ok(None);
        }
        self.is_begun = true;
        let source = Source::Files(FileSet { files: new, ..set.clone() });
        let table = Table { source, ..table.clone() };
        let with_paths = if self.names_paths { paths::table_with(&table) } else { None };
        let changes = self.live.round(&with_paths.unwrap_or(table))?;
        let batch = |change: incremental::Change| {
            let diffs: ArrayRef = Arc::new(Int64Array::from(change.diffs));
            let columns = [change.rows.columns(), &[diffs]].concat();
            Ok(batch_of(&self.schema, columns, change.rows.num_rows())?)
        };
        changes.into_iter().map(batch).collect::<Result<_>>().map(Some)
    }

    /// Rows and values that readers have passed over since the last call.
    pub fn skipped(&self) -> Skipped {
        self.live.skipped()
    }

    /// The table with the files that are there now.
    fn table_now(&self) -> Result<Table> {
        let opened = self.session.open(std::slice::from_ref(&self.name), false, &self.cancel)?;
        let table = Table::clone(opened.catalog.table(&self.name)?);
        if table.schema != self.first.schema {
            let help = format!("start watch again, or give the schema with --schema {}=FILE", self.name);
            let what = format!("a file was added whose columns differ: {}", differing(&self.first, &table));
            let Source::Files(set) = &table.source else {
                return Err(formats::Error::location(&self.name, what, Some(help)).into());
            };
            let new: Vec<_> = set.files.iter().filter(|file| !self.seen.contains_key(&file.path)).collect();
            let place = match new.as_slice() {
                [only] => only.path.display().to_string(),
                _ => self.name.clone(),
            };
            return Err(formats::Error::location(place, what, Some(help)).into());
        }
        Ok(table)
    }

    /// The files that were not seen before. A file that was seen must stay as it was: its rows are in the result, and
    /// can't be taken back.
    fn added(&mut self, set: &FileSet) -> Result<Vec<schema::FileEntry>> {
        let there: BTreeSet<&PathBuf> = set.files.iter().map(|file| &file.path).collect();
        let wrong = |path: &PathBuf, what: &str, help: &str| {
            Err(formats::Error::location(path.display(), what, Some(help.into())).into())
        };
        if let Some(gone) = self.seen.keys().find(|path| !there.contains(path)) {
            let what = "the file was removed, and watch can't take its rows back";
            return wrong(gone, what, "start watch again");
        }
        let mut new = Vec::new();
        // A file that a location lists twice is new twice.
        let seen = std::mem::take(&mut self.seen);
        for file in &set.files {
            let now = (file.bytes, file.modified_ns);
            self.seen.insert(file.path.clone(), now);
            match seen.get(&file.path) {
                None => new.push(file.clone()),
                Some(before) if *before == now => {}
                Some(_) => {
                    let what = "the file has changed, and watch takes in files that are added whole";
                    return wrong(&file.path, what, "write them aside and rename them");
                }
            }
        }
        Ok(new)
    }
}

/// The first column in which two tables differ.
fn differing(before: &Table, now: &Table) -> String {
    let (before, now) = (before.schema.fields(), now.schema.fields());
    let differs = before.iter().zip(now).find(|(before, now)| before != now);
    match differs {
        Some((before, now)) if before.name() == now.name() && before.data_type() != now.data_type() => {
            let (was, is) = (type_name(before.data_type()), type_name(now.data_type()));
            format!("column '{}' was {was}, and is {is} with it", now.name())
        }
        Some((before, now)) if before.name() == now.name() => {
            format!("column '{}' had no NULL before it", now.name())
        }
        Some((before, now)) => format!("column '{}' stands where '{}' did", now.name(), before.name()),
        None => format!("there were {} columns, and are {} with it", before.len(), now.len()),
    }
}
