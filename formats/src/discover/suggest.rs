//! Errors that suggest what the user may have meant.

use std::path::Path;

use schema::names::nearest;

use super::list::is_hidden;
use crate::error::Error;
use crate::store::roots;

/// The most entries of a directory that are read for a suggestion.
const LOOKED_THROUGH: usize = 10_000;

/// The names in `dir` that the user may see, in order.
fn names(dir: &Path) -> Vec<String> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let Ok(entries) = roots::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .take(LOOKED_THROUGH)
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| !is_hidden(name))
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The error that `path` does not exist. It names the first directory or file of the path that is missing, and those
/// that exist instead.
pub fn missing(path: &Path) -> Error {
    let mut there = Path::new("");
    let mut absent = path;
    for ancestor in path.ancestors().skip(1) {
        if ancestor.as_os_str().is_empty() || roots::exists(ancestor) {
            there = ancestor;
            break;
        }
        absent = ancestor;
    }
    let name = absent.file_name().unwrap_or(absent.as_os_str()).to_string_lossy();
    let message = match absent == path {
        true => "there is no such file or directory".to_string(),
        false => format!("there is no directory {}", absent.display()),
    };
    let names = names(there);
    let near = nearest(&name, names.iter().map(String::as_str));
    let help = match near.as_slice() {
        [] => listing(there, &names),
        near => {
            let near: Vec<_> = near.iter().map(|n| there.join(n).display().to_string()).collect();
            Some(format!("did you mean {}?", near.join(" or ")))
        }
    };
    Error::location(path.display(), message, help)
}

/// The error that `dir` holds no data file.
pub fn no_data(dir: &Path) -> Error {
    let hidden = roots::read_dir(dir).map(|entries| entries.take(LOOKED_THROUGH).count()).unwrap_or(0);
    let help = match (hidden, names(dir).is_empty()) {
        (0, _) => "it is empty".to_string(),
        (_, true) => "files whose names begin with '.' or '_' are left out; name one to read it".to_string(),
        (_, false) => "there are only directories in it".to_string(),
    };
    Error::location(dir.display(), "the directory holds no data files", Some(help))
}

/// The error that no file matches a glob. `base` is the directory before its first wildcard, which exists.
pub fn no_match(location: &str, base: &Path) -> Error {
    Error::location(location, "no file matches the glob", listing(base, &names(base)))
}

fn listing(dir: &Path, names: &[String]) -> Option<String> {
    let shown = 5;
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    match names {
        [] => None,
        names if names.len() <= shown => Some(format!("{} holds {}", dir.display(), names.join(", "))),
        names => Some(format!(
            "{} holds {} and {} more",
            dir.display(),
            names[..shown].join(", "),
            names.len() - shown
        )),
    }
}
