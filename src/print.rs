//! Writes text and results to standard output.

use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use session::writers::escape::escaped;
use session::writers::table::{grouped, plural};
use session::writers::{self, Error, Output, Result, ResultFormat, ResultWriter, failed};

use crate::terminal;

/// The bytes that are gathered before they are written.
const BUFFER: usize = 64 << 10;

/// Standard output.
struct StandardOutput {
    out: BufWriter<std::io::Stdout>,
}

impl StandardOutput {
    fn new() -> StandardOutput {
        StandardOutput { out: BufWriter::with_capacity(BUFFER, std::io::stdout()) }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl Output for StandardOutput {
    fn pass_on(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| failed(self.path(), "write", e))
    }

    fn finish(&mut self) -> Result<()> {
        self.pass_on()
    }

    fn path(&self) -> &Path {
        Path::new("standard output")
    }
}

/// The writer of a result to standard output. Without a form it takes the usual one: a table on a terminal, csv
/// elsewhere. `plan` and `time_zone` are those of [`writers::writer`].
pub fn writer(
    format: Option<ResultFormat>,
    plan: Option<usize>,
    time_zone: &str,
) -> Result<Box<dyn ResultWriter>> {
    let is_terminal = std::io::stdout().is_terminal();
    let usual = if is_terminal { ResultFormat::Table } else { ResultFormat::Csv };
    let format = format.unwrap_or(usual);
    if is_terminal && writers::is_binary(format) {
        return Err(Error::Refused(format!(
            "{} is not text that a terminal could show\n  help: name a file with --output, or redirect",
            format.name()
        )));
    }
    let compression = writers::usual_compression(format);
    let out = Box::new(StandardOutput::new());
    writers::writer(format, out, compression, terminal::table_options(), plan, time_zone)
}

/// Prints a text on standard output. On a terminal, characters that it would obey are escaped.
pub fn text(text: &str) -> Result<()> {
    let mut out = StandardOutput::new();
    let shown = match std::io::stdout().is_terminal() {
        true => escaped(text, |c| matches!(c, '\n' | '\t')),
        false => text.into(),
    };
    out.put(shown.as_bytes())?;
    out.finish()
}

/// The line below a result: `(3 rows, 0.12 s)`.
pub fn summary(rows: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let digits = if seconds < 10.0 { 2 } else { 1 };
    format!("({} {}, {seconds:.digits$} s)", grouped(rows), plural(rows, "row"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        assert_eq!(summary(1, Duration::from_millis(124)), "(1 row, 0.12 s)");
        assert_eq!(summary(0, Duration::from_micros(4)), "(0 rows, 0.00 s)");
        assert_eq!(summary(1_234_567, Duration::from_secs(75)), "(1,234,567 rows, 75.0 s)");
    }
}
