//! Who may read and write what is replaced: a file or directory that takes its place keeps that.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use super::super::roots;

/// The permissions and the owner of something.
#[derive(Debug, Clone, Copy)]
pub struct Modes {
    mode: u32,
    user: u32,
    group: u32,
    is_dir: bool,
}

impl Modes {
    /// Those of what is there, if it is a file or a directory.
    pub fn of(path: &Path) -> Option<Modes> {
        let there = roots::metadata(path).ok().filter(|there| there.is_file() || there.is_dir())?;
        let (user, group) = (there.uid(), there.gid());
        Some(Modes { mode: there.mode() & 0o7777, user, group, is_dir: there.is_dir() })
    }

    /// The permissions of what is being written: its owner can write it, and others may no more than they might.
    pub fn while_written(&self) -> u32 {
        (self.mode & 0o777) | if self.is_dir { 0o700 } else { 0o600 }
    }

    /// Gives them to what is whole. The owner only as far as the system lets this process.
    pub fn give(&self, whole: &File) -> io::Result<()> {
        let is_theirs = |there: &Metadata| (there.uid(), there.gid()) == (self.user, self.group);
        if !is_theirs(&whole.metadata()?) {
            // Who is not root may not give files away, but may belong to the group.
            let _ = fchown(whole.as_fd(), Some(self.user), Some(self.group))
                .or_else(|_| fchown(whole.as_fd(), None, Some(self.group)));
        }
        let made = whole.metadata()?;
        // Nothing runs as somebody else who has not made it.
        let mode = if is_theirs(&made) { self.mode } else { self.mode & 0o777 };
        match made.mode() & 0o7777 == mode {
            true => Ok(()),
            false => whole.set_permissions(Permissions::from_mode(mode)),
        }
    }
}
