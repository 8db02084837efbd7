//! The parts that operators share that keep rows.
//!
//! - [`hash`]: one hash of keys, for exchanges and for hash tables.
//! - [`group_keys`]: the group numbers of keys. `hash_table`: the hash table of short strings.
//! - [`frequency_sketch`]: which hashes are frequent.
//! - [`kept`]: the rows of a stage that several others read.
//! - [`seen`]: the rows that a recursion has given.
//! - [`spill`]: files on disk for rows and states that do not fit the memory limit.

pub mod frequency_sketch;
pub mod group_keys;
pub mod hash;
mod hash_table;
pub mod kept;
pub mod seen;
pub mod spill;
