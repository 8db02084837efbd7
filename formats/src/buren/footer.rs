//! The footer: the schema, and where the chunks lie and what is in them.
//!
//! ```text
//! footer   = columns: u32  column*  groups: u32  group*
//! column   = name: text  nullable: u8  type              see `types`
//! group    = rows: u32  chunk*                           one for each column
//! chunk    = offset: u64  stored: u32  raw: u32          place and lengths in bytes, as stored and decompressed
//!            checksum: u32  nulls: u32  compression: u8
//!            encoding: u8 (0 nothing, 1 plain, 2 dictionary)
//!            bytes of a length: u8  bytes of an index: u8  entries: u32      0 where there are none
//!            zone: u8 (1 min, 2 max, 4 there is NaN)  min?  max?
//! min, max = fixed width: the value; booleans: u8; text and bytes: length: u8  bytes
//! ```
//!
//! Zones are exact. Floats: NaN is left out of min and max, and a zone with NaN proves nothing. Text and bytes longer
//! than 128 bytes are left out.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, BooleanArray, StringViewArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema, SchemaRef};

use super::bytes::{Input, pad};
use super::compress::Codec;
use super::types::{get_field, put_field, width};
use super::{ALIGNMENT, MAGIC, VERSION};
use crate::columns::bounds::{Value, Zone};
use crate::columns::tail::{Tail, cut_short};
use crate::error::{Error, Result};

/// The bytes of the trailer.
pub const TRAILER: usize = 16;
/// The longest text in a zone map.
pub const ZONE_BYTES: usize = 128;
/// The longest chunk when decompressed: views hold 31-bit offsets.
pub const MAX_RAW: u32 = i32::MAX as u32;
/// The most rows of a row group that is read, so that a forged count does not ask for memory without end.
pub const MAX_ROWS: u32 = 1 << 24;
/// The bytes of a chunk of no zone, and so of the shortest.
const LEAST_CHUNK: usize = 33;

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
}

/// A row group.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The number of rows.
    pub rows: u32,
    /// A chunk for each column.
    pub chunks: Vec<Chunk>,
}

/// How the values of a chunk lie in its raw bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Every row is NULL; there are no bytes.
    Nothing,
    /// Value after value; text and bytes behind their lengths, of `length` bytes each.
    Plain {
        /// The bytes of a length: 1, 2 or 4; 0 for fixed-width types and booleans.
        length: u8,
    },
    /// Indices of rows into a list of distinct values.
    Dictionary {
        /// The bytes of a length: 1, 2 or 4.
        length: u8,
        /// The bytes of an index: 1 or 2.
        index: u8,
        /// The number of distinct values.
        entries: u32,
    },
}

/// A column of a row group.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// The place in the file.
    pub offset: u64,
    /// The bytes in the file.
    pub stored: u32,
    /// The bytes when decompressed.
    pub raw: u32,
    /// CRC-32 of the stored bytes.
    pub checksum: u32,
    /// The number of NULL rows.
    pub nulls: u32,
    /// The compression.
    pub codec: Codec,
    /// The encoding.
    pub encoding: Encoding,
    /// The least value, as bytes, if it is known.
    pub min: Option<Vec<u8>>,
    /// The greatest value, as bytes, if it is known.
    pub max: Option<Vec<u8>>,
    /// Whether there is a NaN.
    pub nan: bool,
}

impl Chunk {
    /// What the zone map proves of the values.
    pub fn zone(&self, data_type: &DataType) -> Zone {
        if self.nan {
            return Zone::default();
        }
        let value = |bytes: &Option<Vec<u8>>| -> Option<Value> {
            Value::of(&zone_array(data_type, bytes.as_ref()?)?, 0)
        };
        Zone { min: value(&self.min), max: value(&self.max) }
    }

