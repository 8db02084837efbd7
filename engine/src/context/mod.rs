//! The state of one query, beside its operators.
//!
//! - [`query`]: the state that its workers share: the first error, the flags that stop the query, figures.
//! - [`cancel`]: a handle that stops the query from any thread.
//! - [`memory`]: the counting allocator, the limit, and the query's account.
//! - [`panics`]: a panic of one of the query's threads becomes the query's error.
//! - [`stack`]: threads with a stack that is large enough for a deep statement.
//! - [`pages`]: the size of the memory pages that the process gets.
//! - [`children`]: the child processes that this process has started.

pub mod cancel;
pub mod children;
pub mod memory;
pub mod pages;
pub mod panics;
pub mod query;
pub mod stack;
