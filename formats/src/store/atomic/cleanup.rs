//! Removes what a process was writing that was killed, and could not do it itself.
//!
//! A process that is about to write starts another one, which waits for the end of its standard input. The system
//! closes it when the writer ends, in whatever way. What is still there then was left behind.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::make::open_partial;
use super::temporary::{Temporary, remove_directory, remove_empty};

/// What this program is started with as a cleaner.
static WORDS: OnceLock<&[&str]> = OnceLock::new();

/// For so long other processes of the same directory have time to see that one is lost. They are ended for that, and
/// remove it. Without a directory they would fail before, and say what is not the cause.
const GRACE: Duration = Duration::from_secs(1);
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
    /// A file or directory, which need not be there yet.
    pub path: PathBuf,
    /// The directories that are made for it, the innermost first.
    pub parents: Vec<PathBuf>,
}

/// What a file or directory is known by, since another one may have come to its place: its device and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode(u64, u64);

impl Inode {
    fn of(there: &Metadata) -> Inode {
        Inode(there.dev(), there.ino())
    }

    /// What [`CleanupProcess::made`] says.
    fn said(line: &str) -> Option<Inode> {
        let (device, number) = line.strip_suffix('\n')?.split_once(' ')?;
        Some(Inode(device.parse().ok()?, number.parse().ok()?))
    }
}

/// The process that removes something.
#[derive(Debug)]
pub(super) struct CleanupProcess(Child);

impl CleanupProcess {
    /// Starts it, if this process has been told how, before anything is made: whatever moment this process is killed at,
    /// it is there. Without it the next writer cleans up.
    pub fn start(partial: &Temporary) -> Option<CleanupProcess> {
        let words = WORDS.get()?;
        let parents = partial.parents.iter().filter_map(|parent| absolute(parent).ok());
        // Whoever ends the group of this process does not end it, nor does it keep a file system in use.
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.args(*words).arg("--").arg(absolute(&partial.path).ok()?).args(parents);
        command.current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().ok().map(CleanupProcess)
    }

    /// Tells it what has been made, before anything is written there.
    pub fn made(&mut self, made: &File) {
        if let (Some(stdin), Ok(made)) = (&mut self.0.stdin, made.metadata()) {
            let Inode(device, number) = Inode::of(&made);
            // If it has been ended, the next writer cleans up.
            let _ = stdin.write_all(format!("{device} {number}\n").as_bytes());
        }
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        // There is nothing to remove any more. It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the end of what the writer keeps open, and removes what is still there. That is all of what the writer has
/// said that it made. Of something that it did not come to say only what is empty, since nothing was written there yet.
pub fn sweep(mut open: impl Read, remains: Remains) {
    let Remains { path, parents } = remains;
    let mut said = String::new();
    // An error is an end too.
    let _ = open.read_to_string(&mut said);
    let made = Inode::said(&said);
    // Nobody takes part in what was not said.
    let mut pause = made.map_or(Duration::ZERO, |_| GRACE);
    let deadline = Instant::now() + PATIENCE;
    while let Ok(there) = fs::symlink_metadata(&path)
        && made.is_none_or(|made| made == Inode::of(&there))
        && Instant::now() < deadline
    {
        std::thread::sleep(std::mem::replace(&mut pause, PAUSE));
        match (is_left(&path), made) {
            (false, _) => {}
            (true, Some(_)) if there.is_dir() => drop(remove_directory(&path)),
            (true, Some(_)) => drop(fs::remove_file(&path)),
            (true, None) => {
                let _ = match there.is_dir() {
                    true => fs::remove_dir(&path),
                    false if there.len() == 0 => fs::remove_file(&path),
                    false => Ok(()),
                };
                break;
            }
        }
    }
    remove_empty(&parents);
}

/// Whether nobody holds its lock. The system may close the writer's a moment later than its pipe.
fn is_left(path: &Path) -> bool {
    let locked = open_partial(path).map(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
    // Where there are no locks, the end of the writer says it.
    !locked.unwrap_or(false)
}
