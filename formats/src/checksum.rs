//! Compares files with their checksums.

use schema::{FileEntry, FileSet};

use crate::error::{Error, Result};
use crate::registry::format;
use crate::store::input::Input;

/// Compares every checksum of a table's files with their bytes: those that lie in the files, and those of a manifest. The
/// number of those compared.
///
/// # Errors
/// The first that does not agree, and a file of which no checksum is known.
pub fn check(files: &FileSet) -> Result<u64> {
    let format = format(&files.format.encoding)?;
    let mut compared = 0;
    for file in &files.files {
        let listed = file.listed.as_ref().map(|listed| check_listed(file, listed.crc32)).transpose()?;
        let within = format.check(file)?;
        if listed.is_none() && within.is_none() {
            let message = format!("no checksum of this file is known: {} has none", format.name());
            let help = "files of buren have checksums, and so has the manifest of a dataset".to_string();
            return Err(Error::location(file.path.display(), message, Some(help)));
        }
        compared += u64::from(listed.is_some()) + within.unwrap_or(0);
    }
    Ok(compared)
}

/// Compares the bytes of a file with the checksum that its manifest has.
fn check_listed(file: &FileEntry, expected: u32) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let input = Input::of(file)?;
    let mut hasher = crc32fast::Hasher::new();
    for start in (0..file.bytes).step_by(PIECE as usize) {
        hasher.update(&input.read_range(&(start..(start + PIECE).min(file.bytes)))?);
    }
    let found = hasher.finalize();
    if found != expected {
        let message = format!("its checksum is {found:08x}, and the manifest says {expected:08x}");
        return Err(Error::corrupt(message).at(&file.path));
    }
    Ok(())
}
