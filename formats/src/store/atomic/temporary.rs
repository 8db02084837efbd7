//! What this process is writing, so that whoever ends the process can remove it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{self, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::roots;
use crate::error::{Error, Result};

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    /// Written as it is.
    Device,
}

impl Kind {
    /// The permissions of what is new, of which the system takes those away that it is told to.
    pub fn usual_mode(self) -> u32 {
        if self == Kind::Directory { 0o777 } else { 0o666 }
    }

    /// The permissions of what nobody else may read.
    pub fn own_mode(self) -> u32 {
        self.usual_mode() & 0o700
    }
}

/// Where there is room for what the memory has none for: `/tmp` lies in memory on many machines.
const DIRECTORY: &str = "/var/tmp";

/// The directory for temporary files that may be large: `TMPDIR`, or `/var/tmp`.
pub fn temporary_directory() -> PathBuf {
    std::env::var_os("TMPDIR").filter(|name| !name.is_empty()).map_or_else(|| DIRECTORY.into(), PathBuf::from)
}

/// Something half written.
#[derive(Debug, Clone)]
pub(super) struct Temporary {
    pub path: PathBuf,
    pub kind: Kind,
    /// The directories that were made for it, the innermost first.
    pub parents: Vec<PathBuf>,
}

impl Temporary {
    /// Removes it and the directories that were made for it, unless something else has come into them. What can't be
    /// removed is removed by the next writer.
    pub fn remove(&self) {
        let _ = match self.kind {
            Kind::File => fs::remove_file(&self.path),
            Kind::Directory => remove_directory(&self.path),
            Kind::Device => Ok(()),
        };
        remove_empty(&self.parents);
    }
}

/// Removes directories in which there is nothing, the innermost first.
pub(super) fn remove_empty(directories: &[PathBuf]) {
    for directory in directories {
        let _ = fs::remove_dir(directory);
    }
}

/// So often is a directory removed into which other threads, or other processes, may still write.
const TRIES: usize = 100;

/// Removes a directory and what is in it, what comes into it meanwhile too.
pub(super) fn remove_directory(path: &Path) -> io::Result<()> {
    for _ in 1..TRIES {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
            // Other processes that take part in it remove it too.
            Err(e) if e.kind() == ErrorKind::NotFound && path.exists() => {}
            removed => return removed,
        }
    }
    fs::remove_dir_all(path)
}

/// What this process is writing.
static PARTIALS: Mutex<Vec<Temporary>> = Mutex::new(Vec::new());

/// So long does a thread that ends the process wait for one that begins something, or that ends it too. It may be that one
/// itself: then the next writer cleans up.
const ENDING: Duration = Duration::from_secs(2);

/// Removes what this process is writing, before it ends without unwinding. Nothing is begun from then on: who tries waits for
/// the end.
pub fn remove_all() {
    let deadline = Instant::now() + ENDING;
    loop {
        match PARTIALS.try_lock() {
            Err(sync::TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(sync::TryLockError::WouldBlock) => return,
            Ok(partials) => return remove_for_good(partials),
            Err(sync::TryLockError::Poisoned(partials)) => return remove_for_good(partials.into_inner()),
        }
    }
}

fn remove_for_good(partials: MutexGuard<'_, Vec<Temporary>>) {
    partials.iter().for_each(Temporary::remove);
    // The lock stays taken.
    std::mem::forget(partials);
}

/// Whether a directory is one in which something is written that is to appear at `destination`. Another process says
/// so. This one would write into any other directory, and remove it.
///
/// # Errors
/// It is not, or may not be touched.
pub fn check_partial(directory: &Path, destination: &Path) -> Result<()> {
    roots::check(directory)?;
    let name = roots::place(destination).unwrap_or_else(|_| destination.to_path_buf());
    let prefix = name.file_name().map(partial_prefix).unwrap_or_default();
    let begins = |name: &OsStr| !prefix.is_empty() && name.as_bytes().starts_with(prefix.as_bytes());
    match directory.file_name().is_some_and(begins) {
        true => Ok(()),
        false => {
            let what = "this is no directory that palais is writing, as another process of this query says";
            Err(Error::location(directory.display(), what, None))
        }
    }
}

/// Takes a directory for one of this process's, that another one has made, with so many `parents` above it: this one removes
/// them too.
pub fn adopt(directory: &Path, parents: usize) {
    let path = directory.to_path_buf();
    let parents = directory.ancestors().skip(1).take(parents);
    // Another process says how many: more than may be touched are not.
    let parents = parents.take_while(|parent| roots::check(parent).is_ok());
    let parents = parents.map(Path::to_path_buf).collect();
    partials().push(Temporary { path, kind: Kind::Directory, parents });
}

pub(super) fn partials() -> MutexGuard<'static, Vec<Temporary>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn partial_prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".partial-");
    prefix
}
