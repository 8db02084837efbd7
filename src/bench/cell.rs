//! One encoding with one compression: written, queried and taken apart. Writing and querying are the commands that a
//! user would give, each in a process of its own, so that memory is told apart.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use arrow_schema::SchemaRef;
use engine::children::Group;
use engine::measure::answer::Answer;
use engine::measure::bounds::{Bounds, bounds};
use formats::format::Format;
use formats::open::{OpenOptions, open};
use queries::{Catalog, Plan, Statement};
use schema::{FormatOptions, Source, Table};
use serde::{Deserialize, Serialize};

use super::{TABLE, path_text};
use crate::Usage;

/// What is measured of each pair.
pub struct Bench {
    /// palais.
    pub binary: PathBuf,
    /// Where data sets are written.
    pub scratch: PathBuf,
    /// The rows that all are written from.
    pub source: PathBuf,
    /// The query.
    pub sql: String,
    /// Threads.
    pub workers: usize,
    /// How often the query runs after its first run.
    pub rounds: u32,
    /// The rows of the table.
    pub rows: u64,
    /// Its columns.
    pub schema: SchemaRef,
    /// The query's answer.
    pub expected: Answer,
}

/// The figures of a pair.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The encoding.
    pub encoding: &'static str,
    /// The compression.
    pub compression: &'static str,
    /// What was measured, or why nothing was.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of measuring a pair.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It was measured.
    Measured(Measured),
    /// The encoding has no place for the table's columns.
    Refused {
        /// Why.
        refused: String,
    },
    /// Writing or reading it went wrong, or its answer is wrong.
    Failed {
        /// How.
        error: String,
    },
}

/// Figures; seconds are elapsed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Measured {
    /// Bytes of the files.
    pub bytes: u64,
    /// To write them.
    pub write_seconds: f64,
    /// The median of the query's runs after the first.
    pub query_seconds: f64,
    /// The query's first run in its process.
    pub first_seconds: f64,
    /// Rows a second and worker, by the median.
    pub rows_per_core_second: f64,
    /// Bytes of the files that the query got through in a second.
    pub bytes_per_second: f64,
    /// The most memory that was resident in the query's process, in bytes.
    pub peak_resident_bytes: u64,
    /// To read the files.
    pub read_seconds: f64,
    /// To read and decompress them; none if they are not compressed as a whole.
    pub decompress_seconds: Option<f64>,
    /// To read, decompress and decode what the query needs of them.
    pub decode_seconds: f64,
    /// Which step takes the most.
    pub bound_by: &'static str,
}

impl Measured {
    /// The seconds that each step takes by itself.
    pub fn steps(&self) -> [(&'static str, f64); 4] {
        let unpacked = self.decompress_seconds.unwrap_or(self.read_seconds);
        [
            ("reading", self.read_seconds),
            ("decompressing", (unpacked - self.read_seconds).max(0.0)),
            ("decoding", (self.decode_seconds - unpacked).max(0.0)),
            ("computing", (self.query_seconds - self.decode_seconds).max(0.0)),
        ]
    }
}

impl Cell {
    /// The figures, if there are any.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// What went wrong, if something did.
    pub fn failure(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Measured(_) | Outcome::Refused { .. } => None,
            Outcome::Failed { error } => {
                Some(format!("{} with {}: {error}", self.encoding, self.compression))
            }
        }
    }
}

/// What `--stats` tells of a run.
#[derive(Deserialize)]
struct Stats {
    execution_seconds: Vec<f64>,
    peak_resident_bytes: u64,
}

/// The plan of a query over a table.
pub fn plan(sql: &str, table: &Table, workers: usize) -> anyhow::Result<Arc<Plan>> {
    let Statement::Query(query) = queries::parse(sql)? else {
        return Err(Usage("--query takes a query".into()).into());
    };
    let mut catalog = Catalog::default();
    catalog.add(table.clone());
    Ok(queries::plan(&query, &catalog, &queries::Settings { workers, ..queries::Settings::default() })?)
}

/// The answer of a plan, by running it here.
pub fn answer(plan: &Arc<Plan>, workers: usize) -> anyhow::Result<Answer> {
    let results = engine::run(plan, &engine::Settings::new(workers))?;
    crate::signals::cancel_on_interrupt(results.state());
    Ok(Answer::collect(&plan.schema, results)?)
}

