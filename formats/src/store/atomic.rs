//! Files and directories that appear whole or not at all.
//!
//! What is written lies beside its destination as `.NAME.partial-PID` until [`AtomicWrite::commit`] syncs and renames it. A
//! lock on it, which ends with the process that holds it, tells what is being written from what a killed process left
//! behind; the latter is removed when somebody writes to the same destination again, or by a process that waits for that.
//!
//! What is there and is neither a file nor a directory (`/dev/null`, a pipe) is written as it is.
//!
//! - `modes`: what is replaced keeps who may read it.
//! - `temporary`: what this process is writing, and how it is removed.
//! - `rename`: how what is whole takes its place.
//! - `cleanup`: how what a killed process leaves behind is removed at once.

mod cleanup;
mod modes;
mod rename;
mod temporary;

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cleanup::Sweeper;
pub use cleanup::{Remains, sweep, sweep_with};
use modes::Modes;
use rename::{exchange, rename_new};
use schema::manifest;
use temporary::{Kind, Temporary, partial_prefix, partials, remove_empty};
pub use temporary::{adopt, check_partial, remove_all};

use super::{remote, roots};
use crate::discover::hive::is_tree;
use crate::error::{Error, Result};

/// Whether what is there may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// It may.
    Yes,
    /// It may not, unless the user does this: `give --overwrite`.
    Unless(&'static str),
}

impl Overwrite {
    /// As the flag `--overwrite` says.
    pub fn flag(given: bool) -> Overwrite {
        if given { Overwrite::Yes } else { Overwrite::Unless("give --overwrite") }
    }
}

/// A file or directory that is being written beside its destination. Dropping it removes what was written.
#[derive(Debug)]
pub struct AtomicWrite {
    partial: Temporary,
    /// The destination as the user wrote it, for messages.
    written: PathBuf,
    /// The destination, links followed.
    destination: PathBuf,
    overwrite: Overwrite,
    committed: bool,
    /// Those of what is there already.
    modes: Option<Modes>,
    /// Holds the lock.
    locked: File,
    /// Removes it if this process is killed.
    _sweeper: Option<Sweeper>,
}

