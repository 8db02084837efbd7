//! A query in several processes.
//!
//! - [`processes`]: what it needs of whoever runs the processes.
//! - [`wire`]: record batches as bytes between them, and in each other's memory.
//! - [`raw`]: bytes within their messages.

pub mod processes;
pub mod raw;
pub mod wire;
