//! Lists the files that a location in a store names.

use std::path::Path;

use super::glob::{Glob, is_glob};
use super::list::{Found, Listing, is_hidden, sort};
use crate::error::{Error, Result};
use crate::store::remote::{Object, parts, store_of, unknown_scheme};

/// Lists the files that a location of the form `scheme://name` names. `None` if the location has another form.
///
/// # Errors
/// There is no store for the scheme, or no such file.
pub fn list(location: &str) -> Option<Result<Listing>> {
    parts(location)?;
    if store_of(location).is_none() {
        return Some(Err(unknown_scheme(location, "copy the files here first")));
    }
    Some(list_known(location))
}

/// The file that a location names as it is, whatever characters its name has. `None` if there is none, or no store.
///
/// # Errors
/// The store can't be asked.
pub fn file(location: &str) -> Result<Option<Listing>> {
    let Some((store, name)) = store_of(location) else { return Ok(None) };
    if name.is_empty() || name.ends_with('/') {
        return Ok(None);
    }
    let scheme = &location[..location.len() - name.len()];
    let object = store.stat(name).map_err(|e| Error::io(location, "open", e))?;
    let root = || Path::new(location).parent().unwrap_or(Path::new("")).to_path_buf();
    Ok(object.map(|object| Listing::Files { root: root(), files: vec![found(scheme, object)] }))
}

fn list_known(location: &str) -> Result<Listing> {
    let Some((_, name)) = store_of(location) else { return Err(none(location)) };
    let scheme = &location[..location.len() - name.len()];
    let (root, files) = if is_glob(name) {
        let glob = Glob::parse(name)?;
        let root = format!("{scheme}{}", glob.root.display());
        let mut files = all_below(location, &root)?;
        files.retain(|(names, _)| glob.matches(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        (root, files)
    } else {
        let mut files = all_below(location, location)?;
        if files.iter().any(|(names, _)| *names == [schema::manifest::FILE_NAME]) {
            return Ok(Listing::Dataset(format!("{scheme}{}", name.trim_end_matches('/')).into()));
        }
        files.retain(is_shown);
        (location.to_string(), files)
    };
    if files.is_empty() {
        return Err(none(location));
    }
    Ok(Listing::Files { root: root.into(), files: in_order(files) })
}

/// Lists all files below a directory of a store that are not hidden. `None` for a path of another form.
pub fn below(directory: &Path) -> Option<Result<Vec<Found>>> {
    let location = directory.to_str()?;
    store_of(location)?;
    Some(all_below(location, location).map(|mut files| {
        files.retain(is_shown);
        in_order(files)
    }))
}

/// Lists the files below a directory. Each comes with the names of its directories below that one, and its own name.
/// Errors name `location`.
fn all_below(location: &str, directory: &str) -> Result<Vec<(Vec<String>, Found)>> {
    let Some((store, name)) = store_of(directory) else { return Err(none(location)) };
    let scheme = &directory[..directory.len() - name.len()];
    let prefix = match name.trim_end_matches('/') {
        "" => String::new(),
        name => format!("{name}/"),
    };
    let objects = store.list(&prefix).map_err(|e| Error::io(location, "list", e))?;
    // Some stores keep an empty object for a directory.
    let objects = objects.into_iter().filter(|object| !object.name.ends_with('/'));
    let files = objects.filter_map(|object| {
        let names = object.name.strip_prefix(&prefix)?.split('/').map(String::from).collect();
        Some((names, found(scheme, object)))
    });
    Ok(files.collect())
}

fn is_shown((names, _): &(Vec<String>, Found)) -> bool {
    !names.iter().any(|name| is_hidden(name.as_ref()))
}

fn in_order(files: Vec<(Vec<String>, Found)>) -> Vec<Found> {
    let mut files = files.into_iter().map(|(_, found)| found).collect();
    sort(&mut files);
    files
}

fn found(scheme: &str, object: Object) -> Found {
    let path = format!("{scheme}{}", object.name).into();
    Found { path, bytes: object.bytes, modified_ns: object.modified_ns }
}

fn none(location: &str) -> Error {
    let message = match is_glob(location) {
        true => "no file in the store matches the glob",
        false => "there is no such file or directory in the store",
    };
    Error::location(location, message, None)
}
