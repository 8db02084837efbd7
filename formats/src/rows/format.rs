//! What row encodings have in common as formats: how they are split, read and written.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use schema::{DeferredValidation, FileEntry, FormatOptions, Splitting};

use super::encoder::{RowEncoder, RowWriter};
use super::head::{Head, head};
use super::reader::{MakeDecoder, RowReader};
use super::rewrite;
use super::schema_probe::{MakeProbe, SchemaProbe};
use super::sequential_splits::{MAX_UNIT, MAX_WINDOW, SequentialReader, SequentialSplits};
use super::split::{self, Border, SharedBorders};
use super::tagged::outer::LOOKED_AT;
use crate::compress::{self, Unit};
use crate::error::{Error, Result};
use crate::format::{Borders, Format, Morsel, Part, ScanOptions};
use crate::reader::FileReader;
use crate::store::input::Input;
use crate::writer::FileEncoder;

/// Files of at most so many bytes, plain and compressed, are read by one worker each.
const SMALL: u64 = 8 << 20;
const SMALL_PACKED: u64 = 512 << 10;

/// Decompressed bytes by which a file is known to hold records one after another.
const HEAD_BYTES: usize = LOOKED_AT;

/// What is looked at to find the first unit of a compressed file, at first.
const FIRST_WINDOW: u64 = 512 << 10;

/// What the bytes of a row encoding are.
pub enum Kind {
    /// Text.
    Text,
    /// Text whose records are fields between delimiters.
    Delimited,
    /// JSON objects.
    Json,
    /// Values that tell their types.
    Tagged {
        /// See [`Format::is_in_array`].
        is_in_array: fn(&[u8], bool, Option<&Schema>) -> bool,
    },
    /// Values whose types only the schema tells.
    Untagged,
}

/// A row encoding.
pub struct RowFormat {
    /// Its name.
    pub name: &'static str,
    /// What it is called in a list for people.
    pub title: &'static str,
    /// The suffixes of its files.
    pub extensions: &'static [&'static str],
    /// What its bytes are.
    pub kind: Kind,
    /// How the first record of a morsel is found.
    pub border: Border,
    /// Whether a file that, decompressed, begins with these bytes (of which [`LOOKED_AT`] are enough) holds records one after another,
    /// each of which can be read without those before it.
    pub splits: fn(&[u8], &FormatOptions) -> bool,
    /// Makes its decoder.
    pub decoder: MakeDecoder,
    /// Infers the columns of a file from so many of its first records.
    pub infer: fn(&FileEntry, &FormatOptions, usize) -> Result<SchemaRef>,
    /// Makes what sees quickly that a file begins like another, if the encoding has it.
    pub probe: MakeProbe,
    /// Makes its writer.
    pub writer: fn(&SchemaRef, &FormatOptions) -> Result<Box<dyn RowWriter>>,
}

