use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{StringViewArray, UInt64Array};

use super::*;
use crate::dataflow::batch::BATCH_ROWS;

/// States of 24 bytes.
fn batch(keys: impl IntoIterator<Item = u64>) -> RecordBatch {
    let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(keys));
    RecordBatch::try_from_iter([("key", keys.clone()), ("sum", keys.clone()), ("count", keys)]).unwrap()
}

fn keys(batches: &[RecordBatch]) -> impl Iterator<Item = u64> {
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<UInt64Type>().values().iter().copied())
}

#[test]
fn what_is_put_aside_is_combined_on_the_way_and_not_all_at_once() {
    let (groups, rows) = (500 * PARTITIONS as u64, 16_000 * PARTITIONS as u64);
    let all = (0..rows).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) % groups).collect::<Vec<_>>();
    let mut partitions = Partitions::new(batch([]).schema(), 1, 1);
    let mut most = 0;
    for some in all.chunks(BATCH_ROWS) {
        partitions.add(&batch(some.iter().copied())).unwrap();
        most = most.max(partitions.bytes());
        while let Some((part, states)) = partitions.ripe() {
            partitions.back(part, batch(keys(&states).collect::<HashSet<_>>()));
        }
    }
    assert!(partitions.combines());
    assert!(most < all.len() * 24 * 3 / 4, "{most} bytes at most, of {} rows", all.len());
    partitions.end().unwrap();
    let mut found = HashSet::new();
    while partitions.advance().unwrap() {
        while let Some(states) = partitions.batch().unwrap() {
            found.extend(keys(&[states]));
        }
    }
    assert_eq!(found, all.into_iter().collect());
}

#[test]
fn what_was_put_on_disk_comes_back_with_what_was_not() {
    let rows = 5000 * PARTITIONS as u64;
    // States of one width, and states of several.
    for text in [false, true] {
        let batch = |some: &[u64]| {
            let states = batch(some.iter().copied());
            let texts = some.iter().map(|key| Some("text ".repeat((key % 9) as usize)));
            let texts: ArrayRef = Arc::new(texts.collect::<StringViewArray>());
            let columns = states.columns().iter().cloned().chain(text.then_some(texts));
            RecordBatch::try_from_iter(columns.enumerate().map(|(i, c)| (i.to_string(), c))).unwrap()
        };
        let mut partitions = Partitions::new(batch(&[]).schema(), 1, 1);
        partitions.combines = false;
        assert_eq!(partitions.spill().unwrap(), 0, "there is nothing");
        let mut spilled = 0;
        for (number, some) in (0..rows).collect::<Vec<_>>().chunks(BATCH_ROWS).enumerate() {
            partitions.add(&batch(some)).unwrap();
            if number % 40 == 39 {
                spilled += partitions.spill().unwrap();
            }
        }
        partitions.end().unwrap();
        assert!(spilled > 12 * rows, "{spilled} bytes on disk of {rows} rows");
        let mut found = Vec::new();
        while partitions.advance().unwrap() {
            while let Some(states) = partitions.batch().unwrap() {
                found.extend(keys(&[states]));
            }
        }
        found.sort_unstable();
        assert!(found == (0..rows).collect::<Vec<_>>(), "each row comes once");
    }
}

#[test]
fn combining_is_judged_by_the_states_that_are_new() {
    let mut partitions = Partitions::new(batch([]).schema(), 1, 1);
    let mut come = |rows: usize, left: u64| {
        partitions.parts[7].add(batch(0..rows as u64));
        assert!(partitions.parts[7].take_ripe(), "{rows} more are worth combining");
        partitions.back(7, batch(0..left));
        partitions.combines()
    };
    assert!(come(RIPE, 7800));
    // More than half of the states that lie there, but less than half of those that came.
    assert!(come(RIPE, 14_000));
    assert!(!come(RIPE, 26_000));
}
