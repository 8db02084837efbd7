//! Files in stores that are asked by requests, each of which takes long: `scheme://name`.
//!
//! A program [`register`]s a [`Store`] for a scheme. Requests run on threads of their own, [`AT_ONCE`] at most in the
//! process, so that no worker waits for one. A file that is read in order is read ahead.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Poll, Waker};

use bytes::Bytes;

use super::ends::{Known, Version};
pub use super::requests::AT_ONCE;
use super::requests::{self, Request};
use crate::error::Error;

/// A file of a store as it was when it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What stands behind `scheme://`.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last change in nanoseconds since 1970. A file of the same name, size and time has the same bytes.
    pub modified_ns: i64,
}

/// A place of files. Names are paths with `/`, and there are no directories but what names have in common. All calls may
/// block: none is made on a thread that runs operators.
pub trait Store: Send + Sync {
    /// The files whose names begin with `prefix`, in any order.
    ///
    /// # Errors
    /// The store can't be asked.
    fn list(&self, prefix: &str) -> io::Result<Vec<Object>>;

    /// What is known of a file; `None` if there is none of this name.
    ///
    /// # Errors
    /// The store can't be asked.
    fn stat(&self, name: &str) -> io::Result<Option<Object>>;

    /// The bytes of a range of a file, which lies within the file.
    ///
    /// # Errors
    /// The store can't be asked, or has no such bytes.
    fn read(&self, name: &str, range: Range<u64>) -> io::Result<Bytes>;

    /// Whether files can be put here. It is asked before a statement runs whose rows are to be put.
    fn takes_files(&self) -> bool {
        false
    }

    /// Makes the bytes of a file here appear under a name. Whatever happens, the name has either all of them or what it
    /// had before, which may be nothing.
    ///
    /// # Errors
    /// The store can't be asked, or takes no files: then it is not called.
    fn put(&self, name: &str, file: &Path) -> io::Result<()> {
        let _ = (name, file);
        Err(io::Error::new(io::ErrorKind::Unsupported, "this store takes no files"))
    }
}

static STORES: RwLock<BTreeMap<String, Arc<dyn Store>>> = RwLock::new(BTreeMap::new());

/// Has this store serve the locations that begin with `scheme://`, in the whole process.
pub fn register(scheme: &str, store: Arc<dyn Store>) {
    STORES.write().unwrap_or_else(PoisonError::into_inner).insert(scheme.to_string(), store);
}

/// The scheme and the name of a location of the form `scheme://name`.
pub fn parts(location: &str) -> Option<(&str, &str)> {
    let (scheme, name) = location.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then_some((scheme, name))
}

/// The store of a location and the name in it.
pub fn store_of(location: &str) -> Option<(Arc<dyn Store>, &str)> {
    let (scheme, name) = parts(location)?;
    let stores = STORES.read().unwrap_or_else(PoisonError::into_inner);
    Some((stores.get(scheme)?.clone(), name))
}

/// Whether a path has the form of a location in a store, whether or not there is one for its scheme.
pub fn is_location(path: &Path) -> bool {
    path.to_str().and_then(parts).is_some()
}

/// That no store is registered for the scheme of a location; `help` says what to do instead.
pub(crate) fn unknown_scheme(location: &str, help: &str) -> Error {
    let scheme = parts(location).map_or("", |(scheme, _)| scheme);
    let message =
        format!("there is no store for '{scheme}://'; files are read and written in directories here");
    Error::location(location, message, Some(help.into()))
}

/// Whether a file lies in a store.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().and_then(store_of).is_some()
}

/// Of a file that is read in order, a request takes so many bytes.
const BLOCK: u64 = 2 << 20;
/// So many such requests are begun ahead.
const BLOCKS_AHEAD: u64 = 3;
/// Ranges with no more bytes than this between them are one request.
const GAP: u64 = 256 << 10;

/// A file of a store, for one reader.
pub struct RemoteFile {
    store: Arc<dyn Store>,
    name: Arc<str>,
    version: Version,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    /// Requests whose bytes were not all given yet, each with how many were.
    parts: Vec<Part>,
    /// Where the last range that was given ends.
    end: u64,
    /// Whether what the reader will need is known, so that nothing is read ahead besides.
    is_known: bool,
}

