//! The parts that all operators of a timely dataflow use.
//!
//! - [`operator`]: the contract of an operator, and the glue that makes a timely operator of it.
//! - [`batch`]: record batches as timely containers.
//! - [`credit`]: flow control of exchanges.

pub mod batch;
pub mod credit;
pub mod operator;
