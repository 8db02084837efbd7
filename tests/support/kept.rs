//! What is left of files that several processes were writing.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::names::names;

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until nothing lies in a directory but these. Processes that are ended before they have removed what they were
/// writing leave it to another one, which waits a second and then takes the time that the disk takes.
pub fn only_these_are_kept(directory: &Path, kept: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    while names(directory) != kept {
        assert!(Instant::now() < deadline, "{:?} are left, not only {kept:?}", names(directory));
        thread::sleep(Duration::from_millis(20));
    }
}
