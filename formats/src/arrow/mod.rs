//! Arrow IPC: the file format, read and written, and the stream format, read.
//!
//! ```text
//! file    = "ARROW1\0\0"  schema message  dictionary batches and record batches  end mark
//!           footer (flatbuffer)  its length: i32  "ARROW1"
//! stream  = schema message  dictionary batches and record batches  end mark?
//! message = 0xFFFFFFFF  length of the metadata: i32  metadata (flatbuffer, padded to 8 bytes)  body
//! ```
//!
//! - `schema`: the columns that a file or stream says.
//! - [`footer`]: the footer of a file and its dictionaries.
//! - `inspect`: what lies in a file, for people.
//! - [`message`]: metadata, record batches and dictionaries.
//! - [`read`]: the reader of a run of record batches of a file.
//! - `sizes`: what compressed buffers unpack to, asked for before.
//! - [`stream`]: the reader of a stream, from its first byte to its last.
//! - [`write`]: record batches encoded in parallel and appended in order.

pub mod footer;
mod inspect;
pub mod message;
pub mod read;
mod schema;
mod sizes;
pub mod stream;
pub mod write;

use std::sync::Arc;

use ::schema::{FileEntry, FormatOptions};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use crate::columns::adapt::Adapter;
use crate::columns::groups;
use crate::error::{Error, Result};
use crate::format::{Format, Morsel, Part, ScanOptions};
use crate::inspect::Inspection;
use crate::reader::FileReader;
use crate::store::input::Input;
use crate::writer::FileEncoder;

use footer::Footer;

/// What a file, other than a stream, begins and ends with.
const MAGIC: &[u8] = b"ARROW1";

/// The Arrow IPC formats.
pub struct Arrow;

impl Format for Arrow {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn title(&self) -> &'static str {
        "Arrow IPC"
    }

    fn magic(&self) -> &'static [&'static [u8]] {
        // A file, and a message of a stream.
        &[b"ARROW1\0\0", b"\xff\xff\xff\xff"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["arrow", "ipc", "feather", "arrows"]
    }

    fn compresses_inside(&self) -> bool {
        true
    }

    fn compressions(&self) -> &'static [&'static str] {
        write::COMPRESSIONS
    }

    fn infer(&self, file: &FileEntry, _options: &FormatOptions, _infer_rows: usize) -> Result<SchemaRef> {
        match is_stream(file)? {
            true => stream::infer(file),
            false => Ok(Footer::open(file)?.read_schema),
        }
    }

    fn rows(&self, file: &FileEntry, _options: &FormatOptions) -> Result<Option<u64>> {
        match is_stream(file)? {
            true => Ok(None),
            false => Ok(Some(Footer::open(file)?.rows(file)?)),
        }
    }

    fn inspect(&self, file: &FileEntry) -> Result<Option<Inspection>> {
        inspect::inspect(file).map(Some)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        if is_stream(file)? {
            let (part, bytes) = (Part::Whole, file.bytes);
            return Ok(vec![Morsel { file: file.clone(), part, bytes, shared: Arc::new(()) }]);
        }
        let mut footer = Footer::open(file)?;
        footer.read_dictionaries(file)?;
        let footer = Arc::new(footer);
        Adapter::new(&footer.schema, scan).map_err(|e| e.at(&file.path))?;
        let batches = footer.batches.iter().enumerate().map(|(at, block)| (at, block.end - block.start));
        Ok(groups::morsels(file, batches, target_bytes, footer.clone()))
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        match (&morsel.part, morsel.shared.clone().downcast::<Footer>()) {
            (Part::Whole, _) => Ok(Box::new(stream::Reader::new(scan))),
            (Part::Groups(batches), Ok(footer)) => {
                let reader = read::Reader::new(footer, batches.clone(), scan);
                Ok(Box::new(reader.map_err(|e| e.at(&morsel.file.path))?))
            }
            _ => Err(Error::Unsupported("an arrow reader was given a morsel of another format".into())),
        }
    }

    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        Ok(Arc::new(write::Encoder::new(schema, options)?))
    }
}

/// Whether this is a stream: what does not begin as a file does.
fn is_stream(file: &FileEntry) -> Result<bool> {
    Ok(Input::of(file)?.read_range(&(0..MAGIC.len() as u64))? != MAGIC)
}

/// What the arrow-ipc crate says of bytes that it can't read.
fn bad(error: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("not valid Arrow IPC: {error}"))
}

/// A decoded record batch that is given out in slices, since other tools write batches of any length.
pub struct Slices {
    columns: Vec<ArrayRef>,
    rows: usize,
    at: usize,
}

impl Slices {
    fn new(columns: Vec<ArrayRef>, rows: usize) -> Slices {
        Slices { columns, rows, at: 0 }
    }

    /// The next slice of at most `most` rows; `None` behind the last.
    fn next(&mut self, most: usize, adapter: &Adapter) -> Result<Option<RecordBatch>> {
        let rows = most.max(1).min(self.rows - self.at);
        if rows == 0 {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = self.columns.iter().map(|c| c.slice(self.at, rows)).collect();
        self.at += rows;
        adapter.adapt(&columns, rows).map(Some)
    }
}