impl Format for RowFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::Delimited | Kind::Json)
    }

    fn is_delimited(&self) -> bool {
        matches!(self.kind, Kind::Delimited)
    }

    fn is_json(&self) -> bool {
        matches!(self.kind, Kind::Json)
    }

    fn is_tagged(&self) -> bool {
        matches!(self.kind, Kind::Tagged { .. })
    }

    fn is_in_array(&self, head: &[u8], whole: bool, given: Option<&Schema>) -> bool {
        match self.kind {
            Kind::Tagged { is_in_array } => is_in_array(head, whole, given),
            Kind::Text | Kind::Delimited | Kind::Json | Kind::Untagged => false,
        }
    }

    fn compresses_inside(&self) -> bool {
        false
    }

    fn compressions(&self) -> &'static [&'static str] {
        compress::names()
    }

    fn infer(&self, file: &FileEntry, options: &FormatOptions, infer_rows: usize) -> Result<SchemaRef> {
        (self.infer)(file, options, infer_rows)
    }

    fn probe(
        &self,
        options: &FormatOptions,
        infer_rows: usize,
        known: &Schema,
    ) -> Option<Box<dyn SchemaProbe>> {
        (self.probe)(options, infer_rows, known)
    }

    fn rows(&self, _file: &FileEntry, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(None)
    }

    fn head(&self, file: &FileEntry, scan: &ScanOptions, most: usize) -> Result<Option<Head>> {
        head(self.decoder, self.border, file, scan, most).map(Some)
    }

    fn cut(&self, file: &FileEntry, options: &FormatOptions) -> Result<Splitting> {
        let compression = compress::compression(&options.compression)?;
        let rewrites = options.rewrites();
        let plain = compression.decompressor()?.is_none() && !rewrites;
        let marked = self.border != Border::Unmarked;
        if file.bytes <= if plain { SMALL } else { SMALL_PACKED } || (plain && marked) {
            return Ok(Splitting::Anywhere);
        }
        // What is wrong with a file is told when it is read.
        let Ok(head) = rewrite::first_text(file, options, HEAD_BYTES) else { return Ok(Splitting::Anywhere) };
        if !(self.splits)(&head, options) {
            return Ok(Splitting::Anywhere);
        }
        let input = Input::of(file)?;
        let mut window = FIRST_WINDOW;
        while !plain && !rewrites && window <= MAX_WINDOW {
            let bytes = input.read_range(&(0..window))?;
            match compression.unit(&bytes) {
                Unit::Whole { raw, aligned, .. } if raw <= MAX_UNIT && (marked || aligned) => {
                    return Ok(Splitting::Units);
                }
                Unit::Short if bytes.len() as u64 == window => window *= 4,
                Unit::Whole { .. } | Unit::Short | Unit::Unknown => break,
            }
        }
        Ok(Splitting::Sequential)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        let plain = scan.format.compression == "none" && !scan.format.rewrites();
        Ok(match (file.cut, &file.listed) {
            _ if target_bytes == u64::MAX => split::whole(file),
            (Splitting::Blocks, Some(listed)) => split::by_blocks(file, listed, target_bytes),
            (Splitting::Units | Splitting::Sequential, _) => split::by_turns(file, target_bytes),
            _ if plain && self.border != Border::Unmarked && self.is_cut(file, scan, target_bytes)? => {
                split::split(file, self.border, target_bytes)
            }
            _ => split::whole(file),
        })
    }

    fn has_borders(&self, file: &FileEntry, options: &FormatOptions, target_bytes: u64) -> bool {
        let plain = options.compression == "none" && !options.rewrites() && file.cut == Splitting::Anywhere;
        plain && self.border == Border::Quotes && file.bytes > target_bytes
    }

    fn borders<'a>(&self, morsel: &'a Morsel) -> Option<&'a dyn Borders> {
        let shared = morsel.shared.downcast_ref::<SharedBorders>()?;
        (self.border == Border::Quotes && matches!(morsel.part, Part::Bytes(_)))
            .then_some(shared as &dyn Borders)
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        if let Part::Turn(number) = morsel.part
            && let Ok(turns) = morsel.shared.clone().downcast::<SequentialSplits>()
        {
            return Ok(Box::new(SequentialReader::new(
                self.decoder,
                self.border,
                morsel,
                turns,
                number,
                scan,
            )?));
        }
        let reader = RowReader::new(self.decoder, self.border, morsel, scan)?;
        let probe = match (&scan.unseen, &morsel.part) {
            (DeferredValidation::Records { known, rows }, Part::Whole) => {
                self.probe(&scan.format, *rows, known)
            }
            // What is cut is looked at before.
            (DeferredValidation::Records { .. }, _) => {
                return Err(Error::Unlike { path: morsel.file.path.clone() });
            }
            _ => None,
        };
        Ok(Box::new(reader.with(probe)))
    }

    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        let writer = (self.writer)(schema, options)?;
        Ok(Arc::new(RowEncoder::new(writer, schema, &options.compression)?))
    }
}

impl RowFormat {
    /// Whether a plain file is worth cutting and can be cut.
    fn is_cut(&self, file: &FileEntry, scan: &ScanOptions, target_bytes: u64) -> Result<bool> {
        if file.bytes <= target_bytes {
            return Ok(false);
        }
        // That a file can't be opened is told when it is read.
        let Ok(input) = Input::of(file) else { return Ok(true) };
        Ok((self.splits)(&input.read_range(&(0..HEAD_BYTES as u64))?, &scan.format))
    }
}
