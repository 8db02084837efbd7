//! Parts of paths, and paths put together. What separates them is said by name. The names are `both_slash`, which is
//! meant where nothing is said, `forward_slash`, `backslash`, and `system`. The last is the first of these on every
//! system, so that a result is the same on all.

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_err};

use super::arguments::Call;
use super::{Own, ResultType, Takes};

const PATH: &[&[Takes]] = &[&[Takes::Text], &[Takes::Text, Takes::Text]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "parse_filename",
        takes: &[
            &[Takes::Text],
            &[Takes::Text, Takes::Boolean],
            &[Takes::Text, Takes::Text],
            &[Takes::Text, Takes::Boolean, Takes::Text],
        ],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: file_name,
    },
    Own {
        name: "parse_dirname",
        takes: PATH,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: |call| directory(call, true),
    },
    Own {
        name: "parse_dirpath",
        takes: PATH,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: |call| directory(call, false),
    },
    Own {
        name: "path_join",
        takes: &[&[Takes::OnlyText]],
        more: Some(Takes::OnlyText),
        gives: ResultType::Text,
        total: false,
        compute: joined,
    },
];

/// The characters that separate the parts of a path. Both are meant where none are named.
pub(in crate::functions) fn separators(name: Option<&str>) -> Result<&'static [char]> {
    match name.unwrap_or("both_slash") {
        "system" | "forward_slash" => Ok(&['/']),
        "backslash" => Ok(&['\\']),
        "both_slash" => Ok(&['/', '\\']),
        name => exec_err!(
            "separators of paths are system, forward_slash, backslash or both_slash, and no '{name}'"
        ),
    }
}

/// The name of the file of a path, without its last suffix if that is asked for.
fn file_name(call: &Call) -> Result<ArrayRef> {
    let paths = call.text(0)?;
    let second_is_name = call.given() > 1 && !matches!(call.type_of(1), arrow_schema::DataType::Boolean);
    let cuts = (call.given() > 1 && !second_is_name).then(|| call.booleans(1)).transpose()?;
    let named = match (call.given(), second_is_name) {
        (2, true) => Some(call.text(1)?),
        (3, _) => Some(call.text(2)?),
        _ => None,
    };
    call.give_text(|row, out| {
        let Some(path) = paths.get(row) else { return Ok(false) };
        let cuts = cuts.as_ref().and_then(|cuts| cuts.get(row)).unwrap_or(false);
        let separators = separators(named.as_ref().and_then(|named| named.get(row)))?;
        let name = path.rsplit(separators).next().unwrap_or(path);
        let name = if cuts { name.rsplit_once('.').map_or(name, |(stem, _)| stem) } else { name };
        out.push_str(name);
        Ok(true)
    })
}

/// The first directory of a path, or all of them.
fn directory(call: &Call, first: bool) -> Result<ArrayRef> {
    let paths = call.text(0)?;
    let named = (call.given() > 1).then(|| call.text(1)).transpose()?;
    call.give_text(|row, out| {
        let Some(path) = paths.get(row) else { return Ok(false) };
        let separators = separators(named.as_ref().and_then(|named| named.get(row)))?;
        let found = if first { path.find(separators) } else { path.rfind(separators) };
        // A path from the root on begins with its separator.
        let end = match found {
            Some(0) if first => 1,
            Some(end) => end,
            None => 0,
        };
        out.push_str(&path[..end]);
        Ok(true)
    })
}

/// What stands before the directories of a path, and whether those begin at a root: `s3://bucket`, whose scheme is made
/// lower case, `file:`. A scheme has two characters or more: `C:` is a directory, as in DuckDB on Linux.
fn root(path: &str) -> (&str, bool) {
    const FILE: &str = "file:";
    const SLASHES: [char; 2] = ['/', '\\'];
    if let Some((scheme, rest)) = path.split_once("://")
        && scheme.chars().nth(1).is_some()
        && !scheme.contains(SLASHES)
    {
        let end = rest.find('/').unwrap_or(rest.len());
        return (&path[..path.len() - rest.len() + end], true);
    }
    match path.get(..FILE.len()) {
        Some(file) if file.eq_ignore_ascii_case(FILE) && path[FILE.len()..].starts_with('/') => (file, true),
        _ => ("", path.starts_with(SLASHES)),
    }
}

