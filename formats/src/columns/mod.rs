//! What the column formats have in common.
//!
//! - [`types`]: the types in which columns are read, whatever the file calls them.
//! - [`uuid`]: 16 bytes that are read as text.
//! - [`leaves`]: another type for the values within nested columns.
//! - [`tail`]: the end of a file, where footers lie.
//! - [`adapt`]: columns as a file has them to the columns that a scan wants.
//! - [`bounds`]: zone maps against what a scan wants.
//! - [`bits`]: numbers of some bits each.
//! - [`facts`]: what footers say of values, for estimates.
//! - [`groups`]: row groups to morsels.
//! - [`guard`]: panics of other people's decoders become errors.

pub mod adapt;
pub mod bits;
pub mod bounds;
pub mod facts;
pub mod groups;
pub mod guard;
pub mod leaves;
pub mod tail;
pub mod types;
pub mod uuid;
