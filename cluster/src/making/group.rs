//! Processes that make files, as the coordinator sees them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::QueryState;
use engine::writing::dataset::Written;
use schema::{FormatOptions, Source, Table};
use session::Conversion;

use super::files::{Job, Of};
use super::{GeneratedTable, Generation, Listener};
use crate::compression::Compression;
use crate::coordinator::{Cluster, Host, Options, Traffic};
use crate::decode::{decode, encode};
use crate::error::Result;
use crate::query::Look;

/// A group of processes that makes files.
pub struct Group {
    cluster: Cluster,
    /// Worker threads of each process.
    workers: usize,
}

impl Group {
    /// Starts the processes. `workers` gets the number of workers that the process with the fewest has cores for, and
    /// gives how many each process runs.
    ///
    /// # Errors
    /// A process can't be started, says nothing in time or is of another version.
    pub fn start(
        version: String,
        hosts: Vec<Host>,
        patience: Duration,
        workers: impl Fn(usize) -> usize,
    ) -> Result<Group> {
        // These processes send each other nothing.
        let traffic = Traffic { compression: Compression::None, sockets_only: true };
        let cluster = Cluster::start(Options { version, hosts, traffic, patience })?;
        Ok(Group { workers: workers(cluster.workers()), cluster })
    }

    /// Makes a table of the benchmark.
    pub(super) fn generate(
        &self,
        asked: &Generation,
        table: &GeneratedTable,
        listener: &dyn Listener,
    ) -> Result<Written> {
        let GeneratedTable { spec, parts, bytes } = table;
        let job = Job {
            of: Of::Generated(*spec, *parts),
            path: asked.directory.join(spec.table.name()),
            format: asked.format.clone(),
            overwrite: asked.overwrite,
            verify: false,
            workers: self.workers,
        };
        self.make(&job, *bytes, listener)
    }

    /// Makes files from files of another format, at `path`.
    pub(super) fn convert(
        &self,
        asked: &Conversion,
        path: &Path,
        format: &FormatOptions,
        listener: &dyn Listener,
    ) -> Result<Written> {
        let table = self.open(asked)?;
        let bytes = match &table.source {
            Source::Files(set) => set.bytes(),
            Source::Range { .. } | Source::Generated(_) | Source::Memory(_) => 0,
        };
        let job = Job {
            of: Of::Table(table.into()),
            path: path.to_path_buf(),
            format: format.clone(),
            overwrite: asked.overwrite,
            verify: asked.verify,
            workers: self.workers,
        };
        self.make(&job, bytes, listener)
    }

    /// The table of a source, as the first process sees it.
    fn open(&self, asked: &Conversion) -> Result<Table> {
        let look = encode(&Look::Source(asked.sources.clone(), asked.source.clone()))?;
        decode(&self.cluster.open(&look, 1)?[0])
    }

    /// Has the processes make files. They read or make about `bytes` bytes for that.
    fn make(&self, job: &Job, bytes: u64, listener: &dyn Listener) -> Result<Written> {
        let state = Arc::new(QueryState::default());
        let shown = listener.begin(bytes, &state);
        let written = self.cluster.make(&encode(job)?, &state)?;
        drop(shown);
        listener.skipped(state.skipped());
        Ok(written)
    }
}
