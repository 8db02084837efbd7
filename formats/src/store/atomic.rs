//! Files and directories that appear whole or not at all.
//!
//! What is written lies beside its destination as `.NAME.partial-PID` until [`AtomicWrite::commit`] syncs and renames
//! it. A lock on it, which ends with the process that holds it, tells what is being written from what a killed process
//! left behind. The latter is removed by the next writer to the same destination, or by a process that waits for that.
//!
//! What is there and is neither a file nor a directory (`/dev/null`, a pipe) is written as it is.
//!
//! What is to appear in a store (`scheme://name`) lies in the directory for temporary files until it is committed.
//!
//! - `make`: makes and locks what is written, and removes what killed processes left.
//! - `in_store`: what may be written into a store, and how it gets there.
//! - `modes`: what is replaced keeps who may read it.
//! - `temporary`: what this process is writing, and how it is removed.
//! - `rename`: how what is whole takes its place.
//! - `cleanup`: how what a killed process leaves behind is removed at once.
//! - `tree`: directories that it knows to be its own without a manifest.

mod cleanup;
mod in_store;
mod make;
mod modes;
mod rename;
mod temporary;
mod tree;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cleanup::CleanupProcess;
pub use cleanup::{Remains, sweep, sweep_with};
use in_store::InStore;
use make::make;
use modes::Modes;
use rename::{exchange, rename_new};
use schema::manifest;
use temporary::{Kind, Temporary, partials};
pub use temporary::{adopt, check_partial, remove_all, temporary_directory};
use tree::is_tree;

use super::{remote, roots};
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

/// A file or directory that is being written beside its destination, or, if that lies in a store, in the directory for
/// temporary files. Dropping it removes what was written.
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
    /// The destination, if it lies in a store.
    in_store: Option<Box<InStore>>,
    /// Holds the lock.
    locked: File,
    /// Removes it if this process is killed.
    _sweeper: Option<CleanupProcess>,
}

impl AtomicWrite {
    /// Begins a file, and opens it for writing.
    pub fn file(destination: &Path, overwrite: Overwrite) -> Result<(AtomicWrite, File)> {
        let is_device = |there: fs::Metadata| !there.is_file() && !there.is_dir();
        if !remote::is_location(destination) && roots::metadata(destination).is_ok_and(is_device) {
            return AtomicWrite::device(destination);
        }
        let aside = AtomicWrite::begin(destination, overwrite, Kind::File)?;
        let file = aside.locked.try_clone().map_err(|e| Error::io(destination, "create", e))?;
        Ok((aside, file))
    }

