//! From what a user writes behind FROM to a table.

mod list;
mod suggest;

pub use suggest::nearest;
