//! Beginnings and ends of files of stores, kept in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The beginning and the end of a file that were read are kept up to this size. Footers and headers are read when a
/// table is opened, and again when it is scanned.
const MOST_OF_ONE: u64 = 1 << 20;
/// Beginnings and ends of all files that are kept, in bytes. Beyond that all are forgotten.
const MOST_OF_ALL: usize = 64 << 20;

/// What names the bytes of a file: its path, size, and time of the last change.
pub type Version = (PathBuf, u64, i64);

/// Beginnings and ends of files.
#[derive(Default)]
pub struct Known {
    files: BTreeMap<Version, [Bytes; 2]>,
    bytes: usize,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { files: BTreeMap::new(), bytes: 0 });

impl Known {
    /// Those of this process.
    pub fn lock() -> MutexGuard<'static, Known> {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a range, if they were kept.
    pub fn get(&self, version: &Version, range: &Range<u64>) -> Option<Bytes> {
        let [first, last] = self.files.get(version)?;
        if range.end <= first.len() as u64 {
            return Some(first.slice(range.start as usize..range.end as usize));
        }
        let start = version.1.checked_sub(last.len() as u64)?;
        let from = range.start.checked_sub(start)?;
        Some(last.slice(from as usize..(range.end - start) as usize))
    }

    /// Keeps the bytes of a range, if they are the first or the last of a file.
    pub fn keep(&mut self, version: &Version, range: &Range<u64>, bytes: &Bytes) {
        let at = match range {
            range if range.end - range.start > MOST_OF_ONE => return,
            Range { start: 0, .. } => 0,
            Range { end, .. } if *end == version.1 => 1,
            _ => return,
        };
        if self.bytes + bytes.len() > MOST_OF_ALL {
            *self = Known::default();
        }
        let known = &mut self.files.entry(version.clone()).or_default()[at];
        if known.len() < bytes.len() {
            self.bytes += bytes.len() - known.len();
            // A slice would keep all that it was cut from.
            *known = Bytes::copy_from_slice(bytes);
        }
    }

    /// Forgets those of a file that was replaced. A store may tell times so roughly that the new file is not told from
    /// the old one by them.
    pub fn forget(&mut self, path: &Path) {
        let bytes = &mut self.bytes;
        self.files.retain(|(known, ..), ends| {
            let is_kept = known != path;
            if !is_kept {
                *bytes -= ends.iter().map(Bytes::len).sum::<usize>();
            }
            is_kept
        });
    }
}
