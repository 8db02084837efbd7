//! ScanSource that a process takes from another one once it has done its own.
//!
//! Each process has a stretch of the bytes of all files that are dealt by their bytes, or of the rows of a made table. One
//! that has nothing left asks the others in turn; who is asked gives the back half of what it has left, if that is worth
//! it. Both cut the files into the same parts, so that a stretch of bytes says which of them are given.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use queries::plan::NodeId;
use timely::scheduling::SyncActivator;

use crate::distributed::processes::{Note, Topology};

/// A process with fewer bytes than that left keeps them.
pub const LEAST: u64 = 16 << 20;
/// Tables of which a process has less than so many times that are read before others could have been asked.
const SMALLEST: u64 = 2;

/// Whether there is more to read.
#[derive(Debug, PartialEq, Eq)]
pub enum More {
    /// There is now.
    Now,
    /// There may be; whoever waits is woken.
    Later,
    /// There is not.
    Nothing,
}

/// What a process has asked others for.
#[derive(Default)]
pub struct Asking(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Another process was asked and has not answered.
    waits: bool,
    /// So many others have nothing to give, one behind the other.
    refused: usize,
    /// How often something was given.
    given: u64,
    waiting: Vec<SyncActivator>,
}

impl Asking {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is more to read than what has been given `seen` times, of a table with so much to be dealt, of
    /// which `least` is worth being given; asks for it.
    pub fn more(
        &self,
        site: &Topology,
        node: NodeId,
        total: u64,
        least: u64,
        seen: &mut u64,
        wake: impl Fn() -> SyncActivator,
    ) -> More {
        let Some(processes) = &site.processes else { return More::Nothing };
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
            let (stage, node) = (site.stage as u32, node as u32);
            let note = Note::Idle { stage, node, process: me as u32 };
            processes.network.tell((me + 1 + inner.refused) % count, note);
        }
        More::Later
    }

    /// Takes the answer of the process that was asked: `begin` is called with what it gives, if that is something.
    pub fn answered(&self, stretch: Range<u64>, begin: impl FnOnce(Range<u64>)) {
        let mut inner = self.inner();
        if !std::mem::take(&mut inner.waits) {
            return;
        }
        if stretch.is_empty() {
            inner.refused += 1;
        } else {
            begin(stretch);
            inner.given += 1;
        }
        for waiting in inner.waiting.drain(..) {
            // A worker that is gone needs no waking.
            let _ = waiting.activate();
        }
    }
}
