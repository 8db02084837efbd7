//! Writes messages for people to standard error and to logs: text that a terminal shows and does not obey.
//!
//! Names of columns and files, values and statements come from elsewhere. They may hold sequences that move the cursor,
//! recolour or rename the terminal, or hide text behind them. All messages pass through this module.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use cluster::LINE_BREAK;
use session::writers::escape::escaped;

/// Whether standard error is read by a node, which takes each line for a message.
static TO_NODE: AtomicBool = AtomicBool::new(false);

/// Has each message from now on be one line, for the node that has started this process.
pub fn to_node() {
    TO_NODE.store(true, Ordering::Relaxed);
}

/// Writes a message to standard error. Keeps its line breaks, and escapes all other invisible characters.
pub fn say(message: impl Display) {
    let text = message.to_string();
    let mut line = escaped(&text, |c| c == '\n').into_owned();
    if TO_NODE.load(Ordering::Relaxed) {
        line = line.replace('\n', LINE_BREAK.encode_utf8(&mut [0; 4]));
    }
    line.push('\n');
    // If standard error can't be written, there is no other way to tell.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Writes a warning: something is other than the reader may expect.
pub fn warn(message: impl Display) {
    say(format_args!("warning: {message}"));
}

/// Standard error as the log of a node. Each call of `write` is one event, and becomes one line.
#[derive(Debug, Clone, Copy)]
pub struct Log;

impl Write for Log {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        io::stderr().lock().write_all(format!("{}\n", escaped(line, |_| false)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
