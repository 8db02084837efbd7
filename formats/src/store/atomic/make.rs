//! What is written lies in a file or directory `.NAME.partial-PID`, which is made, locked, and known to whoever ends this
//! process. What killed processes left by such names is removed.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cleanup::CleanupProcess;
use super::parent;
use super::temporary::{Kind, Temporary, partial_prefix, partials, remove_empty};
use crate::error::{Error, Result};

/// Makes what is written until `written` appears: `.NAME.partial-PID` in `parent`, with what removes it if this process is
/// killed.
pub fn make(
    parent: &Path,
    name: &OsStr,
    kind: Kind,
    mode: u32,
    parents: Vec<PathBuf>,
    written: &Path,
) -> Result<(Temporary, File, Option<CleanupProcess>)> {
    let prefix = partial_prefix(name);
    let mut name = prefix.clone();
    name.push(std::process::id().to_string());
    let partial = Temporary { path: parent.join(name), kind, parents };
    let mut sweeper = CleanupProcess::start(&partial);
    fs::create_dir_all(parent).map_err(|e| Error::io(parent, "create the directory", e))?;
    remove_remains(parent, &prefix);
    // Whoever ends the process finds it as soon as it is there.
    let mut partials = partials();
    let being_written = || Error::BeingWritten { path: written.to_path_buf() };
    let is_there = || {
        let there = fs::symlink_metadata(&partial.path);
        there.is_ok_and(|there| there.is_file() || there.is_dir())
    };
    if partials.iter().any(|other| other.path == partial.path) && is_there() {
        return Err(being_written());
    }
    let locked = lock_new(&partial.path, kind, mode).map_err(|e| {
        remove_empty(&partial.parents);
        match e.kind() {
            // By another name of this directory, or by a process of this number on another machine.
            ErrorKind::AlreadyExists if is_there() => being_written(),
            _ => Error::io(written, "create", e),
        }
    })?;
    partials.push(partial.clone());
    drop(partials);
    if let Some(sweeper) = &mut sweeper {
        sweeper.made(&locked);
    }
    Ok((partial, locked, sweeper))
}

/// Opens what is in the place of something half written: no link is followed, and no pipe waited for.
pub fn open_partial(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Creates a file or directory that did not exist, and locks it. Whoever cleans up may take the moment between the
/// two for a killed process, and remove it; then it is made again. Until it is whole nobody may read it who may not read
/// what it replaces: `mode` says who may.
pub fn lock_new(path: &Path, kind: Kind, mode: u32) -> io::Result<File> {
    let mut tries = 0;
    loop {
        let made = match kind {
            Kind::File => {
                File::options().read(true).write(true).create_new(true).mode(mode).open(path).map(Some)
            }
            Kind::Directory => fs::DirBuilder::new().mode(mode).create(path).map(|()| None),
            Kind::Device => unreachable!("a device is not made"),
        };
        let made = match made {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && (1..100).contains(&tries) => {
                std::thread::sleep(Duration::from_millis(1));
                None
            }
            // Whoever else made the directories that it is in, and failed, removes them while they are empty.
            Err(e) if e.kind() == ErrorKind::NotFound && tries < 100 => {
                tries += 1;
                let _ = fs::create_dir_all(parent(path));
                continue;
            }
            made => made?,
        };
        tries += 1;
        let file = match made {
            Some(file) => file,
            None => match open_partial(path) {
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                file => file?,
            },
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            // A file system without locks: then nothing is taken for remains either.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
        let ours = file.metadata()?;
        match fs::symlink_metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => return Ok(file),
            _ => continue,
        }
    }
}

/// Removes what killed processes left of the same destination. What can't be removed is not in the way.
fn remove_remains(parent: &Path, prefix: &OsStr) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.as_bytes().strip_prefix(prefix.as_bytes());
        if !number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit)) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = open_partial(&path) else { continue };
        // What is neither a file nor a directory palais has not made.
        let there = file.metadata().ok().filter(|there| there.is_file() || there.is_dir());
        let Some(there) = there.filter(|_| file.try_lock().is_ok()) else { continue };
        let _ = match there.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
    }
}
