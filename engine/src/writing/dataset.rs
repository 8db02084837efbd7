//! Writes rows to the files of a dataset, or to one file. Rows are cut into blocks, encoded in parallel, and written in
//! order.
//!
//! - `block_builder`: cuts batches into blocks of exactly the rows that the format asks for. Only the last block of a
//!   file has fewer.
//! - `sink`: writes encoded blocks to files.
//! - [`partitions`]: writes rows to the files of a hive tree.
//! - `own`: the files of one process among several.
//!
//! The bytes follow from the rows, their order and the options alone, not from the number of threads.

mod block_builder;
mod own;
pub mod partitions;
mod sink;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use formats::compress::compression;
use formats::format::Format;
use formats::registry::format;
use formats::store::atomic::{self, AtomicWrite, Overwrite};
use formats::store::remote;
use schema::manifest::{Manifest, PartFile};
use schema::{FormatOptions, OnError};
use serde::{Deserialize, Serialize};

use crate::context::memory::Account;
use crate::context::panics;
use crate::context::query::QueryState;
use crate::context::stack;
use crate::error::{Error, Result};
use crate::writing::ordered_pipeline::{self, LaneItem, Limits, NextSplit, Reader, Stages};
use crate::writing::row_checksum::RowChecksum;
use crate::writing::verify;
use block_builder::{BlockBuilder, Built};
use sink::{Encoded, PartSettings, Sink};

/// The destination of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// One file.
    File(PathBuf),
    /// A directory with part files and a manifest.
    Dataset(PathBuf),
    /// A directory of directories, which the values of these columns name. They have part files of the other columns.
    Partitions(PathBuf, Vec<usize>),
}

impl Destination {
    /// The path of the file or directory.
    pub fn path(&self) -> &Path {
        match self {
            Destination::File(path) | Destination::Dataset(path) | Destination::Partitions(path, _) => path,
        }
    }
}

/// The options of writing.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The format.
    pub format: FormatOptions,
    /// The number of threads.
    pub workers: usize,
    /// Whether a file or dataset that exists is replaced.
    pub overwrite: Overwrite,
    /// The bytes at which a file of a dataset ends and the next one begins. `None` if each row belongs to a certain
    /// file.
    pub part_bytes: Option<u64>,
    /// Whether the written files are read again and compared with their source before they appear.
    pub verify: bool,
}

/// The rows to write, as lanes in their order, see [`crate::writing::ordered_pipeline`].
pub struct Rows<'a, L> {
    /// The number of files, including empty ones.
    pub files: usize,
    /// Gives the lanes, one after another.
    pub deal: NextSplit<'a, L>,
    /// Reads batches, each with the number of its file. The numbers ascend from lane to lane.
    pub read: Reader<'a, L, (usize, RecordBatch)>,
}

/// A process, among several that write a dataset together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WritingProcess {
    /// The number of this process.
    pub index: usize,
    /// The number of processes.
    pub count: usize,
}

/// A dataset that a process has begun, and in which other processes take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The directory of the files until all are written.
    directory: PathBuf,
    /// The number of directories above it that were made for it.
    parents: usize,
}

/// The sums of what was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The number of files.
    pub files: u64,
    /// The number of rows.
    pub rows: u64,
    /// The bytes of the files.
    pub bytes: u64,
}

/// Files that were written, each with its number.
pub type Parts = Vec<(usize, PartFile)>;

/// A file or a dataset that is being written. It appears when all of it is written and synced. If it is dropped before,
/// it leaves nothing.
pub struct Output {
    path: PathBuf,
    /// The atomic write. `None` if another process makes the dataset appear.
    aside: Option<AtomicWrite>,
    /// The file, if only one is written.
    single: Option<File>,
    place: PartSettings,
    manifest: Manifest,
    /// The columns whose values name directories. Empty for a dataset or a file.
    partition_by: Vec<usize>,
    workers: usize,
    /// The checksum of the rows, if the files are verified.
    content: Option<RowChecksum>,
}

