//! The bytes of a chunk to columns, a few rows at a time.
//!
//! Values of fixed width stay where they are and are sliced. Text is decoded as it is asked for, so that lengths,
//! bytes and views of a batch are in the cache together.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, FixedSizeBinaryArray, StringViewArray, make_array, new_null_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use bytes::Bytes;

use super::ALIGNMENT;
use super::compress::Codec;
use super::footer::{Chunk, Encoding};
use super::types::width;
use super::views;
use crate::error::{Error, Result};

/// The rows of a chunk that are not read yet.
pub struct Column {
    rows: Rows,
    row: usize,
    /// The bytes of a value where all have as many.
    size: Option<i32>,
}

enum Rows {
    /// All rows.
    Array(ArrayRef),
    /// Text or bytes one after the other; `at` is where the next value begins.
    Plain { bytes: Values, length: u8, lengths: Buffer, at: usize },
    /// Indices into a list of views.
    Dictionary { bytes: Values, index: u8, indices: Buffer, views: Vec<u128> },
}

/// The bytes of text or binary values, and which rows have none.
struct Values {
    text: bool,
    /// Whether some value is too long to lie in its view.
    referenced: bool,
    data: Buffer,
    nulls: Option<NullBuffer>,
}

impl Column {
    /// Checks and decompresses a chunk.
    pub fn open(chunk: &Chunk, data_type: &DataType, rows: usize, stored: Bytes) -> Result<Column> {
        if crc32fast::hash(&stored) != chunk.checksum {
            return Err(Error::corrupt("the checksum of a column chunk does not agree: the file is damaged"));
        }
        let raw = match chunk.codec {
            Codec::None => Buffer::from(stored),
            codec => Buffer::from_vec(codec.decompress(&stored, chunk.raw as usize)?),
        };
        if raw.len() != chunk.raw as usize || chunk.nulls as usize > rows {
            return Err(damaged("its length"));
        }
        let (nulls, values) = if chunk.encoding == Encoding::Nothing || chunk.nulls == 0 {
            (None, raw)
        } else {
            let end = rows.div_ceil(8).next_multiple_of(ALIGNMENT);
            let (validity, values) = split(&raw, end, "its validity")?;
            let found = NullBuffer::new(BooleanBuffer::new(validity, 0, rows));
            if found.null_count() != chunk.nulls as usize {
                return Err(damaged("its count of NULLs"));
            }
            (Some(found), values)
        };
        let text = data_type == &DataType::Utf8View;
        let rows = match chunk.encoding {
            Encoding::Nothing if values.is_empty() && chunk.nulls as usize == rows => {
                Rows::Array(new_null_array(data_type, rows))
            }
            Encoding::Nothing => return Err(damaged("its length")),
            Encoding::Plain { length: 0 } => Rows::Array(fixed(data_type, rows, nulls, values)?),
            Encoding::Plain { length } => {
                let (lengths, data) = split(&values, rows * usize::from(length), "its lengths")?;
                let bytes = Values { text, referenced: false, data, nulls }.of(&lengths, length)?;
                Rows::Plain { bytes, length, lengths, at: 0 }
            }
            Encoding::Dictionary { length, index, entries } => {
                let (indices, values) = split(&values, rows * usize::from(index), "its indices")?;
                let (lengths, data) = split(&values, entries as usize * usize::from(length), "its lengths")?;
                let bytes = Values { text, referenced: false, data, nulls }.of(&lengths, length)?;
                if text && !views::is_utf8(&bytes.data, views::starts(&lengths, length)) {
                    return Err(not_utf8());
                }
                // Indices have the form of lengths.
                if rows > 0 && views::longest(&indices, index) >= entries as usize {
                    return Err(damaged("an index"));
                }
                let views = views::build(&lengths, length, &bytes.data, 0);
                Rows::Dictionary { bytes, index, indices, views }
            }
        };
        let size = if let DataType::FixedSizeBinary(size) = data_type { Some(*size) } else { None };
        Ok(Column { rows, row: 0, size })
    }

