//! The way to the starter.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::message::{self, Report};

/// Transfers of so many bytes are told at once: each word wakes some threads of the starter.
const GATHERED: usize = 1 << 20;
/// Unless nothing was told for so long. What waits longer is told with the next report: a process says that it lives.
const QUIET: Duration = Duration::from_millis(5);

/// What the starter is told goes here.
pub(super) struct Out {
    to: Box<dyn Write + Send>,
    /// Transfers that were not told yet, as messages, and the bytes that they are of.
    waiting: Vec<u8>,
    gathered: usize,
    told: Instant,
}

impl Out {
    pub fn new(to: impl Write + Send + 'static) -> Out {
        Out { to: Box::new(to), waiting: Vec::new(), gathered: 0, told: Instant::now() }
    }

    /// Tells a report, behind all rows.
    pub fn report(&mut self, report: &Report) -> io::Result<()> {
        message::write(&mut self.waiting, report)?;
        self.flush()
    }

    /// Tells rows, as [`message::rows`] gives them.
    pub fn rows(&mut self, rows: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.to.write_all(rows)?;
        self.to.flush()
    }

    /// Tells a loan of so many bytes, as [`message::loan`] gives it, soon.
    pub fn loan(&mut self, loan: &[u8], bytes: usize) -> io::Result<()> {
        self.waiting.extend_from_slice(loan);
        self.gathered += bytes;
        if self.gathered >= GATHERED || self.told.elapsed() >= QUIET { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.gathered = 0;
        self.told = Instant::now();
        let written = self.to.write_all(&self.waiting).and_then(|()| self.to.flush());
        self.waiting.clear();
        written
    }
}
