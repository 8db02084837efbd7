//! Batches with their schema, as Arrow IPC streams: for messages outside the dataflow, and for columns of types that
//! have no kind of their own.

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

/// The first bytes of a message. The length of the metadata follows, and the metadata hold the length of the body.
const MARK: &[u8] = &[0xff; 4];

/// The most times that metadata may grow when they are decoded. Several parts of the metadata may refer to one part,
/// and each gets a copy of it. Metadata that this program writes refer only to the layouts of tables more than once,
/// and the layouts are shorter than the tables.
const MOST_TIMES: usize = 4;

/// Encodes a batch with its schema.
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

/// Decodes a batch that [`encode_with_schema`] has encoded.
///
/// # Errors
/// Other bytes.
pub fn decode_with_schema(bytes: &[u8]) -> Result<RecordBatch> {
    // The arrow crate panics on some bytes that it did not write.
    let decoded = guarded(|| {
        Ok(check(Rest(bytes)).and_then(|()| {
            let mut stream = StreamReader::try_new(bytes, None)?;
            Ok(stream.next().transpose()?)
        }))
    });
    let read = decoded.map_err(|e| broken(&e.to_string()))?;
    read?.ok_or_else(|| broken("no batch"))
}

/// Encodes one value.
///
/// # Errors
/// A value that Arrow's IPC does not write.
pub fn encode_value(value: &ScalarValue) -> Result<Vec<u8>> {
    encode_with_schema(&RecordBatch::try_from_iter([("value", value.to_array()?)])?)
}

/// Decodes a value of this type that [`encode_value`] has encoded.
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

/// Checks that a stream is as long as its lengths say, and not compressed. The arrow crate allocates all memory that a
/// length claims before it looks for the bytes. This program compresses no stream.
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
