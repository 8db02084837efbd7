//! Plan to timely dataflow to record batches.
//!
//! Rooms, in the order in which a query meets them:
//! - [`dataflow`]: starts workers, builds a timely dataflow of the plan, and drives its operators.
//! - [`operators`]: what a dataflow is made of, one file an operator.
//! - [`state`]: hashes, and which of them are frequent.
//! - [`distributed`]: what a query in several processes needs of whoever runs them, and rows as bytes between them.
//! - [`context`]: what belongs to one query: memory, cancel, panics, the first error, figures, files on disk, child processes.
//! - [`writing`]: rows to files and datasets that appear whole or not at all.
//! - [`incremental`]: a plan kept up to date on differential dataflow.
//! - [`measure`]: what `palais bench` measures and compares.
//! - [`error`]: what can go wrong.

pub mod context;
pub mod dataflow;
pub mod distributed;
pub mod error;
pub mod incremental;
pub mod measure;
pub mod operators;
pub mod state;
pub mod writing;

pub use context::query::QueryState;
pub use dataflow::run::{Results, Settings, run, run_among};
pub use error::{Error, Result};
