//! Makes a table of a location, which a user writes behind FROM.
//!
//! A location is one file, `-` (standard input), a glob (`logs/**/*.csv.gz`), a list (`{old.csv,logs/*.csv}`), a
//! directory, or a dataset (a directory with a manifest). It may also be one of these in a store (`scheme://name`). A
//! directory stands for all data files in it and below it. Names that begin with `.` or `_` are left out.
//!
//! Files are read in the bytewise order of their paths, and a dataset's files in the order of its manifest. Sizes and
//! times of files are taken once.
//!
//! - `list`, `glob`, `braces`, `remote`: the files that a location names.
//! - `detect`, `sniff`: the encoding and compression of the files.
//! - `styles`: how the values of csv are written.
//! - `files`: how the files are read. `agreement`: their schema, inferred or given, on which they must agree (`unify`).
//! - `layouts`: how files differ from their table all the same.
//! - [`hive`], `assemble`: columns that are not in the files.
//! - `dataset`: directories with a manifest.
//! - `batches`: a table in memory.
//! - `estimates`: about how many rows there are, and of columns how many values and which.
//! - `suggest`: errors that suggest what the user may have meant.
//!
//! A file of 0 bytes has no rows, if the schema is known: given, from other files, or the schema of text. Else it is an
//! error. A compressed file, or a file of a column format, never has 0 bytes: it was cut short, and is an error.

mod agreement;
mod assemble;
mod batches;
mod braces;
mod dataset;
mod detect;
mod estimates;
mod files;
mod glob;
pub mod hive;
mod layouts;
mod list;
mod remote;
mod sniff;
mod styles;
mod suggest;
mod unify;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::schema::text::{capnp_file, described, proto_file};
use ::schema::{Dialect, FileEntry, KeepRejects, OnError, RecordLayout, Table, bdb};
use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};

pub use assemble::FILE_COLUMN;
pub use batches::open_batches;
pub use detect::{Named, by_name, stem};

use crate::columns::types::read_schema;
use crate::error::{Error, Result};
use crate::store::roots;
use list::Listing;

/// The options of a table, beside its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenOptions {
    /// The encoding. If it is not given, the names and contents of the files tell it.
    pub encoding: Option<String>,
    /// The compression around the files. If it is not given, the names and contents of the files tell it.
    pub compression: Option<String>,
    /// csv: the byte between fields. If it is not given, the suffix or the first lines tell it.
    pub delimiter: Option<u8>,
    /// csv: the byte around fields.
    pub quote: u8,
    /// csv: whether the first record of each file holds names. If it is not given, the first file tells it.
    pub header: Option<bool>,
    /// Text: how it is written where that is not as palais writes it. What is not said may be found.
    pub dialect: Box<Dialect>,
    /// The schema. If it is not given, it is inferred. Columns of csv match by their place, and columns of other
    /// encodings by their names.
    pub schema: Option<SchemaChoice>,
    /// The number of records of the first file from which types are inferred.
    pub infer_rows: usize,
    /// Whether files may lack columns that other files have. A missing column is NULL.
    pub union_by_name: bool,
    /// The handling of a bad value.
    pub on_error: OnError,
    /// Whether rows and values that are passed over are kept. A bad value is then passed over, with its row if
    /// `on_error` does not say otherwise.
    pub rejects: Option<Box<KeepRejects>>,
    /// The bytes of the longest record that is read.
    pub max_record: usize,
    /// Whether directories like `year=2026` are columns.
    pub hive: bool,
    /// Whether the table has a column `_file` with the path of each row's file.
    pub file_column: bool,
    /// Whether only some of many small files are looked at when the table is opened, if that is enough to infer the
    /// columns. Workers then compare each file when they read it. [`Error::Unlike`] then says that the table must be
    /// opened again with a look at all files.
    pub late: bool,
}

/// The default number of records from which types are inferred. More records make a wrong type rarer and the start
/// slower. So many records take a few milliseconds.
pub const INFER_ROWS: usize = 10_000;

impl Default for OpenOptions {
    fn default() -> Self {
        let format = schema::FormatOptions::default();
        OpenOptions {
            encoding: None,
            compression: None,
            delimiter: None,
            quote: format.quote,
            header: None,
            dialect: Box::default(),
            schema: None,
            infer_rows: INFER_ROWS,
            union_by_name: false,
            on_error: format.on_error,
            rejects: None,
            max_record: format.max_record,
            hive: true,
            file_column: false,
            late: false,
        }
    }
}

