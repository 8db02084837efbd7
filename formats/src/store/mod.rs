//! Where bytes are.
//!
//! - [`input`]: the bytes of a file, of standard input, or of a pipe.
//! - [`roots`]: directories outside of which nothing is touched.

pub mod input;
pub mod roots;
