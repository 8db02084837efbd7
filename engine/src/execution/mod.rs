//! Runs a plan.
//!
//! - [`run`]: starts workers, runs the stages of a plan, and hands the rows to the caller.
//! - `workers`: the threads of the workers, and how they end when one of them panics.
//! - [`render`]: makes the dataflow of a plan.

pub mod render;
pub mod run;
pub(crate) mod workers;
