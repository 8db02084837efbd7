//! Where bytes are.
//!
//! - [`input`]: the bytes of a file, of standard input, or of a pipe.
//! - [`remote`]: files of stores that answer requests; `requests`: a few of them at a time; `ends`: what is kept of
//!   them.
//! - [`roots`]: directories outside of which nothing is touched.
//! - [`atomic`]: files and directories that appear whole or not at all.

pub mod atomic;
mod ends;
pub mod input;
pub mod remote;
mod requests;
pub mod roots;
