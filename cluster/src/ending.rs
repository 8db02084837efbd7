//! How a started process ended, and the last lines that it wrote.

use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Mutex;

use crate::locked;

/// Stands for a line break within a message of a process to its node. A node takes each line for a message, and names of
/// files may hold line breaks. Messages have no control characters but this one, so it is never part of a name.
pub const LINE_BREAK: char = '\u{b}';

/// How many bytes of standard error are kept.
const STDERR: usize = 2 << 10;

/// How a process ended, as a clause.
pub(crate) fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => "was killed (signal 9: by somebody, or because memory ran out)".into(),
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".into(),
    }
}

/// Keeps the last bytes that a process wrote to standard error.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    /// Reads `err` to its end and keeps its last bytes. Passes all bytes to `also`.
    pub fn keep(&self, mut err: impl Read, mut also: impl FnMut(&[u8])) {
        let mut bytes = [0; STDERR];
        while let Ok(read) = err.read(&mut bytes)
            && read > 0
        {
            also(&bytes[..read]);
            let mut kept = locked(&self.0);
            kept.extend(&bytes[..read]);
            let surplus = kept.len().saturating_sub(STDERR);
            kept.drain(..surplus);
        }
    }

    /// The kept text, each line behind a line break and a bar.
    pub fn lines(&self) -> String {
        let bytes: Vec<u8> = locked(&self.0).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes).replace(LINE_BREAK, "\n");
        text.lines().map(|line| format!("\n  | {line}")).collect()
    }
}
