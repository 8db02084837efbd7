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
    /// What of the text are comments.
    pub comments: Comments,
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
    /// Workbooks: which cells are the table.
    pub sheet: SheetChoice,
}

/// Which cells of a workbook are the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SheetChoice {
    /// The name of the sheet; the first one if there is none.
    pub name: Option<String>,
    /// The range of cells, such as `A1:C10`; all that are in use if there is none.
    pub range: Option<String>,
    /// Whether the first row holds the names of the columns; the cells tell it if it is not said.
    pub header: Option<bool>,
}

/// What of a csv text are comments, which end with their line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comments {
    /// What is found where it is clear that there are some.
    #[default]
    Sought,
    /// Nothing.
    None,
    /// What begins with this byte, at the beginning of a line or behind a record.
    From(u8),
    /// What was found.
    Found {
        /// What they begin with.
        mark: u8,
        /// Each is a line of its own, and none stands behind a record.
        alone: bool,
        /// The fields of a record, where there are several. A comment that has as many, and no space behind the mark,
        /// could be a record.
        fields: Option<usize>,
    },
}

impl Comments {
    /// What they begin with.
    pub fn mark(self) -> Option<u8> {
        match self {
            Comments::Sought | Comments::None => None,
            Comments::From(mark) | Comments::Found { mark, .. } => Some(mark),
        }
    }
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect {
            charset: None,
            skip: 0,
            comments: Comments::Sought,
            null_padding: false,
            escape: None,
            nulls: Vec::new(),
            decimal_separator: b'.',
            thousands: None,
            date_format: None,
            timestamp_format: None,
            json_path: None,
            json_path_found: false,
            sheet: SheetChoice::default(),
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
        self.charset.is_some() || self.skip > 0 || self.comments.mark().is_some() || self.escape.is_some()
    }
}
