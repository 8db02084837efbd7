//! Write-combining buffers: one column of rows that are partitioned. See [`super::radix_partitioner`].

use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;

use super::radix_partitioner::{Column, PARTITIONS};

/// The bytes of a cache line.
const LINE_BYTES: usize = 64;

/// The values that one cache line holds.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line<T, const VALUES: usize>([T; VALUES]);

/// The values of each partition: the values of its last, partly filled line, and the full lines before it.
struct Buffers<T, const VALUES: usize> {
    lines: Vec<Line<T, VALUES>>,
    /// The number of values that came to each partition, modulo 256. Modulo `VALUES` it is the number of values in the
    /// partition's line.
    counts: [u8; PARTITIONS],
    whole: Vec<Vec<T>>,
}

/// Makes the buffers of a column, whose cache lines hold `VALUES` values. The vector of each partition has room for
/// `room` values.
pub fn buffers<T: ArrowNativeType, const VALUES: usize>(room: usize) -> Box<dyn Column> {
    const { assert!(VALUES * size_of::<T>() == LINE_BYTES) };
    Box::new(Buffers::<T, VALUES> {
        lines: vec![Line([T::default(); VALUES]); PARTITIONS],
        counts: [0; PARTITIONS],
        whole: (0..PARTITIONS).map(|_| Vec::with_capacity(room)).collect(),
    })
}

impl<T: ArrowNativeType, const VALUES: usize> Column for Buffers<T, VALUES> {
    fn push(&mut self, values: &ArrayData, parts: &[u8]) {
        let lines: &mut [Line<T, VALUES>; PARTITIONS] =
            self.lines.as_mut_slice().try_into().expect("there is a line for each partition");
        let values = &values.buffers()[0].typed_data::<T>()[values.offset()..];
        for (value, part) in values.iter().zip(parts) {
            let part = usize::from(*part);
            let (line, count) = (&mut lines[part], &mut self.counts[part]);
            let at = usize::from(*count) % VALUES;
            line.0[at] = *value;
            *count = count.wrapping_add(1);
            if at + 1 == VALUES {
                append(&mut self.whole[part], line);
            }
        }
    }

    fn take(&mut self, part: usize, room: usize) -> Buffer {
        let count = usize::from(std::mem::take(&mut self.counts[part])) % VALUES;
        let mut values = std::mem::replace(&mut self.whole[part], Vec::with_capacity(room));
        values.extend_from_slice(&self.lines[part].0[..count]);
        seen();
        Buffer::from_vec(values)
    }
}

/// Appends a line to a vector, without loading the vector's memory into the cache.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn append<T: ArrowNativeType, const VALUES: usize>(values: &mut Vec<T>, line: &Line<T, VALUES>) {
    use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
    values.reserve(VALUES);
    let place = values.spare_capacity_mut().as_mut_ptr().cast::<__m128i>();
    if !place.is_aligned() {
        values.extend_from_slice(&line.0);
        return;
    }
    let line = line.0.as_ptr().cast::<__m128i>();
    for i in 0..LINE_BYTES / size_of::<__m128i>() {
        // SAFETY: a line is aligned to its 64 bytes, `place` was found aligned to 16 and is the start of room for
        // `VALUES` values, which `buffers` asserts to be 64 bytes; the two do not overlap, as one is borrowed mutably.
        unsafe { _mm_stream_si128(place.add(i), _mm_load_si128(line.add(i))) };
    }
    // SAFETY: the values behind the length are now those of the line; any bytes are a native value.
    unsafe { values.set_len(values.len() + VALUES) };
}

/// Appends a line to a vector.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn append<T: ArrowNativeType, const VALUES: usize>(values: &mut Vec<T>, line: &Line<T, VALUES>) {
    values.extend_from_slice(&line.0);
}

/// Makes other threads see the values that were written past the cache before they see what is written from now on.
fn seen() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction is one of every x86-64 processor and touches no memory.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
