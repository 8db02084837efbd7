//! Which integers lie within bounds, without unpacking those of which the heads tell it.

use super::super::word::{BLOCK, Word};
use super::decode::Integers;
use crate::error::{Error, Result};

/// Values of at least `low`, and at most `span` more; sums wrap, so that this holds with and without signs.
#[derive(Debug, Clone, Copy)]
pub struct Within<W> {
    /// The least value.
    pub low: W,
    /// The distance of the greatest from it.
    pub span: W,
}

impl<W: Word> Within<W> {
    #[inline(always)]
    fn holds(self, value: W) -> bool {
        value.minus(self.low) <= self.span
    }

    /// What is known of all values from `base` to `base` and `most` more.
    fn of_block(self, base: W, most: u64) -> Option<bool> {
        let start = base.minus(self.low).wide();
        let end = start.checked_add(most).filter(|end| *end <= u64::MAX >> (64 - W::BITS))?;
        if end <= self.span.wide() {
            Some(true)
        } else if start > self.span.wide() {
            Some(false)
        } else {
            None
        }
    }
}

/// Takes the mark from rows from `from` on whose values do not lie within.
pub fn mark<W: Word>(values: &Integers<W>, within: Within<W>, from: usize, mask: &mut [bool]) -> Result<()> {
    match values {
        Integers::Constant(value) => mask.iter_mut().for_each(|wanted| *wanted &= within.holds(*value)),
        Integers::Plain(values) => {
            mask.iter_mut().zip(&values[from..]).for_each(|(wanted, value)| *wanted &= within.holds(*value));
        }
        Integers::Packed(packed) => {
            let mut scratch = [W::narrow(0); BLOCK];
            let (mut row, mut mask) = (from, mask);
            while !mask.is_empty() {
                let length = mask.len().min(BLOCK - row % BLOCK);
                let (head, rest) = mask.split_at_mut(length);
                let known = packed.span(row / BLOCK).and_then(|(base, most)| within.of_block(base, most));
                match known {
                    Some(true) => {}
                    Some(false) => head.fill(false),
                    None => {
                        packed.read(row, &mut scratch[..length]);
                        let values = head.iter_mut().zip(&scratch);
                        values.for_each(|(wanted, value)| *wanted &= within.holds(*value));
                    }
                }
                (row, mask) = (row + length, rest);
            }
        }
        Integers::Runs { ends, values } => {
            spread(ends, from, mask, |run| within.holds(values[run]));
        }
        Integers::Dictionary { places, entries } => {
            let holds: Vec<bool> = entries.iter().map(|entry| within.holds(*entry)).collect();
            by_place(places, &holds, from, mask)?;
        }
    }
    Ok(())
}

/// Takes the mark from the rows of runs that do not hold.
pub fn spread(ends: &[u32], from: usize, mask: &mut [bool], mut holds: impl FnMut(usize) -> bool) {
    let mut run = ends.partition_point(|&end| end as usize <= from);
    let (mut row, mut mask) = (from, mask);
    while !mask.is_empty() {
        let length = (ends[run] as usize - row).min(mask.len());
        let (head, rest) = mask.split_at_mut(length);
        if !holds(run) {
            head.fill(false);
        }
        (row, run, mask) = (row + length, run + 1, rest);
    }
}

/// Takes the mark from rows whose entry does not hold.
pub fn by_place(places: &Integers<u16>, holds: &[bool], from: usize, mask: &mut [bool]) -> Result<()> {
    let mut scratch = [0; BLOCK];
    for (block, mask) in mask.chunks_mut(BLOCK).enumerate() {
        let places_here = &mut scratch[..mask.len()];
        places.read(from + block * BLOCK, places_here)?;
        for (wanted, place) in mask.iter_mut().zip(places_here) {
            let holds = holds.get(usize::from(*place));
            *wanted &= *holds.ok_or_else(|| {
                Error::corrupt("damaged column chunk: a place that its dictionary does not have")
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::super::super::chunk::{Sink, Source};
    use super::super::super::compress::Codec;
    use super::super::encode::put;
    use super::*;
    use crate::buren::noise;

    #[test]
    fn marks_are_those_of_every_value() {
        let sequences: [Vec<u32>; 6] = [
            (0..5000).map(|i| (noise(i) % 1000) as u32).collect(),
            (0..5000).map(|i| (i as u32 / 1024) * 100 + (noise(i) % 90) as u32).collect(),
            (0..5000).map(|i| ((noise(i) % 1000) as i32 - 500) as u32).collect(),
            (0..5000).map(|i| noise(i / 20) as u32).collect(),
            (0..5000).map(|i| noise(noise(i) % 11) as u32).collect(),
            (0..5000).map(|i| i * 3).collect(),
        ];
        for values in sequences {
            let mut sink = Sink::new(Codec::None);
            put(&values, &mut sink).unwrap();
            let chunk = Buffer::from(sink.finish());
            let found = Integers::<u32>::open(&mut Source::new(&chunk).unwrap(), values.len()).unwrap();
            for (low, high) in [
                (0, 10),
                (100, 199),
                (-100, 99),
                (i32::MIN, i32::MAX),
                (250, 250),
                (2000, 9000),
                (-500, -400),
            ] {
                let within = Within { low: low as u32, span: high.wrapping_sub(low) as u32 };
                for (from, rows) in [(0, 5000), (1000, 2000), (1024, 1024), (4999, 1)] {
                    let mut mask: Vec<bool> = (0..rows).map(|i| i % 5 != 3).collect();
                    mark(&found, within, from, &mut mask).unwrap();
                    for (i, wanted) in mask.iter().enumerate() {
                        let holds = (low..=high).contains(&(values[from + i] as i32));
                        assert_eq!(*wanted, holds && i % 5 != 3, "{low}..={high}, {from} and {i}");
                    }
                }
            }
        }
    }
}
