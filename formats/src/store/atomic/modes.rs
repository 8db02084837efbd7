//! Who may read and write what is replaced: a file or directory that takes its place keeps that. What is in a new directory
//! has other names than what was in the old one, so it gets no more permissions than all of its kind had there.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use super::super::roots;
use super::make::open_partial;

/// The permissions and the owner of something, and the permissions of what is in it.
#[derive(Debug, Clone, Copy)]
pub struct Modes {
    mode: u32,
    user: u32,
    group: u32,
    is_dir: bool,
    held: Held,
}

/// The permissions that all regular files in a directory have, and all directories in it, at any depth. `None` where there
/// are none.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    files: Option<u32>,
    directories: Option<u32>,
}

impl Held {
    fn of(directory: &Path) -> Held {
        let mut held = Held::default();
        let take = |common: &mut Option<u32>, mode: u32| *common = Some(common.unwrap_or(0o777) & mode);
        let mut below = vec![directory.to_path_buf()];
        while let Some(directory) = below.pop() {
            let listed = roots::read_dir(&directory).and_then(|entries| {
                for entry in entries {
                    let entry = entry?;
                    let there = entry.metadata()?;
                    if there.is_dir() {
                        take(&mut held.directories, there.mode());
                        below.push(directory.join(entry.file_name()));
                    } else if there.is_file() {
                        take(&mut held.files, there.mode());
                    }
                }
                Ok(())
            });
            if listed.is_err() {
                // What can't be looked at may be for its owner alone.
                take(&mut held.files, 0o700);
            }
        }
        held
    }

    /// The permissions of those who may read all files. Who may not read one has none.
    fn of_readers(&self) -> u32 {
        let reads = self.files.unwrap_or(0o444) & 0o444;
        let enters = self.directories.unwrap_or(0o111) & 0o111;
        let both = reads & (enters << 2);
        both | (both >> 1) | (both >> 2)
    }
}

impl Modes {
    /// Those of what is there, if it is a file or a directory.
    pub fn of(path: &Path) -> Option<Modes> {
        let there = roots::metadata(path).ok().filter(|there| there.is_file() || there.is_dir())?;
        let (user, group) = (there.uid(), there.gid());
        let held = if there.is_dir() { Held::of(path) } else { Held::default() };
        Some(Modes { mode: there.mode() & 0o7777, user, group, is_dir: there.is_dir(), held })
    }

    /// The permissions of what is being written: its owner can write it, and others may no more than they might.
    pub fn while_written(&self) -> u32 {
        (self.mode & self.held.of_readers()) | if self.is_dir { 0o700 } else { 0o600 }
    }

    /// Takes from what is in a new directory the permissions that its like did not have in the old one.
    pub fn restrict(&self, directory: &Path) -> io::Result<()> {
        let Held { files, directories } = self.held;
        if files.is_none() && directories.is_none() {
            return Ok(());
        }
        let (files, directories) = (files.unwrap_or(0o777), directories.unwrap_or(0o777));
        let (mut seen, mut listed) = (vec![directory.to_path_buf()], 0);
        while listed < seen.len() {
            let directory = seen[listed].clone();
            listed += 1;
            for entry in roots::read_dir(&directory)? {
                let entry = entry?;
                let (path, there) = (directory.join(entry.file_name()), entry.metadata()?);
                if there.is_dir() {
                    seen.push(path);
                } else if there.is_file() && there.mode() & 0o777 & !files != 0 {
                    restrict_to(&path, files)?;
                }
            }
        }
        // What is in a directory comes before it, which may be closed to its owner then.
        seen[1..].iter().rev().try_for_each(|path| restrict_to(path, directories))
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

/// Takes away the permissions that are not in `most`.
fn restrict_to(path: &Path, most: u32) -> io::Result<()> {
    // No link is followed that has come into its place.
    let there = open_partial(path)?;
    roots::check_open(&there)?;
    let made = there.metadata()?.mode() & 0o7777;
    match made & (most | 0o7000) {
        mode if mode == made => Ok(()),
        mode => there.set_permissions(Permissions::from_mode(mode)),
    }
}
