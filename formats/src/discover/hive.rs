//! Columns in the names of directories: `year=2026/month=5/`.
//!
//! Only directories below the one that the location names count, or below the directory before a glob's first wildcard.
//! All files must lie below the same keys, in any order.
//!
//! A value is written as Hive writes it: `%2F` for a byte that can't stand in a name, `__HIVE_DEFAULT_PARTITION__` for
//! NULL. [`directory`] writes such a name, and [`columns`] reads it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use arrow_array::types::Date32Type;
use arrow_cast::parse::Parser;
use arrow_schema::{DataType, Field};
use schema::FileEntry;

use crate::error::{Error, Result};

/// The text that stands for NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The columns that the directories give, with their values for each file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hive {
    /// The columns, outermost directory first. A column is `Int64` if every value is a whole number as it is written,
    /// `Date32` if every one is a date, else `Utf8View`.
    pub fields: Vec<Field>,
    /// For each file, in order, one value for each column.
    pub values: Vec<Vec<Option<String>>>,
}

/// Finds the columns of these files. There are none if the first file lies below no directory of the form `key=value`.
///
/// # Errors
/// The directories of a file give other columns, or one column twice.
pub fn columns(root: &Path, files: &[FileEntry]) -> Result<Hive> {
    let mut names: Vec<String> = Vec::new();
    let mut values = Vec::with_capacity(files.len());
    let mut before: Option<&[u8]> = None;
    for (i, file) in files.iter().enumerate() {
        let path = file.path.as_os_str().as_bytes();
        let directory = &path[..memchr::memrchr(b'/', path).unwrap_or(0)];
        // Files of one directory come side by side.
        if before.replace(directory) == Some(directory) {
            values.extend(values.last().cloned());
            continue;
        }
        let pairs = pairs(root, &file.path);
        if i == 0 {
            names = pairs.iter().map(|(key, _)| key.clone()).collect();
        } else if !pairs.iter().map(|(key, _)| key).eq(&names) {
            if let Some(ordered) = in_order(&pairs, &names) {
                values.push(ordered);
                continue;
            }
            let path = |keys: Vec<&str>| if keys.is_empty() { "none".into() } else { keys.join("/") };
            let message = format!(
                "the directories above it give the columns {}, those of {} give {}",
                path(pairs.iter().map(|(key, _)| key.as_str()).collect()),
                files[0].path.display(),
                path(names.iter().map(String::as_str).collect()),
            );
            return Err(Error::location(file.path.display(), message, Some(MIXED.into())));
        }
        values.push(pairs.into_iter().map(|(_, value)| value).collect::<Vec<Option<String>>>());
    }
    if let Some(name) = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n)).map(|(_, n)| n) {
        let message = format!("two directories above it are called {name}=…");
        return Err(Error::location(files[0].path.display(), message, None));
    }
    let fields = names.iter().enumerate().map(|(column, name)| {
        let all = |is: fn(&str) -> bool| values.iter().all(|row| row[column].as_deref().is_none_or(is));
        let any = values.iter().any(|row| row[column].is_some());
        let data_type = match any {
            true if all(is_whole) => DataType::Int64,
            true if all(is_date) => DataType::Date32,
            _ => DataType::Utf8View,
        };
        Field::new(name, data_type, values.iter().any(|row| row[column].is_none()))
    });
    Ok(Hive { fields: fields.collect(), values })
}

/// The values of keys in the order of these names, if they are the same in another order.
fn in_order(pairs: &[(String, Option<String>)], names: &[String]) -> Option<Vec<Option<String>>> {
    let value = |name: &String| {
        let mut named = pairs.iter().filter(|(key, _)| key == name);
        named.next().filter(|_| named.next().is_none()).map(|(_, value)| value.clone())
    };
    names.iter().map(value).collect::<Option<Vec<_>>>().filter(|values| values.len() == pairs.len())
}

/// Whether a value is a whole number that is written so: `05` and `+5` are text.
fn is_whole(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number.to_string() == value)
}

/// Whether a value is a date: `2024-01-31`.
fn is_date(value: &str) -> bool {
    value.len() == 10 && value.as_bytes()[4] == b'-' && Date32Type::parse(value).is_some()
}

const MIXED: &str = "directories of the form key=value are columns, and every file of a table must have the same; \
                     name a part of the files with a glob";

/// The keys and values of the directories between `root` and the file.
fn pairs(root: &Path, file: &Path) -> Vec<(String, Option<String>)> {
    let below = file.strip_prefix(root).unwrap_or(file);
    let directories = below.parent().into_iter().flat_map(Path::components);
    directories
        .filter_map(|directory| {
            let name = directory.as_os_str().to_string_lossy().into_owned();
            let (key, value) = name.split_once('=')?;
            let value = (value != NULL).then(|| decoded(value));
            (!key.is_empty()).then(|| (decoded(key), value))
        })
        .collect()
}

