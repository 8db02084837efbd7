//! buren, the column format of palais, version 1. docs/buren-format.md specifies it.
//!
//! ```text
//! file    = head  chunk*  footer  trailer          every number is little endian
//! head    = "BUREN\0"  version: u16                zeros up to a multiple of 64
//! chunk   = the bytes of one column of one row group, see `chunk`; zeros up to a multiple of 64
//! footer  = the schema, and where the chunks lie and what is in them, see `footer`
//! trailer = checksum of the footer: u32  length of the footer: u32  "BUREN\0"  version: u16
//! ```
//!
//! The rows of a file are cut into groups of 2^17. A chunk is a tree of light encodings, chosen on a sample: each says
//! what its parts are, down to buffers of bytes. These are compressed one by one, in the way that the file asks for,
//! where that saves at least 5 %. Packed bits stay as they are. Only what a compression finds something in is ever
//! decompressed. Checksums are CRC-32 (IEEE) over stored bytes.
//!
//! Reading is bounded by instructions a value rather than by memory. So values are packed in the layout of FastLanes,
//! which unpacks by SIMD. Any 1024 rows of a chunk can be read without those before them. Only what a batch of rows
//! needs is made, while it is in the cache.
//!
//! - [`bytes`]: reading and writing numbers, with every access checked.
//! - [`types`]: column types as bytes.
//! - [`zone`]: the least and the greatest value of a column of a row group.
//! - [`sketch`]: about how many distinct values a column has.
//! - [`footer`]: the footer.
//! - [`compress`]: the compressions of a buffer.
//! - [`chunk`]: the description of a chunk, and its buffers.
//! - [`word`]: unsigned integers, as which all values of fixed width are encoded.
//! - [`integers`], [`floats`], [`text`], [`nested`]: their encodings.
//! - [`encode`]: a column of a row group to bytes; [`decode`]: and back.
//! - [`write`]: row groups encoded in parallel and appended in order.
//! - [`select`]: rows chosen by the bounds of a scan, on encoded values.
//! - [`read`]: the reader of a run of row groups.
//! - [`describe`], [`inspect`]: what lies in a file, for people.

pub mod bytes;
pub mod chunk;
pub mod compress;
pub mod decode;
pub mod describe;
pub mod encode;
pub mod floats;
pub mod footer;
pub mod inspect;
pub mod integers;
pub mod nested;
pub mod read;
pub mod select;
pub mod sketch;
pub mod text;
pub mod types;
pub mod word;
pub mod write;
pub mod zone;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use schema::instants::same_instants;
use schema::{FileEntry, FormatOptions};

use crate::columns::adapt::{Adapter, find};
use crate::columns::bounds::{Wanted, united};
use crate::columns::facts::ColumnFacts;
use crate::columns::groups;
use crate::error::{Error, Result};
use crate::format::{Format, Morsel, Part, ScanOptions};
use crate::inspect::Inspection;
use crate::reader::FileReader;
use crate::writer::FileEncoder;

use footer::Footer;

#[cfg(target_endian = "big")]
compile_error!("buren is read in place, which needs a little endian machine");

/// The version that is written, and the only one that is read.
pub const VERSION: u16 = 1;
/// The first six bytes of a file, and six of its last eight.
pub const MAGIC: &[u8; 6] = b"BUREN\0";
/// Chunks begin at multiples of this.
pub const ALIGNMENT: usize = 64;

/// The buren format.
pub struct Buren;

impl Format for Buren {
    fn name(&self) -> &'static str {
        "buren"
    }

    fn title(&self) -> &'static str {
        "buren, the column format of palais"
    }

    fn magic(&self) -> &'static [&'static [u8]] {
        &[MAGIC]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["buren"]
    }

    fn compresses_inside(&self) -> bool {
        true
    }

    fn compressions(&self) -> &'static [&'static str] {
        compress::NAMES
    }

    fn infer(&self, file: &FileEntry, _options: &FormatOptions, _infer_rows: usize) -> Result<SchemaRef> {
        Ok(Footer::open(file)?.schema)
    }

    fn rows(&self, file: &FileEntry, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(Some(Footer::open(file)?.rows()))
    }

    fn stated(&self, file: &FileEntry, _options: &FormatOptions) -> Result<(SchemaRef, Option<u64>)> {
        let footer = Footer::open(file)?;
        let rows = footer.rows();
        Ok((footer.schema, Some(rows)))
    }

    fn facts(&self, file: &FileEntry) -> Result<Vec<ColumnFacts>> {
        let footer = Footer::open(file)?;
        let facts = footer.schema.fields().iter().enumerate().map(|(column, field)| {
            let zones = footer.groups.iter().map(|group| group.chunks[column].zone(field.data_type()));
            // There is no sketch of nested values.
            let values = footer.sketches[column].estimate() as f64;
            let values = (values > 0.0).then_some(values.min(footer.rows() as f64));
            ColumnFacts { field: field.clone(), zone: united(zones), values }
        });
        Ok(facts.collect())
    }

    fn inspect(&self, file: &FileEntry) -> Result<Option<Inspection>> {
        inspect::inspect(file).map(Some)
    }

    fn check(&self, file: &FileEntry) -> Result<Option<u64>> {
        inspect::check(file).map(Some)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        let footer = Arc::new(Footer::open(file)?);
        let adapter = Adapter::new(&footer.schema, scan).map_err(|e| e.at(&file.path))?;
        let wanted = Wanted::of(scan);
        let excluded = |group: &footer::Group| {
            wanted.iter().any(|wanted| {
                find(&footer.schema, &scan.schema, wanted.column)
                    .filter(|&column| {
                        same_instants(footer.schema.field(column).data_type(), &wanted.data_type)
                    })
                    .is_some_and(|column| wanted.excludes(&group.chunks[column].zone(&wanted.data_type)))
            })
        };
        let bytes = |group: &footer::Group| {
            adapter.read().iter().map(|&column| u64::from(group.chunks[column].stored)).sum::<u64>()
        };
        let groups = footer.groups.iter().enumerate();
        let kept = groups.filter(|(_, group)| !excluded(group)).map(|(at, group)| (at, bytes(group)));
        Ok(groups::morsels(file, kept, target_bytes, footer.clone()))
    }

    fn ranges(&self, morsel: &Morsel, scan: &ScanOptions) -> Vec<Range<u64>> {
        let (Part::Groups(groups), Ok(footer)) = (&morsel.part, morsel.shared.clone().downcast::<Footer>())
        else {
            return vec![];
        };
        let Ok(adapter) = Adapter::new(&footer.schema, scan) else { return vec![] };
        let chunks = footer.groups[groups.clone()].iter();
        let chunks = chunks.flat_map(|group| adapter.read().iter().map(|&column| &group.chunks[column]));
        chunks.map(footer::Chunk::range).collect()
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        let (Part::Groups(groups), Ok(footer)) = (&morsel.part, morsel.shared.clone().downcast::<Footer>())
        else {
            return Err(Error::Unsupported("a buren reader was given a morsel of another format".into()));
        };
        let reader = read::Reader::new(footer, groups.clone(), scan);
        Ok(Box::new(reader.map_err(|e| e.at(&morsel.file.path))?))
    }

    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        Ok(Arc::new(write::Encoder::new(schema, options)?))
    }
}

/// Numbers without a pattern, for tests: the finaliser of SplitMix64.
#[cfg(test)]
pub(crate) fn noise(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
