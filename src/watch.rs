//! `palais watch`: the changes of a query's result as files are added.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use engine::live::{Change, Watch};
use queries::{Statement, parse};
use schema::{Source, Table};
use session::{Cancel, PlannedQuery};
use std::sync::Arc;

use crate::Usage;
use crate::args;
use crate::print::{self, Format, Target};
use crate::query::warn;
use crate::settings;
use crate::tables;
use crate::terminal;

/// How often the files are listed.
const POLL: Duration = Duration::from_millis(100);

/// `palais watch`.
pub fn run(w: &args::Watch) -> anyhow::Result<()> {
    let sources = tables::sources(&w.input)?;
    let settings = settings::resolve(&w.run, None, sources.open.clone());
    engine::memory::set_limit(settings.memory_limit);
    let tables = sources.tables()?;
    let Statement::Query(query) = session::parse(&w.sql)? else {
        return Err(Usage("watch takes a query".into()).into());
    };
    let names = parse::tables(&query)?;
    let [name] = names.as_slice() else {
        return Err(
            Usage(format!("watch takes a query over one table, and this one reads {}", names.len())).into()
        );
    };
    let catalog = tables.catalog(&names, false, &settings.open)?;
    let plan = PlannedQuery::new(&query, catalog.clone(), &settings.planning(), &Cancel::default())?.plan;
    let first = catalog.table(name)?.as_ref().clone();
    let mut seen = BTreeMap::new();
    let mut watch = Watch::start(&plan, settings.workers)?;
    round(&mut watch, &added(&first, &mut seen)?.unwrap_or_else(|| without_files(&first)))?;

    let idle = w.until_idle;
    let mut last = Instant::now();
    while idle.is_none_or(|idle| last.elapsed() < idle) {
        if closed_within(POLL) {
            return Err(print::Error::Closed.into());
        }
        let catalog = tables.catalog(&names, false, &settings.open)?;
        let table = catalog.table(name)?.as_ref().clone();
        if table.schema != first.schema {
            anyhow::bail!(
                "a file of '{name}' was added whose columns differ; give the schema with --schema {name}=FILE"
            );
        }
        if let Some(new) = added(&table, &mut seen)? {
            last = Instant::now();
            round(&mut watch, &new)?;
        }
    }
    Ok(())
}

/// Takes in files, prints what has changed, and says what was passed over in them.
fn round(watch: &mut Watch, files: &Table) -> anyhow::Result<()> {
    let changes = watch.round(files)?;
    print_changes(&changes)?;
    warn(watch.skipped());
    Ok(())
}

/// Waits for so long. True at once if whoever reads standard output has gone: changes may be far between, and the next
/// one that is written would be too late to notice.
fn closed_within(time: Duration) -> bool {
    let mut output = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: the pointer is to one descriptor, and lives for the length of the call.
    let polled = unsafe { libc::poll(&raw mut output, 1, time.as_millis() as libc::c_int) };
    polled > 0 && output.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

/// The table with the files alone that were not seen before, if there are such. A file that was seen must stay as it
/// was: its rows are in the result, and can't be taken back.
fn added(table: &Table, seen: &mut BTreeMap<PathBuf, (u64, i64)>) -> anyhow::Result<Option<Table>> {
    let Source::Files(set) = &table.source else {
        return Err(Usage("watch takes a table of files".into()).into());
    };
    let there: BTreeSet<&PathBuf> = set.files.iter().map(|file| &file.path).collect();
    if let Some(gone) = seen.keys().find(|path| !there.contains(path)) {
        anyhow::bail!(
            "{}: the file was removed, and watch can't take its rows back\n  help: start watch again",
            gone.display()
        );
    }
    let mut new = set.clone();
    new.files.clear();
    for file in &set.files {
        match seen.insert(file.path.clone(), (file.bytes, file.modified_ns)) {
            None => new.files.push(file.clone()),
            Some(before) if before == (file.bytes, file.modified_ns) => {}
            Some(_) => anyhow::bail!(
                "{}: the file has changed; watch takes in files that are added whole (write them aside and rename them)",
                file.path.display()
            ),
        }
    }
    Ok((!new.files.is_empty()).then(|| Table { source: Source::Files(new), ..table.clone() }))
}

fn without_files(table: &Table) -> Table {
    let mut table = table.clone();
    if let Source::Files(set) = &mut table.source {
        set.files.clear();
    }
    table
}

/// Prints each row that came or went as a JSON line with `__diff`.
fn print_changes(changes: &[Change]) -> anyhow::Result<()> {
    for change in changes {
        let mut fields: Vec<Field> =
            change.rows.schema().fields().iter().map(|f| f.as_ref().clone()).collect();
        fields.push(Field::new("__diff", DataType::Int64, false));
        let schema = Arc::new(Schema::new(fields));
        let diffs = Int64Array::from(change.diffs.clone());
        let columns = [change.rows.columns(), &[Arc::new(diffs) as _]].concat();
        let mut writer = print::writer(Format::Jsonl, &Target::Standard, terminal::table_options(true))?;
        writer.begin(&schema)?;
        writer.batch(&RecordBatch::try_new(schema, columns)?)?;
        writer.end()?;
    }
    std::io::stdout().flush()?;
    Ok(())
}
