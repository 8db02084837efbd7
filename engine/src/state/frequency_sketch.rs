//! A frequency sketch: finds the frequent hashes among the hashes of many rows.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use crate::state::hash::hash_word;

/// The sketch looks at one row in so many, on average.
const SAMPLED: usize = 16;
/// A hash must be counted so often before it is heavy.
const LEAST: u64 = 64;
/// The number of counters for each worker. They undercount a hash by at most a quarter of what makes a hash heavy.
const COUNTERS: usize = 8;

/// Counts the frequent hashes, with few counters (Misra, Gries: Finding repeated elements, 1982). Of `n` rows and `k`
/// counters, each hash of more than `n / k` rows has a counter. A count is too small by less than `n / k`.
pub struct FrequencySketch {
    counts: HashMap<u64, u64, FixedState>,
    workers: usize,
    total: u64,
    /// The next row that the sketch looks at, as an index into the rows that follow those seen.
    next: usize,
}

impl FrequencySketch {
    /// A sketch of rows that are spread over so many workers.
    pub fn new(workers: usize) -> FrequencySketch {
        FrequencySketch { counts: HashMap::default(), workers, total: 0, next: 0 }
    }

    /// Adds the hashes of the next rows.
    pub fn see(&mut self, hashes: &[u64]) {
        while let Some(hash) = hashes.get(self.next) {
            self.add(*hash);
            // The step is random, so that no order of rows hides a hash.
            self.next += 1 + hash_word(self.total) as usize % (2 * SAMPLED - 1);
        }
        self.next -= hashes.len();
    }

    fn add(&mut self, hash: u64) {
        self.total += 1;
        if let Some(count) = self.counts.get_mut(&hash) {
            *count += 1;
        } else if self.counts.len() < COUNTERS * self.workers {
            self.counts.insert(hash, 1);
        } else {
            self.counts.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
        }
    }

    /// The heavy hashes: each has more rows than half of a worker's even part. The worker that gets all rows of such a
    /// hash has half as many rows again as the others.
    pub fn heavy(&self) -> impl Iterator<Item = u64> {
        let is_heavy = |count: u64| count >= LEAST && count * 2 * self.workers as u64 > self.total;
        self.counts.iter().filter(move |(_, count)| is_heavy(**count)).map(|(hash, _)| *hash)
    }
}

/// A set of few hashes. It quickly rejects nearly all other hashes.
#[derive(Default)]
pub struct Few {
    hashes: HashSet<u64, FixedState>,
    /// For each hash, the bit that its lowest 6 bits number.
    bits: u64,
}

impl Few {
    /// Adds a hash.
    pub fn insert(&mut self, hash: u64) {
        self.hashes.insert(hash);
        self.bits |= 1 << (hash & 63);
    }

    /// Whether the set has a hash.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        self.bits >> (hash & 63) & 1 == 1 && self.hashes.contains(&hash)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that four workers take for heavy of `rows` rows, of which `hash` gives each.
    fn heavy(rows: u64, hash: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut sketch = FrequencySketch::new(4);
        let hashes: Vec<u64> = (0..rows).map(hash).collect();
        hashes.chunks(1000).for_each(|hashes| sketch.see(hashes));
        assert!(sketch.counts.len() <= 32);
        let mut heavy: Vec<u64> = sketch.heavy().collect();
        heavy.sort_unstable();
        heavy
    }

    #[test]
    fn hashes_of_more_than_half_a_share_are_found_among_many() {
        let others = |row: u64| hash_word(row) | 1 << 60;
        assert!(heavy(100_000, others).is_empty());
        assert!(heavy(100_000, |row| row % 1000).is_empty());
        assert_eq!(heavy(100_000, |row| if row % 2 == 0 { 7 } else { others(row) }), [7]);
        assert_eq!(
            heavy(100_000, |row| if row % 16 == 5 { 7 } else { row % 3 }),
            [0, 1, 2],
            "7 has a sixteenth"
        );
        assert_eq!(heavy(100_000, |row| if row % 5 == 4 { 7 } else { others(row) }), [7]);
        assert_eq!(heavy(100_000, |row| if row > 50_000 { 7 } else { others(row) }), [7], "late");
        assert_eq!(heavy(100_000, |row| if row % 5 < 3 { row % 5 } else { others(row) }), [0, 1, 2]);
        assert!(heavy(500, |_| 7).is_empty(), "too few rows");
    }

    #[test]
    fn a_count_is_too_small_by_less_than_one_in_so_many_as_there_are_counters() {
        let mut sketch = FrequencySketch::new(1);
        (0..100_000).for_each(|row| sketch.add(if row % 4 == 0 { 1 } else { hash_word(row) }));
        let count = sketch.counts[&1];
        assert!((25_000 - 100_000 / 9..=25_000).contains(&count), "{count}");
    }

    #[test]
    fn few_are_told_from_others() {
        let mut few = Few::default();
        assert!(few.is_empty() && !few.contains(64));
        few.insert(64);
        assert!(few.contains(64) && !few.contains(0) && !few.contains(128) && !few.is_empty());
    }
}
