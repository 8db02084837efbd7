//! Prefetch: the splits of files in the order in which workers take them, and the window of them that the system reads ahead.
//!
//! The system reads in the background what it is asked for (`posix_fadvise`). So no thread waits for a disk that could have
//! been busy before. A scan asks for a window over the next splits, see [`Window`]. It opens a file for that, and keeps it
//! open until a worker has taken the split.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use formats::format::{Format, Morsel, Part, ScanOptions};
use formats::store::input::Input;
use formats::store::remote;

use super::source::SMALL;

/// The default number of splits in the window. Measured for files of 10 KB on a virtual disk, see
/// `docs/decisions/0010-reading-ahead.md`: 4 are half as good, 64 are no better.
pub const PARTS: usize = 16;
/// Bytes of the window for each of its splits.
const BYTES: u64 = 2 << 20;
/// The most splits in the window where a format has to read the end of a file to know its splits.
const FOOTERS: usize = 4;
/// Bytes of the window for each of its splits where files lie in stores. A split is a request, and as many of them as a
/// process makes at once are to be under way.
const STORE_BYTES: u64 = 8 << 20;
/// The window of a store takes at most this part of the memory limit: its bytes are here.
const STORE_SHARE: u64 = 8;

/// If a small file was in memory, so many files behind it are assumed to be.
const LIKELY: usize = 15;

/// The most files of all scans that stay open until a worker takes them. Others are closed after the request.
const KEPT: usize = 256;
/// How many files stay open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A file that stays open until a worker takes it.
struct Kept(Input);

impl Kept {
    fn new(input: Input) -> Option<Kept> {
        if !input.holds_descriptor() {
            return Some(Kept(input));
        }
        let room =
            OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < KEPT).then_some(open + 1));
        room.is_ok().then_some(Kept(input))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.0.holds_descriptor() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// How far the system reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The most splits.
    parts: usize,
    /// The most bytes of all splits; a single split may have more.
    bytes: u64,
    /// The most splits where a format has to read footers.
    footers: usize,
}

impl Window {
    /// A window of so many splits, with 2 MiB for each of them.
    pub fn new(parts: usize) -> Window {
        Window { parts, bytes: parts as u64 * BYTES, footers: FOOTERS }
    }

    /// The same window over files of a store. Their footers were kept when the table was opened.
    pub fn of_store(self, memory_limit: u64) -> Window {
        let bytes = (self.parts as u64 * STORE_BYTES).min(memory_limit / STORE_SHARE);
        Window { bytes, footers: usize::MAX, ..self }
    }

    /// The most bytes of all splits.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many splits a scan has to know ahead, at least one, so that small files can share batches.
    pub fn known(&self, format: &dyn Format) -> usize {
        self.parts.clamp(1, if format.compresses_inside() { self.footers } else { usize::MAX })
    }
}

/// Whether the next small files are assumed to be in memory, because one was. A request for a file in memory costs a tenth of
/// reading a small file.
#[derive(Debug, Default)]
pub struct Likely(AtomicUsize);

impl Likely {
    /// A small file was in memory.
    fn found(&self) {
        self.0.store(LIKELY, Ordering::Relaxed);
    }

    /// Whether the next one is assumed to be.
    fn is_in_memory(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }
}

/// A split of a file.
#[derive(Clone)]
pub struct FileSplit {
    /// The bytes or row groups of the file.
    pub morsel: Morsel,
    /// Its position in the bytes of all files, if the table is divided by them.
    at: Option<u64>,
    /// Its number among the splits that are assigned one by one, if it is one of them.
    pub number: Option<u64>,
    /// Its number among the splits that workers of this process have taken, once a worker has taken it.
    pub piece: u64,
    /// The file, if it was opened for prefetching.
    opened: Arc<OnceLock<Kept>>,
}

impl FileSplit {
    fn new(morsel: Morsel, at: Option<u64>) -> FileSplit {
        FileSplit { morsel, at, number: None, piece: 0, opened: Arc::default() }
    }

    /// A split that is assigned one by one, with its number.
    pub fn assigned(morsel: Morsel, number: u64) -> FileSplit {
        FileSplit { number: Some(number), ..FileSplit::new(morsel, None) }
    }

    /// The file. Opens it if it was not opened before.
    pub fn open(&self) -> formats::Result<Input> {
        self.opened.get().map_or_else(|| Input::of(&self.morsel.file), |kept| Ok(kept.0.clone()))
    }

    /// Asks the system to read its bytes, unless they are `likely` in memory. An error shows when a worker reads them.
    pub fn read_ahead(&self, format: &dyn Format, options: &ScanOptions, likely: &Likely) {
        let mut ranges = format.ranges(&self.morsel, options);
        let bytes = self.morsel.file.bytes;
        // A pipe has no bytes yet, and opening it would wait for its writer.
        let is_whole = self.morsel.part == Part::Whole;
        let (small, is_all) = (is_whole && (1..=SMALL).contains(&bytes), !is_whole || bytes <= STORE_BYTES);
        if small {
            if likely.is_in_memory() {
                return;
            }
            ranges.push(0..bytes);
        } else if is_whole && remote::is_remote(&self.morsel.file.path) {
            ranges.push(0..bytes.min(STORE_BYTES));
        }
        if ranges.is_empty() {
            return;
        }
        if let Ok(input) = Input::of(&self.morsel.file) {
            match small && input.is_in_memory(&(0..bytes)) {
                true => likely.found(),
                false => input.read_ahead(&ranges, is_all),
            }
            if let Some(kept) = Kept::new(input) {
                // Whoever has taken the part meanwhile has opened it already.
                let _ = self.opened.set(kept);
            }
        }
    }
}

