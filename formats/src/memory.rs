//! What decoders ask before they allocate.
//!
//! A small file can claim, or unpack to, any amount of memory. A decoder knows the size before it allocates: it asks, and
//! gives an error that names the file and the part of it. What may be used is known to whoever counts it, who says so by
//! [`ask_by`].

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Given a number of bytes, what they would lead to, unless there is room for them.
type Ask = fn(u64) -> Option<String>;

static ASK: OnceLock<Ask> = OnceLock::new();

static COUNT_TO_THE_END: OnceLock<fn()> = OnceLock::new();

/// Less than this need not be asked for, in bytes.
const SMALL: u64 = 1 << 20;

thread_local! {
    static READING: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Sets who knows what may be used. It is given a number of bytes, and says what they would lead to if there is no room
/// for them. It says so as a clause that follows "which would".
pub fn ask_by(ask: Ask) {
    // Set once; a second call wants the same.
    let _ = ASK.set(ask);
}

/// Sets what a thread that is started here calls first, so that its memory is counted to its end.
pub fn count_threads_by(count: fn()) {
    // Set once; a second call wants the same.
    let _ = COUNT_TO_THE_END.set(count);
}

/// Has the memory of this thread, which was started here, counted to its end.
pub fn count_to_the_end() {
    if let Some(count) = COUNT_TO_THE_END.get() {
        count();
    }
}

/// Asks for memory; `what` says what takes it.
///
/// # Errors
/// There is not so much left.
pub fn ask(bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
    let excess = ASK.get().filter(|_| bytes >= SMALL).and_then(|ask| ask(bytes));
    excess.map_or(Ok(()), |excess| Err(Error::Memory { path: PathBuf::new(), what: what(), excess }))
}

/// Says that this thread reads a file, until the value is dropped.
pub fn read(path: &Path) -> Reading {
    Reading(READING.with(|reading| reading.replace(Some(path.to_path_buf()))))
}

/// The file that this thread reads, if it reads one.
pub fn reading() -> Option<String> {
    let text = |path: &PathBuf| path.display().to_string();
    READING.try_with(|reading| reading.try_borrow().ok()?.as_ref().map(text)).ok().flatten()
}

/// A thread reads a file; what it has read before comes back when this is dropped.
pub struct Reading(Option<PathBuf>);

impl Drop for Reading {
    fn drop(&mut self) {
        let before = self.0.take();
        // A thread that ends reads nothing.
        let _ = READING.try_with(|reading| reading.replace(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_known_until_it_is_dropped() {
        assert_eq!(reading(), None);
        let outer = read(Path::new("a.csv"));
        {
            let _inner = read(Path::new("b.csv"));
            assert_eq!(reading().as_deref(), Some("b.csv"));
        }
        assert_eq!(reading().as_deref(), Some("a.csv"));
        drop(outer);
        assert_eq!(reading(), None);
    }
}