    /// Begins a directory; files are to be made in [`AtomicWrite::path`].
    pub fn directory(destination: &Path, overwrite: Overwrite) -> Result<AtomicWrite> {
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
            in_store: None,
            locked: kept,
            _sweeper: None,
        };
        Ok((aside, file))
    }

    /// Whether a directory is being written.
    pub fn is_directory(&self) -> bool {
        self.partial.kind == Kind::Directory
    }

    /// Whether it is to appear in a store.
    pub fn is_in_store(&self) -> bool {
        self.in_store.is_some()
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

    /// Makes it appear. Files in a directory must have been synced; a file is synced here. A store is waited for.
    pub fn commit(mut self) -> Result<()> {
        let Temporary { path: partial, kind, .. } = &self.partial;
        if *kind == Kind::Device {
            return Ok(());
        }
        if let Some(in_store) = &self.in_store {
            // Something may have come there meanwhile.
            in_store.check(self.overwrite, *kind)?;
            return in_store.put(partial, *kind);
        }
        let there = check(&self.destination, &self.written, self.overwrite, *kind)?;
        let io = |action| {
            let path = self.written.clone();
            move |e| Error::io(path, action, e)
        };
        if let Some(modes) = &self.modes {
            if *kind == Kind::Directory {
                modes.restrict(partial).map_err(io("keep the permissions of"))?;
            }
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

    fn begin(written: &Path, overwrite: Overwrite, kind: Kind) -> Result<AtomicWrite> {
        if let Some(in_store) = InStore::of(written, kind)? {
            return AtomicWrite::begin_in_store(in_store, overwrite, kind);
        }
        // A link is followed, so that what it points to is replaced, and not the link.
        let destination = roots::place(written).map_err(|e| Error::io(written, "open", e))?;
        check(&destination, written, overwrite, kind)?;
        let Some(name) = destination.file_name() else { return Err(no_name(written)) };
        let parent = parent(&destination);
        // Where a relative path begins there is something, although it has no name there.
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !roots::exists(path);
        let parents = parent.ancestors().take_while(is_missing).map(Path::to_path_buf).collect();
        let modes = Modes::of(&destination);
        let mode = modes.as_ref().map_or(kind.usual_mode(), Modes::while_written);
        let (partial, locked, sweeper) = make(parent, name, kind, mode, parents, written)?;
        let aside = AtomicWrite {
            partial,
            written: written.to_path_buf(),
            destination,
            overwrite,
            committed: false,
            modes,
            in_store: None,
            locked,
            _sweeper: sweeper,
        };
        // A directory on the way may have become a link meanwhile.
        roots::check_open(&aside.locked).map_err(|e| Error::io(&aside.written, "create", e))?;
        Ok(aside)
    }

    fn begin_in_store(in_store: InStore, overwrite: Overwrite, kind: Kind) -> Result<AtomicWrite> {
        in_store.check(overwrite, kind)?;
        let (directory, location) = (temporary_directory(), in_store.location());
        let name = in_store.temporary_name();
        // Others may look into this directory, and who may read what lies in the store is not known.
        let made = make(&directory, name.as_ref(), kind, kind.own_mode(), Vec::new(), &location);
        let (partial, locked, sweeper) = made.map_err(|e| match e {
            Error::Io { source, .. } => Error::io(&directory, "make a temporary file there", source),
            e => e,
        })?;
        Ok(AtomicWrite {
            partial,
            written: location.clone(),
            destination: location,
            overwrite,
            committed: false,
            modes: None,
            in_store: Some(Box::new(in_store)),
            locked,
            _sweeper: sweeper,
        })
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
    check_beside(destination, written, kind)?;
    let there = match roots::metadata(destination) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::io(written, "open", e)),
        Ok(metadata) => metadata,
    };
    if !there.is_dir() {
        return check_file(written, overwrite, kind).map(|()| true);
    }
    let entries = roots::read_dir(destination).map_err(|e| Error::io(written, "list", e))?;
    match (kind, overwrite) {
        (Kind::File | Kind::Device, _) => Err(is_a_directory(written)),
        // rename(2) replaces an empty directory.
        (Kind::Directory, _) if entries.count() == 0 => Ok(false),
        (Kind::Directory, Overwrite::Unless(how)) => {
            let help = format!("name another directory, or {how} to replace it");
            Err(refused(written, "the directory exists and is not empty", help))
        }
        // Whatever else it holds, palais did not write it.
        (Kind::Directory, Overwrite::Yes) if !has_manifest(destination) && !is_tree(destination) => {
            let message = format!(
                "the directory is no dataset: it has no {}, and not all in it are parts below key=value/",
                manifest::FILE_NAME
            );
            let help = "only a dataset is replaced; remove the directory, or name another one";
            Err(refused(written, message, help))
        }
        (Kind::Directory, Overwrite::Yes) => Ok(true),
    }
}

/// Refuses data among the files of a dataset, whose manifest does not name it: the dataset could not be read again.
fn check_beside(destination: &Path, written: &Path, kind: Kind) -> Result<()> {
    let directory = parent(destination);
    let is_left_out =
        |name: &OsStr| name.as_encoded_bytes().first().is_some_and(|first| b"._".contains(first));
    let is_data = destination.file_name().is_some_and(|name| !is_left_out(name));
    if kind == Kind::Device || !is_data || !has_manifest(directory) {
        return Ok(());
    }
    let message = format!("its directory is a dataset, whose files are those of its {}", manifest::FILE_NAME);
    let help = "write it elsewhere; COPY (SELECT … UNION ALL SELECT …) TO another directory adds rows";
    Err(refused(written, message, help))
}

/// Whether the file that is there may be replaced.
fn check_file(written: &Path, overwrite: Overwrite, kind: Kind) -> Result<()> {
    match (kind, overwrite) {
        (Kind::Directory, _) => {
            let message = "a directory of files is to be written, and this is a file";
            Err(refused(written, message, "name another directory"))
        }
        (_, Overwrite::Yes) => Ok(()),
        (_, Overwrite::Unless(how)) => {
            let help = format!("name another file, or {how} to replace it");
            Err(refused(written, "the file exists", help))
        }
    }
}

fn is_a_directory(written: &Path) -> Error {
    refused(written, "a file is to be written, and this is a directory", "name a file in it")
}

fn no_name(written: &Path) -> Error {
    refused(written, "this can't be written to", "give the name of a file or directory")
}

fn refused(written: &Path, message: impl Into<String>, help: impl Into<String>) -> Error {
    Error::location(written.display(), message, Some(help.into()))
}

fn has_manifest(directory: &Path) -> bool {
    roots::metadata(&directory.join(manifest::FILE_NAME)).is_ok_and(|there| there.is_file())
}

#[cfg(test)]
mod tests;
