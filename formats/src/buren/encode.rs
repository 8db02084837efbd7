//! A column of a row group to bytes.
//!
//! ```text
//! column(n) = validity  values(n)                     no values after validity 3
//! validity  = 0 all rows have a value
//!           | 1 bits       buffer                     one bit a row, low bits first, 1 for a value
//!           | 2 places     count: u32  integers of 32 bits(count)       the rows that are NULL, ascending
//!           | 3 all rows are NULL
//! values(n) = booleans: 0 constant: u8 | 1 bits: buffer, one bit a row, low bits first
//!           | numbers of 8 to 64 bits: integers(n), 32-bit and 64-bit floats: floats(n)
//!           | values of 128 and 256 bits: 0 constant: value | 1 plain: buffer | 2 narrow: integers of 64 bits(n), signed
//!           | text and bytes: texts(n)
//!           | lists and structs: see `nested`
//! ```

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::chunk::Sink;
use super::compress::Codec;
use super::floats;
use super::integers::encode::put as put_integers;
use super::nested;
use super::sketch::Sketch;
use super::text::{addresses, encode as texts};
use super::types::width;
use super::word::{Word, words};
use super::zone::{Limits, limits, limits_of_bytes};
use crate::error::Result;

/// Tags of validity.
pub(super) mod validity {
    pub const ALL: u8 = 0;
    pub const BITS: u8 = 1;
    pub const PLACES: u8 = 2;
    pub const NONE: u8 = 3;
}
/// Tags of booleans and of wide values.
pub(super) const CONSTANT: u8 = 0;
pub(super) const PLAIN: u8 = 1;
pub(super) const NARROW: u8 = 2;

/// A column of a row group as bytes, and what is known of it.
pub struct Encoded {
    /// The bytes of the chunk.
    pub bytes: Vec<u8>,
    /// The bytes of the values: their width times the rows that have one; of text and bytes their lengths.
    pub raw: u64,
    /// The number of NULL rows.
    pub nulls: u32,
    /// The least and the greatest value.
    pub limits: Limits,
    /// The distinct values.
    pub sketch: Sketch,
}

/// Encodes a column of one of the types of [`super::types`].
pub fn encode(array: &ArrayRef, codec: Codec) -> Result<Encoded> {
    let nulls = array.null_count();
    let mut sink = Sink::new(codec);
    let mut out = Encoded {
        bytes: Vec::new(),
        raw: 0,
        nulls: nulls as u32,
        limits: Limits::default(),
        sketch: Sketch::default(),
    };
    out.limits = if nulls < array.len() { limits(array) } else { Limits::default() };
    put_column(array, &mut sink, &mut out)?;
    out.bytes = sink.finish();
    if array.data_type().is_nested() {
        // Sketch and limits are those of columns, not of what lies in them.
        (out.sketch, out.limits) = (Sketch::default(), Limits::default());
    }
    Ok(out)
}

/// Writes validity and values of a column, or of what lies in one.
pub(super) fn put_column(array: &ArrayRef, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    put_validity(array, sink)?;
    if array.null_count() < array.len() || array.is_empty() { put_values(array, sink, out) } else { Ok(()) }
}

fn put_validity(array: &ArrayRef, sink: &mut Sink) -> Result<()> {
    let (nulls, rows) = (array.null_count(), array.len());
    match array.nulls().filter(|_| nulls > 0) {
        None => sink.put(&[validity::ALL]),
        Some(_) if nulls == rows => sink.put(&[validity::NONE]),
        Some(valid) if nulls * 16 <= rows => {
            let places: Vec<u32> = (!valid.inner()).set_indices().map(|row| row as u32).collect();
            sink.put(&[validity::PLACES]);
            sink.count(places.len())?;
            put_integers(&places, sink)?;
        }
        Some(valid) => {
            sink.put(&[validity::BITS]);
            sink.buffer(&bits(rows, |row| valid.is_valid(row)))?;
        }
    }
    Ok(())
}

/// One bit a row, low bits first.
fn bits(rows: usize, bit: impl FnMut(usize) -> bool) -> Vec<u8> {
    let bits = BooleanBuffer::collect_bool(rows, bit);
    bits.inner().as_slice()[..rows.div_ceil(8)].to_vec()
}

