//! Watches the keys of the probe side where its rows are sent.

use std::ops::Range;
use std::sync::Arc;

use super::heavy::Replicas;
use crate::frequent::{Few, Frequent};

/// Tells which probe rows stay in the process that has them: those of heavy keys whose build rows are here.
pub struct Watch {
    replicas: Arc<Replicas>,
    frequent: Frequent,
    here: Few,
    workers: Range<usize>,
    turns: usize,
}

impl Watch {
    /// Of a process with these workers, among `peers`.
    pub fn new(replicas: Arc<Replicas>, workers: Range<usize>, peers: usize) -> Watch {
        Watch { replicas, frequent: Frequent::new(peers), here: Few::default(), workers, turns: 0 }
    }

    /// Takes the hashes of the next rows.
    pub fn see(&mut self, hashes: &[u64]) {
        self.frequent.see(hashes);
        for hash in self.frequent.heavy() {
            if !self.here.contains(hash) && self.replicas.want(hash) {
                self.here.insert(hash);
            }
        }
    }

    /// Whether the rows of a hash stay.
    #[inline]
    pub fn keeps(&self, hash: u64) -> bool {
        self.here.contains(hash)
    }

    /// The worker that joins the next batch of those that stay: all workers of the process in turn, since one may have
    /// read all rows.
    pub fn deal(&mut self) -> usize {
        self.turns += 1;
        self.workers.start + self.turns % self.workers.len()
    }
}
