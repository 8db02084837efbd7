//! What a query knows of a table: its schema, its size and where its rows come from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::bdb;
use crate::dialect::Dialect;
use crate::estimates::TableEstimates;
use crate::manifest::BlockStart;
use crate::messages::MessageLayout;
use crate::structs::StructLayout;
use crate::zones::Clocks;

/// A table of the catalog. The catalog of a query is a list of these, resolved once, before planning.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    /// The name by which the query's text refers to it (a path, or a name given on the command line).
    pub name: String,
    /// The columns that a query sees, hive columns and `_file` at the end.
    pub schema: SchemaRef,
    /// Where the rows come from.
    pub source: Source,
    /// The number of rows, where it is known without reading data.
    pub rows: Option<u64>,
    /// About from which value to which each of the first columns goes, as numbers (dates and timestamps by their
    /// integers), where footers tell it. For estimates: rows may lie outside.
    pub spans: Vec<Option<(f64, f64)>>,
    /// What is guessed of the rows and values.
    pub guesses: TableEstimates,
}

impl Table {
    /// About how many rows there are, if that is known or guessed.
    pub fn about_rows(&self) -> Option<u64> {
        self.rows.or(self.guesses.rows)
    }

    /// The same table with the path of each row's file in a column of this name behind the others, if it is one of files.
    pub fn with_paths(mut self, name: &str) -> Table {
        let Source::Files(set) = &mut self.source else { return self };
        for file in &mut set.files {
            file.constants.push(Some(path_text(&file.path)));
        }
        let path = Arc::new(Field::new(name, DataType::Utf8View, false));
        let fields = self.schema.fields().iter().cloned().chain([path]);
        self.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        self
    }
}

/// A path as the text of a column. Bytes that are no UTF-8 are written `\xFF`.
fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02X}")));
    }
    text
}

/// Where the rows of a table come from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Source {
    /// Part files.
    Files(FileSet),
    /// A table of the Big Data Benchmark, made while it is read.
    Generated(bdb::Spec),
    /// `range(start, end, step)`: one column `range` of 64-bit integers, `end` excluded.
    Range {
        /// The first value.
        start: i64,
        /// The bound that is not reached.
        end: i64,
        /// The distance between values; not 0.
        step: i64,
    },
    /// Rows in the memory of this process, which are not sent to another one.
    #[serde(skip)]
    Memory(MemoryRows),
}

/// Record batches in memory, of the columns and types of their table. Clones share them.
#[derive(Clone)]
pub struct MemoryRows {
    batches: Arc<[RecordBatch]>,
    /// For each batch how many rows are before it, and behind them those of all.
    before: Arc<[u64]>,
}

impl MemoryRows {
    /// These batches.
    pub fn new(batches: Vec<RecordBatch>) -> MemoryRows {
        let mut before = vec![0];
        for batch in &batches {
            before.push(before[before.len() - 1] + batch.num_rows() as u64);
        }
        MemoryRows { batches: batches.into(), before: before.into() }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.before[self.batches.len()]
    }

    /// A part of one batch: the rows from `start` on, at most so many. `None` behind the last row.
    pub fn part(&self, start: u64, most: u64) -> Option<RecordBatch> {
        if start >= self.rows() {
            return None;
        }
        let number = self.before.partition_point(|&before| before <= start) - 1;
        let batch = &self.batches[number];
        let from = (start - self.before[number]) as usize;
        Some(batch.slice(from, (batch.num_rows() - from).min(usize::try_from(most).unwrap_or(usize::MAX))))
    }
}

impl fmt::Debug for MemoryRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows in memory", self.rows())
    }
}

/// Files of one schema and one format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileSet {
    /// The files in the order of their names; the order of rows of the table.
    pub files: Vec<FileEntry>,
    /// How their bytes are to be read.
    pub format: FormatOptions,
    /// How many of the schema's first columns lie in the files; behind them come [`FileEntry::constants`].
    pub file_columns: usize,
    /// The layouts of the files that differ from the table's, each once; [`FileEntry::layout`] points here.
    #[serde(default)]
    pub layouts: Vec<FileLayout>,
    /// What is compared with the table when a file is read.
    pub unseen: DeferredValidation,
}

/// What of the files of a table was not looked at when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum DeferredValidation {
    /// All that tells whether they go together.
    #[default]
    Nothing,
    /// csv: whether they have a header or not, as [`FormatOptions::header`] says.
    Header,
    /// Their first records, so many of each, which would not change the columns inferred from another file.
    Records {
        /// Those columns; one without values has the type `Null`.
        known: SchemaRef,
        /// How many.
        rows: usize,
    },
}

