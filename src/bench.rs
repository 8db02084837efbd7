//! `palais bench`: measures what each choice costs, on the user's own data.
//!
//! - [`command`]: runs the commands whose time is taken.
//! - [`cell`]: measures one encoding with one compression.
//! - [`report`]: the figures as tables for people, CSV and JSON.
//! - [`chart`]: the figures as a chart.
//! - [`history`]: the figures of the experiment that palais comes from.
//! - [`threads`], [`threads_report`]: measure numbers of workers and of parts read ahead.

mod cell;
mod chart;
mod command;
mod history;
mod report;
mod threads;
mod threads_report;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use engine::QueryState;
use engine::measure::answer::Answer;
use engine::writing::dataset::{Destination, WriteOptions};
use formats::discover::{OpenOptions, open_path};
use formats::format::Format;
use formats::registry::written;
use formats::store::atomic::{AtomicWrite, Overwrite};
use formats::store::input::Input;
use schema::bdb::{Kind, Sizes};
use schema::{FileSet, FormatOptions};
use serde::Serialize;
use session::writers::table::grouped;

use crate::args;
use crate::print;
use crate::say::say;
use crate::settings;
use crate::signals;
use crate::tables;
use cell::{Bench, Cell};
use command::Runner;
use report::Report;

/// The name of the table in the query.
pub const TABLE: &str = "t";

/// The benchmark's query 2A.
const QUERY: &str = "SELECT SUBSTR(sourceIP, 1, 8), SUM(adRevenue) FROM t GROUP BY SUBSTR(sourceIP, 1, 8)";

/// The number of files of a generated table, so that several workers read it in parallel in any format.
const PARTS: usize = 8;

/// A generated table refers to one page for so many of its rows, as in the benchmark's sets.
const VISITS_PER_PAGE: u64 = 9;

/// `palais bench`.
pub fn run(bench: &args::Bench) -> anyhow::Result<()> {
    match bench {
        args::Bench::Formats(f) => run_formats(f),
        args::Bench::Threads(t) => threads::run(t),
    }
}

/// `palais bench formats`.
fn run_formats(f: &args::BenchFormats) -> anyhow::Result<()> {
    engine::context::memory::set_limit(engine::context::memory::default_limit());
    let workers = settings::workers(f.workers);
    let scratch = Scratch::new(&f.place.scratch)?;
    let pairs = pairs(f);
    let output = output(&f.place)?;

    let title = title(&f.table);
    let source = scratch.path().join("source");
    write_source(&f.table, &f.input, PARTS, &source, workers)?;
    let source_table = open_path(&source, TABLE, &OpenOptions::default())?;
    let rows = source_table.rows.context("the source tells its rows")?;

    let sql = f.table.query.clone().unwrap_or_else(|| QUERY.into());
    let plan = cell::plan(&sql, &source_table, workers)?;
    let expected = match &f.expect {
        None => cell::answer(&plan, workers)?,
        Some(path) => {
            let given = open_path(path, "the expected answer", &OpenOptions::default())?;
            Answer::read(&Arc::new(given), &plan.schema)?
        }
    };
    let bench = Bench {
        runner: Runner::new(scratch.path(), &sql)?,
        directory: scratch.path().join("cell"),
        source,
        sql,
        workers,
        cold: f.cold,
        rounds: f.rounds,
        rows,
        schema: source_table.schema.clone(),
        expected,
    };
    say(format_args!("{title}: {workers} workers, {}", report::runs(f.rounds, f.cold)));
    let mut cells = Vec::new();
    for (format, compression) in pairs {
        let cell = bench.cell(format, compression)?;
        say(report::line(&cell));
        cells.push(cell);
    }
    let report = Report {
        title,
        query: bench.sql.clone(),
        workers,
        rounds: f.rounds,
        cold: f.cold,
        rows,
        history: f.table.query.is_none(),
        cells,
    };
    print::text(&report.text())?;
    if let Some(output) = output {
        report.write(output.path())?;
        output.commit()?;
    }
    match report.cells.iter().find_map(Cell::failure) {
        Some(failure) => anyhow::bail!("{failure}"),
        None => Ok(()),
    }
}