struct Part {
    range: Range<u64>,
    request: Arc<Request>,
    /// How many of its bytes the reader will ask for, and how many it has been given.
    wanted: u64,
    given: u64,
}

impl Asked {
    /// The reader is given a range. A request of which it has all that it wants is dropped.
    fn give(&mut self, range: &Range<u64>) {
        for part in &mut self.parts {
            let both = range.start.max(part.range.start)..range.end.min(part.range.end);
            part.given += both.end.saturating_sub(both.start);
        }
        self.parts.retain(|part| part.given < part.wanted);
        self.end = range.end;
    }
}

impl std::fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteFile").field("version", &self.version).finish_non_exhaustive()
    }
}

impl RemoteFile {
    /// A file that was listed with this size and time. Nothing is asked.
    pub fn new(store: Arc<dyn Store>, name: &str, path: &Path, bytes: u64, modified_ns: i64) -> RemoteFile {
        let version = (path.to_path_buf(), bytes, modified_ns);
        RemoteFile { store, name: name.into(), version, asked: Mutex::default() }
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.version.1
    }

    /// Begins to read these ranges; `is_all` says that the reader will need about no others.
    pub fn read_ahead(&self, ranges: &[Range<u64>], is_all: bool) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).is_known = is_all;
        self.begin(ranges);
    }

    /// Begins to read these ranges, those that lie near each other by one request. Does not wait.
    pub fn begin(&self, ranges: &[Range<u64>]) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ranges: Vec<Range<u64>> = ranges.iter().map(|range| self.within(range)).collect();
        ranges.retain(|range| !range.is_empty() && Known::lock().get(&self.version, range).is_none());
        ranges.sort_unstable_by_key(|range| range.start);
        // Each with the bytes of it that were asked for: those between ranges are never given.
        let mut joined: Vec<(Range<u64>, u64)> = Vec::new();
        for range in ranges {
            match joined.last_mut().filter(|(last, _)| range.start <= last.end + GAP) {
                Some((last, wanted)) => {
                    *wanted += range.end.saturating_sub(range.start.max(last.end));
                    last.end = last.end.max(range.end);
                }
                None => joined.push((range.clone(), range.end - range.start)),
            }
        }
        for (range, wanted) in joined {
            self.cover(&mut asked, &range);
            if let Some(part) = asked.parts.iter_mut().find(|part| part.range == range && part.given == 0) {
                part.wanted = wanted;
            }
        }
    }

    /// The bytes of a range, fewer only at the end of the file. Begins to read them if nobody has. The waker is called
    /// when more of them are there.
    pub fn poll(&self, range: &Range<u64>, waker: &Waker) -> Poll<io::Result<Bytes>> {
        self.gather(range, |request| request.poll(waker))
    }

    /// The bytes of a range; waits for them.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(&self, range: &Range<u64>) -> io::Result<Bytes> {
        match self.gather(range, |request| Poll::Ready(request.wait())) {
            Poll::Ready(bytes) => bytes,
            Poll::Pending => unreachable!("it was waited for"),
        }
    }

    fn gather(
        &self,
        range: &Range<u64>,
        take: impl Fn(&Request) -> Poll<io::Result<Bytes>>,
    ) -> Poll<io::Result<Bytes>> {
        let range = self.within(range);
        if range.is_empty() {
            return Poll::Ready(Ok(Bytes::new()));
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = Known::lock().get(&self.version, &range) {
            asked.give(&range);
            return Poll::Ready(Ok(bytes));
        }
        self.cover(&mut asked, &range);
        if range.start == asked.end && range.start > 0 && !asked.is_known {
            self.ask_behind(&mut asked, range.end);
        }
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let Some(part) = asked.parts.iter().find(|part| part.range.contains(&at)) else {
                return Poll::Ready(Err(io::Error::other("a request was lost")));
            };
            let whole = match take(&part.request) {
                Poll::Ready(whole) => whole?,
                Poll::Pending => return Poll::Pending,
            };
            let piece = at..range.end.min(part.range.end);
            if whole.len() as u64 != part.range.end - part.range.start {
                return Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the store gave fewer bytes than the file has",
                )));
            }
            Known::lock().keep(&self.version, &part.range, &whole);
            let from = (piece.start - part.range.start) as usize;
            pieces.push(whole.slice(from..from + (piece.end - piece.start) as usize));
            at = piece.end;
        }
        asked.give(&range);
        Poll::Ready(Ok(match <[Bytes; 1]>::try_from(pieces) {
            Ok([only]) => only,
            Err(pieces) => pieces.concat().into(),
        }))
    }

    /// Begins to read the blocks behind a place that a reader has come to in order.
    fn ask_behind(&self, asked: &mut Asked, from: u64) {
        let end = (from + BLOCKS_AHEAD * BLOCK).min(self.bytes());
        let known = asked.parts.iter().map(|part| part.range.end).max().unwrap_or(from).max(from);
        // Whole blocks, so that the next calls find nothing to do.
        if known + BLOCK <= end || (known < end && end == self.bytes()) {
            let mut at = known;
            while at < end {
                let next = (at + BLOCK).min(self.bytes());
                self.ask(asked, at..next);
                at = next;
            }
        }
    }

    /// Begins to read what no request covers of a range.
    fn cover(&self, asked: &mut Asked, range: &Range<u64>) {
        let mut at = range.start;
        while at < range.end {
            if let Some(part) = asked.parts.iter().find(|part| part.range.contains(&at)) {
                at = part.range.end;
                continue;
            }
            let begins = asked.parts.iter().map(|part| part.range.start).filter(|&start| start > at).min();
            let end = begins.map_or(range.end, |start| start.min(range.end));
            self.ask(asked, at..end);
            at = end;
        }
    }

    fn ask(&self, asked: &mut Asked, range: Range<u64>) {
        let request = requests::start(self.store.clone(), self.name.clone(), range.clone());
        let wanted = range.end - range.start;
        asked.parts.push(Part { range, request, wanted, given: 0 });
    }

    fn within(&self, range: &Range<u64>) -> Range<u64> {
        range.start.min(self.bytes())..range.end.min(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store of one file, whose bytes are their positions; it notes what it is asked for.
    struct Positions {
        bytes: u64,
        asked: Mutex<Vec<Range<u64>>>,
    }

    impl Store for Positions {
        fn list(&self, _prefix: &str) -> io::Result<Vec<Object>> {
            Ok(Vec::new())
        }

        fn stat(&self, _name: &str) -> io::Result<Option<Object>> {
            Ok(None)
        }

        fn read(&self, name: &str, range: Range<u64>) -> io::Result<Bytes> {
            self.asked.lock().unwrap().push(range.clone());
            match name {
                "short" => Ok(Bytes::new()),
                "panics" => panic!("the store panics"),
                _ => Ok(bytes(range).into()),
            }
        }
    }

    fn bytes(range: Range<u64>) -> Vec<u8> {
        range.map(|at| (at % 251) as u8).collect()
    }

    /// The file of a name that no other test has.
    fn file(name: &str, bytes: u64) -> (Arc<Positions>, RemoteFile) {
        let store = Arc::new(Positions { bytes, asked: Mutex::default() });
        let file = RemoteFile::new(store.clone(), name, Path::new(name), store.bytes, 1);
        (store, file)
    }

    fn asked(store: &Positions) -> Vec<Range<u64>> {
        let mut asked = std::mem::take(&mut *store.asked.lock().unwrap());
        asked.sort_unstable_by_key(|range| (range.start, range.end));
        asked
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn any_range_is_read_from_requests_that_cover_it() {
        let (store, file) = file("any", 50 * MIB);
        file.begin(&[10 * MIB..11 * MIB, 11 * MIB + 5..12 * MIB, 20 * MIB..21 * MIB, 9..9]);
        for range in
            [10 * MIB + 7..12 * MIB, 8 * MIB..10 * MIB + 7, 20 * MIB..21 * MIB + 3, 45 * MIB..60 * MIB]
        {
            let within = range.start..range.end.min(50 * MIB);
            assert!(file.read(&range).unwrap() == bytes(within), "{range:?}");
        }
        assert_eq!(
            asked(&store),
            [
                8 * MIB..10 * MIB,
                // Ranges that lie near each other are one request.
                10 * MIB..12 * MIB,
                20 * MIB..21 * MIB,
                21 * MIB..21 * MIB + 3,
                45 * MIB..50 * MIB,
            ]
        );
        assert!(file.read(&(60 * MIB..61 * MIB)).unwrap().is_empty());
        assert!(file.asked.lock().unwrap().parts.is_empty(), "what was given is not kept");
    }

    #[test]
    fn bytes_between_ranges_keep_no_request() {
        let (store, file) = file("between", 50 * MIB);
        let ranges = [10 * MIB..11 * MIB, 11 * MIB + 1000..12 * MIB];
        file.read_ahead(&ranges, true);
        for range in &ranges {
            assert!(file.read(range).unwrap() == bytes(range.clone()));
        }
        assert!(file.asked.lock().unwrap().parts.is_empty());
        let asked = asked(&store);
        assert_eq!(asked.iter().map(|range| range.end - range.start).sum::<u64>(), 2 * MIB, "{asked:?}");
    }

    #[test]
    fn a_file_that_is_read_in_order_is_read_ahead_in_large_requests() {
        let (store, file) = file("order", 20 * MIB);
        let step = 256 << 10;
        for start in (0..20 * MIB).step_by(step as usize) {
            assert!(file.read(&(start..start + step)).unwrap() == bytes(start..start + step));
        }
        let asked = asked(&store);
        assert!(asked.len() <= 12, "{asked:?}");
        assert_eq!(asked.iter().map(|range| range.end - range.start).sum::<u64>(), 20 * MIB, "{asked:?}");
    }

    #[test]
    fn what_is_read_of_a_known_range_is_no_more_than_that() {
        let (store, file) = file("known", 50 * MIB);
        let range = 8 * MIB..16 * MIB;
        file.read_ahead(std::slice::from_ref(&range), true);
        for start in (8 * MIB..16 * MIB).step_by(1 << 20) {
            assert!(file.read(&(start..start + MIB)).unwrap() == bytes(start..start + MIB));
        }
        assert_eq!(asked(&store), std::slice::from_ref(&range));
    }

    #[test]
    fn beginnings_and_ends_are_kept_for_this_version_of_a_file() {
        let (store, file) = file("ends", 10 * MIB);
        file.read(&(0..100)).unwrap();
        file.read(&(10 * MIB - 100..10 * MIB)).unwrap();
        assert_eq!(asked(&store).len(), 2);
        let again = RemoteFile::new(store.clone(), "ends", Path::new("ends"), 10 * MIB, 1);
        assert!(again.read(&(10..90)).unwrap() == bytes(10..90));
        assert!(again.read(&(10 * MIB - 50..11 * MIB)).unwrap() == bytes(10 * MIB - 50..10 * MIB));
        assert!(asked(&store).is_empty());
        let changed = RemoteFile::new(store.clone(), "ends", Path::new("ends"), 10 * MIB, 2);
        changed.read(&(10..90)).unwrap();
        assert_eq!(asked(&store), std::slice::from_ref(&(10..90)));
    }

    #[test]
    fn a_store_that_gives_too_little_or_panics_is_an_error() {
        for (name, said) in [("short", "fewer bytes"), ("panics", "the store panics")] {
            let (_, file) = file(name, 100);
            let error = file.read(&(0..50)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn schemes_are_those_of_locations() {
        assert_eq!(parts("s3://bucket/x.csv"), Some(("s3", "bucket/x.csv")));
        assert_eq!(parts("a+b-c.d://"), Some(("a+b-c.d", "")));
        for path in ["x.csv", "/a/b", "a:/b", "1://x", "://x", "dir/a://b"] {
            assert_eq!(parts(path), None, "{path}");
        }
    }
}
