//! Lists the files that a location names. See `glob` for wildcards, `braces` for lists, and `remote` for stores.
//!
//! Listing is one pass over the directories. The size and time of each file are taken here, once.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schema::FileEntry;

use super::glob::{is_glob, list_glob, matching};
use super::{braces, remote, suggest};
use crate::error::{Error, Result};
use crate::parallel;
use crate::store::input::{Input, STDIN};
use crate::store::remote::is_remote;
use crate::store::roots;

/// A file at the moment when it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path, which begins with the text that the user wrote.
    pub path: PathBuf,
    /// The size in bytes. 0 for a pipe or a device, which is read like standard input.
    pub bytes: u64,
    /// The time of the last change, in nanoseconds since 1970.
    pub modified_ns: i64,
}

impl From<Found> for FileEntry {
    /// The file of a table, of which nothing else is known.
    fn from(found: Found) -> FileEntry {
        FileEntry::new(found.path, found.bytes, found.modified_ns)
    }
}

/// The files of a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// A directory with a manifest.
    Dataset(PathBuf),
    /// One or more files, in bytewise order of their paths.
    Files {
        /// The directory below which the names of directories may be hive columns.
        root: PathBuf,
        /// The files. There is at least one.
        files: Vec<Found>,
    },
}

/// Lists the files that `location` names. It is `-`, a file, a directory, a dataset, a glob, a list in braces, or a
/// location in a store.
///
/// A path that exists is taken as it is, so that a file called `a[1].csv` can be read. Only if there is no such path,
/// `*`, `?`, `[…]` and `{…}` have a meaning.
///
/// In directories, and for wildcards, names that begin with `.` or `_` are left out, except for `_key=value`. Pipes and
/// devices are left out too: to read a pipe, name it. Each location in braces must name a file.
pub fn list(location: &str) -> Result<Listing> {
    let path = Path::new(location);
    if location == STDIN {
        return Ok(Listing::Files { root: PathBuf::new(), files: vec![stdin()?] });
    }
    match roots::metadata(path) {
        Ok(meta) => return list_one(path, &meta),
        Err(e) if is_absent(&e) => {}
        Err(e) => return Err(Error::io(path, "open", e)),
    }
    if let Some(listing) = remote::file(location)? {
        return Ok(listing);
    }
    let several = braces::expand(location)?;
    if !several.is_empty() {
        return list_several(location, &several);
    }
    match remote::list(location) {
        Some(listing) => listing,
        None if is_glob(location) => list_glob(location),
        None => Err(suggest::missing(path)),
    }
}

/// Whether there is no file of this name. A list of many files, or a glob, may be no possible name.
fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// Lists the files of several locations in the order of their paths. A file is there as often as locations name it.
fn list_several(location: &str, several: &[String]) -> Result<Listing> {
    let mut all = Vec::new();
    for one in several {
        match list(one)? {
            Listing::Files { files, .. } => all.extend(files),
            Listing::Dataset(directory) => {
                let message = "a dataset can't be read together with other files, as one table";
                let help = "join them with UNION ALL".to_string();
                return Err(Error::location(directory.display(), message, Some(help)));
            }
        }
    }
    in_order(&mut all);
    if let Some([pipe, _]) = all.array_windows().find(|[a, b]| a.path == b.path && is_pipe(a)) {
        let message = "it is listed twice, and what comes in can be read once";
        return Err(Error::location(pipe.path.display(), message, Some("list it once".into())));
    }
    Ok(Listing::Files { root: braces::root(location).into(), files: all })
}

/// Whether a file is standard input, a pipe or a device.
fn is_pipe(file: &Found) -> bool {
    let is_file = || roots::metadata(&file.path).is_ok_and(|meta| meta.is_file());
    file.path.as_os_str() == STDIN || (file.bytes == 0 && !is_remote(&file.path) && !is_file())
}

/// The paths of the files that a location names. None if there are none; a location in braces may name some of them.
pub fn paths(location: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(location);
    let of = |files: Vec<Found>| files.into_iter().map(|file| file.path).collect();
    match roots::metadata(path) {
        Ok(meta) if meta.is_dir() => return below(path).map(of),
        Ok(_) => return Ok(vec![path.to_path_buf()]),
        Err(e) if is_absent(&e) => {}
        Err(e) => return Err(Error::io(path, "open", e)),
    }
    if is_remote(path) {
        return super::files(location).map(|files| files.into_iter().map(|file| file.path).collect());
    }
    let several = braces::expand(location)?;
    if !several.is_empty() {
        let each = several.iter().map(|one| paths(one)).collect::<Result<Vec<_>>>()?;
        return Ok(each.concat());
    }
    if is_glob(location) { matching(location).map(|(_, files)| of(files)) } else { Ok(Vec::new()) }
}

