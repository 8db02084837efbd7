//! Cutting a file of records into morsels, each of which any worker can read on its own.
//!
//! A record belongs to the morsel in which it begins. Where records end at every newline, a reader finds the first
//! record of its morsel by itself. Where newlines can be quoted, whether a newline ends a record depends on all quotes
//! before it. Each reader computes what its own bytes do to every state that the bytes before might have left, and
//! publishes that. The state at a border is the composition over all earlier morsels.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use schema::manifest::BlockStart;
use schema::{FileEntry, FormatOptions, Listed};

use super::quotes::{Marks, State, Transition};
use super::sequential_splits::SequentialSplits;
use super::source::ListedBlock;
use crate::format::{Borders, Found, Morsel, Part, Tell};

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

impl Border {
    /// The bytes that mark records and quotes; where nothing is quoted, newlines alone.
    pub fn marks(self, format: &FormatOptions) -> Marks {
        match self {
            Border::Newline | Border::Unmarked => Marks { delimiter: b'\n', quote: b'\n' },
            Border::Quotes => Marks { delimiter: format.delimiter, quote: format.quote },
        }
    }
}

/// Morsels are not longer than this where a reader needs all of its bytes before it can begin.
const QUOTED_MORSEL_BYTES: u64 = 8 << 20;

/// The first morsel holds at least a byte order mark and the first byte of the record behind it.
const FIRST_BYTES: u64 = 4;

/// What the readers of one file's morsels know of the quotes in them.
#[derive(Default)]
pub struct SharedQuotes {
    known: Mutex<Known>,
    /// Tells readers in other processes.
    tell: OnceLock<Tell>,
}

struct Known {
    transitions: Vec<Option<Transition>>,
    /// The states at the beginnings of the first morsels, as far as they are known.
    starts: Vec<State>,
    /// A morsel will not be published.
    abandoned: bool,
}

impl Default for Known {
    /// Nothing is known but that the file begins with a record.
    fn default() -> Known {
        Known { transitions: Vec::new(), starts: vec![State::RecordStart], abandoned: false }
    }
}

impl Known {
    fn put(&mut self, morsel: usize, transition: Transition) {
        if self.transitions.len() <= morsel {
            self.transitions.resize(morsel + 1, None);
        }
        self.transitions[morsel] = Some(transition);
    }
}

impl SharedQuotes {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn tell(&self, found: Found) {
        if let Some(tell) = self.tell.get() {
            tell(found);
        }
    }

    /// What the bytes of a morsel do to each state.
    pub fn publish(&self, morsel: usize, transition: Transition) {
        self.known().put(morsel, transition);
        self.tell(Found::Quotes { morsel: morsel as u32, states: transition.numbers() });
    }

    /// A reader has ended before its morsel did, because of an error or since there are rows enough. What is not known
    /// now will not be needed.
    pub fn abandon(&self) {
        self.known().abandoned = true;
        self.tell(Found::Abandoned);
    }

    /// Whether a reader has ended before its morsel did.
    pub fn is_abandoned(&self) -> bool {
        self.known().abandoned
    }

    /// The state in which a morsel begins, once all morsels before it are published.
    pub fn start(&self, morsel: usize) -> Option<State> {
        let mut known = self.known();
        while known.starts.len() <= morsel {
            let before = known.starts.len() - 1;
            let transition = (*known.transitions.get(before)?)?;
            let next = transition.apply(known.starts[before]);
            known.starts.push(next);
        }
        Some(known.starts[morsel])
    }
}

/// What the morsels of a file of quoted records share: the quotes, and where the morsels are cut.
pub struct SharedBorders {
    /// The quotes.
    pub quotes: SharedQuotes,
    /// Where each morsel begins, in ascending order.
    pub begins: Vec<u64>,
}

impl Borders for SharedBorders {
    fn tell(&self, tell: Tell) {
        // A file is cut once, and told of by one.
        let _ = self.quotes.tell.set(tell);
    }

    fn hear(&self, found: Found) {
        match found {
            Found::Quotes { morsel, states } => {
                // What no process of this version tells is as good as nothing.
                let transition =
                    Transition::of_numbers(states).filter(|_| (morsel as usize) < self.begins.len());
                if let Some(transition) = transition {
                    self.quotes.known().put(morsel as usize, transition);
                }
            }
            Found::Abandoned => self.quotes.known().abandoned = true,
        }
    }
}

