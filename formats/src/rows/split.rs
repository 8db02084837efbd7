//! Cutting a file of records into morsels, each of which any worker can read on its own.
//!
//! A record belongs to the morsel in which it begins. Where records end at every newline, a reader finds the first
//! record of its morsel by itself. Where newlines can be quoted, whether a newline ends a record depends on all
//! quotes before it: each reader computes what its own bytes do to every state that the bytes before might have left,
//! and publishes that; the state at a border is the composition over all earlier morsels.

use std::sync::{Arc, Mutex, OnceLock};

use schema::FileEntry;

use super::quotes::{State, Transition};
use crate::format::{Morsel, Part};

/// How the first record of a morsel is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// Every newline ends a record.
    Newline,
    /// Newlines outside quotes end records.
    Quotes,
    /// Nothing but the records before tells where one begins.
    Unmarked,
}

/// Morsels are not longer than this where a reader needs all of its bytes before it can begin.
const QUOTED_MORSEL_BYTES: u64 = 8 << 20;

/// The first morsel holds at least a byte order mark and the first byte of the record behind it.
const FIRST_BYTES: u64 = 4;

/// What the readers of one file's morsels know of the quotes in them.
pub struct SharedQuotes {
    transitions: Vec<OnceLock<Transition>>,
    /// The states at the beginnings of the first morsels, as far as they are known.
    starts: Mutex<Vec<State>>,
}

impl SharedQuotes {
    /// Nothing is known but that the file begins with a record.
    fn new(morsels: usize) -> SharedQuotes {
        let transitions = (0..morsels).map(|_| OnceLock::new()).collect();
        SharedQuotes { transitions, starts: Mutex::new(vec![State::RecordStart]) }
    }

    /// What the bytes of a morsel do to each state.
    pub fn publish(&self, morsel: usize, transition: Transition) {
        // A second reader of the same bytes has nothing to add.
        let _ = self.transitions[morsel].set(transition);
    }

    /// The state in which a morsel begins, once all morsels before it are published.
    pub fn start(&self, morsel: usize) -> Option<State> {
        let mut starts = self.starts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while starts.len() <= morsel {
            let transition = self.transitions[starts.len() - 1].get()?;
            let next = transition.apply(starts[starts.len() - 1]);
            starts.push(next);
        }
        Some(starts[morsel])
    }
}

/// What the morsels of a file of quoted records share: the quotes, and where the morsels are cut.
pub struct SharedBorders {
    /// The quotes.
    pub quotes: SharedQuotes,
    /// Where each morsel begins, in ascending order.
    pub begins: Vec<u64>,
}

/// The whole file as one morsel.
pub fn whole(file: &Arc<FileEntry>) -> Vec<Morsel> {
    vec![Morsel { file: file.clone(), part: Part::Whole, bytes: file.bytes, shared: Arc::new(()) }]
}

/// Cuts an uncompressed file into ranges of about `target_bytes`. A file whose size is not known, or that fits one
/// range, is one morsel.
pub fn split(file: &Arc<FileEntry>, border: Border, target_bytes: u64) -> Vec<Morsel> {
    let target = match border {
        Border::Newline | Border::Unmarked => target_bytes.max(1),
        Border::Quotes => target_bytes.clamp(1, QUOTED_MORSEL_BYTES),
    };
    if file.bytes <= target.max(FIRST_BYTES) {
        return whole(file);
    }
    let mut begins = vec![0];
    let mut next = target.max(FIRST_BYTES);
    while next < file.bytes {
        begins.push(next);
        next += target;
    }
    cut(file, border, begins)
}

/// Cuts a file at these places; the first is 0.
pub fn cut(file: &Arc<FileEntry>, border: Border, begins: Vec<u64>) -> Vec<Morsel> {
    let ends = begins[1..].iter().copied().chain([file.bytes]);
    let ranges: Vec<_> = begins.iter().copied().zip(ends).map(|(begin, end)| begin..end).collect();
    let shared: Arc<dyn std::any::Any + Send + Sync> = match border {
        Border::Newline | Border::Unmarked => Arc::new(()),
        Border::Quotes => Arc::new(SharedBorders { quotes: SharedQuotes::new(begins.len()), begins }),
    };
    ranges
        .into_iter()
        .map(|range| Morsel {
            file: file.clone(),
            bytes: range.end - range.start,
            part: Part::Bytes(range),
            shared: shared.clone(),
        })
        .collect()
}
