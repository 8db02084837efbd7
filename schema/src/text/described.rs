//! What `.proto` and `.capnp` files share, which describe the records of other programs: how long they and their names may
//! be, and which message or struct is the table.

use super::TextError;
use super::proto::message as record_name;

/// A longer text is refused, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// A longer name is refused, in bytes, with those around it. Each place where a type is used keeps the names in it.
const MOST_OF_A_NAME: usize = 1000;

/// The names of enums may have so many bytes, counted for each field that has the enum.
const MOST_OF_ENUMS: usize = 16 << 20;

/// Whether a text is short enough; `record` is what it describes.
pub fn check_text(text: &str, record: &str) -> Result<(), TextError> {
    match text.len() <= MOST_BYTES {
        true => Ok(()),
        false => Err(TextError::Table(format!(
            "the text has more than {} MiB, and is not parsed; leave in it what the {record} needs",
            MOST_BYTES >> 20
        ))),
    }
}

/// Whether a name is short enough.
pub fn check_name(name: &str) -> Result<(), TextError> {
    match name.len() <= MOST_OF_A_NAME {
        true => Ok(()),
        false => {
            let beginning: String = name.chars().take(20).collect();
            Err(refused(
                &format!("{beginning}…"),
                format!("a name has at most {MOST_OF_A_NAME} bytes, with those around it"),
            ))
        }
    }
}

/// Counts the names of an enum that one more field has.
pub fn count_names<'n>(
    counted: &mut usize,
    names: impl Iterator<Item = &'n str>,
    path: &str,
) -> Result<(), TextError> {
    // A string has some bytes of its own.
    *counted += names.map(|name| name.len() + size_of::<String>()).sum::<usize>();
    match *counted <= MOST_OF_ENUMS {
        true => Ok(()),
        false => Err(refused(
            path,
            "the names of all enums have too many bytes; leave values out that are not needed",
        )),
    }
}

/// The names that a file gives to what may be a table.
pub struct Records<'a> {
    /// What it is called: a message or a struct.
    pub kind: &'static str,
    /// The ending of the file's name.
    pub extension: &'static str,
    /// The package that stands before the names of those that lie in no other, if there is one.
    pub package: &'a str,
    /// The names of these, without the package.
    pub outer: Vec<&'a str>,
    /// All names, each with the package and those around it.
    pub all: Vec<String>,
}

impl Records<'_> {
    /// The whole name of the one that is `wanted`, which may leave out the package and those around it. If none is, it is
    /// the only one that lies in no other, or the one that is called like the table.
    pub fn choose(&self, wanted: Option<&str>, table: &str) -> Result<String, TextError> {
        let Records { kind, extension, package, outer, all } = self;
        let full = |name: &str| joined(package, name);
        let Some(wanted) = wanted else {
            let called = |name: &&&str| name.eq_ignore_ascii_case(table) || ***name == record_name(table);
            return match (outer.as_slice(), outer.iter().find(called)) {
                ([], _) => Err(TextError::Table(format!("the file has no {kind}"))),
                ([only], _) => Ok(full(only)),
                (_, Some(found)) => Ok(full(found)),
                (several, None) => Err(TextError::Table(format!(
                    "the file has several {kind}s ({}), and none is called like the table '{table}'\n  \
                     help: name one behind the file: --schema {table}=FILE.{extension}#{}",
                    some(several),
                    several[0]
                ))),
            };
        };
        let wanted = wanted.trim_start_matches('.');
        if let Some(found) = [wanted.to_string(), full(wanted)].into_iter().find(|name| all.contains(name)) {
            return Ok(found);
        }
        let ending = format!(".{wanted}");
        let mut ends: Vec<&String> = all.iter().filter(|name| name.ends_with(&ending)).collect();
        ends.sort_unstable();
        match ends.as_slice() {
            [only] => Ok((*only).clone()),
            [] => Err(TextError::Table(format!(
                "the file has no {kind} '{wanted}'; it has {}",
                if outer.is_empty() { "none".into() } else { some(outer) }
            ))),
            several => Err(TextError::Table(format!(
                "several {kind}s are called '{wanted}' ({}); say which, with the {kind}s around it",
                some(several)
            ))),
        }
    }
}

/// A name behind that of what is around it. Either may be empty.
pub fn joined(around: &str, name: &str) -> String {
    match (around, name) {
        ("", name) => name.to_string(),
        (around, "") => around.to_string(),
        _ => format!("{around}.{name}"),
    }
}

/// An error about a field or type of this whole name.
pub fn refused(path: &str, message: impl Into<String>) -> TextError {
    TextError::Field { path: path.to_string(), message: message.into() }
}

/// Some names of a list, for a message.
fn some(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(10).map(AsRef::as_ref).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    shown.join(", ") + more
}