    fn put(&self, out: &mut Vec<u8>, data_type: &DataType) {
        out.extend(self.offset.to_le_bytes());
        for number in [self.stored, self.raw, self.checksum, self.nulls] {
            out.extend(number.to_le_bytes());
        }
        let (tag, length, index, entries) = match self.encoding {
            Encoding::Nothing => (0, 0, 0, 0),
            Encoding::Plain { length } => (1, length, 0, 0),
            Encoding::Dictionary { length, index, entries } => (2, length, index, entries),
        };
        out.extend([self.codec as u8, tag, length, index]);
        out.extend(entries.to_le_bytes());
        let flags = [(self.min.is_some(), HAS_MIN), (self.max.is_some(), HAS_MAX), (self.nan, HAS_NAN)];
        out.push(flags.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum());
        for value in [&self.min, &self.max].into_iter().flatten() {
            if width(data_type).is_none() && data_type != &DataType::Boolean {
                out.push(u8::try_from(value.len()).expect("texts in zones have at most 128 bytes"));
            }
            out.extend(value);
        }
    }

    fn get(input: &mut Input, data_type: &DataType) -> Result<Chunk> {
        let offset = input.u64()?;
        let [stored, raw, checksum, nulls] = [input.u32()?, input.u32()?, input.u32()?, input.u32()?];
        let codec = Codec::from_tag(input.u8()?)?;
        let (tag, length, index, entries) = (input.u8()?, input.u8()?, input.u8()?, input.u32()?);
        let lengths: &[u8] = if is_bytes(data_type) { &[1, 2, 4] } else { &[0] };
        let encoding = match tag {
            0 => Encoding::Nothing,
            1 if lengths.contains(&length) => Encoding::Plain { length },
            2 if is_bytes(data_type)
                && lengths.contains(&length)
                && [1, 2].contains(&index)
                && entries <= 1 << (8 * index) =>
            {
                Encoding::Dictionary { length, index, entries }
            }
            _ => return Err(Error::corrupt("damaged buren footer: there is no such encoding")),
        };
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
        let nan = flags & HAS_NAN != 0;
        Ok(Chunk { offset, stored, raw, checksum, nulls, codec, encoding, min, max, nan })
    }
}

/// Whether a type is text or bytes.
pub fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

/// The bytes of a value in a zone map as an array of one row; `None` if they are no such value.
pub fn zone_array(data_type: &DataType, bytes: &[u8]) -> Option<ArrayRef> {
    Some(match data_type {
        DataType::Boolean => Arc::new(BooleanArray::from(vec![*bytes.first()? != 0])),
        DataType::Utf8View => Arc::new(StringViewArray::from(vec![std::str::from_utf8(bytes).ok()?])),
        DataType::BinaryView | DataType::FixedSizeBinary(_) => Arc::new(BinaryViewArray::from(vec![bytes])),
        fixed => {
            let data = ArrayData::builder(fixed.clone()).len(1).add_buffer(Buffer::from_slice_ref(bytes));
            make_array(data.build().ok()?)
        }
    })
}

impl Footer {
    /// Reads the footer of a file.
    pub fn open(path: &Path) -> Result<Footer> {
        let tail = Tail::open(path)?;
        Footer::read(&tail, path).map_err(|e| e.at(path))
    }

    fn read(tail: &Tail, path: &Path) -> Result<Footer> {
        let end = tail.len.saturating_sub(TRAILER as u64);
        let trailer = tail.bytes(path, end..tail.len)?;
        let mut input = Input::new(&trailer);
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
            return Err(Error::Unsupported(format!(
                "{}: buren version {version}, and this palais reads version {VERSION}: write the file again",
                path.display()
            )));
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
        let mut input = Input::new(bytes);
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
        if !input.is_empty() {
            return Err(Error::corrupt("damaged buren footer: there is something behind its end"));
        }
        for chunk in groups.iter().flat_map(|g| &g.chunks) {
            let inside = chunk.offset.checked_add(chunk.stored.into()).is_some_and(|end| end <= start);
            if !inside || chunk.raw > MAX_RAW {
                return Err(Error::corrupt("damaged buren footer: a chunk does not lie in the file"));
            }
        }
        Ok(Footer { schema: Arc::new(Schema::new(fields)), groups })
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