/// A directory that is removed with its owner.
struct Scratch(AtomicWrite);

impl Scratch {
    fn new(parent: &Path) -> anyhow::Result<Scratch> {
        // The directory is never committed: dropping it removes it, and so does an interrupt.
        Ok(Scratch(AtomicWrite::directory(&parent.join("palais-bench"), Overwrite::Unless("remove it"))?))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The pairs that the flags ask for, in the order of the lists of encodings and compressions.
fn pairs(f: &args::BenchFormats) -> Vec<(&'static dyn Format, &'static str)> {
    let named = |list: &Vec<String>, name: &str| list.is_empty() || list.iter().any(|n| n == name);
    let formats = written().filter(|format| named(&f.encodings, format.name()));
    formats
        .flat_map(|format| format.compressions().iter().map(move |&compression| (format, compression)))
        .filter(|(_, compression)| named(&f.compressions, compression))
        .collect()
}

/// A description of the table for people.
fn title(table: &args::BenchTable) -> String {
    match &table.path {
        Some(path) => path.clone(),
        None => format!("{} made rows of uservisits", grouped(table.rows)),
    }
}

/// The directory of figures, if the flags ask for one.
fn output(place: &args::BenchOutput) -> anyhow::Result<Option<AtomicWrite>> {
    let begin = |path: &std::path::PathBuf| AtomicWrite::directory(path, Overwrite::flag(place.overwrite));
    Ok(place.output.as_ref().map(begin).transpose()?)
}

/// Writes the table that is measured, from which all others are written. Its format is quick to read. A generated table
/// has `parts` files.
fn write_source(
    table: &args::BenchTable,
    input: &args::Input,
    parts: usize,
    directory: &Path,
    workers: usize,
) -> anyhow::Result<()> {
    let format = FormatOptions { encoding: "arrow".into(), ..FormatOptions::default() };
    let overwrite = Overwrite::Unless("remove it");
    let options = WriteOptions { format, workers, overwrite, part_bytes: None, verify: false };
    let state = Arc::new(QueryState::default());
    signals::cancel_on_interrupt(&state);
    match &table.path {
        Some(path) => {
            let table = Arc::new(tables::sources(input)?.open_one(path)?);
            let destination = Destination::Dataset(directory.to_path_buf());
            engine::writing::convert::convert(&table, &destination, &options, &state)?;
        }
        None => {
            let rankings = (table.rows / VISITS_PER_PAGE).max(1);
            let sizes = Sizes { rankings, uservisits: table.rows, documents_bytes: 0 };
            let spec = sizes.table(Kind::UserVisits, 0);
            engine::writing::generate::generate(&spec, parts, directory, &options, &state)?;
        }
    }
    Ok(())
}

/// Removes the files that were measured.
fn remove(directory: &Path) -> anyhow::Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory)
            .with_context(|| format!("{}: cannot be removed", directory.display()))?;
    }
    Ok(())
}

/// Asks the system to forget the files of a data set. They were synced when they were written.
fn forget(set: &FileSet) -> formats::Result<()> {
    set.files.iter().try_for_each(|file| {
        Input::of(file)?.forget();
        Ok(())
    })
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Appends a table for people: a title, and lines of cells, of which the first stands to the left.
fn grid(out: &mut String, title: &str, lines: &[Vec<String>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| Some(line.get(column)?.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    *out += &format!("\n{title}\n");
    for line in lines {
        for (i, (text, width)) in line.iter().zip(&widths).enumerate() {
            *out += &if i == 0 { format!("  {text:<width$}") } else { format!("  {text:>width$}") };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
}

/// Writes figures as `NAME.csv`, `NAME.json` and `NAME.svg`.
fn write_figures(
    directory: &Path,
    name: &str,
    report: &impl Serialize,
    csv: &str,
    svg: &str,
) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(report)? + "\n";
    for (suffix, text) in [("csv", csv), ("json", &json), ("svg", svg)] {
        let path = directory.join(format!("{name}.{suffix}"));
        std::fs::write(&path, text).map_err(|e| formats::Error::io(&path, "write", e))?;
    }
    Ok(())
}
