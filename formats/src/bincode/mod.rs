//! bincode 1, as its `serialize` writes a struct: values one behind the other in the order of the columns.
//!
//! ```text
//! bool           one byte, 0 or 1
//! integers       little endian, in their width
//! floats         IEEE 754, little endian, in their width
//! decimal        its digits as a whole number of 16 or 32 bytes, little endian
//! date           days since 1970-01-01, 4 bytes
//! timestamp      units since 1970-01-01T00:00:00, 8 bytes
//! time of day    units since midnight: 4 bytes for seconds and milliseconds, else 8
//! text, bytes    their length in 8 bytes, and they themselves; without a length where all have one
//! nullable       0, or 1 and the value
//! ```
//!
//! A file tells neither names nor types, and a record not its length.

mod decode;
mod encode;

use crate::error::Error;
use crate::rows::BatchDecoder;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::keys::ColumnSlots;
use crate::rows::split::Border;
use crate::rows::walk::WalkParser;

/// bincode.
pub static BINCODE: RowFormat = RowFormat {
    name: "bincode",
    title: "bincode, version 1",
    extensions: &["bincode"],
    kind: Kind::Untagged,
    border: Border::Unmarked,
    splits: |_, _| true,
    decoder: |scan, _| {
        let slots = ColumnSlots::new(scan);
        let walker = decode::BincodeWalker::new(scan, &slots)?;
        Ok(Box::new(BatchDecoder::new(WalkParser::new(walker, decode::Bincode, slots, scan)?, scan)?))
    },
    infer: |file, _, _| {
        Err(Error::location(
            file.path.display(),
            "a bincode file does not tell its columns",
            Some("give them with --schema NAME=FILE, in the order in which they were written".into()),
        ))
    },
    probe: |_, _, _| None,
    writer: |schema, _| Ok(Box::new(encode::BincodeWriter::new(schema)?)),
};
