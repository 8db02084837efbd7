//! The settings that `SET name = value` changes, by their names, which are those of the flags.

use std::path::PathBuf;

use formats::rows::reader::MAX_RECORD;
use formats::store::atomic::Overwrite;
use schema::names::nearest;
use schema::time_formats::TimeFormat;
use schema::zones;
use schema::{Comments, OnError};

use crate::error::{Error, Result};
use crate::rejects::target;
use crate::settings::Settings;

/// The least memory limit, in bytes. Below it not even a small file could be read.
const LEAST_MEMORY: u64 = 16 << 20;

/// The most workers of a process.
const MOST_WORKERS: u64 = 1024;

/// The most parts of files that are read ahead.
const MOST_AHEAD: u64 = 256;

/// A setting.
struct Variable {
    names: &'static [&'static str],
    /// A description of its values, for messages.
    takes: &'static str,
    /// Sets the setting; `None` if it does not take the value.
    set: fn(&mut Settings, &str) -> Option<()>,
    /// Copies the setting from other settings.
    copy: fn(&mut Settings, &Settings),
}

/// All settings that SET changes. Whether scripts may be started is none of them: the user that starts the program
/// decides it.
const VARIABLES: &[Variable] = &[
    Variable {
        names: &["workers", "threads"],
        takes: "a number from 1 to 1024",
        set: |s, text| number(text, 1, MOST_WORKERS).map(|n| s.workers = n as usize),
        copy: |s, from| s.workers = from.workers,
    },
    Variable {
        names: &["memory_limit"],
        takes: "a size from 16MiB on, such as 4GiB",
        set: |s, text| memory(text).ok().map(|bytes| s.memory_limit = bytes),
        copy: |s, from| s.memory_limit = from.memory_limit,
    },
    Variable {
        names: &["broadcast_limit"],
        takes: "a size such as 16MiB",
        set: |s, text| size(text).ok().map(|bytes| s.broadcast_bytes = bytes),
        copy: |s, from| s.broadcast_bytes = from.broadcast_bytes,
    },
    Variable {
        names: &["integer_division"],
        takes: "true or false",
        set: |s, text| switch(text).map(|is| s.integer_division = is),
        copy: |s, from| s.integer_division = from.integer_division,
    },
    Variable {
        names: &["time_zone", "timezone"],
        takes: "the name of a time zone, such as Europe/Berlin",
        set: |s, text| time_zone(text).ok().map(|name| s.time_zone = name),
        copy: |s, from| s.time_zone.clone_from(&from.time_zone),
    },
    Variable {
        names: &["read_ahead"],
        takes: "a number from 0 to 256",
        set: |s, text| number(text, 0, MOST_AHEAD).map(|n| s.read_ahead = n as usize),
        copy: |s, from| s.read_ahead = from.read_ahead,
    },
    Variable {
        names: &["overwrite"],
        takes: "true or false",
        set: |s, text| switch(text).map(|is| s.overwrite = is),
        copy: |s, from| s.overwrite = from.overwrite,
    },
    Variable {
        names: &["from"],
        takes: "the name of a format, or auto",
        set: |s, text| {
            s.open.encoding = match text.to_lowercase().as_str() {
                "auto" => None,
                name => Some(formats::registry::format(name).ok()?.name().to_string()),
            };
            Some(())
        },
        copy: |s, from| s.open.encoding.clone_from(&from.open.encoding),
    },
    Variable {
        names: &["delimiter"],
        takes: "one ASCII character other than the quote, \\t, or auto",
        set: |s, text| {
            let delimiter = match text.to_lowercase().as_str() {
                "auto" => None,
                _ => Some(byte(text).filter(|byte| *byte != s.open.quote)?),
            };
            s.open.delimiter = delimiter;
            Some(())
        },
        copy: |s, from| s.open.delimiter = from.open.delimiter,
    },
    Variable {
        names: &["quote"],
        takes: "one ASCII character other than the delimiter",
        set: |s, text| {
            s.open.quote = byte(text).filter(|byte| s.open.delimiter != Some(*byte))?;
            Some(())
        },
        copy: |s, from| s.open.quote = from.open.quote,
    },
    Variable {
        names: &["header"],
        takes: "yes, no or auto",
        set: |s, text| {
            s.open.header = match text.to_lowercase().as_str() {
                "auto" => None,
                _ => Some(switch(text)?),
            };
            Some(())
        },
        copy: |s, from| s.open.header = from.open.header,
    },
    Variable {
        names: &["skip"],
        takes: "the number of lines before the header or the first record",
        set: |s, text| number(text, 0, u64::MAX).map(|n| s.open.dialect.skip = n),
        copy: |s, from| s.open.dialect.skip = from.open.dialect.skip,
    },
    Variable {
        names: &["comment"],
        takes: "one ASCII character, or none",
        set: |s, text| {
            let comments = |byte: Option<u8>| byte.map_or(Comments::None, Comments::From);
            optional(text, byte).map(|byte| s.open.dialect.comments = comments(byte))
        },
        copy: |s, from| s.open.dialect.comments = from.open.dialect.comments,
    },
    Variable {
        names: &["escape"],
        takes: "one ASCII character, or none",
        set: |s, text| optional(text, byte).map(|byte| s.open.dialect.escape = byte),
        copy: |s, from| s.open.dialect.escape = from.open.dialect.escape,
    },
    Variable {
        names: &["nullstr"],
        takes: "texts with commas between them",
        set: |s, text| {
            s.open.dialect.nulls = nulls(text);
            Some(())
        },
        copy: |s, from| s.open.dialect.nulls.clone_from(&from.open.dialect.nulls),
    },
    Variable {
        names: &["decimal_separator"],
        takes: "one ASCII character that is no part of a number, and not that of thousands",
        set: |s, text| {
            let byte = separator(text)?;
            s.open.dialect.decimal_separator =
                Some(byte).filter(|_| s.open.dialect.thousands != Some(byte))?;
            Some(())
        },
        copy: |s, from| s.open.dialect.decimal_separator = from.open.dialect.decimal_separator,
    },
    Variable {
        names: &["thousands"],
        takes: "one ASCII character that is no part of a number, and not the decimal separator, or none",
        set: |s, text| {
            let byte = optional(text, separator)?;
            if byte == Some(s.open.dialect.decimal_separator) {
                return None;
            }
            s.open.dialect.thousands = byte;
            Some(())
        },
        copy: |s, from| s.open.dialect.thousands = from.open.dialect.thousands,
    },
    Variable {
        names: &["dateformat"],
        takes: "a format such as %d.%m.%Y, or none",
        set: |s, text| optional(text, time_format).map(|format| s.open.dialect.date_format = format),
        copy: |s, from| s.open.dialect.date_format.clone_from(&from.open.dialect.date_format),
    },
    Variable {
        names: &["timestampformat"],
        takes: "a format such as %d.%m.%Y %H:%M, or none",
        set: |s, text| optional(text, time_format).map(|format| s.open.dialect.timestamp_format = format),
        copy: |s, from| s.open.dialect.timestamp_format.clone_from(&from.open.dialect.timestamp_format),
    },
    Variable {
        names: &["encoding"],
        takes: "a character encoding such as utf-8, latin-1, windows-1252 or utf-16",
        set: |s, text| charset(text).map(|name| s.open.dialect.charset = Some(name)),
        copy: |s, from| s.open.dialect.charset.clone_from(&from.open.dialect.charset),
    },
    Variable {
        names: &["json_path"],
        takes: "keys with points between them, such as data or result.items, $, or auto",
        set: |s, text| {
            s.open.dialect.json_path = match text.to_lowercase().as_str() {
                "auto" => None,
                _ => Some(json_path(text)?),
            };
            Some(())
        },
        copy: |s, from| s.open.dialect.json_path.clone_from(&from.open.dialect.json_path),
    },
    Variable {
        names: &["sheet"],
        takes: "the name of a sheet of workbooks; '' for the first one",
        set: |s, text| {
            s.open.dialect.sheet.name = Some(text.to_string()).filter(|name| !name.is_empty());
            Some(())
        },
        copy: |s, from| s.open.dialect.sheet.name.clone_from(&from.open.dialect.sheet.name),
    },
    Variable {
        names: &["range"],
        takes: "a range of cells such as A1:C10, A:C or 2:10, or none",
        set: |s, text| optional(text, cell_range).map(|range| s.open.dialect.sheet.range = range),
        copy: |s, from| s.open.dialect.sheet.range.clone_from(&from.open.dialect.sheet.range),
    },
    Variable {
        names: &["infer_rows"],
        takes: "a number from 1 on",
        set: |s, text| number(text, 1, u64::MAX).map(|n| s.open.infer_rows = n as usize),
        copy: |s, from| s.open.infer_rows = from.open.infer_rows,
    },
    Variable {
        names: &["union_by_name"],
        takes: "true or false",
        set: |s, text| switch(text).map(|is| s.open.union_by_name = is),
        copy: |s, from| s.open.union_by_name = from.open.union_by_name,
    },
    Variable {
        names: &["on_error"],
        takes: "fail, null or skip",
        set: |s, text| {
            s.open.on_error = match text.to_lowercase().as_str() {
                "fail" => OnError::Fail,
                "null" => OnError::Null,
                "skip" => OnError::Skip,
                _ => return None,
            };
            Some(())
        },
        copy: |s, from| s.open.on_error = from.open.on_error,
    },
    Variable {
        names: &["rejects"],
        takes: "the name of a file such as rejects.csv, or none",
        set: |s, text| {
            let file = match text.to_lowercase().as_str() {
                "" | "none" => None,
                _ => Some(PathBuf::from(text)),
            };
            if let Some(path) = &file {
                target(path, Overwrite::Yes).ok()?;
            }
            s.set_rejects(file);
            Some(())
        },
        copy: |s, from| {
            s.rejects.clone_from(&from.rejects);
            s.open.rejects.clone_from(&from.open.rejects);
        },
    },
    Variable {
        names: &["max_record"],
        takes: "a size of at most 1GiB",
        set: |s, text| record(text).ok().map(|bytes| s.open.max_record = bytes as usize),
        copy: |s, from| s.open.max_record = from.open.max_record,
    },
    Variable {
        names: &["file_column"],
        takes: "true or false",
        set: |s, text| switch(text).map(|is| s.open.file_column = is),
        copy: |s, from| s.open.file_column = from.open.file_column,
    },
];

