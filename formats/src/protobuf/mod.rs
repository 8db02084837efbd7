//! Protocol Buffers: a message a row, each behind its length as a varint (as `writeDelimitedTo` has it). A column is the
//! field whose number is its place, counted from 1.
//!
//! | column | field | wire |
//! |---|---|---|
//! | BOOLEAN | bool | varint |
//! | TINYINT, SMALLINT, INT; the same unsigned | int32; uint32 | varint |
//! | BIGINT; unsigned | int64; uint64 | varint |
//! | FLOAT; DOUBLE | float; double | 4; 8 bytes, little endian |
//! | DATE | int32: days since 1970-01-01 | varint |
//! | TIMESTAMP | int64: units since 1970-01-01T00:00:00 | varint |
//! | TIME | int32 for seconds and milliseconds, else int64: units since midnight | varint |
//! | DECIMAL, VARCHAR | string | length and bytes |
//! | BLOB | bytes | length and bytes |
//!
//! That is so where a schema lists columns. A `.proto` file says of each column which field it is, and of which of all
//! kinds of fields; messages are then structs, repeated fields lists and maps maps.
//!
//! - `decode`: messages whose fields are numbered like the columns.
//! - `messages`: messages as a `.proto` file describes them; `rewrite`: their values in the order of the columns.
//! - `encode`: rows to messages.
//!
//! A column that may be NULL is an `optional` field, and NULL a field that is not there. Of other columns such a field
//! is 0, false or empty, as proto3 has it.

mod decode;
mod encode;
mod messages;
mod rewrite;

use schema::RecordLayout;

use crate::error::Error;
use crate::rows::BatchDecoder;
use crate::rows::described::DescribedParser;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::keys::ColumnSlots;
use crate::rows::split::Border;
use crate::rows::walk::WalkParser;

/// How a field lies in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Wire {
    Varint = 0,
    Eight = 1,
    Counted = 2,
    Four = 5,
}

/// How a column's values lie in a message.
fn wire(data_type: &arrow_schema::DataType) -> Wire {
    use arrow_schema::DataType as T;
    match data_type {
        T::Float16 | T::Float32 => Wire::Four,
        T::Float64 => Wire::Eight,
        T::Boolean | T::Date32 | T::Date64 | T::Timestamp(..) | T::Time32(_) | T::Time64(_) => Wire::Varint,
        other if other.is_integer() => Wire::Varint,
        _ => Wire::Counted,
    }
}

/// Protocol Buffers.
pub static PROTOBUF: RowFormat = RowFormat {
    name: "protobuf",
    title: "Protocol Buffers",
    extensions: &["pb", "protobuf", "binpb"],
    kind: Kind::Untagged,
    border: Border::Unmarked,
    splits: |_, _| true,
    decoder: |scan, _| {
        let slots = ColumnSlots::new(scan);
        if let Some(RecordLayout::Messages(layout)) = scan.format.record_layout.as_deref() {
            let rewrite = messages::MessageRewrite::new(layout);
            return Ok(Box::new(BatchDecoder::new(DescribedParser::new(rewrite, slots, scan), scan)?));
        }
        let walker = decode::MessageWalker::new(scan, &slots)?;
        Ok(Box::new(BatchDecoder::new(WalkParser::new(walker, decode::Protobuf, slots, scan)?, scan)?))
    },
    infer: |file, _, _| {
        Err(Error::location(
            file.path.display(),
            "a protobuf file does not tell its columns",
            Some(
                "give them with --schema NAME=FILE.proto, or as CREATE TABLE in the order of the fields' numbers"
                    .into(),
            ),
        ))
    },
    probe: |_, _, _| None,
    writer: |schema, _| Ok(Box::new(encode::MessageWriter::new(schema)?)),
};
