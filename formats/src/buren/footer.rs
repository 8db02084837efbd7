//! The footer: the schema, and where the chunks lie and what is in them.
//!
//! ```text
//! footer   = columns: u32  column*  groups: u32  group*  sketch*      a sketch for each column, of all groups together
//! column   = name: text  nullable: u8  type              see `types`
//! group    = rows: u32  entry*                           one for each column
//! entry    = offset: u64  stored: u32  raw: u64          place and length in the file, and the bytes of the values
//!            checksum: u32  nulls: u32  distinct: u32    of the stored bytes; NULL rows; about the distinct values
//!            zone: u8 (1 min, 2 max, 4 there is NaN)  min?  max?
//! min, max = fixed width: the value; booleans: u8; text and bytes: length: u8  bytes
//! sketch   = register: u8, 256 times                     see `sketch`
//! ```
//!
//! Zones are exact. Floats: NaN is left out of min and max, and a zone with NaN proves nothing. Text and bytes longer
//! than 128 bytes are left out.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};

use schema::FileEntry;

use super::bytes::{Input, pad};
use super::sketch::{REGISTERS, Sketch};
use super::types::{get_field, put_field, width};
use super::zone::{Limits, zone_array};
use super::{ALIGNMENT, MAGIC, VERSION};
use crate::columns::bounds::{Value, Zone};
use crate::columns::tail::{Tail, cut_short};
use crate::error::{Error, Result};

/// The bytes of the trailer.
pub const TRAILER: usize = 16;
/// The longest chunk, and the most bytes of its buffers when decompressed: views hold 31-bit offsets.
pub const MAX_RAW: u32 = i32::MAX as u32;
/// The most rows of a row group, so that a forged count does not ask for memory without end.
pub const MAX_ROWS: u32 = 1 << 20;
/// The bytes of a chunk of no zone, and so of the shortest.
const LEAST_CHUNK: usize = 33;
/// What a footer is called in messages.
const WHAT: &str = "buren footer";

const HAS_MIN: u8 = 1;
const HAS_MAX: u8 = 2;
const HAS_NAN: u8 = 4;

/// What a file says of itself. All places in it are checked to lie in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Footer {
    /// The columns.
    pub schema: SchemaRef,
    /// The row groups in order.
    pub groups: Vec<Group>,
    /// For each column what is kept of its distinct values.
    pub sketches: Vec<Sketch>,
}

/// A row group.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The number of rows.
    pub rows: u32,
    /// A chunk for each column.
    pub chunks: Vec<Chunk>,
}

/// A column of a row group.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The place in the file.
    pub offset: u64,
    /// The bytes in the file.
    pub stored: u32,
    /// The bytes of the values: their width times the rows that have one; of text and bytes their lengths.
    pub raw: u64,
    /// CRC-32 of the stored bytes.
    pub checksum: u32,
    /// The number of NULL rows.
    pub nulls: u32,
    /// About the number of distinct values.
    pub distinct: u32,
    /// The least and the greatest value.
    pub limits: Limits,
}

impl Chunk {
    /// What the zone map proves of the values.
    pub fn zone(&self, data_type: &DataType) -> Zone {
        if self.limits.nan {
            return Zone::default();
        }
        let value = |bytes: &Option<Vec<u8>>| -> Option<Value> {
            Value::of(&zone_array(data_type, bytes.as_ref()?)?, 0)
        };
        Zone { min: value(&self.limits.min), max: value(&self.limits.max) }
    }

    /// The bytes of the file in which it lies.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.stored)
    }

    fn put(&self, out: &mut Vec<u8>, data_type: &DataType) {
        out.extend(self.offset.to_le_bytes());
        out.extend(self.stored.to_le_bytes());
        out.extend(self.raw.to_le_bytes());
        for number in [self.checksum, self.nulls, self.distinct] {
            out.extend(number.to_le_bytes());
        }
        let Limits { min, max, nan } = &self.limits;
        let flags = [(min.is_some(), HAS_MIN), (max.is_some(), HAS_MAX), (*nan, HAS_NAN)];
        out.push(flags.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum());
        for value in [min, max].into_iter().flatten() {
            if width(data_type).is_none() && data_type != &DataType::Boolean {
                out.push(u8::try_from(value.len()).expect("texts in zones have at most 128 bytes"));
            }
            out.extend(value);
        }
    }

    fn get(input: &mut Input, data_type: &DataType) -> Result<Chunk> {
        let (offset, stored, raw) = (input.u64()?, input.u32()?, input.u64()?);
        let [checksum, nulls, distinct] = [input.u32()?, input.u32()?, input.u32()?];
        let flags = input.u8()?;
        let mut zone = |flag| -> Result<Option<Vec<u8>>> {
            if flags & flag == 0 {
                return Ok(None);
            }
            let length = match (data_type, width(data_type)) {
                (DataType::Boolean, _) => 1,
                (_, Some(width)) => width,
                (_, None) => input.u8()?.into(),
            };
            Ok(Some(input.take(length)?.to_vec()))
        };
        let (min, max) = (zone(HAS_MIN)?, zone(HAS_MAX)?);
        let limits = Limits { min, max, nan: flags & HAS_NAN != 0 };
        Ok(Chunk { offset, stored, raw, checksum, nulls, distinct, limits })
    }
}

