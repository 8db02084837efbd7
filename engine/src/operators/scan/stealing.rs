//! Work stealing: a process without splits takes some from another process.
//!
//! Each process has a range of the bytes of all files, or of the generated rows. A process that has no split left asks the
//! other processes in turn. The asked process gives the back half of the rest of its range, if that is large enough. All
//! processes cut files into the same splits, so a range of bytes says which splits it means (`docs/decisions/0020`).

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use queries::plan::NodeId;
use timely::scheduling::SyncActivator;

use crate::distributed::processes::{Note, Topology};

/// A process with fewer bytes left than this keeps them.
pub const LEAST: u64 = 16 << 20;
/// A process does not ask for a table whose share is less than so many times [`LEAST`]: it is scanned before stealing pays.
const SMALLEST: u64 = 2;

/// Whether there are more splits to scan.
#[derive(Debug, PartialEq, Eq)]
pub enum More {
    /// There are splits now.
    Now,
    /// Another process was asked. The answer wakes the worker.
    Later,
    /// There are none.
    Nothing,
}

/// The questions of one process in one scan.
#[derive(Default)]
pub struct Asking(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Whether another process was asked and has not answered yet.
    waits: bool,
    /// How many processes have refused, one after another.
    refused: usize,
    /// How many times this process got a range.
    given: u64,
    waiting: Vec<SyncActivator>,
}

impl Asking {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are more splits than the worker knows, which has seen `seen` of the ranges that this process got. If not,
    /// asks the next process, unless the table's `total` is too small to be worth it.
    pub fn more(
        &self,
        topology: &Topology,
        node: NodeId,
        total: u64,
        least: u64,
        seen: &mut u64,
        wake: impl Fn() -> SyncActivator,
    ) -> More {
        let Some(processes) = &topology.processes else { return More::Nothing };
        let (me, count) = (processes.index, processes.count);
        let mut inner = self.inner();
        if inner.given != *seen {
            *seen = inner.given;
            return More::Now;
        }
        if total / (count as u64) < least.saturating_mul(SMALLEST) || inner.refused + 1 >= count {
            return More::Nothing;
        }
        inner.waiting.push(wake());
        if !std::mem::replace(&mut inner.waits, true) {
            let (stage, node) = (topology.stage as u32, node as u32);
            let note = Note::Idle { stage, node, process: me as u32 };
            processes.network.tell((me + 1 + inner.refused) % count, note);
        }
        More::Later
    }

    /// Takes the answer of the asked process, and calls `begin` with the range that it gives, if there is one.
    pub fn answered(&self, range: Range<u64>, begin: impl FnOnce(Range<u64>)) {
        let mut inner = self.inner();
        if !std::mem::take(&mut inner.waits) {
            return;
        }
        if range.is_empty() {
            inner.refused += 1;
        } else {
            begin(range);
            inner.given += 1;
        }
        for waiting in inner.waiting.drain(..) {
            // A worker that is gone needs no waking.
            let _ = waiting.activate();
        }
    }
}
