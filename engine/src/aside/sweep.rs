//! Removes what a process was writing that was killed, and could not do it itself.
//!
//! A process that writes starts another one, which waits for the end of its standard input: the system closes it when
//! the writer ends, in whatever way. What is still there then was left behind.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::partial::{Kind, Partial};

/// What this program is started with as a sweeper.
static WORDS: OnceLock<&[&str]> = OnceLock::new();

/// So long is tried to remove what others may still write into.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Has what this process begins to write from now on removed if it is killed. With these words this program calls [`sweep`]
/// with the arguments behind them.
pub fn sweep_with(words: &'static [&'static str]) {
    // Whoever says it twice says the same.
    let _ = WORDS.set(words);
}

/// What is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// A file or directory.
    pub path: PathBuf,
    /// What it is known by: another one may have come to its place.
    pub device: u64,
    /// As above.
    pub inode: u64,
    /// The directories that were made for it, the innermost first.
    pub parents: Vec<PathBuf>,
}

/// The process that removes something.
#[derive(Debug)]
pub(super) struct Sweeper(Child);

impl Sweeper {
    /// Starts it, if this process has been told how. Without it the next writer cleans up.
    pub fn start(partial: &Partial, made: &File) -> Option<Sweeper> {
        let words = WORDS.get()?;
        let metadata = made.metadata().ok()?;
        let mut arguments: Vec<OsString> = vec![absolute(&partial.path).ok()?.into()];
        arguments.extend([metadata.dev(), metadata.ino()].map(|number| number.to_string().into()));
        arguments.extend(partial.parents.iter().filter_map(|parent| Some(absolute(parent).ok()?.into())));
        // Whoever ends the group of this process does not end it, nor does it keep a file system in use.
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.args(*words).arg("--").args(arguments).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().ok().map(Sweeper)
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        // There is nothing to remove any more. It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the end of what the writer keeps open, and removes what is still there.
pub fn sweep(mut open: impl Read, remains: Remains) {
    let Remains { path, device, inode, parents } = remains;
    // An error is an end too.
    let _ = io::copy(&mut open, &mut io::sink());
    let is_it = |there: &Metadata| (there.dev(), there.ino()) == (device, inode);
    let (deadline, mut pause) = (Instant::now() + PATIENCE, Duration::ZERO);
    while let Ok(there) = fs::symlink_metadata(&path)
        && is_it(&there)
        && Instant::now() < deadline
    {
        std::thread::sleep(std::mem::replace(&mut pause, PAUSE));
        if is_left(&path) {
            let kind = if there.is_dir() { Kind::Directory } else { Kind::File };
            Partial { path: path.clone(), kind, parents: parents.clone() }.remove();
        }
    }
}

/// Whether nobody holds its lock. The system may close the writer's a moment later than its pipe.
fn is_left(path: &Path) -> bool {
    let locked = File::open(path).map(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    // Where there are no locks, the end of the writer says it.
    !locked.unwrap_or(false)
}
