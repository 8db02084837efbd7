//! How the units of a table are assigned to part files.
//!
//! The published files came from reducers that each took every k-th page, so that each file runs from the most linked
//! pages to the least. Here chunks of consecutive units are assigned in turn. That gives every file the same shape, and
//! lets the number of files change without changing any row.

use std::ops::Range;

/// The most units of a chunk.
const MAX_CHUNK: u64 = 8192;

/// At least so many chunks fall to each part, as far as there are units.
const CHUNKS_PER_PART: u64 = 16;

/// A division of `units` units among `parts` parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Division {
    units: u64,
    parts: u64,
    chunk: u64,
}

impl Division {
    /// Assigns `units` units to `parts` parts (at least one).
    pub fn new(units: u64, parts: u64) -> Division {
        let parts = parts.max(1);
        let chunk = (units / parts.saturating_mul(CHUNKS_PER_PART)).clamp(1, MAX_CHUNK);
        Division { units, parts, chunk: if parts == 1 { units.max(1) } else { chunk } }
    }

    /// The number of parts.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// The number of units of one part.
    pub fn part_units(&self, part: u64) -> u64 {
        let whole = self.units / self.chunk;
        let mut units = (whole / self.parts + u64::from(part < whole % self.parts)) * self.chunk;
        if part == whole % self.parts {
            units += self.units % self.chunk;
        }
        units
    }

    /// The units of the table that are the units `range` of `part`, in order.
    pub fn ranges(&self, part: u64, range: Range<u64>) -> Vec<Range<u64>> {
        let end = range.end.min(self.part_units(part));
        let mut from = range.start;
        let mut ranges = Vec::new();
        while from < end {
            let (chunk, inside) = (from / self.chunk, from % self.chunk);
            let length = (self.chunk - inside).min(end - from);
            let start = (chunk * self.parts + part) * self.chunk + inside;
            ranges.push(start..start + length);
            from += length;
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::Division;

    #[test]
    fn every_unit_falls_to_one_part_in_ascending_order() {
        for units in [0, 1, 2, 7, 100, 1_200, 10_000, 300_000] {
            for parts in [1, 2, 3, 7, 16, 150] {
                let deal = Division::new(units, parts);
                let mut seen = vec![0u8; units as usize];
                for part in 0..parts {
                    let whole = deal.ranges(part, 0..u64::MAX);
                    let dealt: u64 = whole.iter().map(|r| r.end - r.start).sum();
                    assert_eq!(dealt, deal.part_units(part));
                    assert!(whole.windows(2).all(|w| w[0].end <= w[1].start));
                    whole.iter().flat_map(|r| r.clone()).for_each(|u| seen[u as usize] += 1);
                    // A part asked for in pieces is the same part.
                    let pieces: Vec<u64> = (0..dealt.div_ceil(13))
                        .flat_map(|p| deal.ranges(part, p * 13..(p + 1) * 13))
                        .flatten()
                        .collect();
                    assert_eq!(pieces, whole.into_iter().flatten().collect::<Vec<_>>());
                }
                assert!(seen.iter().all(|&n| n == 1), "{units} units, {parts} parts");
            }
        }
    }

    #[test]
    fn parts_are_about_equal() {
        for parts in [2, 3, 16, 100] {
            let deal = Division::new(155_000_000, parts);
            let sizes: Vec<_> = (0..parts).map(|p| deal.part_units(p)).collect();
            let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
            assert!(most - least <= super::MAX_CHUNK, "{least} to {most}");
        }
    }
}
