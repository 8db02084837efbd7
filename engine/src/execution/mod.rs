//! A plan is run.
//!
//! - [`run`]: starts workers, runs the stages of a plan, hands the rows over.
//! - `workers`: their threads, and how they end when one of them panics.
//! - [`render`]: plan to dataflow, straight-line.

pub mod render;
pub mod run;
pub(crate) mod workers;