/// Replaces `%XX` by the byte. A `%` without two hexadecimal digits behind it stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |i: usize| bytes.get(at + i).and_then(|&b| char::from(b).to_digit(16));
        match (byte, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The name of the directory of the rows in which the column `key` has this value. `None` is NULL.
///
/// [`columns`] reads the same key and value back. So does DuckDB, except for a key with a byte that can't stand in a
/// name: DuckDB leaves `%XX` in keys. In values, all ASCII characters but letters, digits and `-._~` are encoded. So a
/// name is one word to a shell and to a glob.
pub fn directory(key: &str, value: Option<&str>) -> String {
    let mut name = String::with_capacity(key.len() + 1 + value.map_or(NULL.len(), str::len));
    for (at, c) in key.char_indices() {
        // Files below a name that begins with a dot are hidden.
        match c {
            '.' if at == 0 => encode(c, &mut name),
            '/' | '%' | '=' | '\\' | '*' | '?' | '[' | ']' | '"' | '\'' => encode(c, &mut name),
            c if c.is_ascii_control() => encode(c, &mut name),
            c => name.push(c),
        }
    }
    name.push('=');
    match value {
        None => name.push_str(NULL),
        Some(value) => {
            for (at, c) in value.char_indices() {
                // The text that stands for NULL may also be a value, and is encoded then.
                let kept = !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~".contains(c);
                match kept && !(at == 0 && value == NULL) {
                    true => name.push(c),
                    false => encode(c, &mut name),
                }
            }
        }
    }
    name
}

/// Appends `%XX` for an ASCII character.
fn encode(c: char, name: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let byte = c as u8;
    name.extend([
        '%',
        char::from(DIGITS[usize::from(byte >> 4)]),
        char::from(DIGITS[usize::from(byte & 15)]),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories_give_key_and_value_back() {
        let all_ascii: String = (0..=127_u8).map(char::from).collect();
        let keys = ["k", "_id", ".h", "x y", "a=b/c%25", "é*[?]'\"\\\n"];
        let values = ["", "a b", "..", NULL, "__HIVE", "%41", "é/ü", "a=b", &all_ascii];
        for key in keys {
            for value in values.map(Some).into_iter().chain([None]) {
                let name = directory(key, value);
                assert!(!name.contains(['/', '\0', '\n', '*']) && !name.starts_with('.'), "{name}");
                let read = pairs(Path::new("d"), &Path::new("d").join(&name).join("f"));
                assert_eq!(read, [(key.to_string(), value.map(String::from))], "{name}");
            }
        }
        assert_eq!(directory("a", Some("b c/é+.~-_")), "a=b%20c%2Fé%2B.~-_");
        assert_eq!(directory("a", Some(NULL)), "a=%5F_HIVE_DEFAULT_PARTITION__");
    }

    fn found(paths: &[&str]) -> Vec<FileEntry> {
        paths.iter().map(|path| FileEntry::new(path, 1, 0)).collect()
    }

    fn of(root: &str, paths: &[&str]) -> Result<Hive> {
        columns(Path::new(root), &found(paths))
    }

    #[test]
    fn keys_become_columns_in_the_order_of_the_path() {
        let hive = of("d", &["d/year=2026/x/lang=de/a.csv", "d/year=2027/lang=%C3%A9%2F%/b.csv"]).unwrap();
        assert_eq!(
            hive.fields,
            [Field::new("year", DataType::Int64, false), Field::new("lang", DataType::Utf8View, false)]
        );
        let value = |text: &str| Some(text.to_string());
        assert_eq!(hive.values, [[value("2026"), value("de")], [value("2027"), value("é/%")]]);
    }

    #[test]
    fn types_follow_from_all_values() {
        let hive = of("", &["m=5/a", "m=-1/a", &format!("m={NULL}/a")]).unwrap();
        assert_eq!(hive.fields, [Field::new("m", DataType::Int64, true)]);
        assert_eq!(hive.values[2], [None]);
        for other in ["m=x/a", "m=05/a", "m=+5/a", "m=2024-01-31/a"] {
            let hive = of("", &["m=5/a", other]).unwrap();
            assert_eq!(hive.fields, [Field::new("m", DataType::Utf8View, false)], "{other}");
        }
        let hive = of("", &["m=2024-01-31/a", "m=2024-02-29/a"]).unwrap();
        assert_eq!(hive.fields, [Field::new("m", DataType::Date32, false)]);
        let hive = of("", &["m=2024-01-31/a", "m=2024-02-30/a"]).unwrap();
        assert_eq!(hive.fields, [Field::new("m", DataType::Utf8View, false)]);
        let hive = of("", &["m=99999999999999999999/a"]).unwrap();
        assert_eq!(hive.fields, [Field::new("m", DataType::Utf8View, false)]);
        let hive = of("", &[&format!("m={NULL}/a")]).unwrap();
        assert_eq!(hive.fields, [Field::new("m", DataType::Utf8View, true)]);
    }

    #[test]
    fn only_directories_below_the_location_count() {
        assert_eq!(of("d/year=2026", &["d/year=2026/a=b.csv"]).unwrap().fields, []);
        assert_eq!(of("d", &["d/=3/a.csv"]).unwrap().fields, []);
    }

    #[test]
    fn keys_may_stand_in_another_order() {
        let hive = of("", &["m=1/y=2/a", "y=3/m=4/b"]).unwrap();
        let value = |text: &str| Some(text.to_string());
        assert_eq!(hive.values, [[value("1"), value("2")], [value("4"), value("3")]]);
        assert!(of("", &["m=1/y=2/a", "y=3/y=4/b"]).is_err());
    }

    #[test]
    fn files_below_other_keys_are_errors() {
        let said = of("d", &["d/y=1/a.csv", "d/y=1/m=2/b.csv"]).unwrap_err().to_string();
        assert!(said.starts_with("d/y=1/m=2/b.csv: the directories above it give the columns y/m"), "{said}");
        assert!(of("d", &["d/y=1/a.csv", "d/b.csv"]).unwrap_err().to_string().contains("columns none"));
        assert!(of("d", &["d/y=1/y=2/a.csv"]).unwrap_err().to_string().contains("two directories"));
    }
}
