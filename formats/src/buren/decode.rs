//! The bytes of a chunk to columns, any range of its rows or chosen ones.
//!
//! Plain values of fixed width stay where they are and are sliced. Everything else is decoded as it is asked for, so that
//! what a batch needs is in the cache together.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, UInt32Array, make_array, new_null_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrow_select::take::take;
use bytes::Bytes;

use super::chunk::Source;
use super::encode::{CONSTANT, NARROW, PLAIN, validity};
use super::floats::{Float, Floats};
use super::footer::Chunk;
use super::integers::decode::Integers;
use super::nested;
use super::text::decode::Texts;
use super::text::views::Out;
use super::types::width;
use crate::error::{Error, Result};

/// A column of a row group.
pub struct Column {
    data_type: DataType,
    rows: usize,
    nulls: Option<NullBuffer>,
    values: Values,
    /// The characters of its texts that are enough.
    chars: usize,
}

/// The values of a column.
pub(super) enum Values {
    /// There are none: every row is NULL.
    None,
    /// Booleans.
    Bits(BooleanBuffer),
    /// The same boolean in every row.
    Boolean(bool),
    /// Integers and what is laid out as they are, by the bytes of a value.
    One(Integers<u8>),
    /// Two bytes.
    Two(Integers<u16>),
    /// Four bytes.
    Four(Integers<u32>),
    /// Eight bytes.
    Eight(Integers<u64>),
    /// 32-bit floats.
    Single(Floats<u32>),
    /// 64-bit floats.
    Double(Floats<u64>),
    /// Wider values, one after the other.
    Wide(Buffer),
    /// The same wider value in every row.
    Same(Vec<u8>),
    /// Wider values that are 64-bit integers.
    Narrow(Integers<u64>),
    /// Text and bytes.
    Texts(Texts),
    /// Lists and structs, with those that are NULL.
    Nested(ArrayRef),
}

impl Column {
    /// Checks a chunk and reads how it is encoded.
    pub fn open(chunk: &Chunk, data_type: &DataType, rows: usize, stored: Bytes) -> Result<Column> {
        if crc32fast::hash(&stored) != chunk.checksum {
            return Err(Error::corrupt("the checksum of a column chunk does not agree: the file is damaged"));
        }
        let bytes = Buffer::from(stored);
        let mut source = Source::new(&bytes)?;
        let column = Column::within(&mut source, data_type, rows)?;
        source.finish()?;
        let found = match (&column.values, &column.nulls) {
            (Values::None, _) => rows,
            (Values::Nested(array), _) => array.null_count(),
            (_, nulls) => nulls.as_ref().map_or(0, NullBuffer::null_count),
        };
        if found != chunk.nulls as usize {
            return Err(source.damaged("its count of NULLs is not that of the footer"));
        }
        Ok(column)
    }

    /// Reads the description of a column, or of what lies in one.
    pub(super) fn within(source: &mut Source, data_type: &DataType, rows: usize) -> Result<Column> {
        let tag = source.tag()?;
        let mut nulls = nulls(source, tag, rows)?;
        let values = match (tag, data_type) {
            (validity::NONE, _) => Values::None,
            (_, DataType::List(item)) => Values::Nested(nested::lists(source, item, rows, nulls.take())?),
            (_, DataType::Struct(fields)) => {
                Values::Nested(nested::structs(source, fields, rows, nulls.take())?)
            }
            _ => Values::open(source, data_type, rows)?,
        };
        Ok(Column { data_type: data_type.clone(), rows, nulls, values, chars: usize::MAX })
    }

    /// The same column, of whose texts so many characters are enough.
    pub fn cut(self, chars: usize) -> Column {
        Column { chars, ..self }
    }