fn put_values(array: &ArrayRef, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    if let Some(done) = nested::put(array, sink, out) {
        return done;
    }
    let valid = array.len() - array.null_count();
    out.raw += (valid * width(array.data_type()).unwrap_or(0)) as u64;
    match (array.data_type(), width(array.data_type())) {
        (DataType::Boolean, _) => {
            out.raw += valid.div_ceil(8) as u64;
            booleans(array, sink, out)
        }
        (DataType::Utf8View, _) => bytes(&array.as_string_view().clone().to_binary_view(), sink, out),
        (DataType::BinaryView, _) => bytes(array.as_binary_view(), sink, out),
        (DataType::FixedSizeBinary(_), _) => {
            bytes(&array.as_fixed_size_binary().iter().collect::<BinaryViewArray>(), sink, out)
        }
        (DataType::Float32, _) => floats::put(&fixed::<u32>(array, out), sink),
        (DataType::Float64, _) => floats::put(&fixed::<u64>(array, out), sink),
        (_, Some(1)) => put_integers(&fixed::<u8>(array, out), sink),
        (_, Some(2)) => put_integers(&fixed::<u16>(array, out), sink),
        (_, Some(4)) => put_integers(&fixed::<u32>(array, out), sink),
        (_, Some(8)) => put_integers(&fixed::<u64>(array, out), sink),
        (_, width) => wide(array, width.unwrap_or(16), sink, out),
    }
}

fn booleans(array: &ArrayRef, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    let values = array.as_boolean();
    let [no, yes] = [false, true].map(|value| values.iter().any(|v| v == Some(value)));
    [(no, 0), (yes, 1)].into_iter().filter(|(is, _)| *is).for_each(|(_, value)| out.sketch.word(value));
    if no != yes {
        sink.put(&[CONSTANT, yes.into()]);
        return Ok(());
    }
    sink.put(&[PLAIN]);
    sink.buffer(&bits(values.len(), |row| values.is_valid(row) && values.value(row)))
}

/// The values of a column of fixed width. Under NULL lies the value before it, which costs the least.
fn fixed<W: Word>(array: &ArrayRef, out: &mut Encoded) -> ScalarBuffer<W> {
    let data = array.to_data();
    let bytes = data.buffers()[0].slice_with_length(data.offset() * W::BYTES, data.len() * W::BYTES);
    let mut values = words::<W>(&bytes);
    if let Some(valid) = array.nulls() {
        let mut last = valid.valid_indices().next().map_or(W::narrow(0), |row| values[row]);
        let filled = values.iter().zip(valid.iter()).map(|(value, valid)| {
            last = if valid { *value } else { last };
            last
        });
        values = filled.collect::<Vec<W>>().into();
    }
    values.chunk_by(|a, b| a == b).for_each(|run| out.sketch.word(run[0].wide()));
    values
}

fn wide(array: &ArrayRef, width: usize, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    let data = array.to_data();
    let bytes = data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width);
    let mut bytes = bytes.to_vec();
    let first = (0..array.len()).find(|row| array.is_valid(*row)).unwrap_or(0);
    let mut last = first * width;
    for row in 0..array.len() {
        if array.is_null(row) {
            bytes.copy_within(last..last + width, row * width);
        }
        last = row * width;
    }
    let values = bytes.chunks_exact(width);
    values.clone().for_each(|value| out.sketch.bytes(value));
    let narrow: Option<Vec<u64>> = values
        .clone()
        .map(|value| {
            let (low, high) = value.split_first_chunk::<8>()?;
            let low = u64::from_le_bytes(*low);
            let sign = if low >> 63 == 1 { u8::MAX } else { 0 };
            high.iter().all(|byte| *byte == sign).then_some(low)
        })
        .collect();
    let mut values = values;
    match (values.next(), narrow) {
        (Some(one), _) if values.all(|value| value == one) => {
            sink.put(&[CONSTANT]);
            sink.put(one);
            Ok(())
        }
        (_, Some(narrow)) => {
            sink.put(&[NARROW]);
            put_integers(&narrow, sink)
        }
        _ => {
            sink.put(&[PLAIN]);
            sink.buffer(&bytes)
        }
    }
}

/// Text and bytes. Under NULL lies nothing, or an address among addresses.
fn bytes(array: &BinaryViewArray, sink: &mut Sink, out: &mut Encoded) -> Result<()> {
    let some = array.iter().flatten().take(16);
    let mut fill: &[u8] = b"";
    if array.null_count() > 0 && some.clone().all(|value| addresses::parse(value).is_some()) {
        fill = some.clone().next().unwrap_or_default();
    }
    if array.null_count() == 0 {
        let values: Vec<&[u8]> = (0..array.len()).map(|row| array.value(row)).collect();
        out.raw += values.iter().map(|value| value.len() as u64).sum::<u64>();
        return texts::put(&values, sink, &mut |all| note(all, out));
    }
    let valid: Vec<&[u8]> = array.iter().flatten().collect();
    out.raw += valid.iter().map(|value| value.len() as u64).sum::<u64>();
    note(&valid, out);
    let values: Vec<&[u8]> = array.iter().map(|value| value.unwrap_or(fill)).collect();
    texts::put(&values, sink, &mut |_| ())
}

/// Takes note of values among which are all distinct ones of a column.
fn note(values: &[&[u8]], out: &mut Encoded) {
    values.iter().for_each(|value| out.sketch.bytes(value));
    out.limits = limits_of_bytes(values.iter().copied());
}
