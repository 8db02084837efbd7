//! The share of one process in making files: tables of the benchmark, and files from files of another format.

use std::path::PathBuf;
use std::sync::Arc;

use engine::QueryState;
use engine::writing::dataset::{Parts, WriteOptions, Written};
use engine::writing::make::{Begun, Making, Origin};
use formats::store::atomic::Overwrite;
use schema::bdb::Spec;
use schema::{FormatOptions, Table};
use serde::{Deserialize, Serialize};

use crate::decode::{decode, encode};
use crate::error::{Error, Result};
use crate::message::Failure;
use crate::program::Program;
use crate::worker::{Maker, Together};

/// The files that all processes make.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// What the files are made of.
    pub of: Of,
    /// The directory.
    pub path: PathBuf,
    /// The format of its files.
    pub format: FormatOptions,
    /// Whether a dataset that exists may be replaced.
    pub overwrite: bool,
    /// Whether each process compares what it has written with its source.
    pub verify: bool,
    /// Worker threads of each process.
    pub workers: usize,
}

/// What files are made of.
#[derive(Serialize, Deserialize)]
pub enum Of {
    /// A table of the benchmark, in this number of files.
    Generated(Spec, usize),
    /// A table that is read.
    Table(Box<Table>),
}

/// The share of one process.
pub(crate) struct Files {
    program: Program,
    origin: Origin,
    path: PathBuf,
    options: WriteOptions,
    making: Option<Making>,
    /// What readers passed over, and how much of the source is read.
    state: Arc<QueryState>,
}

impl Files {
    /// The share of this process in a job.
    pub fn new(program: Program, job: Job) -> Files {
        let Job { of, path, format, overwrite, verify, workers } = job;
        let origin = match of {
            Of::Generated(spec, parts) => Origin::Generated(spec, parts),
            Of::Table(table) => Origin::Table(table.into()),
        };
        let overwrite = Overwrite::flag(overwrite);
        let options = WriteOptions { format, workers, overwrite, part_bytes: None, verify };
        Files { program, origin, path, options, making: None, state: Arc::default() }
    }

    fn making(&mut self) -> Result<&mut Making> {
        self.making.as_mut().ok_or(Error::NotBegun)
    }
}

impl Together for Files {
    fn begin(&mut self, processes: usize) -> Result<Vec<u8>, Failure> {
        let program = self.program;
        let mut begin = || -> Result<Vec<u8>> {
            let (making, begun) = Making::begin(self.origin.clone(), &self.path, &self.options, processes)?;
            self.making = Some(making);
            encode(&begun)
        };
        begin().map_err(|e| program.failure(&e))
    }

    fn join(&mut self, begun: &[u8], process: usize, _processes: usize) -> Result<(), Failure> {
        let program = self.program;
        let mut join = || -> Result<()> {
            let begun: Begun = decode(begun)?;
            self.making =
                Some(Making::join(self.origin.clone(), &self.path, &self.options, &begun, process)?);
            Ok(())
        };
        join().map_err(|e| program.failure(&e))
    }

    fn finish(&mut self, written: Vec<Vec<u8>>) -> Result<Written, Failure> {
        let program = self.program;
        let finish = || -> Result<Written> {
            let making = self.making.take().ok_or(Error::NotBegun)?;
            let mut parts = Parts::new();
            for written in written {
                parts.extend(decode::<Parts>(&written)?);
            }
            Ok(making.finish(parts, &self.state)?)
        };
        finish().map_err(|e| program.failure(&e))
    }
}

impl Maker for Files {
    fn look(&mut self) -> Result<Vec<u8>, Failure> {
        let program = self.program;
        let mut look = || -> Result<Vec<u8>> { encode(&self.making()?.look()?) };
        look().map_err(|e| program.failure(&e))
    }

    fn make(&mut self, told: Vec<Vec<u8>>, state: &Arc<QueryState>) -> engine::Result<Vec<u8>> {
        let told = told.iter().map(|told| decode::<Vec<_>>(told)).collect::<Result<Vec<_>>>()?.concat();
        self.state = state.clone();
        let Some(making) = &mut self.making else { return Err(engine::Error::Cancelled) };
        let parts = making.write(&told, state)?;
        Ok(encode(&parts)?)
    }
}
