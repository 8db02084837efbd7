//! Plan to timely dataflow to record batches.
//!
//! Modules in the order in which a query meets them:
//! - [`run`]: starts workers, feeds the plan's stages, hands the result over.
//! - [`render`]: plan to dataflow, straight-line.
//! - [`ops`]: one file an operator.
//! - [`live`]: the same plan, kept up to date on differential dataflow.
//! - [`operator`]: the contract of an operator, and the glue that makes it a timely one.
//! - [`batch`]: record batches as timely containers.
//! - [`wire`]: record batches as bytes between processes.
//! - [`credit`]: flow control of exchanges.
//! - [`processes`]: what a query that runs in several processes needs of whoever runs them.
//! - [`raw`]: bytes within their messages.
//! - [`hash`]: hashes of columns; [`frequent`]: which of them are frequent.
//! - [`state`]: what the workers of a query share: the first error, cancel, enough, figures.
//! - [`cancel`]: a handle that stops a query.
//! - [`stack`]: threads with a stack for what goes as deep as a statement.
//! - [`panics`]: panics of a query's threads become its error.
//! - [`children`]: the processes that a query has started.
//! - [`memory`]: the counting allocator and the limit.
//! - [`spill`]: what does not fit it, on disk.
//! - [`pages`]: the size of the pages that memory comes in.
//! - [`generate`], [`convert`], [`copy`]: the benchmark's tables to files, files to files of another format, and the
//!   rows of a query to files.
//! - [`make`]: the first two by several processes.
//! - [`dataset`]: rows to the files of a dataset, or to one file.
//! - [`content`], [`verify`]: a hash of what rows hold, by which what was written is compared with its source.
//! - [`ordered`]: the ordered, parallel pipeline by which they are encoded.
//! - [`aside`]: files and directories that appear whole or not at all.
//! - [`measure`]: what `palais bench` measures and compares.
//! - [`error`]: what can go wrong.

pub mod aside;
pub mod batch;
pub mod cancel;
pub mod children;
pub mod content;
pub mod convert;
pub mod copy;
pub mod credit;
pub mod dataset;
pub mod error;
pub mod frequent;
pub mod generate;
pub mod hash;
pub mod live;
pub mod make;
pub mod measure;
pub mod memory;
pub mod operator;
pub mod ops;
pub mod ordered;
pub mod pages;
pub mod panics;
pub mod processes;
pub mod raw;
pub mod render;
pub mod run;
pub mod spill;
pub mod stack;
pub mod state;
pub mod verify;
pub mod wire;

pub use error::{Error, Result};
pub use run::{Results, Settings, run, run_among};
pub use state::QueryState;
