//! The files of a dataset made by several processes: each makes those of its share, and one manifest names all.
//!
//! Shares stand in the order of the rows, so that the numbers of a process's files follow one another and the files lie in
//! the manifest as one process would have written them. Where no file of a source is divided they have the same bytes too.

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

/// What files are made of.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A table of the benchmark, in so many files.
    Generated(Spec, usize),
    /// Another table, with a file for each of its own.
    Table(Arc<Table>),
}

/// What the process that begins tells the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The dataset.
    dataset: dataset::Begun,
    /// Where the share of each process begins, and where that of the last one ends.
    places: Vec<SplitPosition>,
}

/// The part of one process.
pub struct Making {
    origin: Origin,
    output: Output,
    stretch: SplitRange,
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
    /// Begins a dataset at `path`, of which so many processes make their shares: this one the first.
    ///
    /// # Errors
    /// What keeps it from being written there, and a source that can't be read.
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

    /// Takes part in what another process has begun.
    ///
    /// # Errors
    /// What that one has made is not here.
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
        // A process that there is no share for makes nothing.
        let nothing = || (SplitRange { from: SplitPosition::default(), to: SplitPosition::default() }, 0);
        let (stretch, first) = split_range::of_process(&begun.places, process).unwrap_or_else(nothing);
        Making { origin, output: output.with_first(first), stretch, workers: options.workers }
    }

    /// Looks at what others need to know of this share before they read theirs.
    ///
    /// # Errors
    /// A source that can't be read.
    pub fn look(&self) -> Result<Vec<Quotes>> {
        match &self.origin {
            Origin::Generated(..) => Ok(Vec::new()),
            Origin::Table(table) => self.stretch.look(&convert::all_of(table)?, self.workers),
        }
    }

    /// Writes the files of this share, of which `told` is what all processes have found.
    ///
    /// # Errors
    /// Those of reading and of writing.
    pub fn write(&mut self, told: &[Quotes], state: &QueryState) -> Result<Parts> {
        let files = self.stretch.files();
        let parts = match &self.origin {
            _ if files.is_empty() => Parts::new(),
            Origin::Generated(spec, parts) => {
                let rows = generate::rows(spec, *parts, files, state);
                self.output.write(rows, state)?
            }
            Origin::Table(table) => {
                let source = convert::all_of(table)?;
                let partition =
                    StaticPartition::of_stretch(self.stretch, self.stretch.before(&source, told)?);
                let source = source.with_partition(partition)?;
                // What is made has no files.
                let files = convert::files(table).get(files).unwrap_or_default();
                self.output.write(convert::rows(&source, files, state), state)?
            }
        };
        self.output.verify_own(&parts, state)?;
        Ok(parts)
    }

    /// Makes the files of all shares appear, in the process that has begun.
    ///
    /// # Errors
    /// What keeps them from appearing.
    pub fn finish(self, parts: Parts, state: &QueryState) -> Result<Written> {
        self.output.finish(parts, state)
    }
}
