//! What belongs to one query, whichever operator of it runs.
//!
//! - [`query`]: what its workers share: the first error, the flags that stop it, figures.
//! - [`cancel`]: a handle that stops it from any thread.
//! - [`memory`]: the counting allocator, the limit, and the query's account.
//! - [`panics`]: a panic of one of its threads becomes its error.
//! - [`stack`]: threads with a stack for what goes as deep as a statement.
//! - [`pages`]: the size of the pages that its memory comes in.
//! - [`children`]: the commands that it has started.

pub mod cancel;
pub mod children;
pub mod memory;
pub mod pages;
pub mod panics;
pub mod query;
pub mod stack;
