//! `palais bench threads`: measures what workers and reading ahead do to the time of a query. It reads many small files
//! and few large ones, plain and compressed, from memory and from the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::QueryState;
use engine::measure::small;
use engine::writing::dataset::WriteOptions;
use formats::discover::{OpenOptions, open_path};
use formats::store::atomic::Overwrite;
use schema::{FileSet, FormatOptions, Source, Table};
use serde::Serialize;

use super::command::{Queried, Runner};
use super::threads_report::{self, Report};
use super::{QUERY, Scratch, TABLE, cell};
use crate::args;
use crate::print;
use crate::say::say;
use crate::{settings, signals};

/// How many small files are written, and about how many bytes each has before compression.
const SMALL_FILES: usize = 500;
const SMALL_BYTES: usize = 10_000;
/// The number of files of a generated table.
const LARGE_FILES: usize = 4;
/// The numbers of parts read ahead that are tried.
const READ_AHEAD: [u16; 5] = [0, 1, 4, 16, 64];

/// Files that are measured.
#[derive(Debug, Clone, Serialize)]
pub struct Set {
    /// Whether they are many and small.
    pub small: bool,
    /// Their encoding.
    pub encoding: String,
    /// Their compression.
    pub compression: String,
    /// The number of files.
    pub files: u64,
    /// The bytes of all files.
    pub bytes: u64,
    /// The figures of every setting.
    pub figures: Vec<Figure>,
}

/// The figure of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// Whether the system was asked to forget the files before each run.
    pub cold: bool,
    /// Worker threads.
    pub workers: u16,
    /// Parts of files that the system is asked to read ahead.
    pub read_ahead: u16,
    /// The median of the runs in seconds, from the listing of files to the last row.
    pub seconds: f64,
}

/// `palais bench threads`.
pub fn run(t: &args::BenchThreads) -> anyhow::Result<()> {
    engine::context::memory::set_limit(engine::context::memory::default_limit());
    let cores = settings::workers(None);
    let scratch = Scratch::new(&t.place.scratch)?;
    let output = super::output(&t.place)?;
    let source = scratch.path().join("source");
    super::write_source(&t.table, &t.input, LARGE_FILES, &source, cores)?;
    let table = Arc::new(open_path(&source, TABLE, &OpenOptions::default())?);
    let sql = t.table.query.clone().unwrap_or_else(|| QUERY.into());
    // A wrong query is an error before anything is measured.
    cell::plan(&sql, &table, cores)?;
    let runner = Runner::new(scratch.path(), &sql)?;
    let bench = Bench {
        runner,
        directory: scratch.path().join("set"),
        source,
        table,
        workers: if t.workers.is_empty() { usual_workers(cores) } else { t.workers.clone() },
        read_ahead: if t.read_ahead.is_empty() { READ_AHEAD.to_vec() } else { t.read_ahead.clone() },
        rounds: t.rounds,
        cold: t.cold,
    };
    let title = super::title(&t.table);
    say(format_args!("{title}: {cores} cores, median of {} runs", t.rounds));
    let mut sets = Vec::new();
    for small in [true, false] {
        for compression in &t.compressions {
            let set = bench.set(small, &t.encoding, compression)?;
            say(threads_report::line(&set));
            sets.push(set);
        }
    }
    let report = Report { title, query: sql, cores, rounds: t.rounds, sets };
    print::text(&report.text())?;
    if let Some(output) = output {
        report.write(output.path())?;
        output.commit()?;
    }
    Ok(())
}

/// Powers of two up to the number of cores, and one to four times as many.
fn usual_workers(cores: usize) -> Vec<u16> {
    let powers = (0..).map(|power| 1 << power).take_while(|&workers| workers < cores);
    powers.chain((1..=4).map(|times| times * cores)).map(|workers| workers.min(1024) as u16).collect()
}

struct Bench {
    runner: Runner,
    /// The path of the set that is measured.
    directory: PathBuf,
    source: PathBuf,
    table: Arc<Table>,
    workers: Vec<u16>,
    read_ahead: Vec<u16>,
    rounds: u32,
    cold: bool,
}

impl Bench {
    /// Writes files, measures them and removes them.
    fn set(&self, small: bool, encoding: &str, compression: &str) -> anyhow::Result<Set> {
        match small {
            true => self.write_small(encoding, compression)?,
            false => {
                let workers = self.workers.iter().copied().max().unwrap_or(1).into();
                self.runner.convert(&self.source, &self.directory, encoding, compression, workers)?;
            }
        }
        let table = open_path(&self.directory, TABLE, &OpenOptions::default())?;
        let Source::Files(files) = &table.source else { anyhow::bail!("a dataset has files") };
        let mut set = Set {
            small,
            encoding: encoding.into(),
            compression: compression.into(),
            files: files.files.len() as u64,
            bytes: files.bytes(),
            figures: Vec::new(),
        };
        let mut rows = None;
        for &cold in if self.cold { &[false, true][..] } else { &[false] } {
            for &workers in &self.workers {
                for &read_ahead in &self.read_ahead {
                    let (seconds, found) = self.setting(cold.then_some(files), workers, read_ahead)?;
                    if found != *rows.get_or_insert(found) {
                        let first = rows.unwrap_or_default();
                        anyhow::bail!("{workers} workers gave {found} rows, and others {first}");
                    }
                    set.figures.push(Figure { cold, workers, read_ahead, seconds });
                }
            }
        }
        super::remove(&self.directory)?;
        Ok(set)
    }

    fn write_small(&self, encoding: &str, compression: &str) -> anyhow::Result<()> {
        let format = FormatOptions {
            encoding: encoding.into(),
            compression: compression.into(),
            ..FormatOptions::default()
        };
        let overwrite = Overwrite::Unless("remove it");
        let options = WriteOptions { format, workers: 1, overwrite, part_bytes: None, verify: false };
        let state = Arc::new(QueryState::default());
        signals::cancel_on_interrupt(&state);
        let written = small::write(&self.table, SMALL_FILES, SMALL_BYTES, &self.directory, &options, &state);
        written.map_err(|e| match e {
            engine::Error::Format(e) => e.at(Path::new("the table")).into(),
            e => e,
        })?;
        Ok(())
    }

    /// The seconds of a setting, and the rows of its result. With `cold` its files are read from the disk.
    fn setting(&self, cold: Option<&FileSet>, workers: u16, read_ahead: u16) -> anyhow::Result<(f64, u64)> {
        let flags = ["--workers", &workers.to_string(), "--read-ahead", &read_ahead.to_string()];
        let Some(set) = cold else {
            let queried = self.runner.query(&self.directory, &flags, self.rounds + 1)?;
            return Ok((queried.plan_seconds + super::median(&queried.execution_seconds[1..]), queried.rows));
        };
        let (mut seconds, mut rows) = (Vec::new(), 0);
        for _ in 0..self.rounds {
            super::forget(set)?;
            let Queried { plan_seconds, execution_seconds, rows: found, .. } =
                self.runner.query(&self.directory, &flags, 1)?;
            seconds.push(plan_seconds + execution_seconds.iter().sum::<f64>());
            rows = found;
        }
        Ok((super::median(&seconds), rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_go_from_one_to_four_times_the_cores() {
        assert_eq!(usual_workers(1), [1, 2, 3, 4]);
        assert_eq!(usual_workers(2), [1, 2, 4, 6, 8]);
        assert_eq!(usual_workers(6), [1, 2, 4, 6, 12, 18, 24]);
    }
}
