//! Files and directories that appear whole or not at all.
//!
//! What is written lies beside its destination as `.NAME.partial-PID` until [`Aside::commit`] syncs and renames it. A
//! lock on it, which ends with the process that holds it, tells what is being written from what a killed process left
//! behind; the latter is removed when somebody writes to the same destination again.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use formats::Error;
use schema::manifest;

/// The result of this module's functions.
type Result<T> = std::result::Result<T, Error>;

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

/// A file or directory that is being written beside its destination. Dropping it removes what was written.
#[derive(Debug)]
pub struct Aside {
    kind: Kind,
    destination: PathBuf,
    partial: PathBuf,
    overwrite: bool,
    committed: bool,
    /// Holds the lock.
    _locked: File,
}

impl Aside {
    /// Begins a file, and opens it for writing.
    pub fn file(destination: &Path, overwrite: bool) -> Result<(Aside, File)> {
        let aside = Aside::begin(destination, overwrite, Kind::File)?;
        let file = File::options().write(true).open(&aside.partial);
        let file = file.map_err(|e| Error::io(destination, "create", e))?;
        Ok((aside, file))
    }

    /// Begins a directory; files are to be made in [`Aside::path`].
    pub fn directory(destination: &Path, overwrite: bool) -> Result<Aside> {
        Aside::begin(destination, overwrite, Kind::Directory)
    }

    /// Where it lies until it is committed.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Where it will lie.
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Makes it appear. Files in a directory must have been synced; a file is synced here.
    pub fn commit(mut self) -> Result<()> {
        let there = check(&self.destination, self.overwrite, self.kind)?;
        let io = |action| {
            let path = self.destination.clone();
            move |e| Error::io(path, action, e)
        };
        File::open(&self.partial).and_then(|f| f.sync_all()).map_err(io("sync"))?;
        match (there, self.kind) {
            // An exchange leaves no moment without either of the two.
            (true, Kind::Directory) => exchange(&self.partial, &self.destination).map_err(io("replace"))?,
            _ => fs::rename(&self.partial, &self.destination).map_err(io("rename"))?,
        }
        // What was replaced lies in its place now, and goes with `self`.
        self.committed = !(there && self.kind == Kind::Directory);
        File::open(parent(&self.destination)).and_then(|f| f.sync_all()).map_err(io("sync the directory of"))
    }

    fn begin(destination: &Path, overwrite: bool, kind: Kind) -> Result<Aside> {
        // A link is followed, so that what it points to is replaced, and not the link.
        let destination = match fs::canonicalize(destination) {
            Ok(path) => path,
            Err(e) if e.kind() == ErrorKind::NotFound => destination.to_path_buf(),
            Err(e) => return Err(Error::io(destination, "open", e)),
        };
        check(&destination, overwrite, kind)?;
        let Some(name) = destination.file_name() else {
            let help = Some("give the name of a file or directory".to_string());
            return Err(Error::location(destination.display(), "this can't be written to", help));
        };
        let parent = parent(&destination).to_path_buf();
        fs::create_dir_all(&parent).map_err(|e| Error::io(&parent, "create the directory", e))?;
        let prefix = partial_prefix(name);
        remove_remains(&parent, &prefix);
        let mut name = prefix;
        name.push(std::process::id().to_string());
        let partial = parent.join(name);
        let locked = lock_new(&partial, kind).map_err(|e| Error::io(&destination, "create", e))?;
        Ok(Aside { kind, destination, partial, overwrite, committed: false, _locked: locked })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.committed {
            // Whoever dropped it has an error to report already; what stays is removed by the next writer.
            let _ = match self.kind {
                Kind::File => fs::remove_file(&self.partial),
                Kind::Directory => fs::remove_dir_all(&self.partial),
            };
        }
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn partial_prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".partial-");
    prefix
}

/// Whether there is something to be replaced at the destination; an error if that may not be done.
fn check(destination: &Path, overwrite: bool, kind: Kind) -> Result<bool> {
    let there = match fs::metadata(destination) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::io(destination, "open", e)),
        Ok(metadata) => metadata,
    };
    let refuse = |message: &str, help: &str| {
        Err(Error::location(destination.display(), message.to_string(), Some(help.to_string())))
    };
    if !there.is_dir() {
        return match kind {
            Kind::Directory => {
                refuse("a directory of files is to be written, and this is a file", "name another directory")
            }
            Kind::File if !there.is_file() => refuse("this is not a file", "name another file"),
            Kind::File if overwrite => Ok(true),
            Kind::File => refuse("the file exists", "name another file, or give --overwrite to replace it"),
        };
    }
    let entries = fs::read_dir(destination).map_err(|e| Error::io(destination, "list", e))?;
    match (kind, overwrite) {
        (Kind::File, _) => refuse("a file is to be written, and this is a directory", "name another file"),
        // rename(2) replaces an empty directory.
        (Kind::Directory, _) if entries.count() == 0 => Ok(false),
        (Kind::Directory, false) => refuse(
            "the directory exists and is not empty",
            "name another directory, or give --overwrite to replace it",
        ),
        // Whatever else it holds, palais did not write it.
        (Kind::Directory, true) if !destination.join(manifest::FILE_NAME).is_file() => refuse(
            &format!("the directory is no dataset: it has no {}", manifest::FILE_NAME),
            "only a dataset is replaced; remove the directory, or name another one",
        ),
        (Kind::Directory, true) => Ok(true),
    }
}

