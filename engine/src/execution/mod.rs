//! Runs a plan.
//!
//! - [`run`]: starts workers, runs the stages of a plan, and hands the rows to the caller.
//! - `workers`: the threads of the workers, and how they end when one of them panics.
//! - `rounds`: recursions; `crew`: workers that stay for all of their rounds.
//! - [`render`]: makes the dataflow of a plan.

mod crew;
pub mod render;
mod rounds;
pub mod run;
pub(crate) mod workers;