impl Bench {
    /// Measures a pair. An error is one of the machine; what the pair can't do is an outcome.
    pub fn cell(&self, format: &'static dyn Format, compression: &'static str) -> anyhow::Result<Cell> {
        let directory = self.scratch.join("cell");
        let options = FormatOptions {
            encoding: format.name().into(),
            compression: compression.into(),
            ..FormatOptions::default()
        };
        if let Err(e) = format.encoder(&self.schema, &options) {
            let refused = crate::causes(&e.at(Path::new("the table")).into());
            return Ok(Cell { encoding: format.name(), compression, outcome: Outcome::Refused { refused } });
        }
        let outcome = match self.measure(format.name(), compression, &directory) {
            Ok(measured) => Outcome::Measured(measured),
            Err(e) => Outcome::Failed { error: crate::causes(&e) },
        };
        if directory.exists() {
            std::fs::remove_dir_all(&directory)
                .with_context(|| format!("{}: cannot be removed", directory.display()))?;
        }
        Ok(Cell { encoding: format.name(), compression, outcome })
    }

    fn measure(&self, encoding: &str, compression: &str, directory: &Path) -> anyhow::Result<Measured> {
        let workers = self.workers.to_string();
        let start = Instant::now();
        let written =
            ["--to", encoding, "--compression", compression, "--workers", &workers, "--no-progress"];
        run(Command::new(&self.binary).arg("convert").arg(&self.source).arg(directory).args(written))?;
        let write_seconds = start.elapsed().as_secs_f64();

        let table = open(path_text(directory)?, TABLE, &OpenOptions::default())?;
        let Source::Files(set) = &table.source else { anyhow::bail!("a dataset has files") };
        let bytes = set.bytes();
        let stats = self.query(directory)?;
        self.check(directory)?;
        let Bounds { read, decompress, decode } =
            bounds(&*plan(&self.sql, &table, self.workers)?, self.workers)?;

        let first_seconds = stats.execution_seconds.first().copied().unwrap_or_default();
        let query_seconds = median(&stats.execution_seconds[1..]);
        let mut measured = Measured {
            bytes,
            write_seconds,
            query_seconds,
            first_seconds,
            rows_per_core_second: self.rows as f64 / query_seconds / self.workers as f64,
            bytes_per_second: bytes as f64 / query_seconds,
            peak_resident_bytes: stats.peak_resident_bytes,
            read_seconds: read,
            decompress_seconds: decompress,
            decode_seconds: decode,
            bound_by: "",
        };
        let longest = measured.steps().into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        measured.bound_by = longest.map_or("", |(step, _)| step);
        Ok(measured)
    }

    /// Runs the query over a data set, once and then as often as rounds are wanted.
    fn query(&self, directory: &Path) -> anyhow::Result<Stats> {
        let path = self.scratch.join("stats.json");
        let mut command = self.over(directory);
        run(command.args(["--repeat", &(self.rounds + 1).to_string()]).arg("--stats").arg(&path))?;
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Compares the answer over a data set with the one that is expected.
    fn check(&self, directory: &Path) -> anyhow::Result<()> {
        let path = self.scratch.join("answer.arrow");
        run(self.over(directory).arg("--overwrite").arg("--output").arg(&path))?;
        let table = open(path_text(&path)?, "the answer", &OpenOptions::default())?;
        let answer = Answer::read(&Arc::new(table), self.expected.schema())?;
        match self.expected.difference(&answer) {
            Some(difference) => anyhow::bail!("the answer is wrong: {difference}"),
            None => Ok(()),
        }
    }

    fn over(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        let mut table = std::ffi::OsString::from(format!("{TABLE}="));
        table.push(directory);
        command.arg("query").arg(&self.sql).arg("--table").arg(table);
        command.args(["--no-progress", "--workers", &self.workers.to_string()]);
        command
    }
}

/// Runs a command of ours; what it says is the error if it fails.
fn run(command: &mut Command) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // A group of its own is ended with this process.
    let child = command.process_group(0).spawn().context("palais cannot be started")?;
    let group = Group::new(child.id());
    let done = child.wait_with_output().context("palais cannot be waited for")?;
    drop(group);
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.trim().trim_start_matches("error: ");
    anyhow::bail!("{}", if said.is_empty() { done.status.to_string() } else { said.to_string() })
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
