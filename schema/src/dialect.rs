//! How text files of other programs are written, where that is not as RFC 4180, JSON lines and palais have it.

use serde::{Deserialize, Serialize};

/// What stands in a file besides records, and how its values are written. The default is what palais writes. What does
/// not say of which files it is, is of csv.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dialect {
    /// The character encoding, by a label of the WHATWG; UTF-8 if there is none. Other texts than csv have it too.
    pub charset: Option<String>,
    /// The lines before the header or the first record.
    pub skip: u64,
    /// What a comment begins with, which ends with its line.
    pub comment: Option<u8>,
    /// Whether a comment is a line of its own, so that none stands behind a record. Where no comment is named, it says
    /// that there are none, and none are looked for.
    pub comment_lines: bool,
    /// Whether the fields that a record lacks at its end are NULL.
    pub null_padding: bool,
    /// Inside quotes, what makes the byte behind it one like any other. Quotes are doubled if there is none.
    pub escape: Option<u8>,
    /// The fields that are NULL. A bare empty field is if there are none.
    pub nulls: Vec<String>,
    /// What stands before the fraction of a number.
    pub decimal_separator: u8,
    /// What stands between groups of three digits.
    pub thousands: Option<u8>,
    /// The format of dates, as of `strptime`.
    pub date_format: Option<String>,
    /// The format of timestamps, as of `strptime`.
    pub timestamp_format: Option<String>,
    /// JSON: the path to the array that holds the rows of a file, keys with points between them; `$` if the file's
    /// values are rows.
    pub json_path: Option<String>,
    /// Whether the path was found and not said.
    pub json_path_found: bool,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect {
            charset: None,
            skip: 0,
            comment: None,
            comment_lines: false,
            null_padding: false,
            escape: None,
            nulls: Vec::new(),
            decimal_separator: b'.',
            thousands: None,
            date_format: None,
            timestamp_format: None,
            json_path: None,
            json_path_found: false,
        }
    }
}

impl Dialect {
    /// Whether files are as palais writes them.
    pub fn is_plain(&self) -> bool {
        *self == Dialect::default()
    }

    /// JSON: the path to the rows of a file, if they lie below keys.
    pub fn rows_below(&self) -> Option<&str> {
        self.json_path.as_deref().filter(|path| *path != "$")
    }

    /// Whether the bytes of a file are rewritten before its records are looked for.
    pub fn rewrites(&self) -> bool {
        self.charset.is_some() || self.skip > 0 || self.comment.is_some() || self.escape.is_some()
    }
}