impl Footer {
    /// Reads the footer of a file.
    pub fn open(file: &FileEntry) -> Result<Footer> {
        let path = &file.path;
        let tail = Tail::open(file)?;
        Footer::read(&tail, path).map_err(|e| e.at(path))
    }

    fn read(tail: &Tail, path: &Path) -> Result<Footer> {
        let end = tail.len.saturating_sub(TRAILER as u64);
        let trailer = tail.bytes(path, end..tail.len)?;
        let mut input = Input::new(&trailer, WHAT);
        let numbers = (|| Ok((input.u32()?, input.u32()?, input.take(MAGIC.len())?, input.u16()?)))();
        let (checksum, length, version) = match numbers {
            Ok((checksum, length, magic, version)) if magic == MAGIC => (checksum, length, version),
            Ok(_) | Err(Error::Data(_)) => {
                return Err(Error::corrupt(
                    "not a buren file, or one that was cut short: it does not end in 'BUREN'",
                ));
            }
            Err(e) => return Err(e),
        };
        if version != VERSION {
            let why = match version {
                0 => "which promised nothing and is no longer read: convert the file again from its source",
                _ => "of which this palais knows nothing: read it with the one that wrote it",
            };
            return Err(Error::Unsupported(format!("{}: buren version {version}, {why}", path.display())));
        }
        let start = end.checked_sub(length.into()).ok_or_else(|| cut_short(tail.len))?;
        let bytes = tail.bytes(path, start..end)?;
        if crc32fast::hash(&bytes) != checksum {
            return Err(Error::data(start, "damaged buren footer: its checksum does not agree"));
        }
        Footer::parse(&bytes, start)
    }

    /// Parses a footer that begins at `start` of its file.
    pub fn parse(bytes: &[u8], start: u64) -> Result<Footer> {
        let mut input = Input::new(bytes, WHAT);
        let columns = input.count(4)?;
        let fields = (0..columns).map(|_| get_field(&mut input)).collect::<Result<Vec<_>>>()?;
        let groups = input.count(4 + columns * LEAST_CHUNK)?;
        let groups = (0..groups)
            .map(|_| {
                let rows = input.u32()?;
                if rows > MAX_ROWS {
                    return Err(Error::corrupt(format!("damaged buren footer: a row group of {rows} rows")));
                }
                let chunks = fields.iter().map(|f| Chunk::get(&mut input, f.data_type()));
                Ok(Group { rows, chunks: chunks.collect::<Result<_>>()? })
            })
            .collect::<Result<Vec<_>>>()?;
        let sketches = fields.iter().map(|_| {
            let mut sketch = Sketch::default();
            sketch.registers.copy_from_slice(input.take(REGISTERS)?);
            Ok(sketch)
        });
        let sketches = sketches.collect::<Result<Vec<_>>>()?;
        if !input.is_empty() {
            return Err(Error::corrupt("damaged buren footer: there is something behind its end"));
        }
        for chunk in groups.iter().flat_map(|g| &g.chunks) {
            let inside = chunk.offset.checked_add(chunk.stored.into()).is_some_and(|end| end <= start);
            if !inside || chunk.stored > MAX_RAW {
                return Err(Error::corrupt("damaged buren footer: a chunk does not lie in the file"));
            }
        }
        Ok(Footer { schema: Arc::new(Schema::new(fields)), groups, sketches })
    }

    /// The footer and the trailer as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        out.extend((self.schema.fields().len() as u32).to_le_bytes());
        for field in self.schema.fields() {
            put_field(&mut out, field)?;
        }
        out.extend((self.groups.len() as u32).to_le_bytes());
        for group in &self.groups {
            out.extend(group.rows.to_le_bytes());
            for (chunk, field) in group.chunks.iter().zip(self.schema.fields()) {
                chunk.put(&mut out, field.data_type());
            }
        }
        self.sketches.iter().for_each(|sketch| out.extend(sketch.registers));
        let length = u32::try_from(out.len()).map_err(|_| {
            Error::Unsupported("too many row groups for one buren file: write more parts".into())
        })?;
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        Ok(out)
    }

    /// The number of rows in all groups.
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|g| u64::from(g.rows)).sum()
    }
}

/// The first bytes of a file, up to where chunks may begin.
pub fn head() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    pad(&mut out, ALIGNMENT);
    out
}
