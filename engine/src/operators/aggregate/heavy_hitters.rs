//! Heavy keys of a partial phase that passes rows on. The phase still combines the states of such a key, because all of
//! them would go to one worker.

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use crate::error::Result;
use crate::state::frequency_sketch::{Few, FrequencySketch};
use crate::state::hash::{comparable, hash_columns, hash_word};

/// While no key is heavy, the phase looks at one batch in so many, on average.
const LOOKED_AT: usize = 16;

/// Watches the keys of states that are passed on.
pub struct HeavyHitters {
    /// The number of keys. They are the first columns.
    keys: usize,
    sketch: FrequencySketch,
    few: Few,
    /// The number of batches until the next look.
    until: usize,
    /// The number of looks so far.
    looked_at: u64,
    hashes: Vec<u64>,
}

impl HeavyHitters {
    /// Watches states with `keys` keys, which go to `peers` workers.
    pub fn new(keys: usize, peers: usize) -> HeavyHitters {
        let (sketch, few) = (FrequencySketch::new(peers), Few::default());
        HeavyHitters { keys, sketch, few, until: 0, looked_at: 0, hashes: Vec::new() }
    }

    /// Splits states into those of other keys and those of heavy keys.
    pub fn split(&mut self, states: RecordBatch) -> Result<(RecordBatch, Option<RecordBatch>)> {
        if self.few.is_empty() && self.until > 0 {
            self.until -= 1;
            return Ok((states, None));
        }
        // The step is random: the batches of grouping sets come in turns, and one set may have one group.
        self.looked_at += 1;
        self.until = hash_word(self.looked_at) as usize % (2 * LOOKED_AT - 1);
        let columns: Vec<ArrayRef> = states.columns()[..self.keys].iter().cloned().map(comparable).collect();
        hash_columns(&columns, states.num_rows(), &mut self.hashes)?;
        self.sketch.see(&self.hashes);
        self.sketch.heavy().for_each(|hash| self.few.insert(hash));
        let is_heavy = |hash: &u64| self.few.contains(*hash);
        if !self.hashes.iter().any(is_heavy) {
            return Ok((states, None));
        }
        let of = |heavy: bool| {
            let mask: BooleanArray = self.hashes.iter().map(|hash| Some(is_heavy(hash) == heavy)).collect();
            filter_record_batch(&states, &mask)
        };
        Ok((of(false)?, Some(of(true)?)))
    }
}
