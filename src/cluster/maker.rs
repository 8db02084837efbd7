//! What a process makes without a query: tables of the benchmark, and files from files of another format.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use cluster::message::Failure;
use cluster::worker::{Maker, Together};
use engine::QueryState;
use engine::writing::atomic::Overwrite;
use engine::writing::dataset::{Parts, WriteOptions, Written};
use engine::writing::make::{Begun, Making, Origin};
use schema::bdb::Spec;
use schema::{FormatOptions, Table};
use serde::{Deserialize, Serialize};

use super::decode::decode;
use super::process::failure;

/// What all processes make.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// Of what.
    pub of: Of,
    /// The directory.
    pub path: PathBuf,
    /// The format of its files.
    pub format: FormatOptions,
    /// Whether a dataset that is there may be replaced.
    pub overwrite: bool,
    /// Whether each process compares what it has written with its source.
    pub verify: bool,
    /// Worker threads of a process.
    pub workers: usize,
}

/// What files are made of.
#[derive(Serialize, Deserialize)]
pub enum Of {
    /// A table of the benchmark, in so many files.
    Generated(Spec, usize),
    /// Another table.
    Table(Table),
}

/// The part of one process.
pub struct Files {
    origin: Origin,
    path: PathBuf,
    options: WriteOptions,
    making: Option<Making>,
    /// What was passed over in the source, and how far it is read.
    state: Arc<QueryState>,
}

impl Files {
    /// As a job says.
    pub fn new(job: Job) -> Files {
        let Job { of, path, format, overwrite, verify, workers } = job;
        let origin = match of {
            Of::Generated(spec, parts) => Origin::Generated(spec, parts),
            Of::Table(table) => Origin::Table(Arc::new(table)),
        };
        let overwrite = Overwrite::flag(overwrite);
        let options = WriteOptions { format, workers, overwrite, part_bytes: None, verify };
        Files { origin, path, options, making: None, state: Arc::default() }
    }

    fn making(&mut self) -> anyhow::Result<&mut Making> {
        self.making.as_mut().context("nothing was begun")
    }
}

impl Together for Files {
    fn begin(&mut self, processes: usize) -> Result<Vec<u8>, Failure> {
        let mut begin = || -> anyhow::Result<Vec<u8>> {
            let (making, begun) = Making::begin(self.origin.clone(), &self.path, &self.options, processes)?;
            self.making = Some(making);
            bincode::serialize(&begun).context("the names of files must be UTF-8 here")
        };
        begin().map_err(|e| failure(&e))
    }

    fn join(&mut self, begun: &[u8], process: usize, _processes: usize) -> Result<(), Failure> {
        let mut join = || -> anyhow::Result<()> {
            let begun: Begun = decode(begun)?;
            self.making =
                Some(Making::join(self.origin.clone(), &self.path, &self.options, &begun, process)?);
            Ok(())
        };
        join().map_err(|e| failure(&e))
    }

    fn finish(&mut self, written: Vec<Vec<u8>>) -> Result<Written, Failure> {
        let finish = || -> anyhow::Result<Written> {
            let making = self.making.take().context("nothing was begun")?;
            let mut parts = Parts::new();
            for written in written {
                parts.extend(decode::<Parts>(&written)?);
            }
            Ok(making.finish(parts, &self.state)?)
        };
        finish().map_err(|e| failure(&e))
    }
}

impl Maker for Files {
    fn look(&mut self) -> Result<Vec<u8>, Failure> {
        let mut look = || -> anyhow::Result<Vec<u8>> { Ok(bincode::serialize(&self.making()?.look()?)?) };
        look().map_err(|e| failure(&e))
    }

    fn make(&mut self, told: Vec<Vec<u8>>, state: &Arc<QueryState>) -> engine::Result<Vec<u8>> {
        let wrong = |e: anyhow::Error| engine::Error::Processes(format!("{e:#}"));
        let told = told.iter().map(|told| decode::<Vec<_>>(told)).collect::<anyhow::Result<Vec<_>>>();
        let told = told.map_err(wrong)?.concat();
        self.state = state.clone();
        let Some(making) = &mut self.making else { return Err(engine::Error::Cancelled) };
        let parts = making.write(&told, state)?;
        bincode::serialize(&parts).map_err(|e| wrong(e.into()))
    }
}
