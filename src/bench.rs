//! `palais bench`: what each choice of format costs, on one's own data.
//!
//! - [`cell`]: one encoding with one compression, measured.
//! - [`report`]: the tables for people, CSV and JSON.
//! - [`chart`]: the chart.
//! - [`history`]: the figures of the experiment that palais comes from.

mod cell;
mod chart;
mod history;
mod report;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use engine::QueryState;
use engine::aside::{Aside, Overwrite};
use engine::dataset::{Destination, WriteOptions};
use engine::measure::answer::Answer;
use formats::format::{Format, formats};
use formats::open::{OpenOptions, open};
use schema::FormatOptions;
use schema::bdb::{Kind, Sizes};

use crate::args;
use crate::print;
use crate::print::table::grouped;
use crate::settings;
use crate::signals;
use crate::tables::Tables;
use cell::{Bench, Cell};
use report::Report;

/// The name of the table in the query.
pub const TABLE: &str = "t";

/// The benchmark's query 2A.
const QUERY: &str = "SELECT SUBSTR(sourceIP, 1, 8), SUM(adRevenue) FROM t GROUP BY SUBSTR(sourceIP, 1, 8)";

/// So many files does a made table have, that several workers read it in parallel in whatever format.
const PARTS: usize = 8;

/// So many pages does a made table refer to for each of its rows, as in the benchmark's sets.
const VISITS_PER_PAGE: u64 = 9;

/// `palais bench`.
pub fn run(bench: &args::Bench) -> anyhow::Result<()> {
    match bench {
        args::Bench::Formats(f) => run_formats(f),
    }
}

/// `palais bench formats`.
fn run_formats(f: &args::BenchFormats) -> anyhow::Result<()> {
    engine::memory::set_limit(engine::memory::default_limit());
    let workers = settings::workers(f.workers);
    let scratch = Scratch::new(&f.scratch)?;
    let pairs = pairs(f);
    let output =
        f.output.as_deref().map(|path| Aside::directory(path, Overwrite::flag(f.overwrite))).transpose()?;

    let title = match &f.table {
        Some(path) => path.clone(),
        None => format!("{} made rows of uservisits", grouped(f.rows)),
    };
    // All are written from the same files, in a format that is quick to read.
    let source = scratch.path().join("source");
    write_source(f, &source, workers)?;
    let source_table = open(path_text(&source)?, TABLE, &OpenOptions::default())?;
    let rows = source_table.rows.context("the source tells its rows")?;

    let sql = f.query.clone().unwrap_or_else(|| QUERY.into());
    let plan = cell::plan(&sql, &source_table, workers)?;
    let expected = match &f.expect {
        None => cell::answer(&plan, workers)?,
        Some(path) => {
            let given = open(path_text(path)?, "the expected answer", &OpenOptions::default())?;
            Answer::read(&Arc::new(given), &plan.schema)?
        }
    };
    let bench = Bench {
        binary: std::env::current_exe()?,
        scratch: scratch.path().to_path_buf(),
        source,
        sql,
        workers,
        rounds: f.rounds,
        rows,
        schema: source_table.schema.clone(),
        expected,
    };
    eprintln!("{title}: {} workers, median of {} runs after a first one", workers, f.rounds);
    let mut cells = Vec::new();
    for (format, compression) in pairs {
        let cell = bench.cell(format, compression)?;
        eprintln!("{}", report::line(&cell));
        cells.push(cell);
    }
    let report = Report {
        title,
        query: bench.sql.clone(),
        workers,
        rounds: f.rounds,
        rows,
        history: f.query.is_none(),
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

/// A directory that goes with its owner.
struct Scratch(Aside);

impl Scratch {
    fn new(parent: &Path) -> anyhow::Result<Scratch> {
        // It is never committed: dropping it removes it, as does an interrupt.
        Ok(Scratch(Aside::directory(&parent.join("palais-bench"), Overwrite::Unless("remove it"))?))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The pairs that are asked for, in the order of the lists of encodings and compressions.
fn pairs(f: &args::BenchFormats) -> Vec<(&'static dyn Format, &'static str)> {
    let named = |list: &Vec<String>, name: &str| list.is_empty() || list.iter().any(|n| n == name);
    let formats = formats().iter().copied().filter(|format| named(&f.encodings, format.name()));
    formats
        .flat_map(|format| format.compressions().iter().map(move |&compression| (format, compression)))
        .filter(|(_, compression)| named(&f.compressions, compression))
        .collect()
}

/// Writes the table that is measured.
fn write_source(f: &args::BenchFormats, directory: &Path, workers: usize) -> anyhow::Result<()> {
    let format = FormatOptions { encoding: "arrow".into(), ..FormatOptions::default() };
    let overwrite = Overwrite::Unless("remove it");
    let options = WriteOptions { format, workers, overwrite, part_bytes: None, verify: false };
    let state = Arc::new(QueryState::default());
    signals::cancel_on_interrupt(&state);
    match &f.table {
        Some(path) => {
            let table = Arc::new(Tables::resolve(&f.input)?.open(path)?);
            let destination = Destination::Dataset(directory.to_path_buf());
            engine::convert::convert(&table, &destination, &options, &state)?;
        }
        None => {
            let rankings = (f.rows / VISITS_PER_PAGE).max(1);
            let sizes = Sizes { rankings, uservisits: f.rows, documents_bytes: 0 };
            let spec = sizes.table(Kind::UserVisits, 0);
            engine::generate::generate(&spec, PARTS, directory, &options, &state)?;
        }
    }
    Ok(())
}

fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{}: a path of UTF-8 is needed", path.display()))
}
