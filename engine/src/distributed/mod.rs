//! A query in several processes.
//!
//! - [`processes`]: the network and the notes that a query needs. The package `cluster` implements the network.
//! - [`wire`]: record batches as bytes between processes, or read in another process's memory.
//! - [`raw`]: bytes in messages between processes.

pub mod processes;
pub mod raw;
pub mod wire;
