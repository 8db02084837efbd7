//! The footer of a file: its schema, where its batches lie, and its dictionaries.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::SchemaRef;

use schema::FileEntry;

use super::{MAGIC, bad, message, schema as columns};
use crate::columns::guard::guarded;
use crate::columns::tail::{Tail, cut_short};
use crate::columns::types::read_schema;
use crate::error::{Error, Result};

/// The length of the footer, and the magic.
const TRAILER: u64 = 10;

/// What a file says of itself. All places in it are checked to lie in the file.
#[derive(Debug)]
pub struct Footer {
    /// The columns as they are in the file.
    pub schema: SchemaRef,
    /// The columns as they are read.
    pub read_schema: SchemaRef,
    /// Where the record batches lie.
    pub batches: Vec<Range<u64>>,
    /// How long the metadata is at the start of each record batch.
    pub metadata: Vec<usize>,
    /// The dictionaries by their numbers, once they are read.
    pub dictionaries: HashMap<i64, ArrayRef>,
    dictionary_blocks: Vec<(Range<u64>, usize)>,
}

impl Footer {
    /// Reads the footer of a file.
    pub fn open(file: &FileEntry) -> Result<Footer> {
        let path = &file.path;
        let tail = Tail::open(file)?;
        guarded(|| Footer::read(&tail, path)).map_err(|e| e.at(path))
    }

    fn read(tail: &Tail, path: &Path) -> Result<Footer> {
        let end = tail.len.saturating_sub(TRAILER);
        let trailer = tail.bytes(path, end..tail.len)?;
        let Some((length, magic)) = trailer.split_first_chunk::<4>() else { return Err(cut_short(tail.len)) };
        if magic != MAGIC {
            return Err(Error::data(
                tail.len,
                "an Arrow file that was cut short: it does not end in 'ARROW1'",
            ));
        }
        let start =
            u64::try_from(i32::from_le_bytes(*length)).ok().and_then(|length| end.checked_sub(length));
        let bytes = tail.bytes(path, start.ok_or_else(|| cut_short(tail.len))?..end)?;
        let footer = root_as_footer(&bytes).map_err(bad)?;
        let schema = footer.schema().ok_or_else(|| bad("its footer has no schema"))?;
        let blocks = |blocks: Option<Vec<Block>>| -> Result<Vec<(Range<u64>, usize)>> {
            blocks.unwrap_or_default().iter().map(|block| place(block, tail.len)).collect()
        };
        let schema = columns::read(schema)?;
        let (batches, metadata) =
            blocks(footer.recordBatches().map(|b| b.iter().copied().collect()))?.into_iter().unzip();
        Ok(Footer {
            read_schema: Arc::new(read_schema(&schema)),
            schema,
            batches,
            metadata,
            dictionaries: HashMap::new(),
            dictionary_blocks: blocks(footer.dictionaries().map(|b| b.iter().copied().collect()))?,
        })
    }

    /// Reads the dictionaries that record batches refer to.
    pub fn read_dictionaries(&mut self, file: &FileEntry) -> Result<()> {
        let path = &file.path;
        if self.dictionary_blocks.is_empty() {
            return Ok(());
        }
        let tail = Tail::open(file)?;
        let Footer { schema, dictionaries, dictionary_blocks, .. } = self;
        let read = || {
            for (range, metadata) in dictionary_blocks.iter() {
                let bytes = tail.bytes(path, range.clone())?;
                let message = message::message(&bytes[..*metadata])?;
                message::dictionary(&message, bytes.slice(*metadata..), schema, dictionaries)?;
            }
            Ok(())
        };
        guarded(read).map_err(|e| e.at(path))
    }

    /// The number of rows, read from the metadata of each batch.
    pub fn rows(&self, file: &FileEntry) -> Result<u64> {
        let path = &file.path;
        let tail = Tail::open(file)?;
        let count = || {
            let mut rows = 0u64;
            for (range, &metadata) in self.batches.iter().zip(&self.metadata) {
                let bytes = tail.bytes(path, range.start..range.start + metadata as u64)?;
                rows = rows.saturating_add(message::rows(&message::message(&bytes)?)? as u64);
            }
            Ok(rows)
        };
        guarded(count).map_err(|e| e.at(path))
    }
}

/// Where a message lies, and how long its metadata is.
fn place(block: &Block, len: u64) -> Result<(Range<u64>, usize)> {
    let numbers = || {
        let start = u64::try_from(block.offset()).ok()?;
        let metadata = u64::try_from(block.metaDataLength()).ok()?;
        let body = u64::try_from(block.bodyLength()).ok()?;
        let end = start.checked_add(metadata)?.checked_add(body)?;
        (end <= len).then_some((start..end, metadata as usize))
    };
    numbers().ok_or_else(|| cut_short(len))
}
