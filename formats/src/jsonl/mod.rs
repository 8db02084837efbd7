//! JSON lines: an object a line, fields found by name, in any order. One array of objects is read as well.
//!
//! - `frame`: where records lie.
//! - `cursor`: where values lie; `escapes`: what strings spell.
//! - `decode`: bytes to rows.
//! - `encode`: rows to bytes.
//! - `infer`: the columns of a file from its first records.

mod cursor;
mod decode;
mod encode;
mod escapes;
mod frame;
mod infer;

use std::path::Path;

use crate::error::Result;
use crate::input::Input;
use crate::rows::BatchDecoder;
use crate::rows::format::RowFormat;
use crate::rows::infer::infer;
use crate::rows::split::Border;

/// JSON lines.
pub static JSONL: RowFormat = RowFormat {
    name: "jsonl",
    extensions: &["jsonl", "ndjson", "json"],
    border: Border::Newline,
    splits: |path| Ok(!is_array(path)?),
    decoder: |scan, first| Ok(Box::new(BatchDecoder::new(decode::JsonParser::new(scan, first), scan)?)),
    infer: |path, options, rows| {
        infer(path, options, true, |seen| Ok(Box::new(infer::JsonGuesser::new(options, rows, seen))))
    },
    writer: |schema, _| Ok(Box::new(encode::JsonWriter::new(schema)?)),
};

/// The bytes of a file in which its first character is looked for.
const HEAD_BYTES: u64 = 4 << 10;

/// Whether a file that is not compressed holds one array.
fn is_array(path: &Path) -> Result<bool> {
    // That a file can't be opened is told when it is read.
    let Ok(input) = Input::open(path) else { return Ok(false) };
    let head = input.read_range(&(0..HEAD_BYTES))?;
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    Ok(text.trim_ascii_start().first() == Some(&b'['))
}