impl Settings {
    /// Sets the setting of this name to a value that is given as text.
    ///
    /// # Errors
    /// There is no such setting, or it does not take this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let variable = variable(name)?;
        if variable.names.contains(&"time_zone") {
            // The message has the nearest names.
            time_zone(value).map_err(wrong)?;
        }
        (variable.set)(self, value).ok_or_else(|| {
            let message = format!("SET {name} takes {}, and was given '{value}'", variable.takes);
            queries::Error::Invalid(message).at_word(name).into()
        })
    }

    /// Sets the setting of this name to its value in `first`.
    ///
    /// # Errors
    /// There is no such setting.
    pub fn reset(&mut self, name: &str, first: &Settings) -> Result<()> {
        let variable = variable(name)?;
        (variable.copy)(self, first);
        Ok(())
    }
}

fn variable(name: &str) -> Result<&'static Variable> {
    if name == "allow_scripts" {
        let text =
            "allow_scripts is not set by a statement\n  help: --allow-scripts is for whoever starts palais";
        return Err(wrong(text.into()));
    }
    VARIABLES.iter().find(|variable| variable.names.contains(&name)).ok_or_else(|| {
        let names = || VARIABLES.iter().map(|variable| variable.names[0]);
        let near = nearest(name, VARIABLES.iter().flat_map(|variable| variable.names.iter().copied()));
        let (message, help) = match near.as_slice() {
            [] => {
                let names = names().collect::<Vec<_>>().join(", ");
                (format!("there is no setting {name}; there are {names}"), None)
            }
            near => {
                (format!("there is no setting {name}"), Some(format!("did you mean {}?", near.join(" or "))))
            }
        };
        queries::Error::Name { message, help }.at_word(name).into()
    })
}

