//! Renames that leave no moment without either of two, where the system has them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Exchanges two directories.
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(done) = rename_with(a, b, libc::RENAME_EXCHANGE) {
        return done;
    }
    exchange_in_steps(a, b)
}

/// Renames a file, unless there is one of the new name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(done) = rename_with(from, to, libc::RENAME_NOREPLACE) {
        return done;
    }
    fs::rename(from, to)
}

/// Renames as the flags say; `None` where the file system can't.
#[cfg(target_os = "linux")]
fn rename_with(from: &Path, to: &Path, flags: libc::c_uint) -> Option<io::Result<()>> {
    use std::os::unix::ffi::OsStrExt;

    let name = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes());
    let (Ok(from), Ok(to)) = (name(from), name(to)) else { return None };
    // SAFETY: both names are C strings that live as long as the call.
    let result =
        unsafe { libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) };
    if result == 0 {
        return Some(Ok(()));
    }
    match io::Error::last_os_error() {
        e if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => None,
        e => Some(Err(e)),
    }
}

/// Exchanges two directories with a moment in which `b` is missing.
pub fn exchange_in_steps(a: &Path, b: &Path) -> io::Result<()> {
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