impl FileSet {
    /// The bytes of all files, compressed as they are.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }

    /// The layout of a file. It is `None` where the file holds the table's first [`FileSet::file_columns`] columns, in
    /// their order and types, under the compression of [`FileSet::format`].
    pub fn layout(&self, file: &FileEntry) -> Option<&FileLayout> {
        file.layout.and_then(|i| self.layouts.get(i))
    }
}

/// How a file differs from the table that it is a part of (`--union-by-name`, rotated logs of which some are
/// compressed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileLayout {
    /// The compression around the file.
    pub compression: String,
    /// The columns of the file that are the table's, in the file's order and with the table's types.
    pub schema: SchemaRef,
    /// For each of the table's first [`FileSet::file_columns`] columns its position in `schema`; `None` reads NULL.
    pub columns: Vec<Option<usize>>,
}

/// One file of a table, as it was when the catalog was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    /// The path; `-` is standard input.
    pub path: PathBuf,
    /// The size in bytes; 0 for standard input.
    pub bytes: u64,
    /// The time of the last change in nanoseconds since 1970; 0 for standard input.
    pub modified_ns: i64,
    /// The number of rows, where a manifest or a footer tells it.
    pub rows: Option<u64>,
    /// The values of the table's columns that do not lie in the file (hive directories, `_file`), as text.
    pub constants: Vec<Option<String>>,
    /// The position in [`FileSet::layouts`] where the file differs from the table.
    #[serde(default)]
    pub layout: Option<usize>,
    /// How it is cut into parts that several workers read.
    #[serde(default)]
    pub cut: Splitting,
    /// What a manifest says of its bytes.
    #[serde(default)]
    pub listed: Option<Listed>,
    /// The process of a query that reads it, if it does not lie where all processes are.
    #[serde(default)]
    pub process: Option<u32>,
}

/// How a file is cut into parts that several workers read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Splitting {
    /// Anywhere, or by the row groups of its format. A compressed file of records is not cut: one worker reads it.
    #[default]
    Anywhere,
    /// Where the manifest says that blocks begin.
    Blocks,
    /// Where the headers of its compression say that units begin.
    Units,
    /// One worker at a time decompresses, or finds where records end, and parses what it has while the next one does.
    Sequential,
}

/// What a manifest says of the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The CRC-32 (IEEE) of all bytes.
    pub crc32: u32,
    /// Its blocks.
    pub blocks: Vec<BlockStart>,
}

impl FileEntry {
    /// A file that holds the table's columns and no constants.
    pub fn new(path: impl Into<PathBuf>, bytes: u64, modified_ns: i64) -> FileEntry {
        FileEntry {
            path: path.into(),
            bytes,
            modified_ns,
            rows: None,
            constants: Vec::new(),
            layout: None,
            cut: Splitting::default(),
            listed: None,
            process: None,
        }
    }
}

/// What is done with a row that does not fit the schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The query fails and names the place.
    #[default]
    Fail,
    /// The value becomes NULL and is counted.
    Null,
    /// The row is left out and counted.
    Skip,
}

/// Which rows and values that are passed over are kept, with their place and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepRejects {
    /// The most that are kept: the first ones, by file and place.
    pub limit: usize,
    /// The name of the table that has them.
    pub errors: String,
    /// The name of the table of the files that were read.
    pub scans: String,
}

impl KeepRejects {
    /// How many are kept if nobody says it.
    pub const LIMIT: usize = 10_000;
}

impl Default for KeepRejects {
    fn default() -> KeepRejects {
        KeepRejects {
            limit: KeepRejects::LIMIT,
            errors: "reject_errors".into(),
            scans: "reject_scans".into(),
        }
    }
}