    /// The values.
    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// Which rows have a value; all of them, if there is none.
    pub(super) fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// The rows from `from` on, or those of them that are chosen, ascending and counted from `from`.
    pub fn read(&self, from: usize, rows: usize, chosen: Option<&[u32]>) -> Result<ArrayRef> {
        debug_assert!(from + rows <= self.rows);
        let count = chosen.map_or(rows, <[u32]>::len);
        let nulls = self.nulls.as_ref().map(|nulls| match chosen {
            None => nulls.slice(from, rows),
            Some(chosen) => chosen.iter().map(|&row| nulls.is_valid(from + row as usize)).collect(),
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        match &self.values {
            Values::None => Ok(new_null_array(&self.data_type, count)),
            Values::Nested(array) => match chosen {
                None => Ok(array.slice(from, rows)),
                Some(chosen) => {
                    let places: UInt32Array = chosen.iter().map(|row| from as u32 + row).collect();
                    take(array, &places, None).map_err(|e| damaged(&e.to_string()))
                }
            },
            Values::Boolean(value) => {
                let bits =
                    if *value { BooleanBuffer::new_set(count) } else { BooleanBuffer::new_unset(count) };
                Ok(Arc::new(BooleanArray::new(bits, nulls)))
            }
            Values::Bits(bits) => {
                let bits = match chosen {
                    None => bits.slice(from, rows),
                    Some(chosen) => chosen.iter().map(|&row| bits.value(from + row as usize)).collect(),
                };
                Ok(Arc::new(BooleanArray::new(bits, nulls)))
            }
            Values::Texts(texts) => {
                let mut out = Out::new(self.data_type == DataType::Utf8View).cut(self.chars);
                texts.read(from, rows, chosen, &mut out)?;
                self.sized(out.finish(nulls))
            }
            Values::One(values) => self.fixed(integers(values, from, rows, chosen)?, count, nulls),
            Values::Two(values) => self.fixed(integers(values, from, rows, chosen)?, count, nulls),
            Values::Four(values) => self.fixed(integers(values, from, rows, chosen)?, count, nulls),
            Values::Eight(values) => self.fixed(integers(values, from, rows, chosen)?, count, nulls),
            Values::Single(values) => self.fixed(floats(values, from, rows, chosen)?, count, nulls),
            Values::Double(values) => self.fixed(floats(values, from, rows, chosen)?, count, nulls),
            Values::Same(value) => self.fixed(Buffer::from_vec(value.repeat(count)), count, nulls),
            Values::Narrow(values) => {
                let width = width(&self.data_type).unwrap_or(16);
                let mut wide = Vec::with_capacity(count * width);
                for value in integers(values, from, rows, chosen)?.chunks_exact(8) {
                    wide.extend_from_slice(value);
                    let sign = if value[7] >> 7 == 1 { u8::MAX } else { 0 };
                    wide.extend(std::iter::repeat_n(sign, width - 8));
                }
                self.fixed(Buffer::from_vec(wide), count, nulls)
            }
            Values::Wide(values) => {
                let width = width(&self.data_type).unwrap_or(16);
                let some = values.slice_with_length(from * width, rows * width);
                match chosen {
                    None => self.fixed(some, count, nulls),
                    Some(chosen) => {
                        let all = self.fixed(some, rows, None)?;
                        let picked = take(&all, &UInt32Array::from(chosen.to_vec()), None);
                        let picked = picked.map_err(|e| damaged(&e.to_string()))?;
                        self.fixed(picked.to_data().buffers()[0].clone(), count, nulls)
                    }
                }
            }
        }
    }

    /// A column of fixed width. Values are copied only if they are not aligned.
    fn fixed(&self, values: Buffer, rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let data = ArrayData::builder(self.data_type.clone())
            .len(rows)
            .nulls(nulls)
            .add_buffer(values)
            .align_buffers(true)
            .build()
            .map_err(|e| damaged(&e.to_string()))?;
        Ok(make_array(data))
    }

    /// Bytes of one size, if they have to be.
    fn sized(&self, array: ArrayRef) -> Result<ArrayRef> {
        let DataType::FixedSizeBinary(size) = &self.data_type else { return Ok(array) };
        let values = array.as_binary_view();
        let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.iter(), *size);
        Ok(Arc::new(values.map_err(|_| damaged("the length of a value"))?))
    }
}

impl Values {
    fn open(source: &mut Source, data_type: &DataType, rows: usize) -> Result<Values> {
        match (data_type, width(data_type)) {
            (DataType::Boolean, _) => match source.tag()? {
                CONSTANT => Ok(Values::Boolean(source.input().u8()? != 0)),
                PLAIN => Ok(Values::Bits(BooleanBuffer::new(source.exactly(rows.div_ceil(8))?, 0, rows))),
                other => Err(source.damaged(format_args!("there is no encoding {other} of booleans"))),
            },
            (DataType::Float32, _) => Floats::open(source, rows).map(Values::Single),
            (DataType::Float64, _) => Floats::open(source, rows).map(Values::Double),
            (_, None) => Texts::open(source, rows, data_type == &DataType::Utf8View).map(Values::Texts),
            (_, Some(1)) => Integers::open(source, rows).map(Values::One),
            (_, Some(2)) => Integers::open(source, rows).map(Values::Two),
            (_, Some(4)) => Integers::open(source, rows).map(Values::Four),
            (_, Some(8)) => Integers::open(source, rows).map(Values::Eight),
            (_, Some(width)) => match source.tag()? {
                CONSTANT => Ok(Values::Same(source.input().take(width)?.to_vec())),
                PLAIN => source.exactly(rows * width).map(Values::Wide),
                NARROW => Integers::open(source, rows).map(Values::Narrow),
                other => Err(source.damaged(format_args!("there is no encoding {other} of wide values"))),
            },
        }
    }
}

/// Which rows have a value; `None` if all have, and where the tag says that none has.
fn nulls(source: &mut Source, tag: u8, rows: usize) -> Result<Option<NullBuffer>> {
    match tag {
        validity::ALL | validity::NONE => Ok(None),
        validity::BITS => {
            let bits = source.exactly(rows.div_ceil(8))?;
            Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, 0, rows))))
        }
        validity::PLACES => {
            let count = source.count(rows)?;
            let places: Vec<u32> = Integers::open(source, count)?.all(count)?;
            let mut bits = vec![u8::MAX; rows.div_ceil(8)];
            for place in places {
                match bits.get_mut(place as usize / 8) {
                    Some(byte) if (place as usize) < rows => *byte &= !(1 << (place % 8)),
                    _ => return Err(source.damaged("a NULL behind the last row")),
                }
            }
            Ok(Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, rows))))
        }
        other => Err(source.damaged(format_args!("there is no validity {other}"))),
    }
}

fn integers<W: super::word::Word>(
    values: &Integers<W>,
    from: usize,
    rows: usize,
    chosen: Option<&[u32]>,
) -> Result<Buffer> {
    match chosen {
        None => values.bytes(from, rows),
        Some(chosen) => Ok(Buffer::from_vec(values.pick(from, chosen)?)),
    }
}

fn floats<F: Float>(values: &Floats<F>, from: usize, rows: usize, chosen: Option<&[u32]>) -> Result<Buffer> {
    if let Floats::Bits(bits) = values {
        return integers(bits, from, rows, chosen);
    }
    let mut all = vec![F::narrow(0); rows];
    values.read(from, &mut all)?;
    Ok(Buffer::from_vec(match chosen {
        None => all,
        Some(chosen) => chosen.iter().map(|&row| all[row as usize]).collect(),
    }))
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("damaged column chunk: {what}"))
}