/// Creates a file or directory that did not exist, and locks it. Whoever cleans up may take the moment between the
/// two for a killed process, and remove it; then it is made again.
fn lock_new(path: &Path, kind: Kind) -> io::Result<File> {
    let mut tries = 0;
    loop {
        let made = match kind {
            Kind::File => File::create_new(path).map(drop),
            Kind::Directory => fs::create_dir(path),
        };
        match made {
            Err(e) if e.kind() == ErrorKind::AlreadyExists && (1..100).contains(&tries) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            made => made?,
        }
        tries += 1;
        let file = match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            file => file?,
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
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            let _ = match file.metadata() {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            };
        }
    }
}

/// Exchanges two directories.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let name = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (from, to) = (name(a)?, name(b)?);
    // SAFETY: both names are C strings that live as long as the call.
    let result = unsafe {
        libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::RENAME_EXCHANGE)
    };
    if result == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        // The file system can't exchange.
        e if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => exchange_in_steps(a, b),
        e => Err(e),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    exchange_in_steps(a, b)
}

/// Exchanges two directories with a moment in which `b` is missing.
fn exchange_in_steps(a: &Path, b: &Path) -> io::Result<()> {
    let mut name = a.as_os_str().to_os_string();
    name.push("-replaced");
    let old = PathBuf::from(name);
    fs::rename(b, &old)?;
    if let Err(e) = fs::rename(a, b) {
        fs::rename(&old, b)?;
        return Err(e);
    }
    fs::rename(&old, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_committed_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        let (aside, mut file) = Aside::file(&path, false).unwrap();
        io::Write::write_all(&mut file, b"rows").unwrap();
        assert!(!path.exists() && aside.path().exists());
        aside.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"rows");
        assert_eq!(names(dir.path()), ["x.csv"]);
        let deep = dir.path().join("new/er/x");
        Aside::file(&deep, false).unwrap().0.commit().unwrap();
        assert!(deep.exists());
        fs::remove_dir_all(dir.path().join("new")).unwrap();
        let error = Aside::file(&path, false).unwrap_err().to_string();
        assert!(error.contains("the file exists") && error.contains("--overwrite"), "{error}");
        let (aside, _) = Aside::file(&path, true).unwrap();
        drop(aside);
        assert_eq!((fs::read(&path).unwrap(), names(dir.path())), (b"rows".to_vec(), vec!["x.csv".into()]));
        Aside::file(&path, true).unwrap().0.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    /// Writes a dataset of one file.
    fn dataset(path: &Path, overwrite: bool, file: &str) -> Result<()> {
        let aside = Aside::directory(path, overwrite)?;
        fs::write(aside.path().join(file), file).unwrap();
        fs::write(aside.path().join(manifest::FILE_NAME), "{}").unwrap();
        aside.commit()
    }

    #[test]
    fn a_dataset_is_replaced_only_when_asked_and_only_if_it_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        fs::create_dir(&path).unwrap();
        dataset(&path, false, "a").unwrap();
        assert!(dataset(&path, false, "b").unwrap_err().to_string().contains("not empty"));
        assert_eq!(names(&path), [manifest::FILE_NAME, "a"]);
        dataset(&path, true, "b").unwrap();
        assert_eq!(names(&path), [manifest::FILE_NAME, "b"]);
        fs::remove_file(path.join(manifest::FILE_NAME)).unwrap();
        assert!(dataset(&path, true, "c").unwrap_err().to_string().contains("no dataset"));
        assert!(Aside::file(&path, true).unwrap_err().to_string().contains("is a directory"));
        fs::write(dir.path().join("f"), "").unwrap();
        assert!(dataset(&dir.path().join("f"), true, "c").unwrap_err().to_string().contains("is a file"));
        assert_eq!(names(dir.path()), ["d", "f"]);
    }

    #[test]
    fn the_slow_way_to_exchange_leaves_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        fs::write(a.join("new"), "").unwrap();
        exchange_in_steps(&a, &b).unwrap();
        assert_eq!((names(&a), names(&b), names(dir.path()).len()), (vec![], vec!["new".to_string()], 2));
    }

    #[test]
    fn remains_are_removed_and_work_in_progress_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        let working = Aside::directory(&path, false).unwrap();
        let busy = working.path().with_file_name(".d.partial-1");
        fs::rename(working.path(), &busy).unwrap();
        let remains = dir.path().join(".d.partial-2");
        fs::create_dir(&remains).unwrap();
        fs::write(remains.join("part"), "half").unwrap();
        fs::write(dir.path().join(".d.partial-3x"), "somebody's own").unwrap();
        let next = Aside::directory(&path, false).unwrap();
        assert!(busy.exists() && !remains.exists() && next.path().exists());
        drop(next);
        drop(working);
        assert_eq!(names(dir.path()), [".d.partial-1", ".d.partial-3x"]);
    }

    #[test]
    fn a_link_stays_and_what_it_points_to_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("real/x", &link).unwrap();
        fs::write(dir.path().join("real/x"), "old").unwrap();
        Aside::file(&link, true).unwrap().0.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(&dir.path().join("real")), ["x"]);
    }
}
