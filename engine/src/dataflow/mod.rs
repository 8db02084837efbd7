//! A plan as a timely dataflow.
//!
//! - [`run`]: starts workers, runs the stages of a plan, hands the rows over.
//! - [`render`]: plan to dataflow, straight-line.
//! - [`operator`]: the contract of an operator, and the glue that makes it a timely one.
//! - [`batch`]: record batches as timely containers.
//! - [`credit`]: flow control of exchanges.

pub mod batch;
pub mod credit;
pub mod operator;
pub mod render;
pub mod run;
