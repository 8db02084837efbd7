//! Measures one encoding with one compression: writes a table, runs the query on it and takes the time of each step of
//! reading.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_schema::SchemaRef;
use engine::measure::answer::Answer;
use engine::measure::bounds::{Bounds, bounds};
use formats::discover::{OpenOptions, open_path};
use formats::format::Format;
use queries::{Catalog, Plan, Statement};
use schema::{FileSet, FormatOptions, Source, Table};
use serde::Serialize;
use session::Cancel;

use super::command::{Queried, Runner};
use super::{TABLE, forget, median};
use crate::Usage;

/// What all pairs have in common in the measuring.
pub struct Bench {
    /// Runs the query.
    pub runner: Runner,
    /// The path of the data set that is measured.
    pub directory: PathBuf,
    /// The path of the data set from which all others are written.
    pub source: PathBuf,
    /// The query.
    pub sql: String,
    /// Worker threads.
    pub workers: usize,
    /// How often the query runs after its first run.
    pub rounds: u32,
    /// Whether the system is asked to forget the files before each run.
    pub cold: bool,
    /// The rows of the table.
    pub rows: u64,
    /// The columns of the table.
    pub schema: SchemaRef,
    /// The right answer of the query.
    pub expected: Answer,
}

/// The figures of a pair.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The encoding.
    pub encoding: &'static str,
    /// The compression.
    pub compression: &'static str,
    /// The figures, or why there are none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome of measuring a pair.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// The pair was measured.
    Measured(Measured),
    /// The encoding can't hold the columns of the table.
    Refused {
        /// Why.
        refused: String,
    },
    /// Writing or reading it went wrong, or its answer is wrong.
    Failed {
        /// What went wrong.
        error: String,
    },
}

/// The figures of a pair. Seconds are elapsed time.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Measured {
    /// Bytes of the files.
    pub bytes: u64,
    /// Seconds to write the files.
    pub write_seconds: f64,
    /// The median of the query's runs after the first, in seconds.
    pub query_seconds: f64,
    /// The query's first run in its process, in seconds.
    pub first_seconds: f64,
    /// Rows a second and worker, by the median.
    pub rows_per_core_second: f64,
    /// Bytes of the files for each second of the query.
    pub bytes_per_second: f64,
    /// The most memory that was resident in the query's process, in bytes.
    pub peak_resident_bytes: u64,
    /// Seconds to read the files.
    pub read_seconds: f64,
    /// Seconds to read and decompress the files; none if they are not compressed as a whole.
    pub decompress_seconds: Option<f64>,
    /// Seconds to read, decompress and decode what the query needs of the files.
    pub decode_seconds: f64,
    /// The step that takes most of the time.
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

/// The plan of a query over a table.
pub fn plan(sql: &str, table: &Table, workers: usize) -> anyhow::Result<Arc<Plan>> {
    let Statement::Query(query) = queries::parse(sql)? else {
        return Err(Usage("--query takes a query".into()).into());
    };
    let mut catalog = Catalog::default();
    catalog.add(table.clone());
    Ok(queries::plan(&query, &catalog, &queries::Settings { workers, ..queries::Settings::default() })?)
}

/// The answer of a plan, which is run here.
pub fn answer(plan: &Arc<Plan>, workers: usize) -> anyhow::Result<Answer> {
    let results = engine::run(plan, &engine::Settings::new(workers), &Cancel::default())?;
    crate::signals::cancel_on_interrupt(results.state());
    Ok(Answer::collect(&plan.schema, results)?)
}

impl Bench {
    /// Measures a pair. Errors are those of the machine; a pair that fails is an outcome.
    pub fn cell(&self, format: &'static dyn Format, compression: &'static str) -> anyhow::Result<Cell> {
        let options = FormatOptions {
            encoding: format.name().into(),
            compression: compression.into(),
            row_arrays: true,
            ..FormatOptions::default()
        };
        if let Err(e) = format.encoder(&self.schema, &options) {
            let refused = crate::causes(&e.at(Path::new("the table")));
            return Ok(Cell { encoding: format.name(), compression, outcome: Outcome::Refused { refused } });
        }
        let outcome = match self.measure(format.name(), compression) {
            Ok(measured) => Outcome::Measured(measured),
            Err(e) => Outcome::Failed { error: crate::causes(e.as_ref()) },
        };
        super::remove(&self.directory)?;
        Ok(Cell { encoding: format.name(), compression, outcome })
    }

    fn measure(&self, encoding: &str, compression: &str) -> anyhow::Result<Measured> {
        let start = Instant::now();
        self.runner.convert(&self.source, &self.directory, encoding, compression, self.workers)?;
        let write_seconds = start.elapsed().as_secs_f64();

        let table = open_path(&self.directory, TABLE, &OpenOptions::default())?;
        let Source::Files(set) = &table.source else { anyhow::bail!("a dataset has files") };
        let bytes = set.bytes();
        let stats = self.query(set)?;
        self.check()?;
        let before = || if self.cold { Ok(forget(set)?) } else { Ok(()) };
        let Bounds { read, decompress, decode } =
            bounds(&*plan(&self.sql, &table, self.workers)?, self.workers, &before)?;

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

    /// Runs the query over the data set, once and then `rounds` times.
    fn query(&self, set: &FileSet) -> anyhow::Result<Queried> {
        let workers = self.workers.to_string();
        let query = |times| self.runner.query(&self.directory, &["--workers", &workers], times);
        if !self.cold {
            return query(self.rounds + 1);
        }
        forget(set)?;
        let mut all = query(1)?;
        for _ in 0..self.rounds {
            forget(set)?;
            let one = query(1)?;
            all.execution_seconds.extend(one.execution_seconds);
            all.peak_resident_bytes = all.peak_resident_bytes.max(one.peak_resident_bytes);
        }
        Ok(all)
    }

    /// Compares the answer over the data set with the right one.
    fn check(&self) -> anyhow::Result<()> {
        let path = self.runner.answer(&self.directory, &["--workers", &self.workers.to_string()])?;
        let table = open_path(&path, "the answer", &OpenOptions::default())?;
        let answer = Answer::read(&Arc::new(table), self.expected.schema())?;
        match self.expected.difference(&answer) {
            Some(difference) => anyhow::bail!("the answer is wrong: {difference}"),
            None => Ok(()),
        }
    }
}
