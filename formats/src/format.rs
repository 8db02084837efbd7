//! The trait that an encoding implements.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use schema::{ColumnBound, ColumnPrefix, Cut, DeferredValidation, FileEntry, FormatOptions};

use crate::columns::bounds::Zone;
use crate::error::Result;
use crate::inspect::Inspection;
use crate::reader::FileReader;
use crate::rows::schema_probe::SchemaProbe;
use crate::rows::sequential_splits::SequentialSplits;
use crate::rows::split::blocks_of;
use crate::writer::FileEncoder;

/// What a scan wants of a file.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// All columns that lie in the file, in the file's order for positional encodings (csv), by name for others.
    pub schema: SchemaRef,
    /// Positions in `schema` of the columns wanted, in the order wanted; may be empty (`COUNT(*)`).
    pub projection: Vec<usize>,
    /// Necessary conditions on columns, for zone maps; a reader may ignore them.
    pub bounds: Vec<ColumnBound>,
    /// Columns of text of which the beginnings are enough; a reader may ignore it.
    pub prefixes: Vec<ColumnPrefix>,
    /// What is compared when a file is read, since it was not when the table was opened.
    pub unseen: DeferredValidation,
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// How the bytes are to be read.
    pub format: FormatOptions,
}

impl ScanOptions {
    /// How many characters of each text of a column of the schema are enough.
    pub fn chars(&self, column: usize) -> usize {
        let prefix = self.prefixes.iter().find(|prefix| prefix.column == column);
        prefix.map_or(usize::MAX, |prefix| prefix.chars)
    }
}

/// A part of a file that one worker reads on its own. Borders follow from the file alone.
#[derive(Debug, Clone)]
pub struct Morsel {
    /// The file.
    pub file: Arc<FileEntry>,
    /// Which part of it: bytes of the file for row encodings, numbers of row groups for column formats.
    pub part: Part,
    /// Bytes of the file that reading it takes, about; for progress and for dealing.
    pub bytes: u64,
    /// What the morsels of one file share (csv: the state of quotes at each border; Parquet: the footer).
    pub shared: Arc<dyn std::any::Any + Send + Sync>,
}

/// Which part of a file a morsel is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The whole file, from the first byte to its end, read in order.
    Whole,
    /// The records that begin in this range of bytes.
    Bytes(Range<u64>),
    /// The blocks of this range of those that the file's manifest lists.
    Blocks(Range<usize>),
    /// The piece with this number, of as many as turn out to be there: see [`Morsel::next`].
    Turn(usize),
    /// Row groups or record batches of this range.
    Groups(Range<usize>),
}

impl Morsel {
    /// The morsel behind this one, where their number is not known before the file is read.
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

/// What the reader of a morsel finds and the readers of those behind it need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// What the bytes of a morsel do to quotes.
    Quotes {
        /// The morsel's number in its file.
        morsel: u32,
        /// For each state before it the number of the state behind it.
        states: [u8; 5],
    },
    /// A reader has ended before its morsel did; no more will be found, or needed.
    Abandoned,
}

/// Tells readers in other processes.
pub type Tell = Box<dyn Fn(Found) + Send + Sync>;

/// What the readers of one file's morsels find at their borders.
pub trait Borders: Send + Sync {
    /// Has what is found here from now on told.
    fn tell(&self, tell: Tell);

    /// Takes what a reader in another process has found.
    fn hear(&self, found: Found);
}

/// An encoding: how tables lie in bytes.
pub trait Format: Send + Sync {
    /// The name in `--to` and in manifests.
    fn name(&self) -> &'static str;

    /// What it is called in a list for people.
    fn title(&self) -> &'static str;

    /// The suffixes of its files, without the dot, the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// The bytes with which its files begin, each of several kinds with its own; none of encodings without such a mark.
    fn magic(&self) -> &'static [&'static [u8]] {
        &[]
    }

    /// Whether it compresses inside, so that no compression is put around the file.
    fn compresses_inside(&self) -> bool;

    /// The compressions that it can be written with.
    fn compressions(&self) -> &'static [&'static str];

    /// The compression that it is written with where nobody asks for another one.
    fn usual_compression(&self) -> &'static str {
        "none"
    }

    /// The schema of a file: from its footer, or inferred from its first `infer_rows` records.
    fn infer(&self, file: &FileEntry, options: &FormatOptions, infer_rows: usize) -> Result<SchemaRef>;

    /// What sees quickly that the first `infer_rows` records of a file would be inferred to have a schema that is known;
    /// for encodings that have it.
    fn probe(
        &self,
        _options: &FormatOptions,
        _infer_rows: usize,
        _known: &Schema,
    ) -> Option<Box<dyn SchemaProbe>> {
        None
    }

    /// The number of rows, where it can be told without reading data.
    fn rows(&self, file: &FileEntry, options: &FormatOptions) -> Result<Option<u64>>;

    /// What a file's footer tells of the values of its columns; empty for formats without zone maps.
    fn zones(&self, _file: &FileEntry) -> Result<Vec<Zone>> {
        Ok(Vec::new())
    }

    /// What lies in a file, for people; `None` of encodings whose files are not made of parts that they tell of.
    fn inspect(&self, _file: &FileEntry) -> Result<Option<Inspection>> {
        Ok(None)
    }

    /// Compares every checksum that a file has with its bytes. The number of those compared, or the first that does not
    /// agree; `None` of encodings that have no checksum of each part.
    fn check(&self, _file: &FileEntry) -> Result<Option<u64>> {
        Ok(None)
    }

    /// How a file that no manifest lists is best cut for several workers.
    fn cut(&self, _file: &FileEntry, _options: &FormatOptions) -> Result<Cut> {
        Ok(Cut::Anywhere)
    }

    /// Cuts a file into morsels of about `target_bytes`; every record belongs to exactly one of them.
    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>>;

    /// Whether the readers of a file's morsels of about so many bytes need what those before them find, and tell it: see
    /// [`Format::borders`].
    fn has_borders(&self, _file: &FileEntry, _options: &FormatOptions, _target_bytes: u64) -> bool {
        false
    }

    /// What the readers of a file's morsels find at their borders, for readers in other processes.
    fn borders<'a>(&self, _morsel: &'a Morsel) -> Option<&'a dyn Borders> {
        None
    }

    /// The bytes of the file that reading a morsel takes, as far as they are known before it is read: for reading ahead.
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

    /// The reader of one morsel. Batches have the columns of `scan.projection`, strings as `Utf8View`.
    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>>;

    /// The encoder of files of this schema.
    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>>;
}
