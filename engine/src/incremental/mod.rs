//! The same plan, kept up to date: rendered on differential dataflow.
//!
//! Rows come in rounds; each round is a time. Filters and projections are computed on batches as they come in. A GROUP
//! BY with COUNT and SUM keeps its sums in the difference field. So its memory grows with the groups and not with the
//! rows. What comes out are changes: rows with +1 or -1.
//!
//! - [`shape`]: which plans can be kept up to date, and their parts.
//! - [`sums`]: sums as differences.
//! - [`run`]: the workers, and how rounds reach them.

pub mod run;
pub mod shape;
pub mod sums;

pub use run::{Change, Watch};