impl Output {
    /// Opens a destination for rows of this schema.
    ///
    /// # Errors
    /// A destination where nothing can be written, and rows that the format can't hold.
    pub fn open(
        table: Option<String>,
        schema: SchemaRef,
        destination: &Destination,
        options: &WriteOptions,
    ) -> Result<Output> {
        let path = destination.path();
        let begin = |manifest: &Manifest| match destination {
            Destination::File(_) => {
                let (aside, file) = AtomicWrite::file(path, options.overwrite)?;
                Ok((aside.path().to_path_buf(), Some(aside), Some(file)))
            }
            Destination::Dataset(_) => {
                // A schema that a manifest can't hold is an error now, and not after hours.
                manifest.print(path).map_err(formats::Error::from)?;
                let aside = AtomicWrite::directory(path, options.overwrite)?;
                Ok((aside.path().to_path_buf(), Some(aside), None))
            }
            Destination::Partitions(..) => {
                if remote::is_location(path) {
                    return Err(no_tree_in_a_store(path));
                }
                let aside = AtomicWrite::directory(path, options.overwrite)?;
                Ok((aside.path().to_path_buf(), Some(aside), None))
            }
        };
        let by = match destination {
            Destination::Partitions(_, by) => by.clone(),
            Destination::File(_) | Destination::Dataset(_) => Vec::new(),
        };
        Output::begin(table, schema, by, path, options, begin)
    }

    /// Whether rows are written into directories that their values name. Such rows must come in one order.
    pub fn is_partitioned(&self) -> bool {
        !self.partition_by.is_empty()
    }

    /// Takes part in writing a dataset that another process has begun, and that will appear at `path`. If this process
    /// ends early, it removes the unfinished dataset too.
    pub fn join(schema: SchemaRef, path: &Path, begun: &Begun, options: &WriteOptions) -> Result<Output> {
        let Begun { directory, parents } = begun;
        let begin = |_: &Manifest| {
            atomic::check_partial(directory, path)?;
            if !formats::store::roots::is_dir(directory) {
                let what = "the directory that another process of this query has made is not here";
                let help = "what several hosts write has to be on a file system that they share; --output of a query and \
                            COPY to one file are written by one";
                return Err(formats::Error::location(directory.display(), what, Some(help.into())).into());
            }
            atomic::adopt(directory, *parents);
            Ok((directory.clone(), None, None))
        };
        Output::begin(None, schema, Vec::new(), path, options, begin)
    }

    /// Numbers the files so that no other process takes the same numbers.
    pub fn with_process(mut self, process: WritingProcess) -> Output {
        (self.place.next, self.place.step) = (AtomicUsize::new(process.index), process.count);
        self
    }

    /// The message that other processes need to take part.
    ///
    /// # Errors
    /// The process has no working directory, or the destination is a store, which one process writes.
    pub fn begun(&self) -> Result<Begun> {
        if self.aside.as_ref().is_some_and(AtomicWrite::is_in_store) {
            let help = "write it by one process, or into a directory here that all of them share";
            let message = "several processes write no dataset into a store together";
            return Err(formats::Error::location(self.path.display(), message, Some(help.into())).into());
        }
        let directory = std::path::absolute(&self.place.directory);
        let directory = directory.map_err(|e| formats::Error::io(&self.path, "find the place of", e))?;
        Ok(Begun { directory, parents: self.aside.as_ref().map_or(0, AtomicWrite::parents) })
    }

