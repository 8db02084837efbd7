//! Files and directories that appear in a store. Until they are whole they lie in the directory for temporary files.
//!
//! A store puts one file at a time, and removes none. So a directory appears file by file, the manifest first. A reader
//! that comes before all of it is there, or after a failure, is told which file is missing. One that is not empty is
//! not replaced.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schema::manifest;

use super::super::ends::Known;
use super::super::remote::{self, Store};
use super::temporary::Kind;
use super::{Overwrite, check_file, is_a_directory, no_name, refused};
use crate::error::{Error, Result};
use crate::panics;
use crate::parallel;

/// A place in a store.
pub(super) struct InStore {
    store: Arc<dyn Store>,
    /// `scheme://`.
    scheme: String,
    /// The name of the file, or that of the directory without a slash behind it.
    name: String,
}

impl std::fmt::Debug for InStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("InStore").field(&self.location()).finish()
    }
}

impl InStore {
    /// The place of a location; `None` of a path of another form.
    ///
    /// # Errors
    /// There is no store for its scheme, or it names nothing.
    pub fn of(written: &Path, kind: Kind) -> Result<Option<InStore>> {
        let Some(location) = written.to_str().filter(|_| remote::is_location(written)) else {
            return Ok(None);
        };
        let Some((store, name)) = remote::store_of(location) else {
            let help = "write to a directory here, and copy the files from there";
            return Err(remote::unknown_scheme(location, help));
        };
        let bare = name.trim_end_matches('/');
        if bare.is_empty() || (kind == Kind::File && bare != name) {
            return Err(no_name(written));
        }
        let scheme = location[..location.len() - name.len()].to_string();
        Ok(Some(InStore { store, scheme, name: bare.to_string() }))
    }

    /// The location, for messages.
    pub fn location(&self) -> PathBuf {
        self.path(&self.name)
    }

    fn path(&self, name: &str) -> PathBuf {
        format!("{}{name}", self.scheme).into()
    }

    /// The name of what is written until it is put. One location has one name, so that two statements that write the
    /// same are told. The next writer removes what a killed process left.
    pub fn temporary_name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.scheme, &self.name).hash(&mut hasher);
        format!("palais-store-{:016x}", hasher.finish())
    }

    /// Finds out whether something may appear there.
    ///
    /// # Errors
    /// It may not, or the store can't be asked.
    pub fn check(&self, overwrite: Overwrite, kind: Kind) -> Result<()> {
        let location = self.location();
        if !self.store.takes_files() {
            let help = "write to a directory here, or to another store";
            return Err(refused(&location, "this store is read only", help));
        }
        let there = self.store.stat(&self.name).map_err(|e| Error::io(&location, "open", e))?;
        if there.is_some() {
            return check_file(&location, overwrite, kind);
        }
        let below = self.store.list(&format!("{}/", self.name));
        let below = below.map_err(|e| Error::io(&location, "list", e))?;
        match kind {
            _ if below.is_empty() => Ok(()),
            Kind::File | Kind::Device => Err(is_a_directory(&location)),
            Kind::Directory => {
                let message = "the directory is not empty, and nothing can be removed in a store";
                let help = "name another directory, or remove the files with a tool of the store";
                Err(refused(&location, message, help))
            }
        }
    }

    /// Puts what is whole.
    ///
    /// # Errors
    /// Those of the store. Of a directory some files may be there then.
    pub fn put(&self, whole: &Path, kind: Kind) -> Result<()> {
        match kind {
            Kind::File | Kind::Device => self.put_file(&self.name, whole),
            Kind::Directory => self.put_directory(whole),
        }
    }

    fn put_directory(&self, directory: &Path) -> Result<()> {
        let names = names_below(directory).map_err(|e| Error::io(directory, "list", e))?;
        let (first, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name == manifest::FILE_NAME);
        let done = AtomicUsize::new(0);
        let put = |name: &String| {
            self.put_file(&format!("{}/{name}", self.name), &directory.join(name))?;
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        // Without a manifest the files that are there would be taken for all.
        let put_all = || {
            first.iter().try_for_each(put)?;
            parallel::each(others.len(), |number| put(&others[number])).map(drop)
        };
        put_all().map_err(|e| match done.load(Ordering::Relaxed) {
            0 => e,
            done => {
                let all = first.len() + others.len();
                let message = format!("only {done} of {all} files were written into the store: {e}");
                let help = "remove them with a tool of the store before it is written again";
                refused(&self.location(), message, help)
            }
        })
    }

    fn put_file(&self, name: &str, file: &Path) -> Result<()> {
        let path = self.path(name);
        let put = panics::catch(|| self.store.put(name, file));
        let put = put.unwrap_or_else(|panic| Err(io::Error::other(panic.text)));
        Known::lock().forget(&path);
        put.map_err(|e| Error::io(&path, "write", e))
    }
}

/// The names of all files below a directory, in their order.
fn names_below(directory: &Path) -> io::Result<Vec<String>> {
    let (mut names, mut left) = (Vec::new(), vec![String::new()]);
    while let Some(below) = left.pop() {
        for entry in fs::read_dir(directory.join(&below))? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|_| ErrorKind::InvalidData)?;
            let name = format!("{below}{name}");
            match entry.file_type()?.is_dir() {
                true => left.push(format!("{name}/")),
                false => names.push(name),
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}
