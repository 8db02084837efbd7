//! Cap'n Proto: a message a row, in stream framing, plain or packed. A message is a struct with a field for each column
//! in their order; [`schema::text::capnp`] prints it.
//!
//! ```text
//! message    segments - 1 (4 bytes), words of each segment (4 bytes), zeros up to 8 bytes, the segments
//! segment    words of 8 bytes; the first word of the first segment is a pointer to the struct
//! struct     a data section of words, a pointer section
//! ```
//!
//! All numbers are little endian. Where a column lies is the business of [`layout`].
//!
//! | column | field | bits |
//! |---|---|---|
//! | BOOLEAN | Bool | 1 |
//! | TINYINT, SMALLINT, INT, BIGINT; the same unsigned | Int8 … Int64; UInt8 … UInt64 | 8, 16, 32, 64 |
//! | FLOAT; DOUBLE | Float32; Float64 | 32; 64 |
//! | DATE | Int32: days since 1970-01-01 | 32 |
//! | TIMESTAMP | Int64: units since 1970-01-01T00:00:00 | 64 |
//! | TIME | Int32 for seconds and milliseconds, else Int64: units since midnight | 32, 64 |
//! | DECIMAL, VARCHAR | Text: bytes and a NUL | a pointer |
//! | BLOB | Data: bytes | a pointer |
//!
//! A column that may be NULL is a union of `null` and `value`, of which `null` is the default. Or it is a pointer that
//! may be null. A struct may be shorter than the schema's, as an older program writes it. What is missing is NULL, or 0
//! and empty in columns without NULLs.
//!
//! That is so where a schema lists columns. A `.capnp` file says of each column where it lies, and all kinds of fields are
//! read: structs, groups and unions as structs, lists as lists.
//!
//! Modules: [`layout`] where columns lie, `decode` and `segments` messages to values, `packed`, `unpack`, `pieces`
//! and `header` the packing undone, `encode` values to messages; `rewrite` structs as a `.capnp` file describes them.

mod decode;
mod encode;
mod header;
pub mod layout;
mod packed;
mod pieces;
mod rewrite;
mod segments;
mod unpack;

use std::path::Path;

use schema::RecordLayout;

use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::rows::described::DescribedParser;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::keys::ColumnSlots;
use crate::rows::split::Border;
use crate::rows::walk::{WalkParser, check_columns};
use crate::rows::{BatchDecoder, Decoder};

/// The decoder of structs as a `.capnp` file describes them, if one does.
fn described(scan: &ScanOptions, is_packed: bool) -> Result<Option<Box<dyn Decoder>>> {
    let Some(RecordLayout::Structs(layout)) = scan.format.record_layout.as_deref() else { return Ok(None) };
    let rewrite = rewrite::StructRewrite::new(layout, is_packed, scan.format.max_record);
    let parser = DescribedParser::new(rewrite, ColumnSlots::new(scan), scan);
    Ok(Some(Box::new(BatchDecoder::new(parser, scan)?)))
}

/// What finds the columns of a scan in messages.
fn walker(scan: &ScanOptions) -> Result<(decode::MessageWalker, ColumnSlots)> {
    check_columns(scan)?;
    let slots = ColumnSlots::new(scan);
    Ok((decode::MessageWalker::new(scan, &slots)?, slots))
}

fn no_columns(path: &Path, name: &str) -> Error {
    Error::location(
        path.display(),
        format!("a {name} file does not tell its columns"),
        Some(
            "give them with --schema NAME=FILE.capnp, or as CREATE TABLE in the order of the fields' numbers"
                .into(),
        ),
    )
}

/// Cap'n Proto.
pub static CAPNPROTO: RowFormat = RowFormat {
    name: "capnproto",
    title: "Cap'n Proto",
    extensions: &["capnproto", "capnpbin"],
    kind: Kind::Untagged,
    border: Border::Unmarked,
    splits: |_, _| true,
    decoder: |scan, _| {
        if let Some(decoder) = described(scan, false)? {
            return Ok(decoder);
        }
        let (walker, slots) = walker(scan)?;
        let parser = WalkParser::new(walker, decode::Values, slots, scan)?;
        Ok(Box::new(BatchDecoder::new(parser, scan)?))
    },
    infer: |file, _, _| Err(no_columns(&file.path, "capnproto")),
    probe: |_, _, _| None,
    writer: |schema, _| Ok(Box::new(encode::MessageWriter::new(schema, false)?)),
};

/// Cap'n Proto, packed.
pub static PACKED: RowFormat = RowFormat {
    name: "capnproto-packed",
    title: "Cap'n Proto, packed",
    extensions: &["capnproto-packed", "capnppacked"],
    kind: Kind::Untagged,
    border: Border::Unmarked,
    splits: |_, _| true,
    decoder: |scan, _| {
        if let Some(decoder) = described(scan, true)? {
            return Ok(decoder);
        }
        let (walker, slots) = walker(scan)?;
        let parser = packed::PackedParser::new(walker, slots, scan.format.max_record);
        Ok(Box::new(BatchDecoder::new(parser, scan)?))
    },
    infer: |file, _, _| Err(no_columns(&file.path, "capnproto-packed")),
    probe: |_, _, _| None,
    writer: |schema, _| Ok(Box::new(encode::MessageWriter::new(schema, true)?)),
};
