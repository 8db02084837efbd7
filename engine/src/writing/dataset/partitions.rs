//! Writes the files of a hive tree: `year=2026/month=5/part-00000.parquet`. Each combination of values of some columns
//! has a directory. The files don't have these columns.
//!
//! ```text
//! batches ─▶ partitioner ─▶ rows of one partition ─▶ encode ─▶ sink: appends blocks to the files of partitions
//!            one thread     many at once             many      one thread at a time
//! ```
//!
//! - [`columns`]: finds the columns by their names.
//! - `partitioner`: holds rows until a partition has enough of them, or all partitions have too many.
//! - `sink`: writes encoded blocks to files, of which one is open at a time.
//!
//! # Contract
//! - The bytes follow from the rows, their order and the options, and from a memory limit of the process that is below
//!   2 GiB. The partitioner checks how much it holds after each `partitioner::CHUNK_ROWS` rows, wherever batches end.
//! - The rows of a partition keep their order, in the order of the names of its files.
//! - `Bounds` bounds the rows that are held, but for those of one chunk, and the footers of unfinished files, however many
//!   partitions there are. Each partition adds only a name and a few words.

pub mod columns;
mod partitioner;
mod sink;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use arrow_schema::Schema;
use formats::writer::Block;

use super::{Output, Parts, Rows, Written, weight, written};
use crate::context::memory;
use crate::context::query::QueryState;
use crate::error::Result;
use crate::writing::ordered_pipeline::{self, LaneItem, Limits, Stages};
use partitioner::{Partitioner, RowsOfPartition};
use sink::PartitionSink;

/// One partition of a hive tree: a directory.
#[derive(Debug)]
struct Partition {
    /// The number of the partition, in the order in which the first rows came.
    number: usize,
    /// The name of the directory below the tree: `year=2026/month=5`.
    directory: String,
}

/// The bounds of memory.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The most bytes of rows that wait for other rows of their partition.
    held: usize,
    /// The most column chunks whose places unfinished files keep for their footers.
    chunks: usize,
}

/// The bytes that a column chunk takes until the footer is written. Parquet keeps its statistics and the index of its
/// pages, and buren keeps the sketch of distinct values.
const CHUNK_BYTES: usize = 4096;

impl Bounds {
    /// The bounds for a memory limit: an eighth of it for rows and as much for footers, and at most 256 MiB for each.
    fn of_limit(limit: u64) -> Bounds {
        let held = (limit / 8).clamp(1 << 20, 256 << 20) as usize;
        Bounds { held, chunks: held / CHUNK_BYTES }
    }
}

impl Output {
    /// Writes all lanes in one order into the directories that their values name.
    pub(super) fn write_partitions<L: Send>(&self, rows: Rows<'_, L>, state: &QueryState) -> Result<Parts> {
        let Rows { deal, read, .. } = rows;
        let bounds = Bounds::of_limit(memory::limit());
        let encoder = &self.place.encoder;
        let (schema, by) = (&self.manifest.schema, &self.partition_by);
        let mut partitioner = Partitioner::new(schema, by, encoder.block_rows(), bounds.held)?;
        let mut sink = PartitionSink::new(&self.place, schema.fields().len() - by.len(), bounds.chunks);
        let stages = Stages {
            deal,
            read,
            weight: |(_, batch)| weight(batch),
            cut: Box::new(|piece, works| match piece {
                LaneItem::Item((_, batch)) => partitioner.add(batch, works),
                LaneItem::End => partitioner.finish(works),
            }),
            work: Box::new(|rows: RowsOfPartition| -> Result<(Arc<Partition>, Vec<Block>)> {
                let blocks = encoder.encode_all(&[rows.gather()?]).map_err(|e| e.at(&self.path))?;
                Ok((rows.partition, blocks))
            }),
            put: Box::new(|(partition, blocks)| {
                Ok(sink.put(&partition, blocks).map_err(|e| e.at(&self.path))?)
            }),
        };
        ordered_pipeline::run(stages, Limits::new(self.workers), state)?;
        Ok(sink.finish().map_err(|e| e.at(&self.path))?)
    }

    /// Makes a tree of these files appear, once the tree lies on disk.
    pub(super) fn finish_partitions(mut self, mut parts: Parts) -> Result<Written> {
        if parts.is_empty() {
            parts = self.write_empty_partition().map_err(|e| e.at(&self.path))?;
        }
        self.manifest.files = parts.into_iter().map(|(_, part)| part).collect();
        let Some(aside) = self.aside else { return Ok(written(&self.manifest)) };
        let directory = File::open(aside.path());
        let synced = directory.and_then(|directory| sync_file_system(&directory));
        synced.map_err(|e| formats::Error::io(&self.path, "sync", e))?;
        aside.commit()?;
        Ok(written(&self.manifest))
    }

    /// Writes a file without rows into the directory of NULLs. A tree without files would have no columns.
    fn write_empty_partition(&self) -> formats::Result<Parts> {
        let directory = partitioner::directory_of_nulls(&self.manifest.schema, &self.partition_by);
        let mut sink = PartitionSink::new(&self.place, 0, usize::MAX);
        sink.put(&Partition { number: 0, directory }, Vec::new())?;
        sink.finish()
    }
}

/// The columns of the files of a tree: all but those that name directories.
pub(super) fn left(schema: &Schema, by: &[usize]) -> Schema {
    let fields = schema.fields().iter().enumerate().filter(|(column, _)| !by.contains(column));
    Schema::new(fields.map(|(_, field)| field.clone()).collect::<Vec<_>>())
}

/// Brings all files and directories of a directory's file system to disk. That is one request. A tree may have many
/// thousand files, and a sync of each would be a wait of its own.
///
/// # Errors
/// The system could not write something since the directory was opened.
fn sync_file_system(directory: &File) -> std::io::Result<()> {
    // SAFETY: the descriptor is open as long as `directory` is, and is the only argument.
    match unsafe { libc::syncfs(directory.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
