//! JSON lines: an object a line, fields found by name, in any order. One array of objects is read as well, and so are
//! objects over several lines, and the array of objects below a key of the file's object.
//!
//! - `layout`: how the records of a file lie; [`path`]: where in it.
//! - `frame`: where records lie; `document`, `tokens`: below keys.
//! - `cursor`: where values lie; `ways`: where they lie in records that are built as others were.
//! - `decode`: bytes to rows.
//! - `encode`: rows to bytes.
//! - `infer`: the columns of a file from its first records; `schema_probe`: whether another has the same.

mod cursor;
mod decode;
mod document;
mod encode;
mod frame;
mod infer;
pub(crate) mod layout;
pub mod path;
mod schema_probe;
mod tokens;
mod ways;

use crate::rows::BatchDecoder;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::infer::infer;
use crate::rows::samples;
use crate::rows::split::Border;

/// From so many records on that are looked at of a file, those of other places are too.
pub const LOOKED_AT_ELSEWHERE: usize = 100;

/// JSON lines.
pub static JSONL: RowFormat = RowFormat {
    name: "jsonl",
    title: "One object a line",
    extensions: &["jsonl", "ndjson", "json"],
    kind: Kind::Json,
    border: Border::Newline,
    splits: layout::is_cut,
    decoder: |scan, first| Ok(Box::new(BatchDecoder::new(decode::JsonParser::new(scan, first), scan)?)),
    infer: |file, options, rows| {
        // A few records of one of many files are looked at quickly.
        let places: infer::SampledLines = (rows >= LOOKED_AT_ELSEWHERE).then(|| {
            let (file, options) = (file.clone(), options.clone());
            Box::new(move || samples::lines(&file, &options)) as _
        });
        infer(file, options, true, |seen| {
            Ok(Box::new(infer::JsonInference::new(options, rows, seen, places)))
        })
    },
    probe: schema_probe::probe,
    writer: |schema, options| Ok(Box::new(encode::JsonWriter::new(schema, options)?)),
};
