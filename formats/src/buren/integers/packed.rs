//! Frame of reference and delta with bit packing. (Zukowski, Héman, Nes, Boncz, Super-scalar RAM-CPU cache compression,
//! ICDE 2006. The layout within a block is that of Afroozeh, Boncz, The FastLanes compression layout, VLDB 2023.)
//!
//! ```text
//! heads = width: u8 for each block  base: one value for each block  step: one value for each block of deltas
//! data  = for each block of 1024 values its offsets, 128 × width bytes; for the last block, if it has fewer values,
//!         offset after offset, low bits first, in as many bytes as it takes
//! ```
//!
//! The highest bit of a width says that a block holds deltas. Value i of a block is base + offset i. Of a block of
//! deltas it is base + the sum of step + offset over the places 1 to i. Sums wrap.
//!
//! Take a full block of words of T bits. Let order = 0 4 2 6 1 5 3 7, row < T and lane < 1024 / T. The value of place
//! `order[row / 8] × 16 + row % 8 × 128 + lane` lies in bits row × width and on of its lane. Bit b of a lane is bit b %
//! T of word b / T × (1024 / T) + lane. So 1024 / T lanes are unpacked by the same shifts at once, and compilers make
//! SIMD of that. Deltas are not interleaved in this way, which would make their sums as wide. A sum of one step a value
//! takes less time than all else that happens to it.

use arrow_buffer::{Buffer, ScalarBuffer};

use super::super::chunk::{Sink, Source};
use super::super::word::{BLOCK, Word, words};
use crate::columns::bits::{bits, pack};
use crate::error::Result;

/// Set in a block's width if it holds deltas.
const DELTAS: u8 = 0x80;

/// How a block is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan<W> {
    /// The bits of an offset.
    pub width: usize,
    /// The least value, or the first one of a block of deltas.
    pub base: W,
    /// The least delta of a block of deltas.
    pub step: Option<W>,
}

/// The least value and the bits that the distance of the greatest from it needs, with or without signs: whichever is
/// narrower.
fn frame<W: Word>(values: impl Iterator<Item = W>) -> (W, usize) {
    let (mut least, mut most) = (u64::MAX, 0);
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for value in values {
        let (plain, signed) = (value.wide(), value.signed());
        (least, most) = (least.min(plain), most.max(plain));
        (low, high) = (low.min(signed), high.max(signed));
    }
    if least > most {
        return (W::narrow(0), 0);
    }
    let unsigned = bits(most - least);
    let signed = bits(high.wrapping_sub(low) as u64);
    if unsigned <= signed { (W::narrow(least), unsigned) } else { (W::narrow(low as u64), signed) }
}

/// How to pack a block. Deltas are taken if they save a quarter.
pub fn plan<W: Word>(values: &[W]) -> Plan<W> {
    let (base, width) = frame(values.iter().copied());
    if width > 2 {
        let (step, narrow) = frame(values.windows(2).map(|pair| pair[1].minus(pair[0])));
        if narrow * 4 <= width * 3 {
            return Plan { width: narrow, base: values[0], step: Some(step) };
        }
    }
    Plan { width, base, step: None }
}

/// The bytes that packing takes.
pub fn size<W: Word>(plans: &[Plan<W>], values: usize) -> usize {
    let heads: usize = plans.iter().map(|p| 1 + W::BYTES * (1 + usize::from(p.step.is_some()))).sum();
    let full = values / BLOCK;
    let data: usize = plans[..full].iter().map(|p| 128 * p.width).sum();
    heads + data + plans.get(full).map_or(0, |p| (values % BLOCK * p.width).div_ceil(8))
}

/// Packs values by the plans of their blocks.
pub fn put<W: Word>(values: &[W], plans: &[Plan<W>], sink: &mut Sink) -> Result<()> {
    let mut heads = Vec::with_capacity(plans.len() * (1 + W::BYTES));
    heads.extend(plans.iter().map(|p| p.width as u8 | if p.step.is_some() { DELTAS } else { 0 }));
    plans.iter().for_each(|p| heads.extend_from_slice(p.base.to_byte_slice()));
    plans.iter().filter_map(|p| p.step).for_each(|step| heads.extend_from_slice(step.to_byte_slice()));
    let mut data = Vec::new();
    let mut offsets = [W::narrow(0); BLOCK];
    for (block, plan) in values.chunks(BLOCK).zip(plans) {
        let offsets = &mut offsets[..block.len()];
        let base = match plan.step {
            None => {
                offsets.copy_from_slice(block);
                plan.base
            }
            Some(step) => {
                offsets[0] = step;
                block.windows(2).zip(&mut offsets[1..]).for_each(|(pair, to)| *to = pair[1].minus(pair[0]));
                step
            }
        };
        match <&[W; BLOCK]>::try_from(&*offsets) {
            Ok(full) => W::pack(plan.width, base, full, &mut data),
            Err(_) => pack(offsets.iter().map(|v| v.minus(base).wide()), plan.width, &mut data),
        }
    }
    sink.buffer(&heads)?;
    sink.buffer(&data)
}

