//! Watches the keys of the probe side where its rows are sent.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use super::heavy_hitters::Replicas;
use crate::error::Result;
use crate::state::frequency_sketch::{Few, FrequencySketch};

/// Tells which probe rows stay in the process that has them: those of heavy keys whose build rows are here.
pub struct HotKeyDetector {
    replicas: Arc<Replicas>,
    frequent: FrequencySketch,
    here: Few,
    drops: bool,
    workers: Range<usize>,
    turns: usize,
}

impl HotKeyDetector {
    /// Of a process with these workers, among `peers`.
    pub fn new(replicas: Arc<Replicas>, workers: Range<usize>, peers: usize) -> HotKeyDetector {
        let (frequent, here, drops) = (FrequencySketch::new(peers), Few::default(), replicas.drops());
        HotKeyDetector { replicas, frequent, here, drops, workers, turns: 0 }
    }

    /// Takes the hashes and the keys of the next rows.
    ///
    /// # Errors
    /// Keys that can't be compared or encoded.
    pub fn see(&mut self, hashes: &[u64], keys: &[ArrayRef]) -> Result<()> {
        self.frequent.see(hashes);
        for hash in self.frequent.heavy() {
            // It may have become heavy by rows before; then it is asked for when it comes again.
            let key = || {
                let row = hashes.iter().position(|other| *other == hash)?;
                Some(keys.iter().map(|column| column.slice(row, 1)).collect())
            };
            if !self.here.contains(hash) && self.replicas.want(hash, key)? {
                self.here.insert(hash);
            }
        }
        Ok(())
    }

    /// Whether rows that stay give nothing: their process need not even join them.
    pub fn drops(&self) -> bool {
        self.drops
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
