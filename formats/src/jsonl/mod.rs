//! JSON lines: an object a line, fields found by name, in any order.
//!
//! - `cursor`: where values lie.
//! - `decode`: bytes to rows.
//! - `encode`: rows to bytes.
//! - `infer`: the columns of a file from its first records.

mod cursor;
mod decode;
mod encode;
mod infer;

use crate::rows::BatchDecoder;
use crate::rows::format::RowFormat;
use crate::rows::infer::infer;
use crate::rows::split::Border;

/// JSON lines.
pub static JSONL: RowFormat = RowFormat {
    name: "jsonl",
    extensions: &["jsonl", "ndjson", "json"],
    border: Border::Newline,
    decoder: |scan, _| Ok(Box::new(BatchDecoder::new(decode::JsonParser::new(scan), scan)?)),
    infer: |path, options, rows| {
        infer(path, options, |seen| Ok(Box::new(infer::JsonGuesser::new(options, rows, seen))))
    },
    writer: |schema, _| Ok(Box::new(encode::JsonWriter::new(schema)?)),
};