/// The next splits, in order.
#[derive(Default)]
pub struct Queue {
    parts: VecDeque<FileSplit>,
    /// So many of the first splits have been prefetched.
    ahead: usize,
}

impl Queue {
    /// How many splits are known.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether no split is known.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds the splits of a file.
    pub fn extend(&mut self, morsels: Vec<Morsel>) {
        self.parts.extend(morsels.into_iter().map(|morsel| FileSplit::new(morsel, None)));
    }

    /// Adds splits of a file, each with its position in the bytes of all files.
    pub fn extend_placed(&mut self, morsels: Vec<(u64, Morsel)>) {
        self.parts.extend(morsels.into_iter().map(|(at, morsel)| FileSplit::new(morsel, Some(at))));
    }

    /// The position of the next split that has one.
    pub fn at(&self) -> Option<u64> {
        self.parts.iter().find_map(|part| part.at)
    }

    /// Drops the splits at this position and behind it.
    pub fn cut(&mut self, at: u64) {
        let stays = |part: &FileSplit| part.at.is_none_or(|place| place < at);
        self.ahead = self.parts.iter().take(self.ahead).filter(|part| stays(part)).count();
        self.parts.retain(stays);
    }

    /// The next split, which stays in the queue.
    pub fn front(&self) -> Option<&Morsel> {
        self.parts.front().map(|part| &part.morsel)
    }

    /// Takes the next split. If its reader will find another one behind it, that one takes its place.
    pub fn pop(&mut self) -> Option<FileSplit> {
        let part = self.parts.pop_front()?;
        match part.morsel.next() {
            Some(next) => self.parts.push_front(FileSplit::new(next, part.at)),
            None => self.ahead = self.ahead.saturating_sub(1),
        }
        Some(part)
    }

    /// The splits that have come into the window, to be prefetched now.
    pub fn soon(&mut self, window: Window) -> Vec<FileSplit> {
        let (mut end, mut bytes) = (0, 0);
        while let Some(part) = self.parts.get(end).filter(|_| end < window.parts) {
            bytes += part.morsel.bytes;
            if bytes > window.bytes && end > 0 {
                break;
            }
            end += 1;
        }
        let soon = self.parts.range(self.ahead.min(end)..end).cloned().collect();
        self.ahead = self.ahead.max(end);
        soon
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::FileEntry;

    fn queue(sizes: &[u64]) -> Queue {
        let mut queue = Queue::default();
        let morsel = |(i, &bytes): (usize, &u64)| {
            let file = Arc::new(FileEntry::new(format!("{i}"), bytes, 0));
            Morsel { file, part: Part::Whole, bytes, shared: Arc::new(()) }
        };
        queue.extend(sizes.iter().enumerate().map(morsel).collect());
        queue
    }

    fn names(parts: &[FileSplit]) -> Vec<String> {
        parts.iter().map(|part| part.morsel.file.path.display().to_string()).collect()
    }

    #[test]
    fn each_part_is_asked_for_once_and_not_too_early() {
        let window = Window::new(3);
        let mut queue = queue(&[10; 6]);
        assert_eq!(names(&queue.soon(window)), ["0", "1", "2"]);
        assert!(queue.soon(window).is_empty());
        queue.pop().unwrap();
        queue.pop().unwrap();
        assert_eq!(names(&queue.soon(window)), ["3", "4"]);
        (0..3).for_each(|_| drop(queue.pop().unwrap()));
        assert_eq!(names(&queue.soon(window)), ["5"]);
        queue.pop().unwrap();
        assert!(queue.is_empty() && queue.soon(window).is_empty());
    }

    #[test]
    fn large_parts_fill_the_window_and_one_always_fits() {
        let mut large = queue(&[1 << 30, 1 << 30, 10]);
        assert_eq!(names(&large.soon(Window::new(4))), ["0"]);
        let mut some = queue(&[3 << 20, 3 << 20, 3 << 20]);
        assert_eq!(names(&some.soon(Window::new(3))), ["0", "1"]);
        assert!(queue(&[1]).soon(Window::new(0)).is_empty());
    }

    #[test]
    fn of_files_in_memory_one_of_some_is_looked_at() {
        let likely = Likely::default();
        assert!(!likely.is_in_memory());
        likely.found();
        assert_eq!((0..2 * LIKELY).filter(|_| likely.is_in_memory()).count(), LIKELY);
    }

    #[test]
    fn a_file_that_was_asked_for_is_open() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.csv");
        std::fs::write(&path, "1\n").unwrap();
        let file = Arc::new(FileEntry::new(&path, 2, 0));
        let morsel = Morsel { file, part: Part::Whole, bytes: 2, shared: Arc::new(()) };
        let format = formats::registry::format("csv").unwrap();
        let options = ScanOptions {
            schema: Arc::new(arrow_schema::Schema::empty()),
            projection: vec![],
            bounds: vec![],
            prefixes: vec![],
            unseen: schema::DeferredValidation::Nothing,
            batch_rows: 1,
            format: schema::FormatOptions::default(),
        };
        let (asked, other) = (FileSplit::new(morsel.clone(), None), FileSplit::new(morsel, None));
        asked.clone().read_ahead(format, &options, &Likely::default());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&asked.open().unwrap().read_range(&(0..9)).unwrap()[..], b"1\n");
        assert!(other.open().is_err());
    }
}
