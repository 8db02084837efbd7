//! Globs: `*`, `?` and `[…]` match within a name, and `**` matches any number of directories.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ::glob::{MatchOptions, Pattern};

use super::list::{Found, Listing, collect, found, is_hidden, look_at, sort};
use super::suggest;
use crate::error::{Error, Result};
use crate::store::roots;

/// Whether the text has wildcards.
pub fn is_glob(location: &str) -> bool {
    location.contains(['*', '?', '['])
}

/// The text before and behind the only wildcard of a name, a `*`.
struct Ends(String, String);

impl Ends {
    fn of(pattern: &str) -> Option<Ends> {
        let (before, behind) = pattern.split_once('*')?;
        (!is_glob(before) && !is_glob(behind)).then(|| Ends(before.into(), behind.into()))
    }

    fn match_name(&self, name: &OsStr) -> bool {
        let (Ends(before, behind), name) = (self, name.as_bytes());
        name.strip_prefix(before.as_bytes()).is_some_and(|rest| rest.ends_with(behind.as_bytes()))
    }
}

/// One component of a glob.
enum Step {
    /// A name without wildcards.
    Name(PathBuf),
    /// A name with wildcards.
    Pattern { pattern: Pattern, hidden: bool, ends: Option<Ends> },
    /// `**`: any number of directories, none included.
    Any,
}

impl Step {
    /// Whether the step matches the name of a file or directory.
    fn fits(&self, name: &OsStr) -> bool {
        match self {
            Step::Name(own) => own.as_os_str() == name,
            Step::Any => !is_hidden(name),
            Step::Pattern { pattern, hidden, ends } => {
                let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
                (*hidden || !is_hidden(name))
                    && match ends {
                        Some(ends) => ends.match_name(name),
                        None => pattern.matches_with(&name.to_string_lossy(), options),
                    }
            }
        }
    }
}

/// A path with wildcards.
pub struct Glob {
    /// The directory before the first wildcard. Empty for the working directory.
    pub root: PathBuf,
    steps: Vec<Step>,
}

impl Glob {
    /// # Errors
    /// Brackets that don't close, `**` beside other characters, and `..` behind a wildcard.
    pub fn parse(location: &str) -> Result<Glob> {
        let mut root = PathBuf::new();
        let mut steps = Vec::new();
        for component in Path::new(location).components() {
            let text = component.as_os_str().to_str().unwrap_or_default();
            let wild = matches!(component, Component::Normal(_)) && is_glob(text);
            match wild {
                false if steps.is_empty() => root.push(component),
                false if component == Component::ParentDir => {
                    let help = "name the directory above without '..'".to_string();
                    return Err(Error::location(location, "'..' can't stand behind a wildcard", Some(help)));
                }
                false => steps.push(Step::Name(PathBuf::from(text))),
                // Two of them side by side are one.
                true if text == "**" && matches!(steps.last(), Some(Step::Any)) => {}
                true if text == "**" => steps.push(Step::Any),
                true => {
                    let pattern = Pattern::new(text).map_err(|e| {
                        let help = "quote a bracket as [[]; ** must stand alone between slashes".to_string();
                        Error::location(location, format!("the glob can't be read: {}", e.msg), Some(help))
                    })?;
                    let hidden = text.starts_with(['.', '_']);
                    steps.push(Step::Pattern { pattern, hidden, ends: Ends::of(text) });
                }
            }
        }
        Ok(Glob { root, steps })
    }

    /// Whether the glob matches a file. `below` has the names of its directories below the root, and its own name.
    pub fn matches(&self, below: &[&str]) -> bool {
        matches(&self.steps, below)
    }
}

fn matches(steps: &[Step], names: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        // A glob that matches a directory matches all files in it.
        return !names.iter().any(|name| is_hidden(name.as_ref()));
    };
    let Some((first, below)) = names.split_first() else { return false };
    match step {
        Step::Any if rest.is_empty() => matches(rest, names),
        Step::Any => matches(rest, names) || (step.fits(first.as_ref()) && matches(steps, below)),
        Step::Name(_) | Step::Pattern { .. } => step.fits(first.as_ref()) && matches(rest, below),
    }
}

/// Lists the files that a glob matches.
///
/// # Errors
/// The glob matches no file, or a directory can't be read.
pub fn list_glob(location: &str) -> Result<Listing> {
    let (root, files) = matching(location)?;
    if files.is_empty() {
        let base = or_here(&root);
        return Err(match roots::exists(base) {
            true => suggest::no_match(location, base),
            false => suggest::missing(base),
        });
    }
    Ok(Listing::Files { root, files })
}

/// The directory before the first wildcard, and the files that a glob matches. There may be none, nor the directory.
///
/// # Errors
/// A directory can't be read.
pub fn matching(location: &str) -> Result<(PathBuf, Vec<Found>)> {
    let Glob { root, steps } = Glob::parse(location)?;
    let mut files = Vec::new();
    match roots::metadata(or_here(&root)) {
        Ok(_) => walk(&root, &steps, &mut files)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io(or_here(&root), "open", e)),
    }
    sort(&mut files);
    Ok((root, files))
}

/// A directory, or the working directory if it has no name.
fn or_here(root: &Path) -> &Path {
    if root.as_os_str().is_empty() { Path::new(".") } else { root }
}

/// Follows the other steps of a glob below `dir`, which is empty for the working directory.
fn walk(dir: &Path, steps: &[Step], files: &mut Vec<Found>) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else {
        return collect(dir, &mut Vec::new(), files);
    };
    if let Step::Name(name) = step {
        let path = dir.join(name);
        return match roots::metadata(&path) {
            Ok(meta) => reached(path, &meta, rest, files),
            // Other directories that the glob matches may have it.
            Err(e)
                if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
            {
                Ok(())
            }
            Err(e) => Err(Error::io(path, "open", e)),
        };
    }
    if matches!(step, Step::Any) {
        if rest.is_empty() {
            return collect(dir, &mut Vec::new(), files);
        }
        walk(dir, rest, files)?;
    }
    let list = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let mut plain = Vec::new();
    for entry in roots::read_dir(list).map_err(|e| Error::io(list, "list", e))? {
        let entry = entry.map_err(|e| Error::io(list, "list", e))?;
        let name = entry.file_name();
        if !step.fits(&name) {
            continue;
        }
        let path = dir.join(&name);
        let kind = entry.file_type().map_err(|e| Error::io(&path, "list", e))?;
        if matches!(step, Step::Any) {
            // A link is followed if a name or a pattern matches it. `**` does not follow links, because a link may lead
            // back.
            if kind.is_dir() {
                walk(&path, steps, files)?;
            }
            continue;
        }
        let meta = if kind.is_symlink() {
            roots::metadata(&path).map_err(|e| Error::io(&path, "follow the link", e))?
        } else if kind.is_dir() {
            walk(&path, rest, files)?;
            continue;
        } else {
            if rest.is_empty() {
                plain.push(path);
            }
            continue;
        };
        reached(path, &meta, rest, files)?;
    }
    look_at(plain, files)
}

/// Handles a path that the steps so far match.
fn reached(path: PathBuf, meta: &Metadata, rest: &[Step], files: &mut Vec<Found>) -> Result<()> {
    if meta.is_dir() {
        return walk(&path, rest, files);
    }
    if rest.is_empty() && meta.is_file() {
        files.push(found(path, meta));
    }
    Ok(())
}
