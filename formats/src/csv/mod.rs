//! csv as RFC 4180 has it: fields between delimiters, records between newlines, quotes around fields that hold either.
//!
//! - [`index`]: where fields and records end.
//! - [`decode`]: bytes to rows.
//! - [`encode`]: rows to bytes.

mod decode;
mod encode;
mod index;

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use schema::{FileEntry, FormatOptions};

use crate::compress;
use crate::error::{Error, Result};
use crate::format::{Format, Morsel, ScanOptions};
use crate::reader::FileReader;
use crate::rows::encoder::RowEncoder;
use crate::rows::quotes::Marks;
use crate::rows::reader::RowReader;
use crate::rows::split::{self, Border};
use crate::writer::FileEncoder;

/// Comma-separated values.
pub struct Csv;

/// The delimiter and the quote, checked.
fn marks(options: &FormatOptions) -> Result<Marks> {
    let (delimiter, quote) = (options.delimiter, options.quote);
    for (name, byte) in [("delimiter", delimiter), ("quote", quote)] {
        if !byte.is_ascii() || matches!(byte, b'\n' | b'\r') {
            return Err(Error::Unsupported(format!(
                "the {name} of csv must be an ASCII character other than a line break"
            )));
        }
    }
    if delimiter == quote {
        return Err(Error::Unsupported("the delimiter and the quote of csv must differ".into()));
    }
    Ok(Marks { delimiter, quote })
}

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn compresses_inside(&self) -> bool {
        false
    }

    fn compressions(&self) -> &'static [&'static str] {
        compress::NAMES
    }

    fn infer(&self, _path: &Path, _options: &FormatOptions, _infer_rows: usize) -> Result<SchemaRef> {
        Err(Error::Unsupported("csv: inference is not there".into()))
    }

    fn rows(&self, _path: &Path, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(None)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        Ok(match scan.format.compression.as_str() {
            "none" => split::split(file, Border::Quotes, target_bytes),
            _ => split::whole(file),
        })
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        let reader = RowReader::new(
            |scan, first| Ok(Box::new(decode::CsvDecoder::new(scan, first)?)),
            Border::Quotes,
            morsel,
            scan,
        )?;
        Ok(Box::new(reader))
    }

    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        let writer = encode::CsvWriter::new(schema, options)?;
        Ok(Arc::new(RowEncoder::new(Box::new(writer), &options.compression)?))
    }
}
