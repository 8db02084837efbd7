//! Processes that make files.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cluster::Cluster;
use cluster::coordinator::{Host, Options, Traffic};
use cluster::mesh::link::Compression;
use engine::QueryState;
use engine::writing::dataset::Written;
use schema::{FormatOptions, Source, Table};

use super::Listener;
use crate::args;
use crate::cluster::decode::decode;
use crate::cluster::maker::{Job, Of};
use crate::cluster::process::Look;
use crate::cluster::version;
use crate::generate::Wanted;
use crate::tables;

/// Processes that make files.
pub struct Group {
    cluster: Cluster,
    /// Of each process.
    workers: usize,
}

impl Group {
    /// Starts them. `workers` are those of each, of those that the one with the fewest has.
    pub fn start(
        hosts: Vec<Host>,
        patience: Duration,
        workers: impl Fn(usize) -> usize,
    ) -> anyhow::Result<Group> {
        // They send each other nothing.
        let traffic = Traffic { compression: Compression::None, sockets_only: true };
        let cluster = Cluster::start(Options { version: version(), hosts, traffic, patience })?;
        Ok(Group { workers: workers(cluster.workers()), cluster })
    }

    /// Makes a table of the benchmark.
    pub fn generate(
        &self,
        asked: &args::Generate,
        table: &Wanted,
        format: &FormatOptions,
        listener: &Listener,
    ) -> anyhow::Result<Written> {
        let Wanted { spec, parts, bytes } = table;
        let job = Job {
            of: Of::Generated(*spec, *parts),
            path: asked.directory.join(spec.table.name()),
            format: format.clone(),
            overwrite: asked.write.overwrite,
            verify: false,
            workers: self.workers,
        };
        self.make(&job, *bytes, listener)
    }

    /// Makes files of other files, at `path`.
    pub fn convert(
        &self,
        asked: &args::Convert,
        path: &Path,
        format: &FormatOptions,
        listener: &Listener,
    ) -> anyhow::Result<Written> {
        let table = self.open(&asked.input, &asked.source)?;
        let bytes = match &table.source {
            Source::Files(set) => set.bytes(),
            Source::Range { .. } | Source::Generated(_) | Source::Memory(_) => 0,
        };
        let job = Job {
            of: Of::Table(table),
            path: path.to_path_buf(),
            format: format.clone(),
            overwrite: asked.write.overwrite,
            verify: asked.verify,
            workers: self.workers,
        };
        self.make(&job, bytes, listener)
    }

    /// The table of a source, as the first process sees it.
    fn open(&self, input: &args::Input, source: &str) -> anyhow::Result<Table> {
        let look = bincode::serialize(&Look::Source(tables::sources(input)?, source.to_string()))?;
        let seen = self.cluster.open(&look, 1)?;
        decode(&seen[0])
    }

    /// Has the processes make files, for which about so many bytes are read or made.
    fn make(&self, job: &Job, bytes: u64, listener: &Listener) -> anyhow::Result<Written> {
        let state = Arc::new(QueryState::default());
        let progress = listener.begin(bytes, &state);
        let job = bincode::serialize(job).context("the names of files must be UTF-8 here")?;
        let written = self.cluster.make(&job, &state)?;
        drop(progress);
        listener.skipped(&state);
        Ok(written)
    }
}
