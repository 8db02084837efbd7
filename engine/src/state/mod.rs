//! The parts that operators share that keep rows.
//!
//! - [`hash`]: one hash of keys, for exchanges and for hash tables.
//! - [`frequency_sketch`]: which hashes are frequent.
//! - [`kept`]: the rows of a stage that several others read.
//! - [`seen`]: the rows that a recursion has given.
//! - [`spill`]: files on disk for rows and states that do not fit the memory limit.

pub mod frequency_sketch;
pub mod hash;
pub mod kept;
pub mod seen;
pub mod spill;
