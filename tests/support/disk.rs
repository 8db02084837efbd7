//! Disks that are full or can't be written.

use std::path::Path;
use std::process::Command;

/// A file system of its own, in memory, as small as 1 MiB. It needs root.
pub struct Disk {
    home: tempfile::TempDir,
}

impl Disk {
    /// A small empty one; `None`, with the reason printed, where it can't be mounted.
    pub fn small() -> Option<Disk> {
        let disk = Disk { home: tempfile::tempdir().expect("a temporary directory can be made") };
        let mounted = disk.mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
        if !mounted {
            eprintln!("skipped: mounting a tmpfs takes root");
        }
        mounted.then_some(disk)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// Changes how it is mounted.
    pub fn remount(&self, options: &str) {
        assert!(self.mount(&["-o", &format!("remount,{options}")]), "a tmpfs can be remounted");
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let done = Command::new("mount").args(arguments).arg(self.path()).output();
        done.is_ok_and(|done| done.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
