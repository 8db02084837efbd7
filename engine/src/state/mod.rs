//! What operators that keep rows share.
//!
//! - [`hash`]: one hash of keys, for exchanges and for hash tables.
//! - [`frequency_sketch`]: which hashes are frequent.
//! - [`spill`]: files on disk for what does not fit the memory limit.

pub mod frequency_sketch;
pub mod hash;
pub mod spill;
