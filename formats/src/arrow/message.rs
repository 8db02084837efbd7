//! Messages: their metadata, and the record batches and dictionaries that they carry.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, RecordBatch, root_as_message};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::schema::check_wide;
use super::{Slices, bad, sizes};
use crate::error::Result;

/// What new writers begin a message with.
pub const CONTINUATION: [u8; 4] = [0xFF; 4];
/// The most bytes that a compressed buffer may claim to hold, and how many times its own size. Zstandard stores a block
/// of 128 KiB of one byte in four bytes. The crate allocates what is claimed before it decompresses.
const MOST: i64 = 1 << 32;
const MOST_TIMES: i64 = 1 << 15;

/// Parses the metadata of a message, with the mark and the length before it. Old writers leave the mark out.
pub fn message(bytes: &[u8]) -> Result<Message<'_>> {
    let rest = bytes.strip_prefix(&CONTINUATION).unwrap_or(bytes);
    let metadata = rest.get(4..).ok_or_else(|| bad("a message without metadata"))?;
    root_as_message(metadata).map_err(bad)
}

/// The number of rows of a record batch, by its metadata.
pub fn rows(message: &Message) -> Result<usize> {
    rows_of(&batch(message)?)
}

/// The number of rows that a record batch says.
pub fn rows_of(batch: &RecordBatch) -> Result<usize> {
    usize::try_from(batch.length()).map_err(bad)
}

/// The columns of these positions, ascending, of a record batch.
pub fn columns(
    message: &Message,
    body: Bytes,
    schema: &SchemaRef,
    dictionaries: &HashMap<i64, ArrayRef>,
    positions: &[usize],
) -> Result<Slices> {
    if positions.is_empty() {
        return Ok(Slices::new(Vec::new(), rows(message)?));
    }
    let header = batch(message)?;
    check(&header, &body)?;
    sizes::ask(&header, &body, schema, positions)?;
    let (body, version) = (Buffer::from(body), message.version());
    let batch = read_record_batch(&body, header, schema.clone(), dictionaries, Some(positions), &version);
    let batch = batch.map_err(bad)?;
    for (column, &position) in batch.columns().iter().zip(positions) {
        check_wide(column, schema.field(position))?;
    }
    Ok(Slices::new(batch.columns().to_vec(), batch.num_rows()))
}

/// Adds the dictionary of a message, or what it adds to one, to those known.
pub fn dictionary(
    message: &Message,
    body: Bytes,
    schema: &SchemaRef,
    dictionaries: &mut HashMap<i64, ArrayRef>,
) -> Result<()> {
    let header = message.header_as_dictionary_batch().ok_or_else(|| bad("a dictionary that is none"))?;
    let values = header.data().ok_or_else(|| bad("a dictionary without values"))?;
    check(&values, &body)?;
    sizes::ask_for_all(&values, &body)?;
    read_dictionary(&Buffer::from(body), header, schema, dictionaries, &message.version()).map_err(bad)
}

/// The record batch of a message.
pub fn batch<'a>(message: &Message<'a>) -> Result<RecordBatch<'a>> {
    message.header_as_record_batch().ok_or_else(|| bad("a record batch that is none"))
}

/// Checks that buffers lie in the body and that compressed ones do not claim to hold more than they can.
fn check(batch: &RecordBatch, body: &[u8]) -> Result<()> {
    for buffer in batch.buffers().iter().flatten() {
        let bytes = (|| {
            let start = usize::try_from(buffer.offset()).ok()?;
            let end = start.checked_add(usize::try_from(buffer.length()).ok()?)?;
            body.get(start..end)
        })();
        let bytes = bytes.ok_or_else(|| bad("a buffer does not lie in its message"))?;
        if let (Some(_), Some(claim)) = (batch.compression(), bytes.first_chunk::<8>()) {
            let claim = i64::from_le_bytes(*claim);
            if claim > MOST.min((bytes.len() as i64).saturating_mul(MOST_TIMES)) {
                return Err(bad(format_args!("{} compressed bytes claim to hold {claim}", bytes.len())));
            }
        }
    }
    Ok(())
}
