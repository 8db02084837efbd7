//! The trait that an encoding implements.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use schema::{ColumnBound, ColumnPrefix, DeferredValidation, FileEntry, FormatOptions, Splitting};

use crate::columns::facts::ColumnFacts;
use crate::error::Result;
use crate::inspect::Inspection;
use crate::reader::FileReader;
use crate::registry::not_written;
use crate::rows::head::Head;
use crate::rows::schema_probe::SchemaProbe;
use crate::rows::sequential_splits::SequentialSplits;
use crate::rows::split::blocks_of;
use crate::writer::FileEncoder;

/// The options of a scan of a file.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// All columns of the file. Positional encodings (csv) have them in this order, and others find them by name.
    pub schema: SchemaRef,
    /// The columns that the scan gives, in this order, as positions in `schema`. May be empty (`COUNT(*)`).
    pub projection: Vec<usize>,
    /// Necessary conditions on columns, for zone maps. A reader may ignore them.
    pub bounds: Vec<ColumnBound>,
    /// Columns of text of which the scan needs only the beginnings. A reader may ignore them.
    pub prefixes: Vec<ColumnPrefix>,
    /// The checks that are deferred from the opening of the table to the reading of the file.
    pub unseen: DeferredValidation,
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// The options by which the bytes are read.
    pub format: FormatOptions,
}

impl ScanOptions {
    /// The number of characters of each text of a column that the scan needs.
    pub fn chars(&self, column: usize) -> usize {
        let prefix = self.prefixes.iter().find(|prefix| prefix.column == column);
        prefix.map_or(usize::MAX, |prefix| prefix.chars)
    }
}

/// A part of a file that one worker reads on its own. The borders of morsels follow from the file alone.
#[derive(Debug, Clone)]
pub struct Morsel {
    /// The file.
    pub file: Arc<FileEntry>,
    /// The part of the file: bytes for row encodings, numbers of row groups for column formats.
    pub part: Part,
    /// The bytes of the file that reading the morsel takes, about. Progress and the assignment of splits use them.
    pub bytes: u64,
    /// The state that the morsels of one file share (csv: the state of quotes at each border, Parquet: the footer).
    pub shared: Arc<dyn std::any::Any + Send + Sync>,
}

/// The part of a file that a morsel is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The whole file, from the first byte to its end, read in order.
    Whole,
    /// The records that begin in this range of bytes.
    Bytes(Range<u64>),
    /// A range of the blocks that the file's manifest lists.
    Blocks(Range<usize>),
    /// The piece with this number. The number of pieces is known only when the file is read, see [`Morsel::next`].
    Turn(usize),
    /// A range of row groups or record batches.
    Groups(Range<usize>),
}

impl Morsel {
    /// The morsel behind this one, if the number of morsels is not known before the file is read.
    pub fn next(&self) -> Option<Morsel> {
        let Part::Turn(number) = self.part else { return None };
        Some(Morsel { part: Part::Turn(number + 1), ..self.clone() }).filter(|next| !next.is_over())
    }

    /// Whether the file turned out to have no such morsel.
    pub fn is_over(&self) -> bool {
        match (&self.part, self.shared.downcast_ref::<SequentialSplits>()) {
            (Part::Turn(number), Some(turns)) => turns.is_over(*number),
            _ => false,
        }
    }
}

/// A fact that the reader of a morsel finds, and that the readers of the morsels behind it need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The effect of a morsel's bytes on the quote state.
    Quotes {
        /// The morsel's number in its file.
        morsel: u32,
        /// For each state before the morsel, the number of the state behind it.
        states: [u8; 5],
    },
    /// A reader has ended before its morsel did. No more facts will be found or needed.
    Abandoned,
}

/// Tells readers in other processes what a reader has found.
pub type Tell = Box<dyn Fn(Found) + Send + Sync>;

/// Shares the facts about the borders of one file's morsels between their readers, also with those of other processes.
pub trait Borders: Send + Sync {
    /// Calls `tell` for each fact that readers here find from now on.
    fn tell(&self, tell: Tell);

    /// Takes a fact that a reader in another process has found.
    fn hear(&self, found: Found);
}

/// An encoding: how bytes hold a table.
pub trait Format: Send + Sync {
    /// The name in `--to` and in manifests.
    fn name(&self) -> &'static str;

    /// The name in lists for people.
    fn title(&self) -> &'static str;