/// Lists a path in which no character is a wildcard.
pub fn list_path(path: &Path) -> Result<Listing> {
    list_one(path, &roots::metadata(path).map_err(|e| Error::io(path, "open", e))?)
}

fn list_one(path: &Path, meta: &Metadata) -> Result<Listing> {
    if meta.is_dir() {
        return list_dir(path);
    }
    let root = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok(Listing::Files { root, files: vec![found(path.to_path_buf(), meta)] })
}

/// Standard input: with its size if it is a file, else a pipe.
fn stdin() -> Result<Found> {
    let input = Input::open(Path::new(STDIN))?;
    let bytes = if input.is_pipe() { 0 } else { input.len()? };
    Ok(Found { path: STDIN.into(), bytes, modified_ns: 0 })
}

/// Whether an entry of a directory is left out unless the user names it: hidden files, manifests, markers such as
/// `_SUCCESS`. A hive directory of a column `_id`, as `_id=1`, is not left out.
pub fn is_hidden(name: &OsStr) -> bool {
    match name.as_bytes() {
        [b'.', ..] => true,
        [b'_', rest @ ..] => !rest.contains(&b'='),
        _ => false,
    }
}

/// Lists all files in a directory and below it, in order. Names that begin with `.` or `_` are left out.
pub fn below(dir: &Path) -> Result<Vec<Found>> {
    if let Some(files) = remote::below(dir) {
        return files;
    }
    let mut files = Vec::new();
    collect(dir, &mut Vec::new(), &mut files)?;
    sort(&mut files);
    Ok(files)
}

/// Whether a directory is a dataset with a manifest.
///
/// # Errors
/// The manifest is a link that leads outside of what may be touched.
pub fn has_manifest(dir: &Path) -> Result<bool> {
    let path = dir.join(schema::manifest::FILE_NAME);
    roots::holds(&path).map_err(|e| Error::io(&path, "open", e))
}

fn list_dir(dir: &Path) -> Result<Listing> {
    if has_manifest(dir)? {
        return Ok(Listing::Dataset(dir.to_path_buf()));
    }
    let files = below(dir)?;
    if files.is_empty() {
        return Err(suggest::no_data(dir));
    }
    Ok(Listing::Files { root: dir.to_path_buf(), files })
}

/// Collects all files below `dir`. `above` has the directories on the way here, so that a link that leads back is an
/// error and not an endless walk.
pub(super) fn collect(dir: &Path, above: &mut Vec<(u64, u64)>, files: &mut Vec<Found>) -> Result<()> {
    let meta = roots::metadata(dir).map_err(|e| Error::io(dir, "list", e))?;
    let identity = (meta.dev(), meta.ino());
    if above.contains(&identity) {
        return Err(Error::location(
            dir.display(),
            "the link leads back to a directory above it",
            Some("remove the link, or name the files with a glob".into()),
        ));
    }
    above.push(identity);
    let mut plain = Vec::new();
    for entry in roots::read_dir(dir).map_err(|e| Error::io(dir, "list", e))? {
        let entry = entry.map_err(|e| Error::io(dir, "list", e))?;
        if is_hidden(&entry.file_name()) {
            continue;
        }
        let path = dir.join(entry.file_name());
        let kind = entry.file_type().map_err(|e| Error::io(&path, "list", e))?;
        let meta = if kind.is_symlink() {
            roots::metadata(&path).map_err(|e| Error::io(&path, "follow the link", e))?
        } else if kind.is_dir() {
            collect(&path, above, files)?;
            continue;
        } else {
            plain.push(path);
            continue;
        };
        if meta.is_dir() {
            collect(&path, above, files)?;
        } else if meta.is_file() {
            files.push(found(path, &meta));
        }
    }
    above.pop();
    look_at(plain, files)
}

/// Takes the size and time of paths that are neither links nor directories, and adds the files among them.
pub(super) fn look_at(plain: Vec<PathBuf>, files: &mut Vec<Found>) -> Result<()> {
    let looked_at = parallel::each(plain.len(), |i| {
        let meta = roots::symlink_metadata(&plain[i]).map_err(|e| Error::io(&plain[i], "list", e))?;
        Ok(meta.is_file().then(|| (meta.len(), modified_ns(&meta))))
    })?;
    let listed = plain.into_iter().zip(looked_at).filter_map(|(path, known)| {
        let (bytes, modified_ns) = known?;
        Some(Found { path, bytes, modified_ns })
    });
    files.extend(listed);
    Ok(())
}

/// The time of the last change in nanoseconds since 1970.
fn modified_ns(meta: &Metadata) -> i64 {
    meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec())
}

pub(super) fn found(path: PathBuf, meta: &Metadata) -> Found {
    Found { path, bytes: if meta.is_file() { meta.len() } else { 0 }, modified_ns: modified_ns(meta) }
}

