//! Record batches as bytes between the processes of a query.
//!
//! Both processes have the plan, and with it the schema, so that no schema is sent. Numbers are little-endian.
//!
//! ```text
//! batch   rows: u32, then the columns in the order of the schema
//! column  kind: u8, bit 7 set if there are NULLs; then, if so, a bit a row, 1 for a value, in whole bytes
//!   0  values of a fixed width, all rows
//!   1  booleans, a bit a row in whole bytes
//!   2  texts or bytes of at most 255 bytes each: lengths, u8 a row; all bytes
//!   3  texts or bytes: lengths, u32 a row; all bytes
//!   4  lists: lengths, u32 a row; the column of all their values
//!   5  structs: their columns
//!   6  the column of the type that has no values: nothing
//!   7  length: u32, an Arrow IPC stream of a batch of this column: any other type
//! ```
//! A NULL has a value too: 0, or a length of 0. So a row of a key of at most 12 bytes and a sum takes at most 21 bytes.

pub mod memory;
mod stream;
mod texts;
pub mod transfer;

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, StringViewType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericListArray, NullArray, OffsetSizeTrait, RecordBatch, StructArray,
    make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayDataBuilder;
use arrow_schema::{DataType, FieldRef, SchemaRef};

pub use stream::{decode_value, decode_with_schema, encode_value, encode_with_schema};

use crate::dataflow::batch::{batch_of, list_values};
use crate::error::{Error, Result};

const FIXED: u8 = 0;
const BOOLEANS: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const LISTS: u8 = 4;
const STRUCTS: u8 = 5;
const NOTHING: u8 = 6;
const ARROW: u8 = 7;
const NULLS: u8 = 0x80;

/// The most rows of a column that [`decode`] accepts, and the most values of its lists. No operator gives so many.
const MOST_ROWS: usize = 1 << 28;

/// Encodes a batch.
///
/// # Errors
/// A value that Arrow's IPC does not write.
pub fn encode(batch: &RecordBatch) -> Result<Vec<u8>> {
    let mut out =
        Vec::with_capacity(size(batch).unwrap_or_else(|| crate::dataflow::batch::batch_bytes(batch)));
    write(batch, &mut out)?;
    Ok(out)
}

/// The number of bytes that [`write()`] writes. `None` if a column has another type than numbers, times, booleans, texts
/// and bytes: its size is known only once it is written.
pub fn size(batch: &RecordBatch) -> Option<usize> {
    let columns = batch.columns().iter().map(|column| {
        let rows = column.len();
        let nulls = if nulls_of(column).is_some() { rows.div_ceil(8) } else { 0 };
        let values = match column.data_type() {
            DataType::Boolean => rows.div_ceil(8),
            DataType::Utf8View => texts::size(column.as_string_view()),
            DataType::BinaryView => texts::size(column.as_binary_view()),
            DataType::Null => 0,
            t => rows * t.primitive_width()?,
        };
        Some(1 + nulls + values)
    });
    Some(4 + columns.sum::<Option<usize>>()?)
}

/// Encodes a batch into `out`.
///
/// # Errors
/// A value that Arrow's IPC does not write, and the errors of the writer.
pub fn write(batch: &RecordBatch, out: &mut impl Write) -> Result<()> {
    put(out, &(batch.num_rows() as u32).to_le_bytes())?;
    batch.columns().iter().try_for_each(|column| write_column(column, out))
}

fn put(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|e| Error::Wire(e.to_string()))
}

fn nulls_of(column: &ArrayRef) -> Option<&NullBuffer> {
    let written = kind_of(column.data_type()) != ARROW;
    column.nulls().filter(|nulls| written && nulls.null_count() > 0)
}

fn write_column(column: &ArrayRef, out: &mut impl Write) -> Result<()> {
    let nulls = nulls_of(column);
    let kind = match column.data_type() {
        DataType::Utf8View => texts::kind(column.as_string_view()),
        DataType::BinaryView => texts::kind(column.as_binary_view()),
        t => kind_of(t),
    };
    put(out, &[kind | if nulls.is_some() { NULLS } else { 0 }])?;
    nulls.map_or(Ok(()), |nulls| put_bits(nulls.inner(), out))?;
    match column.data_type() {
        DataType::Boolean => put_bits(column.as_boolean().values(), out),
        DataType::Utf8View => texts::write(column.as_string_view(), kind, out),
        DataType::BinaryView => texts::write(column.as_binary_view(), kind, out),
        DataType::List(_) => put_lists(column.as_list::<i32>(), out),
        DataType::LargeList(_) => put_lists(column.as_list::<i64>(), out),
        DataType::Struct(_) => {
            column.as_struct().columns().iter().try_for_each(|column| write_column(column, out))
        }
        DataType::Null => Ok(()),
        t => match t.primitive_width() {
            Some(width) => {
                let data = column.to_data();
                let from = data.offset() * width;
                put(out, &data.buffers()[0].as_slice()[from..from + column.len() * width])
            }
            None => put_arrow(column, out),
        },
    }
}

