//! What the program does for its process, such as exit codes.

use std::error::Error as StdError;

use crate::error::Error;
use crate::message::Failure;

/// Functions of the program that a process calls.
#[derive(Clone, Copy)]
pub struct Program {
    /// The version of the program.
    pub version: &'static str,
    /// The message of an error and the exit code of the program for it.
    pub failure: fn(&(dyn StdError + 'static)) -> Failure,
    /// Ends the process and what it has started, and leaves nothing behind.
    pub end: fn(i32) -> !,
}

impl Program {
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        (self.failure)(error)
    }
}
