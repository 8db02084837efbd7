//! Plan to timely dataflow to record batches.
//!
//! Rooms, in the order in which a query meets them:
//! - [`execution`]: starts workers, and makes a timely dataflow of the plan.
//! - [`operators`]: what a dataflow is made of, one file an operator.
//! - [`state`]: what operators that keep rows share: hashes, heavy keys, files on disk.
//! - [`dataflow`]: the contract of an operator, and batches on their way between operators.
//! - [`distributed`]: what a query in several processes needs of whoever runs them, and rows as bytes between them.
//! - [`context`]: what belongs to one query: memory, cancel, panics, the first error, figures, child processes.
//! - [`writing`]: rows to files and datasets that appear whole or not at all.
//! - [`incremental`]: a plan kept up to date on differential dataflow.
//! - [`measure`]: what `palais bench` measures and compares.
//! - [`error`]: what can go wrong.

pub mod context;
pub mod dataflow;
pub mod distributed;
pub mod error;
pub mod execution;
pub mod incremental;
pub mod measure;
pub mod operators;
pub mod state;
pub mod writing;

pub use context::query::QueryState;
pub use error::{Error, Result};
pub use execution::run::{Results, Settings, run, run_among};