impl OpenOptions {
    /// What is done with a bad value.
    pub fn on_bad_value(&self) -> OnError {
        match (self.on_error, &self.rejects) {
            (OnError::Fail, Some(_)) => OnError::Skip,
            (on_error, _) => on_error,
        }
    }
}

/// The source of a table's schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SchemaChoice {
    /// The schema of the benchmark's table of this name: `rankings`, `uservisits`, `documents`.
    Bdb,
    /// A schema file, as `palais schema` prints it.
    File(PathBuf),
    /// This schema. It is not sent to another process.
    #[serde(skip)]
    Given(SchemaRef),
}

impl SchemaChoice {
    /// Parses the text behind `--schema NAME=`: `bdb`, or the path of a file.
    pub fn parse(text: &str) -> SchemaChoice {
        if text == "bdb" { SchemaChoice::Bdb } else { SchemaChoice::File(text.into()) }
    }

    /// The schema for the table `name` at `location`, with text as `Utf8View` and bytes as `BinaryView`.
    fn resolve(&self, name: &str, location: &Path) -> Result<GivenSchema> {
        match self {
            SchemaChoice::Given(schema) => Ok(GivenSchema::of(read_schema(schema))),
            SchemaChoice::Bdb => {
                let stem = detect::stem(location);
                let kind = bdb::Kind::parse(name).or_else(|| bdb::Kind::parse(&stem)).or_else(|| {
                    let parent = location.parent()?.file_name()?;
                    bdb::Kind::parse(&parent.to_string_lossy())
                });
                let names = bdb::Kind::ALL.map(bdb::Kind::name).join(", ");
                let kind = kind.ok_or_else(|| {
                    let message = format!("the benchmark has no table '{name}'; it has {names}");
                    Error::location(
                        location.display(),
                        message,
                        Some("name it with --table NAME=PATH".into()),
                    )
                })?;
                Ok(GivenSchema::of(Schema::clone(&kind.schema())))
            }
            SchemaChoice::File(path) => schema_of(path, name),
        }
    }
}

/// A schema that is given.
struct GivenSchema {
    schema: SchemaRef,
    /// The columns of which it does not say whether they may be NULL.
    unsaid: Vec<usize>,
    /// Where the columns lie in a record, if it is that of a `.proto` or `.capnp` file.
    record_layout: Option<Box<RecordLayout>>,
}

impl GivenSchema {
    /// A schema that says of every column whether it may be NULL.
    fn of(schema: Schema) -> GivenSchema {
        GivenSchema { schema: Arc::new(schema), unsaid: Vec::new(), record_layout: None }
    }
}

/// The schema of the table `name` in a file. The name of a `.proto` or `.capnp` file may have one of its messages or
/// structs behind it.
fn schema_of(given: &Path, name: &str) -> Result<GivenSchema> {
    let (path, record) = record_of(given);
    let describes = Describes::of(&path);
    let wrong = |message: String| Error::location(path.display(), message, None);
    let read = roots::open_file(&path).and_then(|file| {
        // A text that is too long is refused by its first bytes.
        let most = describes.map_or(u64::MAX, |_| described::MOST_BYTES as u64 + 1);
        std::io::read_to_string(file.take(most))
    });
    let text = read.map_err(|e| Error::io(&path, "read the schema file", e))?;
    if let Some(describes) = describes {
        // A table may be called by the path of its file.
        let (record, table) = (record.as_deref(), stem(Path::new(name)));
        let parsed = match describes {
            Describes::Messages => proto_file::parse(&text, record, &table)
                .map(|(schema, layout)| (schema, RecordLayout::Messages(layout))),
            Describes::Structs => capnp_file::parse(&text, record, &table)
                .map(|(schema, layout)| (schema, RecordLayout::Structs(layout))),
        };
        let (schema, layout) = parsed.map_err(|e| wrong(e.to_string()))?;
        return Ok(GivenSchema {
            record_layout: Some(Box::new(layout)),
            ..GivenSchema::of(read_schema(&schema))
        });
    }
    let (parsed, unsaid) = schema::text::parse_said(&text, name).map_err(|e| wrong(e.to_string()))?;
    if parsed.fields().is_empty() {
        return Err(wrong("the schema has no columns".into()));
    }
    Ok(GivenSchema { unsaid, ..GivenSchema::of(read_schema(&parsed)) })
}

