//! Directories outside of which this process touches no files, for one that serves others.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The directories, without links; none if all files may be touched.
static ROOTS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Allows files below these directories alone, from now on and for ever; all files if there are none.
///
/// # Errors
/// One does not exist.
pub fn allow(roots: &[PathBuf]) -> Result<()> {
    let real = |root: &PathBuf| root.canonicalize().map_err(|e| Error::io(root, "find the data root", e));
    let roots = roots.iter().map(real).collect::<Result<Vec<_>>>()?;
    if !roots.is_empty() {
        // Whoever has asked first decides.
        let _ = ROOTS.set(roots);
    }
    Ok(())
}

/// Whether a path may be touched. Links are followed; of what does not exist yet the directory counts.
///
/// # Errors
/// It lies elsewhere.
pub fn check(path: &Path) -> Result<()> {
    let Some(roots) = ROOTS.get() else { return Ok(()) };
    match lies_below(path, roots) {
        true => Ok(()),
        false => Err(Error::location(
            path.display(),
            "this lies outside of the directories that this node serves",
            Some("data_root in the node's file names them".into()),
        )),
    }
}

fn lies_below(path: &Path, roots: &[PathBuf]) -> bool {
    let Ok(absolute) = std::path::absolute(path) else { return false };
    let mut missing: Vec<&OsStr> = Vec::new();
    for known in absolute.ancestors() {
        if let Ok(real) = known.canonicalize() {
            let whole = missing.iter().rev().fold(real, |path, name| path.join(name));
            return roots.iter().any(|root| whole.starts_with(root));
        }
        match known.file_name() {
            Some(name) => missing.push(name),
            // What does not exist can't be left again.
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_do_not_lead_outside() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for dir in ["data/a", "other"] {
            std::fs::create_dir_all(home.join(dir)).unwrap();
        }
        std::fs::write(home.join("other/x.csv"), "1").unwrap();
        std::os::unix::fs::symlink(home.join("other"), home.join("data/link")).unwrap();
        std::os::unix::fs::symlink(home.join("data/a"), home.join("other/back")).unwrap();
        let roots = [home.join("data")];
        for (path, inside) in [
            ("data", true),
            ("data/a", true),
            ("data/a/new/x.csv", true),
            ("data/a/../a/x", true),
            ("other/back/x", true),
            ("other/x.csv", false),
            ("data/../other/x.csv", false),
            ("data/link/x.csv", false),
            ("data/link/new", false),
            ("data/none/../../other/x.csv", false),
            ("database", false),
        ] {
            assert_eq!(lies_below(&home.join(path), &roots), inside, "{path}");
        }
        assert!(!lies_below(Path::new("/"), &roots));
        assert!(!lies_below(Path::new(""), &roots));
    }
}
