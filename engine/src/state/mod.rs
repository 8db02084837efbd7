//! What operators that keep rows share.
//!
//! - [`hash`]: one hash of keys, for exchanges and for hash tables.
//! - [`frequency_sketch`]: which hashes are frequent.

pub mod frequency_sketch;
pub mod hash;