/// What a file of another language than SQL or JSON describes.
#[derive(Clone, Copy)]
enum Describes {
    /// The messages of Protocol Buffers.
    Messages,
    /// The structs of Cap'n Proto.
    Structs,
}

impl Describes {
    /// What a file of this name describes.
    fn of(path: &Path) -> Option<Describes> {
        let extension = path.extension()?;
        match () {
            () if extension.eq_ignore_ascii_case("proto") => Some(Describes::Messages),
            () if extension.eq_ignore_ascii_case("capnp") => Some(Describes::Structs),
            () => None,
        }
    }
}

/// Takes the name of a message or struct, as in `orders.proto#Order`, off the path of a file.
fn record_of(path: &Path) -> (PathBuf, Option<String>) {
    let split = path.to_str().and_then(|text| text.rsplit_once('#'));
    match split {
        Some((file, record)) if Describes::of(Path::new(file)).is_some() => {
            (file.into(), Some(record.to_string()))
        }
        _ => (path.to_path_buf(), None),
    }
}

/// Resolves a location to a table called `name`. It lists the files, and opens those from which it needs the schema.
///
/// # Errors
/// A location that names no file, and files that can't be read or don't agree.
pub fn open(location: &str, name: &str, options: &OpenOptions) -> Result<Table> {
    open_listing(list::list(location)?, location, name, options)
}

/// As [`open`], for the path of a file, a directory or a dataset. The path may have any characters: there are no
/// wildcards in it.
pub fn open_path(path: &Path, name: &str, options: &OpenOptions) -> Result<Table> {
    open_listing(list::list_path(path)?, &path.to_string_lossy(), name, options)
}

fn open_listing(listing: Listing, location: &str, name: &str, options: &OpenOptions) -> Result<Table> {
    let mut table = match listing {
        Listing::Dataset(dir) => dataset::open(&dir, name, options)?,
        Listing::Files { root, files } => files::open(location, &root, files, name, options)?,
    };
    estimates::add(&mut table)?;
    Ok(table)
}

/// The files that a location names, in their order. Those of a dataset are its parts.
///
/// # Errors
/// As of [`open`]: a location that names no file.
pub fn files(location: &str) -> Result<Vec<FileEntry>> {
    let files = match list::list(location)? {
        Listing::Files { files, .. } => files,
        Listing::Dataset(directory) => list::below(&directory)?,
    };
    Ok(files.into_iter().map(FileEntry::from).collect())
}

/// The paths of the files that a location names, in their order. None if it names no file.
///
/// # Errors
/// The location can't be read, as a wildcard that is none.
pub fn paths(location: &str) -> Result<Vec<PathBuf>> {
    list::paths(location)
}

/// The tables of a directory, as names and locations in the order of names. Each sub-directory is a table, and each
/// file whose suffix names an encoding. A file's table is called like the file up to the first point, so that several
/// tables may have one name. No file is opened.
///
/// A directory that is a dataset itself is one table, called like the directory.
pub fn open_data_dir(dir: &Path) -> Result<Vec<(String, String)>> {
    let meta = roots::metadata(dir).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => suggest::missing(dir),
        _ => Error::io(dir, "open", e),
    })?;
    if !meta.is_dir() {
        return Err(Error::location(
            dir.display(),
            "this is not a directory",
            Some("--table NAME=PATH names a file".into()),
        ));
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    if list::has_manifest(dir)? {
        let whole = roots::canonicalize(dir).map_err(|e| Error::io(dir, "open", e))?;
        return Ok(vec![(detect::stem(&whole), text(dir))]);
    }
    let mut tables: Vec<(String, String)> = Vec::new();
    for entry in roots::read_dir(dir).map_err(|e| Error::io(dir, "list", e))? {
        let path = dir.join(entry.map_err(|e| Error::io(dir, "list", e))?.file_name());
        if path.file_name().is_none_or(list::is_hidden) {
            continue;
        }
        let is_dir = roots::metadata(&path).map_err(|e| Error::io(&path, "list", e))?.is_dir();
        match is_dir {
            true => tables.push((text(path.file_name().unwrap_or_default().as_ref()), text(&path))),
            false if by_name(&path).encoding.is_some() => tables.push((detect::stem(&path), text(&path))),
            false => {}
        }
    }
    // Names that differ only in case come side by side.
    tables.sort_by_cached_key(|(name, path)| (name.to_ascii_lowercase(), path.clone()));
    if tables.is_empty() {
        return Err(suggest::no_data(dir));
    }
    tables.sort();
    Ok(tables)
}
