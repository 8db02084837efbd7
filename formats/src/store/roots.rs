//! What a process touches that serves others: regular files, and those below some directories alone.
//!
//! Nothing outside of these directories is so much as looked at. So no error, and no time that it takes, tells whether
//! there is something. All paths of users go through the functions here; in a process that serves nobody they are those
//! of the system.
//!
//! - [`beneath`]: how a path is followed without leaving the directories.

mod beneath;

use std::fs::{self, DirEntry, File, Metadata, ReadDir};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Outside, Result};
use beneath::Roots;

/// Set once this process serves others: the directories, or none if all files may be touched.
static SERVED: OnceLock<Option<Roots>> = OnceLock::new();

fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, Outside)
}

/// Allows regular files below these directories alone, from now on and for ever; all regular files if there are none.
///
/// # Errors
/// One does not exist.
pub fn allow(roots: &[PathBuf]) -> Result<()> {
    let served = match roots {
        [] => None,
        roots => Some(Roots::open(roots)?),
    };
    // Whoever has asked first decides.
    let _ = SERVED.set(served);
    Ok(())
}

/// Whether this process serves others, so that a pipe or a device could hold a place of theirs.
pub fn serves() -> bool {
    SERVED.get().is_some()
}

fn roots() -> Option<&'static Roots> {
    SERVED.get().and_then(Option::as_ref)
}

/// Whether a path may be touched. Links are followed; of what does not exist yet the directory counts.
///
/// # Errors
/// It lies elsewhere.
pub fn check(path: &Path) -> Result<()> {
    match place(path) {
        Err(e) if Outside::is_in(&e) => Err(Error::io(path, "open", e)),
        // What else is wrong with it is told by whoever opens it.
        _ => Ok(()),
    }
}

/// The path without links; of what does not exist yet, as far as there is something.
///
/// # Errors
/// It lies elsewhere, or the system refuses.
pub fn place(path: &Path) -> io::Result<PathBuf> {
    match roots() {
        Some(roots) => roots.place(path).map(|(place, _)| place),
        None => match fs::canonicalize(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
            place => place,
        },
    }
}

/// The path without links, as [`fs::canonicalize`] gives it.
///
/// # Errors
/// There is nothing, it lies elsewhere, or the system refuses.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    match roots() {
        Some(roots) => match roots.place(path)? {
            (place, true) => Ok(place),
            (_, false) => Err(io::ErrorKind::NotFound.into()),
        },
        None => fs::canonicalize(path),
    }
}

/// Opens a file to read it. Who serves others waits for no pipe.
///
/// # Errors
/// As [`metadata`], and who serves others opens nothing but regular files.
pub fn open_file(path: &Path) -> io::Result<File> {
    if !serves() {
        return File::open(path);
    }
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = match roots() {
        Some(roots) => roots.open_path(path, libc::O_RDONLY | flags)?,
        None => File::options().read(true).custom_flags(flags).open(path)?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "a node reads regular files alone")),
    }
}

/// What is known of a path, links followed.
///
/// # Errors
/// There is nothing, it lies elsewhere, or the system refuses.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    match roots() {
        Some(roots) => roots.open_path(path, libc::O_PATH)?.metadata(),
        None => fs::metadata(path),
    }
}

/// What is known of a path, the last link not followed.
///
/// # Errors
/// As [`metadata`].
pub fn symlink_metadata(path: &Path) -> io::Result<Metadata> {
    match roots() {
        Some(roots) => roots.open_path(path, libc::O_PATH | libc::O_NOFOLLOW)?.metadata(),
        None => fs::symlink_metadata(path),
    }
}

/// Whether there is something that may be touched.
pub fn exists(path: &Path) -> bool {
    metadata(path).is_ok()
}

/// Whether there is something.
///
/// # Errors
/// It lies outside of what may be touched.
pub fn holds(path: &Path) -> io::Result<bool> {
    match metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if Outside::is_in(&e) => Err(e),
        Err(_) => Ok(false),
    }
}

/// Whether there is a directory that may be touched.
pub fn is_dir(path: &Path) -> bool {
    metadata(path).is_ok_and(|there| there.is_dir())
}

/// The entries of a directory. Their own paths are of no use: [`DirEntry::file_name`] is.
pub struct Entries {
    entries: ReadDir,
    /// The entries are those of this one.
    _directory: Option<File>,
}

impl Iterator for Entries {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<io::Result<DirEntry>> {
        self.entries.next()
    }
}

/// Lists a directory.
///
/// # Errors
/// As [`metadata`].
pub fn read_dir(path: &Path) -> io::Result<Entries> {
    let Some(roots) = roots() else {
        return Ok(Entries { entries: fs::read_dir(path)?, _directory: None });
    };
    let directory = roots.open_path(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK)?;
    let entries = fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    Ok(Entries { entries, _directory: Some(directory) })
}

/// Whether something that was just made or opened lies where it may, and no link has led elsewhere meanwhile.
///
/// # Errors
/// It lies elsewhere.
pub fn check_open(file: &File) -> io::Result<()> {
    roots().map_or(Ok(()), |roots| roots.check_open(file))
}