/// How the bytes of a file are to be read or written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatOptions {
    /// The name of the encoding (`csv`, `jsonl`, `text`, `parquet`, `arrow`, `buren`).
    pub encoding: String,
    /// The name of the compression around the file (`none`, `gzip`, `zlib`, `snappy`, `lz4`, `zstd`). Formats that
    /// compress inside read `none`, and take it as the inner codec when they write.
    pub compression: String,
    /// csv: the byte between fields.
    pub delimiter: u8,
    /// csv: the byte around fields.
    pub quote: u8,
    /// csv: whether the first row holds the names.
    pub header: bool,
    /// csv, JSON: whether types were inferred from examples. A number then is what a number is printed as: a phone
    /// number, `+4930123`, or a zip code, `01067`, behind those examples is no value of a column of numbers.
    #[serde(default)]
    pub inferred: bool,
    /// JSON: whether the columns are the keys of examples. Values under other keys are then counted.
    #[serde(default)]
    pub open_keys: bool,
    /// Text, read: how it is written where that is not as palais writes it. `None` of what palais writes.
    #[serde(default)]
    pub dialect: Option<Box<Dialect>>,
    /// MessagePack and CBOR, read: whether all rows of a file lie in one array.
    #[serde(default)]
    pub in_array: bool,
    /// MessagePack and CBOR, written: whether a row is an array of its values, without the columns' names, instead of a
    /// map. Both are read.
    #[serde(default)]
    pub row_arrays: bool,
    /// Protocol Buffers, read: the columns of which it is not said what a field means that is not there, NULL or 0. A row
    /// without one of them is an error.
    #[serde(default)]
    pub unsaid: Vec<usize>,
    /// csv, JSON, printed: the time zone whose clocks show instants. They are those of UTC in files, to which it is not
    /// told.
    #[serde(skip)]
    pub time_zone: Option<String>,
    /// Protocol Buffers and Cap'n Proto, read: where the columns lie in a record, as a `.proto` or `.capnp` file says it. If
    /// it is `None`, a column is the field whose number is its place.
    #[serde(default)]
    pub record_layout: Option<Box<RecordLayout>>,
    /// What is done with a bad value.
    pub on_error: OnError,
    /// Whether what is passed over is kept. That is no property of the file, and is not written into manifests.
    #[serde(skip)]
    pub rejects: Option<Box<KeepRejects>>,
    /// The longest record in bytes that is read.
    pub max_record: usize,
}

/// Where the columns lie in records that another program describes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordLayout {
    /// In messages of Protocol Buffers.
    Messages(MessageLayout),
    /// In structs of Cap'n Proto.
    Structs(StructLayout),
}

impl FormatOptions {
    /// The clocks that show instants, if they are not those of UTC.
    pub fn clocks(&self) -> Option<Clocks> {
        self.time_zone.as_deref().and_then(Clocks::of)
    }

    /// How many rows and values that are passed over are kept.
    pub fn rejects_limit(&self) -> usize {
        self.rejects.as_ref().map_or(0, |rejects| rejects.limit)
    }

    /// Whether the bytes of a file are rewritten before its records are looked for.
    pub fn rewrites(&self) -> bool {
        self.dialect.as_ref().is_some_and(|dialect| dialect.rewrites())
    }

    /// Sets how text is written.
    pub fn set_dialect(&mut self, dialect: &Dialect) {
        self.dialect = (!dialect.is_plain()).then(|| Box::new(dialect.clone()));
    }

    /// What stands before a quote within quotes.
    pub fn escape(&self) -> Option<u8> {
        self.dialect.as_ref()?.escape
    }

    /// Whether the fields that a record lacks at its end are NULL.
    pub fn pads(&self) -> bool {
        self.dialect.as_ref().is_some_and(|dialect| dialect.null_padding)
    }

    /// What a comment begins with.
    pub fn comment(&self) -> Option<u8> {
        self.dialect.as_ref()?.comments.mark()
    }
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions {
            encoding: "csv".into(),
            compression: "none".into(),
            delimiter: b',',
            quote: b'"',
            header: false,
            inferred: false,
            open_keys: false,
            dialect: None,
            in_array: false,
            row_arrays: false,
            unsaid: Vec::new(),
            time_zone: None,
            record_layout: None,
            on_error: OnError::Fail,
            rejects: None,
            max_record: 64 << 20,
        }
    }
}

/// How much of a column is wanted: the first characters of each of its texts.
///
/// A reader may give whole texts, or cut some of them behind so many characters or later ones. The function that cuts
/// them is evaluated above the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnPrefix {
    /// The column's position in the table's schema.
    pub column: usize,
    /// How many characters.
    pub chars: usize,
}

/// A necessary condition on one column, for zone maps: rows outside `min..=max` are not wanted.
///
/// The bounds are arrays of one row of the column's type; a missing bound is open. A reader may ignore it: the
/// filter itself is evaluated above the scan.
#[derive(Debug, Clone)]
pub struct ColumnBound {
    /// The column's position in the table's schema.
    pub column: usize,
    /// The least value wanted.
    pub min: Option<ArrayRef>,
    /// The greatest value wanted.
    pub max: Option<ArrayRef>,
}
