//! Paths that are followed without leaving some directories.
//!
//! Linux does it in one call (openat2(2) with RESOLVE_BENEATH) for paths whose links are relative and stay below the
//! directory. For other ones each name is looked at below the directory that it is known to be in. Links are followed
//! here: one that leads elsewhere is refused before anything there is looked at. Without openat2 the handle is checked
//! that was opened.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::outside;
use crate::error::{Error, Result};

/// So many links are followed in a path: the bound of Linux.
const LINKS: usize = 40;
/// So often is tried again what the system can't tell while directories are moved.
const TRIES: usize = 32;

/// Set where the system has no openat2(2).
static IS_OLD: AtomicBool = AtomicBool::new(false);

/// A directory.
struct Root {
    /// Without links.
    path: PathBuf,
    /// As it was given, absolute.
    written: PathBuf,
    /// It, opened.
    handle: File,
}

/// Directories, of which each may lie in another one.
pub struct Roots(Vec<Root>);

/// `struct open_how` of openat2(2).
#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

impl Root {
    /// Opens what lies `below`, with these flags of open(2). Links are followed if they are relative and stay below, or none
    /// is. EXDEV says that the path may lead elsewhere.
    fn open(&self, below: &Path, flags: i32, follow: bool) -> io::Result<File> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let name = CString::new(below.as_os_str().as_bytes())?;
        if !IS_OLD.load(Ordering::Relaxed) {
            return self.open_beneath(&name, flags, follow);
        }
        if follow {
            return Err(io::Error::from_raw_os_error(libc::EXDEV));
        }
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the descriptor is open as long as `self` lives, and the name is a C string for the length of the call.
        let opened = unsafe { libc::openat(self.handle.as_raw_fd(), name.as_ptr(), flags) };
        let opened = owned(opened.into())?;
        let expected = if below == Path::new(".") { self.path.clone() } else { self.path.join(below) };
        match real(&opened)? == expected {
            true => Ok(opened),
            false => Err(outside()),
        }
    }

    fn open_beneath(&self, name: &CStr, flags: i32, follow: bool) -> io::Result<File> {
        let links = if follow { 0 } else { libc::RESOLVE_NO_SYMLINKS };
        let how = OpenHow {
            flags: (flags | libc::O_CLOEXEC) as u64,
            mode: 0,
            resolve: libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS | links,
        };
        let mut tries = 0;
        loop {
            // SAFETY: the descriptor is open as long as `self` lives; the name is a C string and `how` a struct open_how of
            // that size, for the length of the call.
            let opened = unsafe {
                let (directory, size) = (self.handle.as_raw_fd(), size_of::<OpenHow>());
                libc::syscall(libc::SYS_openat2, directory, name.as_ptr(), &raw const how, size)
            };
            match owned(opened) {
                // Something was renamed meanwhile.
                Err(e) if e.raw_os_error() == Some(libc::EAGAIN) && tries < TRIES => tries += 1,
                opened => return opened,
            }
        }
    }
}

impl Roots {
    /// Opens the directories.
    pub fn open(roots: &[PathBuf]) -> Result<Roots> {
        let open = |root: &PathBuf| {
            let failed = |e| Error::io(root, "find the data root", e);
            let flags = libc::O_PATH | libc::O_DIRECTORY;
            let (path, written) = (root.canonicalize().map_err(failed)?, std::path::absolute(root));
            let handle = File::options().read(true).custom_flags(flags).open(&path).map_err(failed)?;
            Ok(Root { path, written: written.map_err(failed)?.components().collect(), handle })
        };
        let roots: Vec<Root> = roots.iter().map(open).collect::<Result<_>>()?;
        // Some containers forbid what they do not know, instead of saying that they do not.
        if roots.iter().any(|root| root.open_beneath(c".", libc::O_PATH, true).is_err()) {
            IS_OLD.store(true, Ordering::Relaxed);
        }
        Ok(Roots(roots))
    }