/// What the morsels of a file of lines share: the longest range that is known to lie within one record.
#[derive(Default)]
pub struct SharedWithin(Mutex<Range<u64>>);

/// Ranges shorter than this are not worth being known.
const WITHIN_BYTES: u64 = 1 << 20;

impl SharedWithin {
    /// A record that began before this range ends where it does.
    pub fn publish(&self, stretch: Range<u64>) {
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        if length(&stretch) >= WITHIN_BYTES {
            let mut known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if length(&stretch) > length(&known) {
                *known = stretch;
            }
        }
    }

    /// Whether these bytes are known to lie within one record, so that none begins among them.
    pub fn covers(&self, bytes: &Range<u64>) -> bool {
        let known = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.start <= bytes.start && bytes.end <= known.end
    }
}

/// The whole file as one morsel.
pub fn whole(file: &Arc<FileEntry>) -> Vec<Morsel> {
    vec![Morsel { file: file.clone(), part: Part::Whole, bytes: file.bytes, shared: Arc::new(()) }]
}

/// A block of a manifest that is larger, before or after compression, is not read in one piece.
const MAX_LISTED: u64 = 32 << 20;

/// Whether a file can be read block by block as its manifest lists them.
pub fn is_listed(listed: &Listed, bytes: u64) -> bool {
    let ends = listed.blocks.iter().skip(1).map(|block| block.offset).chain([bytes]);
    !listed.blocks.is_empty()
        && listed.blocks.iter().zip(ends).all(|(block, end)| {
            block.content.is_some_and(|content| content.raw <= MAX_LISTED) && end - block.offset <= MAX_LISTED
        })
}

/// Cuts a file where its manifest says that blocks begin, into morsels that hold about `target_bytes`.
pub fn by_blocks(file: &Arc<FileEntry>, listed: &Listed, target_bytes: u64) -> Vec<Morsel> {
    let mut morsels = Vec::new();
    let mut first = 0;
    let mut raw = 0;
    for (number, block) in listed.blocks.iter().enumerate() {
        raw += raw_bytes(block);
        if raw >= target_bytes || number + 1 == listed.blocks.len() {
            let part = Part::Blocks(first..number + 1);
            let blocks = blocks_of(file, &part);
            let bytes = blocks.iter().map(|block| block.range.end - block.range.start).sum();
            morsels.push(Morsel { file: file.clone(), part, bytes, shared: Arc::new(()) });
            (first, raw) = (number + 1, 0);
        }
    }
    morsels
}

fn raw_bytes(block: &BlockStart) -> u64 {
    block.content.map_or(0, |content| content.raw)
}

/// The listed blocks of a morsel: the first one of a file begins with it, the last one ends with it.
pub fn blocks_of(file: &FileEntry, part: &Part) -> Vec<ListedBlock> {
    let (Part::Blocks(range), Some(listed)) = (part, &file.listed) else { return Vec::new() };
    let start = |number: usize| match number {
        0 => 0,
        number => listed.blocks.get(number).map_or(file.bytes, |block| block.offset),
    };
    let known = range.clone().filter_map(|number| Some((number, listed.blocks.get(number)?.content?)));
    known
        .map(|(number, content)| ListedBlock {
            range: start(number)..start(number + 1),
            raw: content.raw as usize,
            crc32: content.crc32,
        })
        .collect()
}

/// The bytes of the decompressed file before a morsel of listed blocks.
pub fn raw_before(file: &FileEntry, part: &Part) -> u64 {
    let (Part::Blocks(range), Some(listed)) = (part, &file.listed) else { return 0 };
    listed.blocks.iter().take(range.start).map(raw_bytes).sum()
}

/// A file whose pieces are found as it is read: the first morsel, behind which come as many as there turn out to be.
pub fn by_turns(file: &Arc<FileEntry>, target_bytes: u64) -> Vec<Morsel> {
    let shared = Arc::new(SequentialSplits::new(file.cut, target_bytes));
    vec![Morsel { file: file.clone(), part: Part::Turn(0), bytes: file.bytes, shared }]
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
        Border::Newline => Arc::new(SharedWithin::default()),
        Border::Unmarked => Arc::new(()),
        Border::Quotes => Arc::new(SharedBorders { quotes: SharedQuotes::default(), begins }),
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
