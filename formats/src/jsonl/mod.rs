//! JSON lines: an object a line, fields found by name, in any order. One array of objects is read as well.
//!
//! - `frame`: where records lie.
//! - `cursor`: where values lie.
//! - `decode`: bytes to rows.
//! - `encode`: rows to bytes.
//! - `infer`: the columns of a file from its first records; `schema_probe`: whether another has the same.

mod cursor;
mod decode;
mod encode;
pub(crate) mod frame;
mod infer;
mod schema_probe;

use crate::rows::BatchDecoder;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::infer::infer;
use crate::rows::split::Border;

/// JSON lines.
pub static JSONL: RowFormat = RowFormat {
    name: "jsonl",
    title: "One object a line",
    extensions: &["jsonl", "ndjson", "json"],
    kind: Kind::Text,
    border: Border::Newline,
    splits: |head| !is_array(head),
    decoder: |scan, first| Ok(Box::new(BatchDecoder::new(decode::JsonParser::new(scan, first), scan)?)),
    infer: |file, options, rows| {
        infer(file, options, true, |seen| Ok(Box::new(infer::JsonInference::new(options, rows, seen))))
    },
    probe: |_, rows, known| schema_probe::probe(rows, known),
    writer: |schema, _| Ok(Box::new(encode::JsonWriter::new(schema)?)),
};

/// Whether a file that begins like this holds one array.
fn is_array(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    text.trim_ascii_start().first() == Some(&b'[')
}