    /// Opens a path with these flags of open(2).
    pub fn open_path(&self, path: &Path, flags: i32) -> io::Result<File> {
        let absolute = absolute(path)?;
        for root in &self.0 {
            let below = absolute.strip_prefix(&root.path).or_else(|_| absolute.strip_prefix(&root.written));
            match below.map(|below| root.open(below, flags, true)) {
                Ok(Err(e)) if matches!(e.raw_os_error(), Some(libc::EXDEV | libc::ELOOP)) => {}
                Ok(opened) => return opened,
                Err(_) => {}
            }
        }
        let (place, is_there) = self.follow(&absolute, flags & libc::O_NOFOLLOW == 0)?;
        let (root, below) = self.root_of(&place).ok_or_else(outside)?;
        match is_there {
            true => root.open(below, flags, false),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// A path without links, and whether there is something; of what does not exist, as far as there is something.
    pub fn place(&self, path: &Path) -> io::Result<(PathBuf, bool)> {
        self.follow(&absolute(path)?, true)
    }

    /// Whether what was opened lies below a directory.
    pub fn check_open(&self, file: &File) -> io::Result<()> {
        self.root_of(&real(file)?).map(|_| ()).ok_or_else(outside)
    }

    /// The directory that a path without links lies in, and the rest of the path.
    fn root_of<'a>(&self, path: &'a Path) -> Option<(&Root, &'a Path)> {
        self.0.iter().find_map(|root| Some((root, path.strip_prefix(&root.path).ok()?)))
    }

    /// Where a path has come to that lies in none of the directories: at one of them, above one, or elsewhere.
    fn come_to(&self, path: PathBuf) -> io::Result<PathBuf> {
        if let Some(root) = self.0.iter().find(|root| root.written == path) {
            return Ok(root.path.clone());
        }
        let is_near = |root: &Root| {
            path.starts_with(&root.path) || root.path.starts_with(&path) || root.written.starts_with(&path)
        };
        match self.0.iter().any(is_near) {
            true => Ok(path),
            false => Err(outside()),
        }
    }

    /// Follows an absolute path name by name. What lies above the directories is not looked at, but taken by its name.
    fn follow(&self, absolute: &Path, follow_last: bool) -> io::Result<(PathBuf, bool)> {
        let (mut at, mut is_there, mut links) = (PathBuf::from("/"), true, 0);
        let mut ahead = Vec::new();
        push(absolute, &mut ahead);
        while let Some(name) = ahead.pop() {
            if name == ".." {
                if !is_there {
                    return Err(io::ErrorKind::NotFound.into());
                }
                at.pop();
                at = self.come_to(at)?;
                continue;
            }
            let next = at.join(&name);
            let Some((root, _)) = self.root_of(&at) else {
                at = self.come_to(next)?;
                continue;
            };
            if !is_there {
                at = next;
                continue;
            }
            let below = next.strip_prefix(&root.path).map_err(io::Error::other)?;
            let handle = match root.open(below, libc::O_PATH | libc::O_NOFOLLOW, false) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    (at, is_there) = (next, false);
                    continue;
                }
                opened => opened?,
            };
            let kind = handle.metadata()?.file_type();
            if kind.is_symlink() && (follow_last || !ahead.is_empty()) {
                links += 1;
                if links > LINKS {
                    return Err(io::Error::from_raw_os_error(libc::ELOOP));
                }
                let target = link_of(&handle)?;
                if target.has_root() {
                    at = PathBuf::from("/");
                }
                push(&target, &mut ahead);
            } else if kind.is_dir() || ahead.is_empty() {
                at = next;
            } else {
                return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
            }
        }
        match self.root_of(&at) {
            Some(_) => Ok((at, is_there)),
            None => Err(outside()),
        }
    }
}

/// The path from the root of the file system. None can't be made of an empty one, which is nowhere.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path).map_err(|_| outside())
}

/// Puts the names of a path before those that are ahead, of which the last is the next.
fn push(path: &Path, ahead: &mut Vec<OsString>) {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        _ => None,
    });
    ahead.extend(names.map(OsStr::to_os_string));
}

/// What a link says that was opened with O_PATH.
fn link_of(handle: &File) -> io::Result<PathBuf> {
    let mut target = vec![0; libc::PATH_MAX as usize];
    // SAFETY: the descriptor is open as long as `handle` lives, the name is an empty C string, and `target` is room for as
    // many bytes as the call is told.
    let length = unsafe {
        libc::readlinkat(handle.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), target.len())
    };
    match usize::try_from(length) {
        // One of that length may have been cut.
        Ok(length) if length < target.len() => {
            target.truncate(length);
            Ok(OsString::from_vec(target).into())
        }
        Ok(_) => Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Where something lies that was opened.
fn real(file: &File) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The file of a descriptor that the system has given, or what it says instead.
fn owned(descriptor: libc::c_long) -> io::Result<File> {
    match i32::try_from(descriptor) {
        // SAFETY: the system has just opened it, and nobody else has it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
