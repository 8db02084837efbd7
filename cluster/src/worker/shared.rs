//! The state that the threads of a process share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow_array::RecordBatch;
use engine::QueryState;
use engine::distributed::processes::Notes;
use engine::distributed::wire::transfer::Transfers;

use super::out::Out;
use crate::locked;
use crate::mesh::link::Carried;
use crate::message::{self, Figures, LENT_BYTES, Report};

/// The shared state.
pub struct Shared {
    pub out: Mutex<Out>,
    pub running: Mutex<Running>,
    pub carried: Arc<Carried>,
    /// The rows that the coordinator reads in memory.
    pub lent: Transfers,
    /// Whether another process was lost, and the coordinator knows.
    pub lost: AtomicBool,
    /// When the coordinator was heard last.
    pub heard: Mutex<Instant>,
}

/// The query that runs.
#[derive(Default)]
pub struct Running {
    pub notes: Arc<Notes>,
    pub state: Option<Arc<QueryState>>,
    /// The rows that other processes read in memory.
    pub loans: Arc<Transfers>,
}

impl Shared {
    /// Sends a report to the coordinator. If that fails the coordinator is gone, and the thread that reads from it ends
    /// the process.
    pub fn report(&self, report: &Report) {
        let _ = locked(&self.out).report(report);
    }

    /// Sends rows to the coordinator. If it `reads` memory they are lent, where that is possible.
    pub fn report_rows(&self, batch: &RecordBatch, reads: bool) -> engine::Result<()> {
        // As for reports: if sending fails the coordinator is gone.
        if let Some((loan, bytes)) = reads.then(|| self.lend(batch)).flatten() {
            let _ = locked(&self.out).loan(&message::loan(&loan)?, bytes);
        } else {
            // Several threads encode at once.
            let rows = message::rows(batch)?;
            let _ = locked(&self.out).rows(&rows);
        }
        Ok(())
    }

    /// Lends rows to the coordinator, once it has read enough of those that were lent before.
    fn lend(&self, batch: &RecordBatch) -> Option<(Vec<u8>, usize)> {
        let notes = locked(&self.running).notes.clone();
        self.lent.wait_below(LENT_BYTES, || notes.is_stopped());
        self.lent.lend(batch)
    }

    /// The figures of the query that runs.
    pub fn figures(&self) -> Figures {
        let running = locked(&self.running);
        let figures = running.state.as_ref().map_or_else(Figures::default, |state| Figures::of(state));
        let [bytes_sent, bytes_received] =
            [&self.carried.sent, &self.carried.received].map(|bytes| bytes.load(Ordering::Relaxed));
        Figures { bytes_sent, bytes_received, bytes_lent: running.loans.total(), ..figures }
    }

    /// Reports that another process is lost; only the first call does.
    pub fn lose(&self, peer: usize, reason: String) {
        if !self.lost.swap(true, Ordering::SeqCst) {
            self.report(&Report::Lost { peer, reason });
        }
    }
}
