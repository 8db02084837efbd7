//! Texts and bytes on the wire: their lengths, then all of their bytes.
//!
//! Most keys of groups are texts of at most 12 bytes, which lie in Arrow's views as they are. Those are moved 16 bytes at
//! a time: what is too much is overwritten by the next one, or masked.

use std::sync::Arc;

use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::{LONG, NULLS, Rest, SHORT, broken, lengths_of};
use crate::error::Result;

/// The longest value that lies in its view.
const INLINE: u32 = 12;

/// Of a view whose value has so many bytes, those that it takes, before they are moved behind the length.
const MASKS: [u128; INLINE as usize + 1] = {
    let mut masks = [0; INLINE as usize + 1];
    let mut length = 1;
    while length < masks.len() {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

/// Writes a column's values, and gives its kind.
pub fn put<T: ByteViewType>(array: &GenericByteViewArray<T>, out: &mut Vec<u8>) -> u8 {
    // The length is the view's first 32 bits; what a NULL's view says is of no meaning.
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let lengths: Vec<u32> = match nulls {
        None => array.views().iter().map(|&view| view as u32).collect(),
        Some(nulls) => {
            let length = |(&view, valid)| if valid { view as u32 } else { 0 };
            array.views().iter().zip(nulls.iter()).map(length).collect()
        }
    };
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let kind = match longest <= u32::from(u8::MAX) {
        true => {
            out.extend(lengths.iter().map(|&length| length as u8));
            SHORT
        }
        false => {
            out.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
            LONG
        }
    };
    if longest <= INLINE {
        let total: usize = lengths.iter().map(|&length| length as usize).sum();
        let mut at = out.len();
        out.resize(at + total + 16, 0);
        for (view, &length) in array.views().iter().zip(&lengths) {
            out[at..at + 16].copy_from_slice(&(view >> 32).to_le_bytes());
            at += length as usize;
        }
        out.truncate(at);
    } else {
        for row in (0..array.len()).filter(|&row| lengths[row] > 0) {
            out.extend_from_slice(array.value(row).as_ref());
        }
    }
    kind
}

/// A column's values.
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
    // Each part of ASCII is text.
    if bytes.is_ascii() {
        // SAFETY: `views` gives the view of each length over `bytes`, whose values lie in the view or in the one buffer,
        // and all bytes are ASCII.
        return Ok(Arc::new(unsafe { GenericByteViewArray::<T>::new_unchecked(views, buffers, nulls) }));
    }
    Ok(Arc::new(GenericByteViewArray::<T>::try_new(views, buffers, nulls)?))
}

/// The views of values of these lengths, which follow one another in `bytes`, and what lies outside of them.
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
