//! JSON lines: an object a line, fields found by name, in any order.
//!
//! - `cursor`: where values lie.
//! - `decode`: bytes to rows.
//! - `encode`: rows to bytes.

mod cursor;
mod decode;
mod encode;

use crate::rows::format::RowFormat;
use crate::rows::split::Border;

/// JSON lines.
pub static JSONL: RowFormat = RowFormat {
    name: "jsonl",
    extensions: &["jsonl", "ndjson", "json"],
    border: Border::Newline,
    decoder: |scan, _| Ok(Box::new(decode::JsonDecoder::new(scan)?)),
    writer: |schema, _| Ok(Box::new(encode::JsonWriter::new(schema)?)),
};