/// Packed integers that are read block by block.
pub struct Packed<W: Word> {
    rows: usize,
    plans: Vec<Plan<W>>,
    /// Where the data of each block begins.
    starts: Vec<usize>,
    /// The data, and the same as words.
    data: Buffer,
    words: ScalarBuffer<W>,
}

impl<W: Word> Packed<W> {
    /// Reads what [`put`] wrote of `rows` values.
    pub fn open(source: &mut Source, rows: usize) -> Result<Packed<W>> {
        let blocks = rows.div_ceil(BLOCK);
        let heads = source.buffer()?;
        let deltas = heads.iter().take(blocks).filter(|width| *width & DELTAS != 0).count();
        if heads.len() != blocks + (blocks + deltas) * W::BYTES {
            return Err(source.damaged("the heads of packed blocks have another length"));
        }
        let (widths, values) = heads.split_at(blocks);
        let mut values = values.chunks_exact(W::BYTES).map(|bytes| {
            let wide = bytes.iter().rev().fold(0, |wide, byte| wide << 8 | u64::from(*byte));
            W::narrow(wide)
        });
        let mut plans: Vec<Plan<W>> = widths
            .iter()
            .zip(&mut values)
            .map(|(width, base)| Plan {
                width: (width & !DELTAS).into(),
                base,
                step: (width & DELTAS != 0).then_some(base),
            })
            .collect();
        let with_deltas = plans.iter_mut().filter(|p| p.step.is_some());
        with_deltas.zip(values).for_each(|(plan, step)| plan.step = Some(step));
        let mut at = 0;
        let mut starts = Vec::with_capacity(blocks);
        for (block, plan) in plans.iter().enumerate() {
            if plan.width > W::BITS {
                return Err(source.damaged(format_args!("a packed width of {} bits", plan.width)));
            }
            starts.push(at);
            let values = (rows - block * BLOCK).min(BLOCK);
            at += if values == BLOCK { 128 * plan.width } else { (values * plan.width).div_ceil(8) };
        }
        let data = source.exactly(at)?;
        Ok(Packed { rows, plans, starts, words: words(&data), data })
    }

    /// The values from row `from` on, which must exist.
    pub fn read(&self, mut from: usize, mut out: &mut [W]) {
        let mut scratch = [W::narrow(0); BLOCK];
        while !out.is_empty() {
            let (block, within) = (from / BLOCK, from % BLOCK);
            let length = out.len().min(BLOCK - within);
            let (head, rest) = out.split_at_mut(length);
            match <&mut [W; BLOCK]>::try_from(&mut *head) {
                Ok(whole) => self.block(block, whole),
                Err(_) => {
                    self.block(block, &mut scratch);
                    head.copy_from_slice(&scratch[within..within + length]);
                }
            }
            (from, out) = (from + length, rest);
        }
    }

    /// The values of a block; those behind the last row mean nothing.
    fn block(&self, block: usize, out: &mut [W; BLOCK]) {
        let plan = &self.plans[block];
        let base = plan.step.unwrap_or(plan.base);
        let start = self.starts[block];
        let left = self.rows - block * BLOCK;
        if left >= BLOCK {
            let start = start / W::BYTES;
            W::unpack(plan.width, base, &self.words[start..start + 128 * plan.width / W::BYTES], out);
        } else {
            unpack(&self.data[start..], plan.width, &mut out[..left]);
            out[..left].iter_mut().for_each(|v| *v = v.plus(base));
        }
        if plan.step.is_some() {
            out[0] = plan.base;
            let mut sum = plan.base;
            out[1..].iter_mut().for_each(|v| {
                sum = sum.plus(*v);
                *v = sum;
            });
        }
    }

    /// The least and the greatest value that a block can hold, as far as its head tells.
    pub fn span(&self, block: usize) -> Option<(W, u64)> {
        let plan = self.plans.get(block).filter(|p| p.step.is_none())?;
        let most = if plan.width == 0 { 0 } else { u64::MAX >> (64 - plan.width) };
        Some((plan.base, most))
    }
}

/// Reads what [`pack`] wrote. Bytes that are missing are zeros.
fn unpack<W: Word>(bytes: &[u8], width: usize, out: &mut [W]) {
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
    let (mut word, mut filled) = (0u128, 0);
    let mut bytes = bytes.iter();
    for value in out {
        while filled < width {
            word |= u128::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        *value = W::narrow(word as u64 & mask);
        word >>= width;
        filled -= width;
    }
}
