//! `palais cluster generate` and `palais cluster convert`: files that several processes make together.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use cluster::Cluster;
use cluster::caller::{Options, Traffic};
use cluster::mesh::link::Compression;
use engine::QueryState;
use engine::dataset::{Destination, Written};
use formats::input::STDIN;
use schema::{Source, Table};

use super::maker::{Job, Of};
use super::process::Look;
use super::{hosts, version};
use crate::progress::Progress;
use crate::query::warn_skipped;
use crate::{Usage, args, convert, generate, signals};

/// `palais cluster generate`.
pub fn generate(c: &args::ClusterGenerate) -> anyhow::Result<()> {
    let write = &c.generate.write;
    let (tables, format) = (generate::tables(&c.generate)?, generate::format(write));
    let group = Group::start(&c.place, write)?;
    for generate::Wanted { spec, parts, bytes } in tables {
        let start = Instant::now();
        let path = c.generate.directory.join(spec.table.name());
        let job = Job {
            of: Of::Generated(spec, parts),
            path,
            format: format.clone(),
            overwrite: write.overwrite,
            verify: false,
            workers: group.workers,
        };
        let written = group.make(&job, bytes, write)?;
        convert::report(spec.table.name(), &written, start);
    }
    Ok(())
}

/// `palais cluster convert`.
pub fn convert(c: &args::ClusterConvert) -> anyhow::Result<()> {
    let start = Instant::now();
    let asked = &c.convert;
    let (destination, format) = convert::target(&asked.destination, &asked.write, !asked.no_header)?;
    let Destination::Dataset(path) = destination else {
        let shown = asked.destination.display();
        let help = "name a directory and give --to, or write it with palais convert";
        return Err(Usage(format!("{shown} is one file, which one process writes\n  help: {help}")).into());
    };
    if asked.source == STDIN {
        return Err(Usage(not_a_file("standard input")).into());
    }
    let group = Group::start(&c.place, &asked.write)?;
    if group.local_parts {
        let help =
            "leave local_parts out of the file of hosts, or write with COPY (SELECT …) TO 'directory/'";
        let text = "convert keeps the order of rows, and hosts with files of their own have none";
        return Err(Usage(format!("{text}\n  help: {help}")).into());
    }
    let table = group.open(&asked.input, &asked.source)?;
    let bytes = match &table.source {
        Source::Files(set) => set.bytes(),
        Source::Range { .. } | Source::Generated(_) => 0,
    };
    let job = Job {
        of: Of::Table(table),
        path,
        format,
        overwrite: asked.write.overwrite,
        verify: asked.verify,
        workers: group.workers,
    };
    let written = group.make(&job, bytes, &asked.write)?;
    convert::report_converted(asked, &written, start);
    Ok(())
}

/// Refuses a source that one process alone could read, where the processes are.
pub fn check_source(source: &str) -> anyhow::Result<()> {
    match convert::is_device(Path::new(source)) {
        true => Err(Usage(not_a_file(source)).into()),
        false => Ok(()),
    }
}

fn not_a_file(what: &str) -> String {
    format!(
        "{what} can't be read by several processes\n  help: write it to a file first, or use palais convert"
    )
}

/// Processes that make files.
struct Group {
    cluster: Cluster,
    /// Of each process.
    workers: usize,
    /// Whether each host is said to have files of its own.
    local_parts: bool,
}

impl Group {
    fn start(place: &args::Place, write: &args::Write) -> anyhow::Result<Group> {
        let (hosts, file) = hosts(place, &[])?;
        let cluster = Cluster::start(Options {
            version: version(),
            hosts,
            // They send each other nothing.
            traffic: Traffic { compression: Compression::None, sockets_only: true },
            patience: place.timeout,
        })?;
        let asked = write.workers.map(usize::from).or(file.as_ref().and_then(|file| file.workers));
        let workers = asked.unwrap_or(cluster.workers());
        Ok(Group { cluster, workers, local_parts: file.is_some_and(|file| file.local_parts) })
    }

    /// The table of a source, as the first process sees it.
    fn open(&self, input: &args::Input, source: &str) -> anyhow::Result<Table> {
        let look = bincode::serialize(&Look::Source(input.clone(), source.to_string()))?;
        let seen = self.cluster.open(&look, 1)?;
        Ok(bincode::deserialize(&seen[0])?)
    }

    /// Has the processes make files, for which about so many bytes are read or made.
    fn make(&self, job: &Job, bytes: u64, write: &args::Write) -> anyhow::Result<Written> {
        let state = Arc::new(QueryState::default());
        signals::cancel_on_interrupt(&state);
        let progress = Progress::of_bytes(bytes, &state, write.no_progress);
        let job = bincode::serialize(job).context("the names of files must be UTF-8 here")?;
        let written = self.cluster.make(&job, &state)?;
        drop(progress);
        warn_skipped(&state);
        Ok(written)
    }
}
