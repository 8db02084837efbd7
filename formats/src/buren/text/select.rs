//! Which texts lie within bounds, by their bytes, without decoding those of which less tells it.

use std::cmp::Ordering;

use super::super::integers::select::{Within, by_place, mark, spread};
use super::super::word::BLOCK;
use super::addresses;
use super::decode::{Spans, Texts, every};
use super::views::Out;
use crate::error::Result;

/// The bounds; a missing one is open.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    min: Option<&'a [u8]>,
    max: Option<&'a [u8]>,
}

impl<'a> Bounds<'a> {
    /// The only value that lies within, if there is only one.
    fn only(self) -> Option<&'a [u8]> {
        self.min.filter(|min| Some(*min) == self.max)
    }

    fn hold(self, value: &[u8]) -> bool {
        self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }
}

impl Texts {
    /// Takes the mark from rows from `from` on whose values are less than `min` or greater than `max`.
    pub fn mark(&self, from: usize, min: Option<&[u8]>, max: Option<&[u8]>, mask: &mut [bool]) -> Result<()> {
        let bounds = Bounds { min, max };
        match self {
            Texts::Constant(value) => {
                let holds = bounds.hold(value);
                mask.iter_mut().for_each(|wanted| *wanted &= holds);
                Ok(())
            }
            Texts::Plain(spans, data) => {
                let (start, lengths) = spans.range(from, mask.len())?;
                for (wanted, (at, length)) in mask.iter_mut().zip(every(start, &lengths)) {
                    *wanted = *wanted && bounds.hold(&data[at..at + length]);
                }
                Ok(())
            }
            Texts::Symbols(spans, table, data) => {
                let (start, lengths) = spans.range(from, mask.len())?;
                for (wanted, (at, length)) in mask.iter_mut().zip(every(start, &lengths)) {
                    let codes = &data[at..at + length];
                    let outside = |bound: Option<&[u8]>, side| -> Result<bool> {
                        bound.map_or(Ok(false), |bound| Ok(table.compare(codes, bound)? == side))
                    };
                    *wanted = *wanted && !outside(min, Ordering::Less)? && !outside(max, Ordering::Greater)?;
                }
                Ok(())
            }
            Texts::Letters(spans, ..) => self.letters(spans, bounds, from, mask),
            Texts::Addresses(numbers) => match bounds.only().map(addresses::parse) {
                Some(Some(number)) => mark(numbers, Within { low: number, span: 0 }, from, mask),
                Some(None) => {
                    mask.fill(false);
                    Ok(())
                }
                None => self.decoded(bounds, from, mask),
            },
            Texts::Dictionary(places, entries) => by_place(places, &holding(entries, bounds), from, mask),
            Texts::Runs(ends, values) => {
                if mask.is_empty() {
                    return Ok(());
                }
                let first = ends.partition_point(|&end| end as usize <= from);
                let count = ends[first..].partition_point(|&end| (end as usize) < from + mask.len()) + 1;
                let mut holds = vec![true; count];
                values.mark(first, min, max, &mut holds)?;
                spread(ends, from, mask, |run| holds[run - first]);
                Ok(())
            }
            Texts::RepeatedValues(frequent) => {
                let mut holds = holding(&frequent.entries, bounds);
                let other = holds.len() as u16;
                holds.push(true);
                by_place(&frequent.places, &holds, from, mask)?;
                let (before, places) = frequent.range(from, mask.len())?;
                let mut rest = vec![true; places.iter().filter(|place| **place == other).count()];
                frequent.rest.mark(before, min, max, &mut rest)?;
                let others = mask.iter_mut().zip(&places).filter(|(_, place)| **place == other);
                others.zip(rest).for_each(|((wanted, _), holds)| *wanted &= holds);
                Ok(())
            }
        }
    }

    /// Letters are decoded where the length is that of the only value wanted, or anywhere if there are several.
    fn letters(&self, spans: &Spans, bounds: Bounds, from: usize, mask: &mut [bool]) -> Result<()> {
        let Some(only) = bounds.only() else { return self.decoded(bounds, from, mask) };
        let (_, lengths) = spans.range(from, mask.len())?;
        mask.iter_mut().zip(&lengths).for_each(|(wanted, &length)| *wanted &= length as usize == only.len());
        self.decoded(bounds, from, mask)
    }

    /// Decodes the values of rows with a mark, and compares them.
    fn decoded(&self, bounds: Bounds, from: usize, mask: &mut [bool]) -> Result<()> {
        for (block, mask) in mask.chunks_mut(8 * BLOCK).enumerate() {
            let chosen: Vec<u32> =
                mask.iter().zip(0..).filter(|(wanted, _)| **wanted).map(|(_, row)| row).collect();
            // Values are compared as bytes: whether they are UTF-8 is seen when they are read.
            let mut out = Out::new(false);
            self.read(from + block * 8 * BLOCK, mask.len(), Some(&chosen), &mut out)?;
            let holds = holding(&out, bounds);
            chosen.iter().zip(holds).for_each(|(row, holds)| mask[*row as usize] = holds);
        }
        Ok(())
    }
}

/// Which of some values lie within.
fn holding(values: &Out, bounds: Bounds) -> Vec<bool> {
    (0..values.len()).map(|at| values.with(at, |value| bounds.hold(value))).collect()
}