    /// The next rows; there must be so many.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let array = self.values(rows)?;
        match (self.size, array.as_binary_view_opt()) {
            (Some(size), Some(values)) => {
                let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.iter(), size);
                Ok(Arc::new(values.map_err(|_| damaged("the length of a value"))?))
            }
            _ => Ok(array),
        }
    }

    fn values(&mut self, rows: usize) -> Result<ArrayRef> {
        let (from, to) = (self.row, self.row + rows);
        self.row = to;
        match &mut self.rows {
            Rows::Array(array) => Ok(array.slice(from, rows)),
            Rows::Plain { bytes, length, lengths, at } => {
                let width = usize::from(*length);
                let lengths = &lengths.as_slice()[from * width..to * width];
                let start = *at;
                *at += views::total(lengths, *length) as usize;
                let run = &bytes.data.as_slice()[start..*at];
                if bytes.text && !views::is_utf8(run, views::starts(lengths, *length)) {
                    return Err(not_utf8());
                }
                Ok(bytes.array(views::build(lengths, *length, &bytes.data, start), from))
            }
            Rows::Dictionary { bytes, index, indices, views } => {
                let width = usize::from(*index);
                let indices = &indices.as_slice()[from * width..to * width];
                let view = |index: usize| views.get(index).copied().unwrap_or_default();
                let gathered = match index {
                    1 => indices.iter().map(|&i| view(i.into())).collect(),
                    _ => indices
                        .chunks_exact(2)
                        .map(|i| view(usize::from(i[0]) | usize::from(i[1]) << 8))
                        .collect(),
                };
                Ok(bytes.array(gathered, from))
            }
        }
    }
}

impl Values {
    /// Checks lengths, which have `width` bytes each, against the data.
    fn of(mut self, lengths: &[u8], width: u8) -> Result<Values> {
        if views::total(lengths, width) != self.data.len() as u64 {
            return Err(damaged("the sum of its lengths"));
        }
        self.referenced = views::longest(lengths, width) > views::INLINE;
        Ok(self)
    }

    /// The array of these views, which are those of the rows from `row` on.
    fn array(&self, views: Vec<u128>, row: usize) -> ArrayRef {
        let nulls = self.nulls.as_ref().map(|n| n.slice(row, views.len())).filter(|n| n.null_count() > 0);
        let buffers = if self.referenced { vec![self.data.clone()] } else { Vec::new() };
        let views = ScalarBuffer::from(views);
        // The checked constructors look up every value again, which makes reading `sourceIP` five times as slow
        // (20 against 110 million rows a second, `examples/decode_speed.rs`).
        // SAFETY: `views::build` makes views that lie in `data` or in themselves, since the lengths are checked to add
        // up to the data; text is checked to be UTF-8, value by value, before its views are made.
        unsafe {
            match self.text {
                true => Arc::new(StringViewArray::new_unchecked(views, buffers, nulls)),
                false => Arc::new(BinaryViewArray::new_unchecked(views, buffers, nulls)),
            }
        }
    }
}

/// A column of fixed width, or of booleans. Values are copied only if they are not aligned.
fn fixed(data_type: &DataType, rows: usize, nulls: Option<NullBuffer>, values: Buffer) -> Result<ArrayRef> {
    let length = width(data_type).map_or(rows.div_ceil(8), |width| rows * width);
    if values.len() != length {
        return Err(damaged("its length"));
    }
    let data = ArrayData::builder(data_type.clone())
        .len(rows)
        .nulls(nulls)
        .add_buffer(values)
        .align_buffers(true)
        .build()
        .map_err(|e| damaged(&e.to_string()))?;
    Ok(make_array(data))
}

/// The first `at` bytes and the rest.
fn split(bytes: &Buffer, at: usize, what: &str) -> Result<(Buffer, Buffer)> {
    if at > bytes.len() {
        return Err(damaged(what));
    }
    Ok((bytes.slice_with_length(0, at), bytes.slice(at)))
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a damaged column chunk: {what} does not agree with the footer"))
}

fn not_utf8() -> Error {
    Error::corrupt("a damaged column chunk: text that is not UTF-8")
}
