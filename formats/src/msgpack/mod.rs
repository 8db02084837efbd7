//! MessagePack: a sequence of rows, each an array of its values in the order of the columns. Rows that are maps from
//! names to values are read as well.
//!
//! - `value`: the bytes of values.
//! - `decode`: bytes to rows.
//! - `encode`: rows to bytes.
//! - `infer`: the columns of a file from its first rows.

mod decode;
mod encode;
mod infer;
mod value;

use crate::rows::BatchDecoder;
use crate::rows::format::RowFormat;
use crate::rows::keys::Slots;
use crate::rows::split::Border;
use crate::rows::tagged::TaggedSyntax;
use crate::rows::walk::WalkParser;

/// MessagePack.
pub static MSGPACK: RowFormat = RowFormat {
    name: "msgpack",
    extensions: &["msgpack", "mpk"],
    border: Border::Unmarked,
    splits: |_| Ok(false),
    decoder: |scan, _| {
        let slots = Slots::new(scan);
        let walker = decode::MsgpackWalker::new(scan, &slots);
        let parser = WalkParser::new(walker, TaggedSyntax(value::Msgpack), slots, scan)?;
        Ok(Box::new(BatchDecoder::new(parser, scan)?))
    },
    infer: infer::infer,
    writer: |schema, _| Ok(Box::new(encode::MsgpackWriter::new(schema)?)),
};
