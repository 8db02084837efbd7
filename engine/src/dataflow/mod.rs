//! What operators of a timely dataflow have in common.
//!
//! - [`operator`]: the contract of an operator, and the glue that makes it a timely one.
//! - [`batch`]: record batches as timely containers.
//! - [`credit`]: flow control of exchanges.

pub mod batch;
pub mod credit;
pub mod operator;
