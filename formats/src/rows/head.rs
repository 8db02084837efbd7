//! The first records of a file, for estimates.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use schema::FileEntry;

use super::reader::{BYTE_ORDER_MARK, MakeDecoder};
use super::split::Border;
use super::{Input, rewrite};
use crate::compress::head::{Beginning, beginning};
use crate::error::Result;
use crate::format::ScanOptions;
use crate::memory;

/// The first records of a file.
#[derive(Debug)]
pub struct Head {
    /// Their rows; `None` if there are none.
    pub batch: Option<RecordBatch>,
    /// How many records they are, the skipped ones too.
    pub records: u64,
    /// About how many bytes of the file they take.
    pub bytes: f64,
    /// How many bytes they take when decompressed.
    pub raw: u64,
    /// Whether the file has no more.
    pub is_whole: bool,
}

/// Reads records from the first `most` bytes, decompressed, of a file, as many as fit a batch.
///
/// # Errors
/// The file can't be read, or its beginning is not what it should be.
pub fn head(
    make: MakeDecoder,
    border: Border,
    file: &FileEntry,
    scan: &ScanOptions,
    most: usize,
) -> Result<Head> {
    let _reading = memory::read(&file.path);
    let Beginning { bytes, packed, is_whole } = beginning(file, rewrite::decompressor(&scan.format)?, most)?;
    let mut decoder = make(scan, true)?;
    let block = Buffer::from_vec(bytes);
    let is_marked = border != Border::Unmarked && block.starts_with(BYTE_ORDER_MARK);
    let mut at = if is_marked { BYTE_ORDER_MARK.len() } else { 0 };
    while at < block.len() && !decoder.is_full() {
        let input = Input { block: &block, at, limit: usize::MAX, last: is_whole, offset: 0 };
        match decoder.decode(input)? {
            0 => break,
            decoded => at += decoded,
        }
    }
    let ratio = packed as f64 / (block.len() as f64).max(1.0);
    Ok(Head {
        records: decoder.position().0,
        bytes: at as f64 * ratio,
        raw: at as u64,
        is_whole: is_whole && at == block.len(),
        batch: decoder.flush()?,
    })
}