fn wrong(message: String) -> Error {
    queries::Error::Invalid(message).into()
}

fn number(text: &str, least: u64, most: u64) -> Option<u64> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Reads one ASCII character; `\t` and `tab` are the tab.
pub fn byte(text: &str) -> Option<u8> {
    match text {
        "\\t" | "tab" => Some(b'\t'),
        _ if text.is_ascii() && text.len() == 1 => text.bytes().next(),
        _ => None,
    }
}

/// Reads what may be `none`.
fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.eq_ignore_ascii_case("none") { Some(None) } else { read(text).map(Some) }
}

/// Reads the fields that are NULL, which have commas between them.
pub fn nulls(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(',').map(String::from).collect() }
}

/// Reads one ASCII character that may stand in a number beside its digits.
pub fn separator(text: &str) -> Option<u8> {
    byte(text).filter(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'\n' | b'\r'))
}

/// Reads a format of dates or timestamps.
pub fn time_format(text: &str) -> Option<String> {
    TimeFormat::parse(text).ok().map(|_| text.to_string())
}

/// Reads the name of a character encoding.
pub fn charset(text: &str) -> Option<String> {
    formats::rows::rewrite::charset(text).ok().map(|_| text.to_string())
}

/// Reads the path to the rows of JSON files.
pub fn json_path(text: &str) -> Option<String> {
    formats::jsonl::path::keys(text).map(|_| text.to_string())
}

/// Reads a range of cells of a sheet.
pub fn cell_range(text: &str) -> Option<String> {
    formats::xlsx::range(text).map(|_| text.to_string())
}

/// Reads the name of a time zone, and spells it as the IANA database does.
///
/// # Errors
/// There is no such zone.
pub fn time_zone(text: &str) -> Result<String, String> {
    zones::named(text).map(String::from)
}

/// Reads a memory limit, in bytes.
///
/// # Errors
/// The text is no size, or a size that is too small.
pub fn memory(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes < LEAST_MEMORY {
        return Err(format!("at least {} are needed", engine::context::memory::human(LEAST_MEMORY)));
    }
    Ok(bytes)
}

/// Reads a limit of the bytes of a record.
///
/// # Errors
/// The text is no size, or a size that is too large.
pub fn record(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes > MAX_RECORD as u64 => {
            Err(format!("{} are the most", engine::context::memory::human(MAX_RECORD as u64)))
        }
        bytes => Ok(bytes),
    }
}

/// Reads a size such as `512MiB`, `4G` or `1000000`, in bytes. Units are of 1024 (K, M, G, T, with or without `iB`), or
/// of 1000 (`kB`, `MB`, `GB` and `TB`).
///
/// # Errors
/// The text is no size.
pub fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let wrong = || format!("'{text}' is not a size such as 512MiB or 4G");
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    Ok((number * factor as f64) as u64)
}
