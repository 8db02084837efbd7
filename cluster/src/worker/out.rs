//! Writes reports and rows to the coordinator.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::message::{self, Report};

/// Cross-memory transfers of so many bytes are sent at once, because each message wakes some threads of the
/// coordinator.
const GATHERED: usize = 1 << 20;
/// If nothing was sent for so long, a transfer does not wait. One that waits longer goes with the next report, such as
/// the one that the process lives.
const QUIET: Duration = Duration::from_millis(5);

/// The output to the coordinator.
pub(super) struct Out {
    to: Box<dyn Write + Send>,
    /// Transfers that were not sent yet, as messages; `gathered` is the bytes of their rows.
    waiting: Vec<u8>,
    gathered: usize,
    told: Instant,
}

impl Out {
    pub fn new(to: impl Write + Send + 'static) -> Out {
        Out { to: Box::new(to), waiting: Vec::new(), gathered: 0, told: Instant::now() }
    }

    /// Sends a report, behind all rows.
    pub fn report(&mut self, report: &Report) -> io::Result<()> {
        message::write(&mut self.waiting, report)?;
        self.flush()
    }

    /// Sends rows, as [`message::rows`] gives them.
    pub fn rows(&mut self, rows: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.to.write_all(rows)?;
        self.to.flush()
    }

    /// Sends a transfer of `bytes` bytes, as [`message::loan`] gives it, now or soon.
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
