//! Columns of texts and bytes on the wire: the lengths of the values, then all of their bytes.
//!
//! Most keys of groups are texts of at most 12 bytes, which lie in Arrow's views. The code moves such a value 16 bytes
//! at a time. The next value overwrites the bytes that are too many, or a mask clears them.

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::{LONG, NULLS, Rest, SHORT, broken, lengths_of, put};
use crate::error::Result;

/// The length of the longest value that lies in its view, in bytes.
const INLINE: u32 = 12;

/// By the length of a value in bytes: the mask of its bits, before they are moved behind the length in the view.
const MASKS: [u128; INLINE as usize + 1] = {
    let mut masks = [0; INLINE as usize + 1];
    let mut length = 1;
    while length < masks.len() {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

/// The number of rows that are written at once.
const ROWS: usize = 256;

/// The length of each value. It is the first 32 bits of the view. The view of a NULL may hold anything, and its length
/// is 0.
fn lengths<T: ByteViewType>(array: &GenericByteViewArray<T>) -> impl Iterator<Item = u32> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let length = move |(row, view): (usize, &u128)| match nulls {
        Some(nulls) if nulls.is_null(row) => 0,
        _ => *view as u32,
    };
    array.views().iter().enumerate().map(length)
}

/// The views of a column, if all values lie in them and none is NULL. The column may have buffers.
pub fn all_short<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Option<&[u128]> {
    let is_short = |&view: &u128| view as u32 <= INLINE;
    let all =
        array.null_count() == 0 && (array.data_buffers().is_empty() || array.views().iter().all(is_short));
    all.then_some(array.views())
}

/// As [`all_short`], but without a look at each view: `None` if the column has buffers.
fn inline<T: ByteViewType>(array: &GenericByteViewArray<T>) -> Option<&[u128]> {
    let all = array.data_buffers().is_empty() && array.null_count() == 0;
    all.then_some(array.views())
}

/// By the length of a value: the bits of its view that are 0 if the value is ASCII with zeros behind it. The last entry
/// is for values that are too long for their view. It has all bits, one of which their length has too.
const WRONG: [u128; INLINE as usize + 2] = {
    const HIGH: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;
    let mut wrong = [u128::MAX; INLINE as usize + 2];
    let mut length = 0;
    while length < MASKS.len() {
        wrong[length] = !(MASKS[length] << 32 | 0xffff_ffff) | HIGH;
        length += 1;
    }
    wrong
};

/// Whether all values lie in their views, are ASCII, and have zeros behind them.
pub fn are_short_ascii(views: &[u128]) -> bool {
    // There is no branch for each view, because almost always all are.
    let wrong = |&view: &u128| view & WRONG[(view as u32).min(INLINE + 1) as usize];
    views.iter().map(wrong).fold(0, |all, wrong| all | wrong) == 0
}

/// The kind byte of a column: [`SHORT`] if no value has more than 255 bytes, else [`LONG`].
pub fn kind<T: ByteViewType>(array: &GenericByteViewArray<T>) -> u8 {
    let short = array.data_buffers().is_empty() || lengths(array).all(|length| length <= u32::from(u8::MAX));
    if short { SHORT } else { LONG }
}

/// The number of bytes that [`write()`] writes for a column.
pub fn size<T: ByteViewType>(array: &GenericByteViewArray<T>) -> usize {
    if let Some(views) = inline(array) {
        // A value has at most 12 bytes, and a batch has too few rows for the sum to pass 32 bits.
        return views.len() + views.iter().map(|&view| view as u32).sum::<u32>() as usize;
    }
    let width = if kind(array) == SHORT { 1 } else { 4 };
    array.len() * width + lengths(array).map(|length| length as usize).sum::<usize>()
}

/// Writes the lengths and the values of a column.
pub fn write<T: ByteViewType>(array: &GenericByteViewArray<T>, kind: u8, out: &mut impl Write) -> Result<()> {
    if let Some(views) = inline(array) {
        return write_inline(views, out);
    }
    let all: Vec<u32> = lengths(array).collect();
    for lengths in all.chunks(ROWS) {
        let mut bytes = [0; ROWS * 4];
        let width = if kind == SHORT { 1 } else { 4 };
        for (place, length) in bytes.chunks_exact_mut(width).zip(lengths) {
            place.copy_from_slice(&length.to_le_bytes()[..width]);
        }
        put(out, &bytes[..lengths.len() * width])?;
    }
    let values = (0..array.len()).filter(|&row| all[row] > 0);
    values.map(|row| array.value(row).as_ref()).try_for_each(|value: &[u8]| put(out, value))
}

fn write_inline(views: &[u128], out: &mut impl Write) -> Result<()> {
    for views in views.chunks(ROWS) {
        let mut bytes = [0; ROWS];
        bytes.iter_mut().zip(views).for_each(|(byte, &view)| *byte = view as u8);
        put(out, &bytes[..views.len()])?;
    }
    for views in views.chunks(ROWS) {
        let mut bytes = [0; ROWS * INLINE as usize + 16];
        let mut at = 0;
        for &view in views {
            bytes[at..at + 16].copy_from_slice(&(view >> 32).to_le_bytes());
            at += (view as u32).min(INLINE) as usize;
        }
        put(out, &bytes[..at])?;
    }
    Ok(())
}

/// Reads the values of a column.
///
/// # Errors
/// Too few bytes, more than 4 GiB of text, and text that is not UTF-8.
pub fn read<T: ByteViewType>(
    rest: &mut Rest<'_>,
    kind: u8,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let lengths: Vec<u32> = match kind & !NULLS {
        SHORT => rest.take(rows)?.iter().map(|&length| u32::from(length)).collect(),
        _ => lengths_of(rest, rows)?,
    };
    let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    if total > u64::from(u32::MAX) {
        return Err(broken("more text than a batch has"));
    }
    let bytes = rest.take(total as usize)?;
    let (views, outside) = views(&lengths, bytes);
    let views = ScalarBuffer::from(views);
    let buffers = if outside.is_empty() { vec![] } else { vec![Buffer::from_vec(outside)] };
    // Each part of ASCII bytes is valid text.
    if bytes.is_ascii() {
        // SAFETY: `views` gives the view of each length over `bytes`, whose values lie in the view or in the one buffer,
        // and all bytes are ASCII.
        return Ok(Arc::new(unsafe { GenericByteViewArray::<T>::new_unchecked(views, buffers, nulls) }));
    }
    Ok(Arc::new(GenericByteViewArray::<T>::try_new(views, buffers, nulls)?))
}

/// The views of values of these lengths, which follow one another in `bytes`, and the bytes of the values that don't
/// lie in their views.
fn views(lengths: &[u32], bytes: &[u8]) -> (Vec<u128>, Vec<u8>) {
    let (mut at, mut views, mut outside) = (0, Vec::with_capacity(lengths.len()), Vec::new());
    for &length in lengths {
        let rest = &bytes[at..];
        at += length as usize;
        let Some(mask) = MASKS.get(length as usize) else {
            let value = &rest[..length as usize];
            let first = u32::from_le_bytes([value[0], value[1], value[2], value[3]]);
            let place = outside.len() as u128;
            views.push(u128::from(length) | u128::from(first) << 32 | place << 96);
            outside.extend_from_slice(value);
            continue;
        };
        let value = match rest.first_chunk::<16>() {
            Some(chunk) => u128::from_le_bytes(*chunk),
            None => {
                let mut chunk = [0; 16];
                chunk[..rest.len()].copy_from_slice(rest);
                u128::from_le_bytes(chunk)
            }
        };
        views.push((value & mask) << 32 | u128::from(length));
    }
    (views, outside)
}
