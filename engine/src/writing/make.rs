//! Several processes make the files of a dataset. Each makes the files of its part, and one manifest names all files.
//!
//! The parts are in the order of the rows, so that the numbers of a process's files follow one another. The manifest
//! lists the files as if one process had written them. If no file of the source is divided, the files have the same
//! bytes too.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use schema::Table;
use schema::bdb::Spec;
use serde::{Deserialize, Serialize};

use crate::context::query::QueryState;
use crate::error::Result;
use crate::operators::scan::split_range::{self, Quotes, SplitPosition, SplitRange};
use crate::operators::scan::static_partition::StaticPartition;
use crate::writing::convert;
use crate::writing::dataset::{self, Destination, Output, Parts, WriteOptions, Written};
use crate::writing::generate;

/// The source of the rows.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A table of the benchmark, in this many files.
    Generated(Spec, usize),
    /// Another table. Each of its files becomes a file.
    Table(Arc<Table>),
}

/// The message of the process that begins to the other processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The dataset.
    dataset: dataset::Begun,
    /// The position at which the part of each process begins, and the end of the last part.
    places: Vec<SplitPosition>,
}

/// The part of one process in making a dataset.
pub struct Making {
    origin: Origin,
    output: Output,
    range: SplitRange,
    workers: usize,
}

impl Origin {
    fn schema(&self) -> SchemaRef {
        match self {
            Origin::Generated(spec, _) => spec.schema(),
            Origin::Table(table) => table.schema.clone(),
        }
    }

    fn divide(&self, processes: usize) -> Result<Vec<SplitPosition>> {
        match self {
            Origin::Generated(_, parts) => {
                let place =
                    |process| SplitPosition { file: (*parts).max(1) * process / processes.max(1), morsel: 0 };
                Ok((0..=processes).map(place).collect())
            }
            Origin::Table(table) => {
                split_range::divide(&convert::all_of(table)?, convert::files(table), processes)
            }
        }
    }
}

impl Making {
    /// Begins a dataset at `path`, which `processes` processes make. This process makes the first part.
    ///
    /// # Errors
    /// A dataset that can't be written at `path`, and a source that can't be read.
    pub fn begin(
        origin: Origin,
        path: &Path,
        options: &WriteOptions,
        processes: usize,
    ) -> Result<(Making, Begun)> {
        let destination = Destination::Dataset(path.to_path_buf());
        let output = match &origin {
            Origin::Generated(spec, _) => generate::open(spec, &destination, options)?,
            Origin::Table(table) => convert::open(table, &destination, options)?,
        };
        let begun = Begun { dataset: output.begun()?, places: origin.divide(processes)? };
        Ok((Making::of(origin, output, &begun, options, 0), begun))
    }

    /// Takes part in making a dataset that another process has begun.
    ///
    /// # Errors
    /// The directory that the other process has made does not exist here.
    pub fn join(
        origin: Origin,
        path: &Path,
        options: &WriteOptions,
        begun: &Begun,
        process: usize,
    ) -> Result<Making> {
        let output = Output::join(origin.schema(), path, &begun.dataset, options)?;
        Ok(Making::of(origin, output, begun, options, process))
    }

    fn of(origin: Origin, output: Output, begun: &Begun, options: &WriteOptions, process: usize) -> Making {
        // A process without a part makes nothing.
        let nothing = || (SplitRange { from: SplitPosition::default(), to: SplitPosition::default() }, 0);
        let (range, first) = split_range::of_process(&begun.places, process).unwrap_or_else(nothing);
        Making { origin, output: output.with_first(first), range, workers: options.workers }
    }

    /// Finds what other processes must know of this part before they read theirs: the effect of its morsels on the
    /// quote state.
    ///
    /// # Errors
    /// A source that can't be read.
    pub fn look(&self) -> Result<Vec<Quotes>> {
        match &self.origin {
            Origin::Generated(..) => Ok(Vec::new()),
            Origin::Table(table) => self.range.look(&convert::all_of(table)?, self.workers),
        }
    }

    /// Writes the files of this part. `told` is what [`Making::look`] has found in all processes.
    ///
    /// # Errors
    /// The errors of reading and of writing.
    pub fn write(&mut self, told: &[Quotes], state: &QueryState) -> Result<Parts> {
        let files = self.range.files();
        let parts = match &self.origin {
            _ if files.is_empty() => Parts::new(),
            Origin::Generated(spec, parts) => {
                let rows = generate::rows(spec, *parts, files, state);
                self.output.write(rows, state)?
            }
            Origin::Table(table) => {
                let source = convert::all_of(table)?;
                let partition = StaticPartition::of_range(self.range, self.range.before(&source, told)?);
                let source = source.with_partition(partition)?;
                // A generated table has no files.
                let files = convert::files(table).get(files).unwrap_or_default();
                self.output.write(convert::rows(&source, files, state), state)?
            }
        };
        self.output.verify_own(&parts, state)?;
        Ok(parts)
    }

    /// Makes the files of all parts appear. The process that has begun calls it.
    ///
    /// # Errors
    /// Files that can't appear.
    pub fn finish(self, parts: Parts, state: &QueryState) -> Result<Written> {
        self.output.finish(parts, state)
    }
}
