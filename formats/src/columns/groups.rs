//! Row groups to morsels.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use schema::FileEntry;

use crate::format::{Morsel, Part};

/// Runs of neighbouring groups of about `target_bytes`; `groups` are the numbers and bytes of those to be read.
pub fn runs(groups: impl Iterator<Item = (usize, u64)>, target_bytes: u64) -> Vec<(Range<usize>, u64)> {
    let mut runs: Vec<(Range<usize>, u64)> = Vec::new();
    for (group, bytes) in groups {
        match runs.last_mut() {
            Some((range, sum)) if range.end == group && sum.saturating_add(bytes) <= target_bytes => {
                range.end += 1;
                *sum += bytes;
            }
            _ => runs.push((group..group + 1, bytes)),
        }
    }
    runs
}

/// The morsels of a file of row groups.
pub fn morsels(
    file: &Arc<FileEntry>,
    groups: impl Iterator<Item = (usize, u64)>,
    target_bytes: u64,
    shared: Arc<dyn Any + Send + Sync>,
) -> Vec<Morsel> {
    runs(groups, target_bytes)
        .into_iter()
        .map(|(groups, bytes)| Morsel {
            file: file.clone(),
            part: Part::Groups(groups),
            bytes,
            shared: shared.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_break_at_the_target_and_at_gaps() {
        let groups = [(0, 40), (1, 40), (2, 40), (4, 10), (5, 500), (6, 1)];
        assert_eq!(
            runs(groups.into_iter(), 100),
            vec![(0..2, 80), (2..3, 40), (4..5, 10), (5..6, 500), (6..7, 1)]
        );
        assert!(runs(std::iter::empty(), 100).is_empty());
    }
}
