//! What lies in a directory.

use std::fs;
use std::path::Path;

/// The names in a directory, in order.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory can be listed");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
