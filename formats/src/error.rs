//! What can be wrong with bytes, and where.

use std::io;
use std::path::{Path, PathBuf};

/// The result of this package's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong in reading or writing a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused an operation on a file.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write`, `rename`…
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes are not what the format or the schema asks for.
    #[error("{0}")]
    Data(Box<DataError>),
    /// The file was not looked at before it was read, and it is not certain that it has the columns of those that were.
    /// All of them are to be looked at.
    #[error("{}: its columns may not be those of the files before", path.display())]
    Unlike {
        /// The file; empty until the driver, which knows it, fills it in.
        path: PathBuf,
    },
    /// The schema can't be written in, or read from, the format.
    #[error("{}{message}", before(path))]
    Schema {
        /// The file.
        path: PathBuf,
        /// What does not fit, and what to do.
        message: String,
    },
    /// What the user named is not there, is not a table, or holds files that don't go together.
    #[error("{location}: {message}{}", help.as_ref().map(|h| format!("\n  help: {h}")).unwrap_or_default())]
    Location {
        /// What was named, as it was written.
        location: String,
        /// What is wrong with it.
        message: String,
        /// What would help.
        help: Option<String>,
    },
    /// Another statement writes to the same place.
    #[error(
        "{}: it is being written by another statement\n  help: wait until that one has ended, or name another place",
        path.display()
    )]
    BeingWritten {
        /// The destination.
        path: PathBuf,
    },
    /// A part of the file needs more memory than is left.
    #[error(
        "out of memory: {}: {what}, which would {excess}\n  help: raise --memory-limit, or read fewer columns",
        path.display()
    )]
    Memory {
        /// The file; empty until the driver, which knows it, fills it in.
        path: PathBuf,
        /// What needs it, with its size.
        what: String,
        /// What it would lead to, behind "would".
        excess: String,
    },
    /// The manifest of a dataset can't be read or is not one.
    #[error(transparent)]
    Manifest(#[from] schema::manifest::ManifestError),
    /// A format, compression or option that does not exist or does not go together.
    #[error("{0}")]
    Unsupported(String),
}

/// What stands before the message of an error in a file, if the file is known.
fn before(path: &Path) -> String {
    if path.as_os_str().is_empty() { String::new() } else { format!("{}: ", path.display()) }
}

/// A place in a file where the bytes are not what they should be.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct DataError {
    /// The file; empty until the driver, which knows it, fills it in.
    pub path: PathBuf,
    /// The record's number in the file, counted from 1, where it is known.
    pub row: Option<u64>,
    /// The line in the file, counted from 1, where it is known. It is other than the row where there is a header or
    /// where records hold newlines.
    pub line: Option<u64>,
    /// The byte offset in the (decompressed) file at which the bad value or record begins.
    pub offset: Option<u64>,
    /// The column's name.
    pub column: Option<String>,
    /// The offending text, shortened.
    pub value: Option<String>,
    /// What was expected, as a whole clause.
    pub message: String,
    /// What would help.
    pub help: Option<String>,
}

impl std::fmt::Display for DataError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(line) = self.line.filter(|_| self.line != self.row) {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(value) = &self.value {
            write!(f, ", found '{value}'")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl Error {
    /// Bytes at `offset` of the file are bad; path and row are filled in by the driver.
    pub fn data(offset: u64, message: impl Into<String>) -> Error {
        Error::Data(Box::new(DataError {
            offset: Some(offset),
            message: message.into(),
            ..DataError::default()
        }))
    }

    /// The bytes of the file are bad, and the place is not known; the path is filled in by the driver.
    pub fn corrupt(message: impl Into<String>) -> Error {
        Error::Data(Box::new(DataError { message: message.into(), ..DataError::default() }))
    }

    /// Wraps what the system said of `path`, or that a node does not serve it.
    pub fn io(path: impl AsRef<Path>, action: &'static str, source: io::Error) -> Error {
        if Outside::is_in(&source) {
            return Error::location(path.as_ref().display(), Outside.to_string(), Some(Outside::HELP.into()));
        }
        Error::Io { path: path.as_ref().to_path_buf(), action, source }
    }

    /// What the user named can't be opened as a table.
    pub fn location(location: impl ToString, message: impl Into<String>, help: Option<String>) -> Error {
        Error::Location { location: location.to_string(), message: message.into(), help }
    }

    /// Fills in the file where it is missing.
    pub fn at(mut self, file: &Path) -> Error {
        match &mut self {
            Error::Data(e) if e.path.as_os_str().is_empty() => e.path = file.to_path_buf(),
            Error::Schema { path, .. }
            | Error::Io { path, .. }
            | Error::Unlike { path }
            | Error::Memory { path, .. }
                if path.as_os_str().is_empty() =>
            {
                *path = file.to_path_buf();
            }
            _ => {}
        }
        self
    }
}

/// A path that lies outside of the directories that a process serves: what an [`io::Error`] of
/// [`roots`](crate::store::roots) holds then.
#[derive(Debug)]
pub struct Outside;

impl std::fmt::Display for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this lies outside of the directories that this node serves")
    }
}

impl std::error::Error for Outside {}

impl Outside {
    /// What would help.
    const HELP: &str = "data_root in the node's file names them";

    /// Whether an error says so.
    pub(crate) fn is_in(e: &io::Error) -> bool {
        e.get_ref().is_some_and(|e| e.is::<Outside>())
    }
}