impl AtomicWrite {
    /// Begins a file, and opens it for writing.
    pub fn file(destination: &Path, overwrite: Overwrite) -> Result<(AtomicWrite, File)> {
        roots::check(destination)?;
        if roots::metadata(destination).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return AtomicWrite::device(destination);
        }
        let aside = AtomicWrite::begin(destination, overwrite, Kind::File)?;
        let file = aside.locked.try_clone().map_err(|e| Error::io(destination, "create", e))?;
        Ok((aside, file))
    }

    /// Begins a directory; files are to be made in [`AtomicWrite::path`].
    pub fn directory(destination: &Path, overwrite: Overwrite) -> Result<AtomicWrite> {
        roots::check(destination)?;
        AtomicWrite::begin(destination, overwrite, Kind::Directory)
    }

    fn device(destination: &Path) -> Result<(AtomicWrite, File)> {
        if roots::serves() {
            // Nobody may ever read a pipe.
            let help = Some("name a file that is not there yet".to_string());
            return Err(Error::location(destination.display(), "a node writes regular files alone", help));
        }
        let open = || {
            let file = File::options().write(true).open(destination)?;
            Ok((file.try_clone()?, file))
        };
        let (file, kept) = open().map_err(|e| Error::io(destination, "open", e))?;
        let aside = AtomicWrite {
            partial: Temporary { path: destination.to_path_buf(), kind: Kind::Device, parents: Vec::new() },
            written: destination.to_path_buf(),
            destination: destination.to_path_buf(),
            overwrite: Overwrite::Yes,
            committed: true,
            modes: None,
            locked: kept,
            _sweeper: None,
        };
        Ok((aside, file))
    }

    /// Whether a directory is being written.
    pub fn is_directory(&self) -> bool {
        self.partial.kind == Kind::Directory
    }

    /// Where it lies until it is committed.
    pub fn path(&self) -> &Path {
        &self.partial.path
    }

    /// How many directories above it were made for it.
    pub fn parents(&self) -> usize {
        self.partial.parents.len()
    }

    /// Where it will lie.
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Makes it appear. Files in a directory must have been synced; a file is synced here.
    pub fn commit(mut self) -> Result<()> {
        let Temporary { path: partial, kind, .. } = &self.partial;
        if *kind == Kind::Device {
            return Ok(());
        }
        let there = check(&self.destination, &self.written, self.overwrite, *kind)?;
        let io = |action| {
            let path = self.written.clone();
            move |e| Error::io(path, action, e)
        };
        if let Some(modes) = &self.modes {
            modes.give(&self.locked).map_err(io("keep the permissions of"))?;
        }
        self.locked.sync_all().map_err(io("sync"))?;
        match (there, *kind) {
            // An exchange leaves no moment without either of the two.
            (true, Kind::Directory) => exchange(partial, &self.destination).map_err(io("replace"))?,
            // It may have come since it was looked for.
            (false, Kind::File) => match rename_new(partial, &self.destination) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    check(&self.destination, &self.written, self.overwrite, *kind)?;
                    fs::rename(partial, &self.destination).map_err(io("rename"))?;
                }
                renamed => renamed.map_err(io("rename"))?,
            },
            _ => fs::rename(partial, &self.destination).map_err(io("rename"))?,
        }
        // What was replaced lies in its place now, and goes with `self`.
        self.committed = !(there && *kind == Kind::Directory);
        File::open(parent(&self.destination)).and_then(|f| f.sync_all()).map_err(io("sync the directory of"))
    }

    fn begin(destination: &Path, overwrite: Overwrite, kind: Kind) -> Result<AtomicWrite> {
        // A link is followed, so that what it points to is replaced, and not the link.
        let written = destination;
        if written.to_str().and_then(remote::parts).is_some() {
            let help = Some("write to a directory here, and copy the files from there".to_string());
            return Err(Error::location(written.display(), "files are not written into stores", help));
        }
        let destination = roots::place(written).map_err(|e| Error::io(written, "open", e))?;
        check(&destination, written, overwrite, kind)?;
        let Some(name) = destination.file_name() else {
            let help = Some("give the name of a file or directory".to_string());
            return Err(Error::location(written.display(), "this can't be written to", help));
        };
        let parent = parent(&destination).to_path_buf();
        // Where a relative path begins there is something, although it has no name there.
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !roots::exists(path);
        let parents = parent.ancestors().take_while(is_missing).map(Path::to_path_buf).collect();
        let prefix = partial_prefix(name);
        let mut name = prefix.clone();
        name.push(std::process::id().to_string());
        let partial = Temporary { path: parent.join(name), kind, parents };
        let mut sweeper = Sweeper::start(&partial);
        fs::create_dir_all(&parent).map_err(|e| Error::io(&parent, "create the directory", e))?;
        remove_remains(&parent, &prefix);
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
        let modes = Modes::of(&destination);
        let locked = lock_new(&partial.path, kind, modes.as_ref()).map_err(|e| {
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
        let written = written.to_path_buf();
        let aside = AtomicWrite {
            partial,
            written,
            destination,
            overwrite,
            committed: false,
            modes,
            locked,
            _sweeper: sweeper,
        };
        // A directory on the way may have become a link meanwhile.
        roots::check_open(&aside.locked).map_err(|e| Error::io(&aside.written, "create", e))?;
        Ok(aside)
    }
}

impl Drop for AtomicWrite {
    fn drop(&mut self) {
        if !self.committed {
            self.partial.remove();
        }
        partials().retain(|partial| partial.path != self.partial.path);
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whether there is something to be replaced at the destination; an error if that may not be done.
fn check(destination: &Path, written: &Path, overwrite: Overwrite, kind: Kind) -> Result<bool> {
    let there = match roots::metadata(destination) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::io(written, "open", e)),
        Ok(metadata) => metadata,
    };
    let refuse = |message: &str, help: &str| {
        Err(Error::location(written.display(), message.to_string(), Some(help.to_string())))
    };
    let exists = |message: &str, what: &str, how: &str| {
        refuse(message, &format!("name another {what}, or {how} to replace it"))
    };
    if !there.is_dir() {
        return match (kind, overwrite) {
            (Kind::Directory, _) => {
                refuse("a directory of files is to be written, and this is a file", "name another directory")
            }
            (_, Overwrite::Yes) => Ok(true),
            (_, Overwrite::Unless(how)) => exists("the file exists", "file", how),
        };
    }
    let entries = roots::read_dir(destination).map_err(|e| Error::io(written, "list", e))?;
    match (kind, overwrite) {
        (Kind::File | Kind::Device, _) => {
            refuse("a file is to be written, and this is a directory", "name a file in it")
        }
        // rename(2) replaces an empty directory.
        (Kind::Directory, _) if entries.count() == 0 => Ok(false),
        (Kind::Directory, Overwrite::Unless(how)) => {
            exists("the directory exists and is not empty", "directory", how)
        }
        // Whatever else it holds, palais did not write it.
        (Kind::Directory, Overwrite::Yes) if !has_manifest(destination) && !is_tree(destination) => refuse(
            &format!(
                "the directory is no dataset: it has no {}, and not all in it are parts below key=value/",
                manifest::FILE_NAME
            ),
            "only a dataset is replaced; remove the directory, or name another one",
        ),
        (Kind::Directory, Overwrite::Yes) => Ok(true),
    }
}

fn has_manifest(directory: &Path) -> bool {
    roots::metadata(&directory.join(manifest::FILE_NAME)).is_ok_and(|there| there.is_file())
}

/// Opens what is in the place of something half written: no link is followed, and no pipe waited for.
fn open_partial(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Creates a file or directory that did not exist, and locks it. Whoever cleans up may take the moment between the
/// two for a killed process, and remove it; then it is made again. Until it is whole nobody may read it who may not read
/// what it replaces, whose `modes` these are.
fn lock_new(path: &Path, kind: Kind, modes: Option<&Modes>) -> io::Result<File> {
    let mut tries = 0;
    loop {
        let made = match kind {
            Kind::File => {
                let mode = modes.map_or(0o666, Modes::while_written);
                File::options().read(true).write(true).create_new(true).mode(mode).open(path).map(Some)
            }
            Kind::Directory => {
                let mode = modes.map_or(0o777, Modes::while_written);
                fs::DirBuilder::new().mode(mode).create(path).map(|()| None)
            }
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

#[cfg(test)]
mod tests;
