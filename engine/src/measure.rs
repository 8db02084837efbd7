//! What `palais bench` measures and compares.
//!
//! - [`bounds`]: how long reading, decompressing and decoding take by themselves.
//! - [`answer`]: whether two results have the same rows.
//! - [`small`]: a table as many small files.

pub mod answer;
pub mod bounds;
pub mod small;