/// Sorts files as [`in_order`], and removes files that are listed twice.
pub(super) fn sort(files: &mut Vec<Found>) {
    in_order(files);
    // `a/**/*` also matches a file below `a/b` by the directory `b`.
    files.dedup_by(|a, b| bytes(a) == bytes(b));
}

fn bytes(file: &Found) -> &[u8] {
    file.path.as_os_str().as_bytes()
}

/// Sorts files in the bytewise order of whole paths, which is the same on every machine, whatever its locale.
fn in_order(files: &mut Vec<Found>) {
    // Most paths have a long common beginning. The eight bytes behind it tell most paths apart without a look at the
    // rest.
    let first = files.first().map(bytes).unwrap_or_default();
    let alike = files.iter().fold(first.len(), |alike, file| {
        first[..alike].iter().zip(bytes(file)).take_while(|(a, b)| a == b).count()
    });
    let key = |file: &Found| {
        let mut key = [0; 8];
        let behind = &bytes(file)[alike..];
        let length = behind.len().min(8);
        key[..length].copy_from_slice(&behind[..length]);
        u64::from_be_bytes(key)
    };
    let mut keyed: Vec<(u64, Found)> = files.drain(..).map(|file| (key(&file), file)).collect();
    keyed.sort_unstable_by(|(a, x), (b, y)| a.cmp(b).then_with(|| bytes(x).cmp(bytes(y))));
    files.extend(keyed.into_iter().map(|(_, file)| file));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A directory with these files. Directories are made as they are needed.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        dir
    }

    /// The files that `location` below `dir` names, relative to it.
    fn names(dir: &Path, location: &str) -> Vec<String> {
        match list(dir.join(location).to_str().unwrap()).unwrap() {
            Listing::Files { files, .. } => {
                files.iter().map(|f| f.path.strip_prefix(dir).unwrap().display().to_string()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn message(dir: &Path, location: &str) -> String {
        list(dir.join(location).to_str().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_itself_with_size_and_time() {
        let dir = tree(&["a.csv"]);
        let location = dir.path().join("a.csv");
        let Listing::Files { files, root } = list(location.to_str().unwrap()).unwrap() else { panic!() };
        assert_eq!((files.len(), files[0].bytes), (1, 5));
        assert!(files[0].modified_ns > 0);
        assert_eq!(root, dir.path());
    }

    #[test]
    fn a_directory_is_all_below_it_in_bytewise_order() {
        let dir =
            tree(&["t/b.csv", "t/B.csv", "t/a/x.csv", "t/a-x.csv", "t/_tmp/y.csv", "t/.h", "t/_SUCCESS"]);
        assert_eq!(names(dir.path(), "t"), ["t/B.csv", "t/a-x.csv", "t/a/x.csv", "t/b.csv"]);
        assert_eq!(names(dir.path(), "t/*"), ["t/B.csv", "t/a-x.csv", "t/a/x.csv", "t/b.csv"]);
        assert_eq!(names(dir.path(), "t/a*"), ["t/a-x.csv", "t/a/x.csv"], "of a directory all below it");
        assert_eq!(names(dir.path(), "t/a*/x.csv"), ["t/a/x.csv"]);
    }

    #[test]
    fn a_hive_directory_of_a_column_with_an_underscore_is_read() {
        let dir = tree(&["t/_id=1/x.csv", "t/_tmp/y.csv", "t/.a=b/z.csv"]);
        assert_eq!(names(dir.path(), "t"), ["t/_id=1/x.csv"]);
        assert_eq!(names(dir.path(), "t/*/*.csv"), ["t/_id=1/x.csv"]);
    }

    #[test]
    fn globs() {
        let dir = tree(&[
            "l/a1.csv",
            "l/a2.csv.gz",
            "l/b.csv",
            "l/_c.csv",
            "l/.d.csv",
            "l/s/a3.csv",
            "l/s/t/a4.csv",
        ]);
        let at = |glob| names(dir.path(), glob);
        assert_eq!(at("l/*.csv"), ["l/a1.csv", "l/b.csv"]);
        assert_eq!(at("l/a?.csv*"), ["l/a1.csv", "l/a2.csv.gz"]);
        assert_eq!(at("l/[!a]*.csv"), ["l/b.csv"]);
        assert_eq!(at("l/_*.csv"), ["l/_c.csv"]);
        assert_eq!(at("l/.*.csv"), ["l/.d.csv"]);
        assert_eq!(at("l/**/a*.csv"), ["l/a1.csv", "l/s/a3.csv", "l/s/t/a4.csv"]);
        assert_eq!(at("*/s/*.csv"), ["l/s/a3.csv"]);
        assert_eq!(at("l/**"), ["l/a1.csv", "l/a2.csv.gz", "l/b.csv", "l/s/a3.csv", "l/s/t/a4.csv"]);
        assert_eq!(at("l/**/*"), at("l/**"), "each file once");
        assert_eq!(at("l/s*"), ["l/s/a3.csv", "l/s/t/a4.csv"], "a directory stands for its files");
    }

    #[test]
    fn braces_list_locations() {
        let dir = tree(&["l/a.csv", "l/b.csv", "l/c.csv", "m/d.csv", "l/x{1,2}.csv", "n/_manifest.json"]);
        let at = |location| names(dir.path(), location);
        assert_eq!(at("l/{c,a}.csv"), ["l/a.csv", "l/c.csv"], "in the order of the paths");
        assert_eq!(at("{l/[bc].csv,m}"), ["l/b.csv", "l/c.csv", "m/d.csv"]);
        let often = ["l/a.csv", "l/a.csv", "l/a.csv", "l/b.csv", "l/c.csv"];
        assert_eq!(at("l/{a,a,?}.csv"), often, "as often as it is listed");
        assert!(list("{-,-}").unwrap_err().to_string().contains("can be read once"));
        assert_eq!(at("l/x{1,2}.csv"), ["l/x{1,2}.csv"], "a path that exists is taken as it is");
        assert!(message(dir.path(), "l/{a,z}.csv").contains("l/z.csv"), "each must be there");
        assert!(message(dir.path(), "{l/a.csv,n}").contains("UNION ALL"));
        let hive = dir.path().join("{l,m}/*.csv");
        let Listing::Files { root, .. } = list(hive.to_str().unwrap()).unwrap() else { panic!() };
        assert_eq!(root, dir.path());
    }

    #[test]
    fn paths_may_be_none() {
        let dir = tree(&["l/a.csv", "l/b.csv"]);
        let count = |location: &str| paths(dir.path().join(location).to_str().unwrap()).unwrap().len();
        for (location, expected) in [
            ("l/*.csv", 2),
            ("l", 2),
            ("l/a.csv", 1),
            ("l/{a,b,z,?}.csv", 4),
            ("l/x*", 0),
            ("m/*", 0),
            ("m", 0),
        ] {
            assert_eq!(count(location), expected, "{location}");
        }
        assert!(paths("[").is_err());
    }

    #[test]
    fn a_location_of_an_unknown_store_is_told() {
        let said = list("s3://bucket/x.csv").unwrap_err().to_string();
        assert!(said.contains("there is no store for 's3://'"), "{said}");
    }

    #[test]
    fn a_file_with_brackets_in_its_name_can_be_named() {
        let dir = tree(&["a[1].csv", "a1.csv"]);
        assert_eq!(names(dir.path(), "a[1].csv"), ["a[1].csv"]);
        assert_eq!(names(dir.path(), "a[12].csv"), ["a1.csv"]);
    }

    #[test]
    fn links_are_followed_and_loops_found() {
        let dir = tree(&["t/a/x.csv", "u/y.csv"]);
        std::os::unix::fs::symlink(dir.path().join("u"), dir.path().join("t/link")).unwrap();
        assert_eq!(names(dir.path(), "t"), ["t/a/x.csv", "t/link/y.csv"]);
        std::os::unix::fs::symlink(dir.path().join("t"), dir.path().join("t/a/up")).unwrap();
        assert!(message(dir.path(), "t").contains("leads back"));
        std::os::unix::fs::symlink(dir.path().join("gone"), dir.path().join("u/dangling")).unwrap();
        assert!(message(dir.path(), "u").contains("u/dangling: cannot follow the link"));
    }

    #[test]
    fn a_dataset_is_known_by_its_manifest() {
        let dir = tree(&["d/_manifest.json", "d/part-0.csv"]);
        let location = dir.path().join("d");
        assert_eq!(list(location.to_str().unwrap()).unwrap(), Listing::Dataset(location));
    }

    #[test]
    fn what_is_missing_is_named_with_what_is_near() {
        let dir = tree(&["data/rankings.csv", "data/uservisits.csv", "empty/_x", "dirs/sub/_x"]);
        let said = message(dir.path(), "data/ranking.csv");
        assert!(
            said.contains("no such file") && said.contains("did you mean") && said.contains("/rankings.csv?"),
            "{said}"
        );
        let said = message(dir.path(), "dta/rankings.csv");
        assert!(said.contains("there is no directory") && said.contains("/data?"), "{said}");
        let said = message(dir.path(), "data/*.parquet");
        assert!(
            said.contains("no file matches") && said.contains("holds rankings.csv, uservisits.csv"),
            "{said}"
        );
        assert!(message(dir.path(), "nowhere/*.csv").contains("no such file"));
        assert!(message(dir.path(), "empty").contains("begin with '.' or '_'"));
        assert!(message(dir.path(), "dirs").contains("only directories"));
        assert!(message(dir.path(), "data/[").contains("the glob can't be read"));
    }
}
