//! Adds up the figures of the processes of a query.

use std::sync::atomic::Ordering;

use engine::QueryState;

use crate::message::{Done, Figures};

/// Stores the sums of the figures in `state`, and of the peaks the greatest.
pub(super) fn tell(figures: &[Figures], state: &QueryState) {
    let most = |of: fn(&Figures) -> u64| figures.iter().map(of).max().unwrap_or_default();
    let sum = |of: fn(&Figures) -> u64| figures.iter().map(of).sum();
    let all = Figures {
        bytes_read: sum(|f| f.bytes_read),
        rows_read: sum(|f| f.rows_read),
        bytes_sent: sum(|f| f.bytes_sent),
        bytes_received: sum(|f| f.bytes_received),
        bytes_spilled: sum(|f| f.bytes_spilled),
        bytes_lent: sum(|f| f.bytes_lent),
        progress_sent: sum(|f| f.progress_sent),
        peak_memory: most(|f| f.peak_memory),
        peak_resident: most(|f| f.peak_resident),
    };
    all.tell(state);
}

/// Stores in `state` the figures of each worker and node of a process that is done.
pub(super) fn take(done: &Done, process: usize, state: &QueryState) {
    let first = process * done.nodes.len();
    for (worker, nodes) in done.nodes.iter().enumerate() {
        let Some(known) = state.figures.get(first + worker) else { continue };
        for ([rows, batches, bytes, busy, kept], known) in nodes.iter().zip(known) {
            known.rows.store(*rows, Ordering::Relaxed);
            known.batches.store(*batches, Ordering::Relaxed);
            known.bytes.store(*bytes, Ordering::Relaxed);
            known.busy_ns.store(*busy, Ordering::Relaxed);
            known.kept.store(*kept, Ordering::Relaxed);
        }
    }
    state.add_skipped(done.skipped.clone());
}
