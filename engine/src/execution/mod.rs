//! A plan is run.
//!
//! - [`run`]: starts workers, runs the stages of a plan, hands the rows over.
//! - [`render`]: plan to dataflow, straight-line.

pub mod render;
pub mod run;