    fn begin(
        table: Option<String>,
        schema: SchemaRef,
        partition_by: Vec<usize>,
        path: &Path,
        options: &WriteOptions,
        begin: impl FnOnce(&Manifest) -> Result<(PathBuf, Option<AtomicWrite>, Option<File>)>,
    ) -> Result<Output> {
        let format = format(&options.format.encoding)?;
        let in_files = Arc::new(partitions::left(&schema, &partition_by));
        let encoder = format.encoder(&in_files, &options.format).map_err(|e| e.at(path))?;
        let manifest = Manifest::new(table, schema, as_read(format, &options.format), Vec::new());
        let (directory, aside, single) = begin(&manifest)?;
        let part_bytes = options.part_bytes.filter(|_| single.is_none()).unwrap_or(u64::MAX);
        let place = PartSettings {
            directory,
            suffix: suffix(format, &options.format)?,
            offsets: !format.compresses_inside(),
            encoder,
            part_bytes,
            next: AtomicUsize::new(0),
            step: 1,
        };
        let (path, workers) = (path.to_path_buf(), options.workers);
        let content = options.verify.then(|| RowChecksum::new(&manifest.schema)).transpose()?;
        Ok(Output { path, aside, single, place, manifest, partition_by, workers, content })
    }

    /// Writes all lanes in one order. All threads encode.
    pub fn write<L: Send>(&mut self, rows: Rows<'_, L>, state: &QueryState) -> Result<Parts> {
        if self.is_partitioned() {
            return self.write_partitions(rows, state);
        }
        let Rows { files, deal, read } = rows;
        let single = self.single.take();
        let files = if single.is_some() { 1 } else { files };
        // If several processes write, some may have no rows.
        let mut sink = Sink::new(&self.place, single, self.place.step > 1);
        self.run(deal, read, files, Limits::new(self.workers), &mut sink, state)?;
        Ok(sink.finish().map_err(|e| e.at(&self.path))?)
    }

    /// Writes each lane into files of its own, on a thread of its own. The rows of a lane keep their order. The order
    /// of the files is not defined, so that the files can't be verified.
    pub fn write_apart<L: Send>(
        &self,
        lanes: Vec<L>,
        read: impl Fn(&mut L) -> Result<ordered_pipeline::Step<RecordBatch>> + Sync,
        state: &QueryState,
    ) -> Result<Parts> {
        debug_assert!(self.single.is_none() && self.content.is_none(), "a file has one order");
        if self.is_partitioned() {
            let what = "rows that lie on several workers are not put into directories by their values";
            return Err(Error::Unsupported(what.into()));
        }
        let limits = Limits { threads: 1, lanes: 1, lane_weight: 1, works: 1 };
        let one = |lane: L| {
            let mut sink = Sink::new(&self.place, None, true);
            let mut lane = Some(lane);
            let deal: NextSplit<'_, L> = Box::new(|| Ok(lane.take()));
            let read: Reader<'_, L, _> = Box::new(|lane: &mut L| Ok(read(lane)?.map(|batch| (0, batch))));
            self.run(deal, read, 1, limits, &mut sink, state)?;
            Ok(sink.finish().map_err(|e| e.at(&self.path))?)
        };
        let (one, account) = (&one, &Account::entered());
        let outcomes: Vec<Result<Parts>> = std::thread::scope(|scope| {
            let start = |lane| {
                stack::worker("palais-write".into()).spawn_scoped(scope, move || {
                    let _entered = account.as_ref().map(Account::enter);
                    // The first error stops the other threads.
                    panics::catch(|| one(lane)).inspect_err(|_| state.cancel())
                })
            };
            let threads: Vec<_> = lanes.into_iter().map(start).collect();
            let ended = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match thread {
                Ok(thread) => thread.join().unwrap_or(Err(Error::Cancelled)),
                Err(e) => Err(Error::Start(e.to_string())),
            };
            threads.into_iter().map(ended).collect()
        });
        let mut parts = Vec::new();
        let mut failed = None;
        for outcome in outcomes {
            match outcome {
                Ok(written) => parts.extend(written),
                // The error that stopped a lane says more than that it was stopped.
                Err(e) if matches!(failed, None | Some(Error::Cancelled)) => failed = Some(e),
                Err(_) => {}
            }
        }
        failed.map_or(Ok(parts), Err)
    }

