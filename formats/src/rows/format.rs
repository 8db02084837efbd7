//! What row encodings have in common as formats: how they are split, read and written.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use schema::{FileEntry, FormatOptions};

use super::encoder::{RowEncoder, RowWriter};
use super::reader::{MakeDecoder, RowReader};
use super::split::{self, Border};
use crate::compress;
use crate::error::Result;
use crate::format::{Format, Morsel, ScanOptions};
use crate::reader::FileReader;
use crate::writer::FileEncoder;

/// A row encoding.
pub struct RowFormat {
    /// Its name.
    pub name: &'static str,
    /// The suffixes of its files.
    pub extensions: &'static [&'static str],
    /// How the first record of a morsel is found.
    pub border: Border,
    /// Whether records of this file, which is not compressed, can be told apart from any place in it.
    pub splits: fn(&Path) -> Result<bool>,
    /// Makes its decoder.
    pub decoder: MakeDecoder,
    /// Infers the columns of a file from so many of its first records.
    pub infer: fn(&Path, &FormatOptions, usize) -> Result<SchemaRef>,
    /// Makes its writer.
    pub writer: fn(&SchemaRef, &FormatOptions) -> Result<Box<dyn RowWriter>>,
}

impl Format for RowFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn compresses_inside(&self) -> bool {
        false
    }

    fn compressions(&self) -> &'static [&'static str] {
        compress::NAMES
    }

    fn infer(&self, path: &Path, options: &FormatOptions, infer_rows: usize) -> Result<SchemaRef> {
        (self.infer)(path, options, infer_rows)
    }

    fn rows(&self, _path: &Path, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(None)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        Ok(match scan.format.compression.as_str() {
            "none" if file.bytes <= target_bytes || (self.splits)(&file.path)? => {
                split::split(file, self.border, target_bytes)
            }
            _ => split::whole(file),
        })
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        Ok(Box::new(RowReader::new(self.decoder, self.border, morsel, scan)?))
    }

    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        let writer = (self.writer)(schema, options)?;
        Ok(Arc::new(RowEncoder::new(writer, &options.compression)?))
    }
}
