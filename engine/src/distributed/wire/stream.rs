//! Batches with their schema, as Arrow IPC streams: for what is told outside the dataflow, and for types that have no kind
//! of their own.

use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::root_as_message_with_opts;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use flatbuffers::VerifierOptions;
use formats::columns::guard::guarded;

use super::{Rest, broken};
use crate::error::{Error, Result};

/// What a message begins with: this, the length of its metadata, which hold the length of its body.
const MARK: &[u8] = &[0xff; 4];

/// Parts of metadata may be named by many others, which each have a copy of them once they are read. What is written here
/// names none twice but for the layouts of its tables, which are shorter than these.
const MOST_TIMES: usize = 4;

/// The bytes of a batch and its schema.
///
/// # Errors
/// A value that Arrow's IPC does not write.
pub fn encode_with_schema(batch: &RecordBatch) -> Result<Vec<u8>> {
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch.schema())?;
    writer.write(batch)?;
    writer.finish()?;
    drop(writer);
    Ok(stream)
}

/// A batch that [`encode_with_schema`] gave.
///
/// # Errors
/// Other bytes.
pub fn decode_with_schema(bytes: &[u8]) -> Result<RecordBatch> {
    // The crate panics on some bytes that it did not write.
    let decoded = guarded(|| {
        Ok(check(Rest(bytes)).and_then(|()| {
            let mut stream = StreamReader::try_new(bytes, None)?;
            Ok(stream.next().transpose()?)
        }))
    });
    let read = decoded.map_err(|e| broken(&e.to_string()))?;
    read?.ok_or_else(|| broken("no batch"))
}

/// The bytes of one value.
///
/// # Errors
/// A value that Arrow's IPC does not write.
pub fn encode_value(value: &ScalarValue) -> Result<Vec<u8>> {
    encode_with_schema(&RecordBatch::try_from_iter([("value", value.to_array()?)])?)
}

/// A value of this type that [`encode_value`] gave.
///
/// # Errors
/// Other bytes.
pub fn decode_value(bytes: &[u8], t: &DataType) -> Result<ScalarValue> {
    match decode_with_schema(bytes)?.columns() {
        [column] if column.len() == 1 && column.data_type() == t => {
            Ok(ScalarValue::try_from_array(column, 0)?)
        }
        _ => Err(broken("it is not one value of its type")),
    }
}

/// Looks whether a stream is as long as it says: the crate asks for all memory that lengths claim before it looks for their
/// bytes. No stream is compressed here.
fn check(mut rest: Rest<'_>) -> Result<()> {
    loop {
        if rest.take(MARK.len())? != MARK {
            return Err(broken("a message without its mark"));
        }
        let length = rest.number()?;
        if length == 0 {
            return Ok(());
        }
        let metadata = rest.take(length)?;
        let options =
            VerifierOptions { max_apparent_size: length * MOST_TIMES, ..VerifierOptions::default() };
        let message = root_as_message_with_opts(&options, metadata);
        let message = message.map_err(|e| Error::Wire(e.to_string()))?;
        let values = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
        let batch = message.header_as_record_batch().or(values);
        if batch.is_some_and(|batch| batch.compression().is_some()) {
            return Err(broken("a compressed batch"));
        }
        rest.take(usize::try_from(message.bodyLength()).unwrap_or(usize::MAX))?;
    }
}
