//! Avro object container files, read and not written (Avro 1.12, "Object Container Files").
//!
//! ```text
//! file   = "Obj" 0x01  metadata: map of bytes (avro.schema, avro.codec)  sync marker: 16 bytes  block*
//! block  = rows: long  size of its data in bytes: long  data, compressed by the codec  sync marker
//! long   = zigzag, seven bits a byte, the lowest first
//! ```
//!
//! The crate arrow-avro makes columns of rows. It is given what is known to be right: a schema without names of its
//! own ([`schema`]), and blocks that are unpacked ([`codec`]) and whose every value was looked at ([`walk`]). By itself it
//! unpacks without a bound, never ends at a block with bytes behind its last row, and copies a named type wherever its
//! name stands, which a schema of some hundred bytes can make grow without end.
//!
//! - [`header`]: the metadata and the sync marker.
//! - [`schema`]: the types of the rows.
//! - [`blocks`]: where the blocks lie, and how many rows each has.
//! - [`codec`]: the compressions of blocks.
//! - [`walk`]: the check of a block's values.
//! - [`columns`]: rows to columns, by the crate.
//! - [`read`]: the reader of a run of blocks.
//! - `inspect`: what lies in a file, for people.

pub mod blocks;
pub mod codec;
pub mod columns;
pub mod header;
mod inspect;
pub mod read;
pub mod schema;
pub mod walk;

use std::ops::Range;
use std::sync::Arc;

use ::schema::{FileEntry, FormatOptions};
use arrow_schema::SchemaRef;

use crate::columns::adapt::Adapter;
use crate::columns::groups;
use crate::columns::types::read_schema;
use crate::error::{Error, Result};
use crate::format::{Format, Morsel, Part, ScanOptions};
use crate::inspect::Inspection;
use crate::reader::FileReader;

use blocks::Container;
use header::Header;

/// What a file begins with.
const MAGIC: &[u8] = b"Obj\x01";

/// Avro object container files.
pub struct Avro;

impl Format for Avro {
    fn name(&self) -> &'static str {
        "avro"
    }

    fn title(&self) -> &'static str {
        "Avro"
    }

    fn magic(&self) -> &'static [&'static [u8]] {
        &[MAGIC]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["avro"]
    }

    fn compresses_inside(&self) -> bool {
        true
    }

    fn compressions(&self) -> &'static [&'static str] {
        &[]
    }

    fn infer(&self, file: &FileEntry, _options: &FormatOptions, _infer_rows: usize) -> Result<SchemaRef> {
        Ok(Arc::new(read_schema(&Header::open(file)?.schema)))
    }

    fn rows(&self, file: &FileEntry, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(Some(Container::open(file)?.rows()))
    }

    fn inspect(&self, file: &FileEntry) -> Result<Option<Inspection>> {
        inspect::inspect(file).map(Some)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        let container = Arc::new(Container::open(file)?);
        Adapter::new(&container.header.schema, scan).map_err(|e| e.at(&file.path))?;
        let blocks = container.blocks.iter().enumerate();
        let blocks = blocks.map(|(number, block)| (number, block.data.end - block.data.start));
        Ok(groups::morsels(file, blocks, target_bytes, container.clone()))
    }

    fn ranges(&self, morsel: &Morsel, scan: &ScanOptions) -> Vec<Range<u64>> {
        let (Part::Groups(run), Ok(container)) =
            (&morsel.part, morsel.shared.clone().downcast::<Container>())
        else {
            return vec![];
        };
        let Ok(adapter) = Adapter::new(&container.header.schema, scan) else { return vec![] };
        let blocks = container.blocks.get(run.clone()).unwrap_or_default();
        match (blocks.first(), blocks.last()) {
            (Some(first), Some(last)) if container.header.has_bytes(adapter.read()) => {
                let range = first.data.start..last.data.end;
                vec![range]
            }
            _ => vec![],
        }
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        let (Part::Groups(blocks), Ok(container)) =
            (&morsel.part, morsel.shared.clone().downcast::<Container>())
        else {
            return Err(Error::Unsupported("an avro reader was given a morsel of another format".into()));
        };
        let reader = read::Reader::new(container, blocks.clone(), scan);
        Ok(Box::new(reader.map_err(|e| e.at(&morsel.file.path))?))
    }
}

/// Reads a long at a place, which is moved behind it. `None` if there is none: it ends too early or has more than 64 bits.
fn long(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut zigzag = 0_u64;
    for (place, byte) in bytes.get(*at..)?.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7F);
        if place == 9 && bits > 1 {
            return None;
        }
        zigzag |= bits << (7 * place);
        if byte & 0x80 == 0 {
            *at += place + 1;
            return Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64));
        }
    }
    None
}

/// Appends a long.
fn put_long(value: i64, out: &mut Vec<u8>) {
    let mut zigzag = ((value << 1) ^ (value >> 63)) as u64;
    while zigzag >= 0x80 {
        out.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    out.push(zigzag as u8);
}

/// What the crate says of bytes that it can't read.
fn bad(error: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("not valid Avro: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longs_come_back_and_longer_ones_are_none() {
        for value in [0, -1, 1, 63, 64, -64, -65, i64::from(i32::MAX), i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_long(value, &mut bytes);
            let mut at = 0;
            assert_eq!(long(&bytes, &mut at), Some(value));
            assert_eq!(at, bytes.len());
            assert_eq!(long(&bytes[..at - 1], &mut 0), None, "{value} cut short");
        }
        assert_eq!(long(&[0xFF; 10], &mut 0), None);
        let mut most = [0xFF; 10];
        most[9] = 2;
        assert_eq!(long(&most, &mut 0), None, "65 bits");
    }
}