    /// Runs a pipeline that writes files one after another.
    fn run<L: Send>(
        &self,
        deal: NextSplit<'_, L>,
        read: Reader<'_, L, (usize, RecordBatch)>,
        files: usize,
        limits: Limits,
        sink: &mut Sink<'_>,
        state: &QueryState,
    ) -> Result<()> {
        let encoder = &self.place.encoder;
        let mut cutter = BlockBuilder::new(encoder.block_rows(), files);
        let stages = Stages {
            deal,
            read,
            weight: |(_, batch)| weight(batch),
            cut: Box::new(|piece, works| {
                match piece {
                    LaneItem::Item((file, batch)) => cutter.add(file.min(files - 1), batch, works),
                    LaneItem::End => cutter.finish(works),
                }
                Ok(())
            }),
            work: Box::new(|work| match work {
                Built::Block { first, batches } => {
                    self.content.as_ref().map_or(Ok(()), |content| content.add(first, &batches))?;
                    Ok(Encoded::Blocks(encoder.encode_all(&batches).map_err(|e| e.at(&self.path))?))
                }
                Built::EndOfFile => Ok(Encoded::EndOfFile),
            }),
            put: Box::new(|encoded| Ok(sink.put(encoded).map_err(|e| e.at(&self.path))?)),
        };
        ordered_pipeline::run(stages, limits, state)
    }

    /// Makes the dataset or file appear with these files. If asked for, it is verified before.
    pub fn finish(mut self, mut parts: Parts, state: &QueryState) -> Result<Written> {
        if self.is_partitioned() {
            return self.finish_partitions(parts);
        }
        if parts.is_empty() {
            // A dataset without rows has one file, for tools that look only at files.
            let mut sink = Sink::new(&self.place, None, false);
            sink.put(Encoded::EndOfFile).map_err(|e| e.at(&self.path))?;
            parts = sink.finish().map_err(|e| e.at(&self.path))?;
        }
        parts.sort_by_key(|(number, _)| *number);
        self.manifest.files = parts.into_iter().map(|(_, part)| part).collect();
        let Some(aside) = self.aside else { return Ok(written(&self.manifest)) };
        if aside.is_directory() {
            self.manifest.write(aside.path()).map_err(formats::Error::from)?;
        }
        if let Some(content) = &self.content {
            verify::verify(aside.path(), &self.path, &self.manifest, content, self.workers, state)?;
        }
        aside.commit()?;
        Ok(written(&self.manifest))
    }
}

/// A tree has no manifest that would come last: files of a part of it would be read as all of it.
fn no_tree_in_a_store(path: &Path) -> Error {
    let message =
        "directories by values are not written into a store, where they would appear one after another";
    let help = "write a dataset there, without PARTITION_BY, or the directories into a directory here";
    formats::Error::location(path.display(), message, Some(help.into())).into()
}

/// The sums of the files of a manifest.
fn written(manifest: &Manifest) -> Written {
    let bytes = manifest.files.iter().map(|file| file.bytes).sum();
    Written { files: manifest.files.len() as u64, rows: manifest.rows(), bytes }
}

/// The options by which files are read that were written with `options`.
fn as_read(format: &dyn Format, options: &FormatOptions) -> FormatOptions {
    let mut read = FormatOptions { on_error: OnError::default(), ..options.clone() };
    if format.compresses_inside() {
        read.compression = "none".into();
    }
    read
}

/// The suffix of the names of files: `csv.gz`, `parquet`.
fn suffix(format: &dyn Format, options: &FormatOptions) -> Result<String> {
    let encoding = format.extensions().first().copied().unwrap_or(format.name());
    let around = match format.compresses_inside() {
        true => None,
        false => compression(&options.compression)?.extensions().first(),
    };
    Ok(around.map_or(encoding.to_string(), |compression| format!("{encoding}.{compression}")))
}

/// The memory of a batch in bytes, about. Buffers that batches of a lane share through views don't count: a lane reads
/// a few MiB of them at a time.
pub(crate) fn weight(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}