    /// The suffixes of its files, without the dot, the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// The bytes with which its files begin: one entry for each kind of file. Empty for encodings without such a mark.
    fn magic(&self) -> &'static [&'static [u8]] {
        &[]
    }

    /// The file that stands in each of its files, if these are zip archives. Other archives begin with the same bytes.
    fn in_archive(&self) -> Option<&'static str> {
        None
    }

    /// Whether a file holds sheets of cells, one of which is the table. Types are inferred from all cells, and the names of
    /// columns stand in a row or nowhere.
    fn is_sheet(&self) -> bool {
        false
    }

    /// Whether its files are text, which a terminal can show.
    fn is_text(&self) -> bool {
        false
    }

    /// Whether its records are fields between delimiters, as in csv. The first record may then hold the names of the
    /// columns, and a column is known by its place.
    fn is_delimited(&self) -> bool {
        false
    }

    /// Whether its records are JSON objects: any of them may have other keys, and all of them may lie in one array below a
    /// key of an object.
    fn is_json(&self) -> bool {
        false
    }

    /// Whether each value tells its type, as in MessagePack. A row is then a map or an array.
    fn is_tagged(&self) -> bool {
        false
    }

    /// Whether all rows of a file that begins with `head` lie in one array, which tagged encodings allow. `whole` says
    /// that `head` is all of the file. With a given schema, an array that is one row of its columns is none of rows.
    fn is_in_array(&self, _head: &[u8], _whole: bool, _given: Option<&Schema>) -> bool {
        false
    }

    /// Whether the encoding compresses inside, so that no compression is put around its files.
    fn compresses_inside(&self) -> bool;

    /// The compressions with which the encoding can be written. None if its files are read and not written.
    fn compressions(&self) -> &'static [&'static str];

    /// Whether its files can be written.
    fn is_written(&self) -> bool {
        !self.compressions().is_empty()
    }

    /// The default compression for writing.
    fn usual_compression(&self) -> &'static str {
        "none"
    }

    /// The schema of a file, from its footer, or inferred from its first `infer_rows` records.
    fn infer(&self, file: &FileEntry, options: &FormatOptions, infer_rows: usize) -> Result<SchemaRef>;

    /// Makes a schema probe: it sees quickly whether the first `infer_rows` records of a file have the schema `known`.
    /// `None` for encodings without one.
    fn probe(
        &self,
        _options: &FormatOptions,
        _infer_rows: usize,
        _known: &Schema,
    ) -> Option<Box<dyn SchemaProbe>> {
        None
    }

    /// The number of rows of a file, if the encoding knows it without reading data.
    fn rows(&self, file: &FileEntry, options: &FormatOptions) -> Result<Option<u64>>;

    /// The columns of a file and its number of rows, of an encoding whose files state their columns, in one look.
    fn stated(&self, file: &FileEntry, options: &FormatOptions) -> Result<(SchemaRef, Option<u64>)> {
        Ok((self.infer(file, options, 0)?, self.rows(file, options)?))
    }

    /// What the footer of a file says of the values of its columns. Empty for formats whose footers say nothing of them.
    fn facts(&self, _file: &FileEntry) -> Result<Vec<ColumnFacts>> {
        Ok(Vec::new())
    }

    /// The first records of a file, from its first `most` bytes, decompressed. `None` for encodings that are not read
    /// record by record.
    fn head(&self, _file: &FileEntry, _scan: &ScanOptions, _most: usize) -> Result<Option<Head>> {
        Ok(None)
    }

    /// Describes the parts of a file, for people. `None` for encodings whose files don't describe their parts.
    fn inspect(&self, _file: &FileEntry) -> Result<Option<Inspection>> {
        Ok(None)
    }

    /// Compares every checksum in a file with the bytes. Gives the number of checksums, or `None` for encodings without
    /// a checksum for each part.
    ///
    /// # Errors
    /// The first checksum that does not agree.
    fn check(&self, _file: &FileEntry) -> Result<Option<u64>> {
        Ok(None)
    }

    /// How a file that no manifest lists is cut for several workers.
    fn cut(&self, _file: &FileEntry, _options: &FormatOptions) -> Result<Splitting> {
        Ok(Splitting::Anywhere)
    }

    /// Cuts a file into morsels of about `target_bytes`. Every record belongs to exactly one morsel.
    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>>;

    /// Whether the readers of a file's morsels of about `target_bytes` need facts that the readers of the morsels
    /// before find, see [`Format::borders`].
    fn has_borders(&self, _file: &FileEntry, _options: &FormatOptions, _target_bytes: u64) -> bool {
        false
    }

    /// The facts about the borders of a file's morsels, which readers in several processes share.
    fn borders<'a>(&self, _morsel: &'a Morsel) -> Option<&'a dyn Borders> {
        None
    }

    /// The bytes of the file that reading a morsel takes, as far as they are known before. The prefetch of scans uses
    /// them.
    fn ranges(&self, morsel: &Morsel, _scan: &ScanOptions) -> Vec<Range<u64>> {
        match &morsel.part {
            Part::Bytes(range) => vec![range.clone()],
            Part::Blocks(_) => {
                let blocks = blocks_of(&morsel.file, &morsel.part);
                let ends = blocks.first().zip(blocks.last());
                ends.map(|(first, last)| first.range.start..last.range.end).into_iter().collect()
            }
            Part::Whole | Part::Turn(_) | Part::Groups(_) => vec![],
        }
    }

    /// Makes the reader of one morsel. Its batches have the columns of `scan.projection`, with strings as `Utf8View`.
    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>>;

    /// Makes the encoder of files of this schema.
    ///
    /// # Errors
    /// The encoding has no such columns, or is not written at all.
    fn encoder(&self, _schema: &SchemaRef, _options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        Err(not_written(self.title()))
    }
}