/// A root with its scheme in lower case.
fn named(root: &str) -> String {
    match root.split_once("://") {
        Some((scheme, host)) => format!("{}://{host}", scheme.to_lowercase()),
        None => root.to_string(),
    }
}

/// A path in which there are neither empty directories nor `.`, and no `..` but at the begin of one without a root.
/// What follows is added to it, or begins with all of it.
#[derive(Default)]
struct Joined {
    root: String,
    is_absolute: bool,
    parts: Vec<String>,
    has_slash: bool,
}

impl Joined {
    /// Adds a path. Gives whether it could be.
    fn add(&mut self, path: &str, is_first: bool) -> bool {
        if path.is_empty() {
            return true;
        }
        let (root, is_absolute) = root(path);
        let mut own = Joined { root: named(root), is_absolute, ..Joined::default() };
        if is_first || root.is_empty() && !is_absolute {
            if is_first {
                (self.root, self.is_absolute) = (own.root, is_absolute);
            }
            self.walk(&path[root.len()..]);
            return true;
        }
        own.walk(&path[root.len()..]);
        let fits =
            own.root == self.root && is_absolute == self.is_absolute && own.parts.starts_with(&self.parts);
        if fits {
            *self = own;
        }
        fits
    }

    fn walk(&mut self, path: &str) {
        for part in path.split(['/', '\\']) {
            match part {
                "" | "." => {}
                ".." if self.parts.last().is_some_and(|last| last != "..") => {
                    self.parts.pop();
                }
                ".." if self.is_absolute => {}
                part => self.parts.push(part.to_string()),
            }
        }
        self.has_slash = path.ends_with(['/', '\\']);
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.root);
        if self.is_absolute {
            out.push('/');
        }
        out.push_str(&self.parts.join("/"));
        if self.has_slash && !self.parts.is_empty() {
            out.push('/');
        }
        if out.is_empty() {
            out.push('.');
        }
    }
}

/// Paths put together.
fn joined(call: &Call) -> Result<ArrayRef> {
    let columns = (0..call.given()).map(|at| call.text(at)).collect::<Result<Vec<_>>>()?;
    call.give_text(|row, out| {
        let mut all = Joined::default();
        let mut is_first = true;
        for column in &columns {
            let Some(path) = column.get(row) else { return Ok(false) };
            if !all.add(path, is_first) {
                let mut before = String::new();
                all.write(&mut before);
                return exec_err!("path_join() adds no path with a root of its own: '{path}' to '{before}'");
            }
            is_first &= path.is_empty();
        }
        all.write(out);
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_put_together() {
        for (paths, expected) in [
            (&["a", "b"][..], Some("a/b")),
            (&["dir//subdir/", "./file"], Some("dir/subdir/file")),
            (&["dir/..", "../.."], Some("../..")),
            (&["/usr/local", "../../.."], Some("/")),
            (&["file:/usr/local", "../bin"], Some("file:/usr/bin")),
            (&["s3://foo", "../.."], Some("s3://foo/")),
            (&["s3://foo", "bar/"], Some("s3://foo/bar/")),
            (&["C:", ".."], Some(".")),
            (&["s3:", "x"], Some("s3:/x")),
            (&["a:b", "c"], Some("a:b/c")),
            (&["S3://b", "s3://b/x"], Some("s3://b/x")),
            (&["s3://b\\a", "c"], Some("s3://b\\a/c")),
            (&["http:/x", "../../.."], Some("..")),
            (&["", "", "a"], Some("a")),
            (&["a", ".."], Some(".")),
            (&["/usr", "/usr/local"], Some("/usr/local")),
            (&["/usr", "/local"], None),
            (&["a", "s3://x"], None),
        ] {
            let mut all = Joined::default();
            let mut is_first = true;
            let fits = paths.iter().all(|path| {
                let added = all.add(path, is_first);
                is_first &= path.is_empty();
                added
            });
            let mut out = String::new();
            all.write(&mut out);
            assert_eq!(fits.then_some(out.as_str()), expected, "{paths:?}");
        }
    }
}