/// The kind byte of a column of this type. For texts and bytes it is [`SHORT`], whatever their lengths.
fn kind_of(t: &DataType) -> u8 {
    match t {
        DataType::Boolean => BOOLEANS,
        DataType::Utf8View | DataType::BinaryView => SHORT,
        DataType::List(_) | DataType::LargeList(_) => LISTS,
        DataType::Struct(_) => STRUCTS,
        DataType::Null => NOTHING,
        t if t.primitive_width().is_some() => FIXED,
        _ => ARROW,
    }
}

fn put_bits(bits: &BooleanBuffer, out: &mut impl Write) -> Result<()> {
    let bits = bits.sliced();
    put(out, bits.as_slice())
}

fn put_lists<O: OffsetSizeTrait>(lists: &GenericListArray<O>, out: &mut impl Write) -> Result<()> {
    // A NULL list may have values, which no operator sees. They are sent too.
    for length in lists.offsets().lengths() {
        put(out, &(length as u32).to_le_bytes())?;
    }
    write_column(&list_values(lists), out)
}

fn put_arrow(column: &ArrayRef, out: &mut impl Write) -> Result<()> {
    let batch = RecordBatch::try_from_iter([("c", column.clone())])?;
    let stream = encode_with_schema(&crate::dataflow::batch::compact(&batch))?;
    put(out, &(stream.len() as u32).to_le_bytes())?;
    put(out, &stream)
}

/// Decodes a batch of `schema`.
///
/// # Errors
/// Bytes that [`encode`] does not write for this schema.
pub fn decode(bytes: &[u8], schema: &SchemaRef) -> Result<RecordBatch> {
    let mut rest = Rest(bytes);
    let rows = rest.number()?;
    if rows > MOST_ROWS {
        return Err(broken("too many rows"));
    }
    let columns = schema.fields().iter().map(|field| decode_column(&mut rest, field.data_type(), rows));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if !rest.0.is_empty() {
        return Err(broken("bytes behind the last column"));
    }
    batch_of(schema, columns, rows)
}

fn broken(what: &str) -> Error {
    Error::Wire(what.to_string())
}

/// The bytes that are not decoded yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| broken("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn bits(&mut self, rows: usize) -> Result<BooleanBuffer> {
        Ok(BooleanBuffer::new(Buffer::from(self.take(rows.div_ceil(8))?), 0, rows))
    }
}

fn decode_column(rest: &mut Rest<'_>, t: &DataType, rows: usize) -> Result<ArrayRef> {
    let kind = rest.take(1)?[0];
    let nulls = if kind & NULLS != 0 { Some(NullBuffer::new(rest.bits(rows)?)) } else { None };
    match (kind & !NULLS, t) {
        (FIXED, t) if t.primitive_width().is_some() => {
            let width = t.primitive_width().unwrap_or_default();
            let bytes = rest.take(rows * width)?;
            // The copy is aligned for values of any type.
            let mut values = MutableBuffer::new(bytes.len());
            values.extend_from_slice(bytes);
            let data = ArrayDataBuilder::new(t.clone()).len(rows).add_buffer(values.into()).nulls(nulls);
            Ok(make_array(data.build()?))
        }
        (BOOLEANS, DataType::Boolean) => Ok(Arc::new(BooleanArray::new(rest.bits(rows)?, nulls))),
        (SHORT | LONG, DataType::Utf8View) => texts::read::<StringViewType>(rest, kind, rows, nulls),
        (SHORT | LONG, DataType::BinaryView) => texts::read::<BinaryViewType>(rest, kind, rows, nulls),
        (LISTS, DataType::List(field)) => lists::<i32>(rest, field, rows, nulls),
        (LISTS, DataType::LargeList(field)) => lists::<i64>(rest, field, rows, nulls),
        (STRUCTS, DataType::Struct(fields)) => {
            let columns = fields.iter().map(|field| decode_column(rest, field.data_type(), rows));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, rows)?))
        }
        (NOTHING, DataType::Null) => Ok(Arc::new(NullArray::new(rows))),
        (ARROW, t) if kind_of(t) == ARROW => {
            let length = rest.number()?;
            let batch = decode_with_schema(rest.take(length)?)?;
            let column = batch.columns().first().filter(|c| c.data_type() == t && c.len() == rows);
            column.cloned().ok_or_else(|| broken("a column of another type or length"))
        }
        _ => Err(broken("a column of another kind")),
    }
}

fn lengths_of(rest: &mut Rest<'_>, rows: usize) -> Result<Vec<u32>> {
    let (lengths, _) = rest.take(rows * 4)?.as_chunks::<4>();
    Ok(lengths.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

fn lists<O: OffsetSizeTrait>(
    rest: &mut Rest<'_>,
    field: &FieldRef,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let lengths = lengths_of(rest, rows)?;
    let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    if total > MOST_ROWS as u64 {
        return Err(broken("too many values of lists"));
    }
    let values = decode_column(rest, field.data_type(), total as usize)?;
    let offsets = OffsetBuffer::<O>::from_lengths(lengths.into_iter().map(|length| length as usize));
    Ok(Arc::new(GenericListArray::try_new(field.clone(), offsets, values, nulls)?))
}

#[cfg(test)]
mod tests;
