//! Bytes to integers.

use arrow_buffer::{Buffer, ScalarBuffer};

use super::super::chunk::Source;
use super::super::word::{BLOCK, Word, words};
use super::packed::Packed;
use super::tag;
use crate::error::{Error, Result};

/// Integers of a chunk, of which any range can be read.
pub enum Integers<W: Word> {
    /// One value in every row.
    Constant(W),
    /// As they are.
    Plain(ScalarBuffer<W>),
    /// Blocks of packed values.
    Packed(Packed<W>),
    /// Runs: the row behind the end of each, and its value.
    Runs {
        /// Ascending; the last one is the number of rows.
        ends: Vec<u32>,
        /// As many.
        values: Vec<W>,
    },
    /// Distinct values.
    Dictionary {
        /// The place of the value of each row.
        places: Box<Integers<u16>>,
        /// The distinct values.
        entries: Vec<W>,
    },
}

impl<W: Word> Integers<W> {
    /// Reads the description of `rows` integers.
    pub fn open(source: &mut Source, rows: usize) -> Result<Integers<W>> {
        source.below(|source| match source.tag()? {
            tag::CONSTANT => {
                let bytes = source.input().take(W::BYTES)?;
                let wide = bytes.iter().rev().fold(0, |wide, byte| wide << 8 | u64::from(*byte));
                Ok(Integers::Constant(W::narrow(wide)))
            }
            tag::PLAIN => Ok(Integers::Plain(words(&source.exactly(rows * W::BYTES)?))),
            tag::PACKED => Packed::open(source, rows).map(Integers::Packed),
            tag::RUNS => {
                let count = source.count(rows)?;
                let ends = ends(source, count, rows)?;
                let values = Integers::open(source, count)?.all(count)?;
                Ok(Integers::Runs { ends, values })
            }
            tag::DICTIONARY => {
                let count = source.count(1 << 16)?;
                let places = Box::new(Integers::open(source, rows)?);
                let entries = Integers::open(source, count)?.all(count)?;
                Ok(Integers::Dictionary { places, entries })
            }
            other => Err(source.damaged(format_args!("there is no encoding {other} of integers"))),
        })
    }

    /// The values from row `from` on, which must exist.
    pub fn read(&self, from: usize, out: &mut [W]) -> Result<()> {
        match self {
            Integers::Constant(value) => out.fill(*value),
            Integers::Plain(values) => out.copy_from_slice(&values[from..from + out.len()]),
            Integers::Packed(packed) => packed.read(from, out),
            Integers::Runs { ends, values } => spread(ends, values, from, out),
            Integers::Dictionary { places, entries } => {
                let mut scratch = [0; BLOCK];
                for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                    let places_here = &mut scratch[..out.len()];
                    places.read(from + block * BLOCK, places_here)?;
                    for (value, place) in out.iter_mut().zip(places_here) {
                        *value = *entries.get(usize::from(*place)).ok_or_else(no_entry)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Some rows' values.
    pub fn range(&self, from: usize, rows: usize) -> Result<Vec<W>> {
        let mut out = vec![W::narrow(0); rows];
        self.read(from, &mut out)?;
        Ok(out)
    }

    /// All of `rows` values.
    pub fn all(&self, rows: usize) -> Result<Vec<W>> {
        self.range(0, rows)
    }

    /// Some rows' values as bytes, not copied if they are plain.
    pub fn bytes(&self, from: usize, rows: usize) -> Result<Buffer> {
        match self {
            Integers::Plain(values) => Ok(values.slice(from, rows).into_inner()),
            _ => Ok(Buffer::from_vec(self.range(from, rows)?)),
        }
    }

    /// The values of chosen rows, ascending and counted from `from`.
    pub fn pick(&self, from: usize, chosen: &[u32]) -> Result<Vec<W>> {
        if let Integers::Plain(values) = self {
            return Ok(chosen.iter().map(|&row| values[from + row as usize]).collect());
        }
        let mut out = Vec::with_capacity(chosen.len());
        let mut scratch = [W::narrow(0); BLOCK];
        for rows in chosen.chunk_by(|a, b| (from + *a as usize) / BLOCK == (from + *b as usize) / BLOCK) {
            let (first, last) = (from + rows[0] as usize, from + rows[rows.len() - 1] as usize);
            let values = &mut scratch[..last + 1 - first];
            self.read(first, values)?;
            out.extend(rows.iter().map(|&row| values[from + row as usize - first]));
        }
        Ok(out)
    }
}

/// The rows behind the ends of `count` runs, which together have `rows` rows.
pub fn ends(source: &mut Source, count: usize, rows: usize) -> Result<Vec<u32>> {
    let mut ends: Vec<u32> = Integers::open(source, count)?.all(count)?;
    let mut sum = 0u64;
    for end in &mut ends {
        sum += u64::from(*end);
        *end = sum as u32;
    }
    if sum != rows as u64 {
        return Err(source.damaged(format_args!("runs of {sum} rows in all, and there are {rows}")));
    }
    Ok(ends)
}

/// Repeats the values of runs.
fn spread<W: Word>(ends: &[u32], values: &[W], from: usize, mut out: &mut [W]) {
    let mut run = ends.partition_point(|&end| end as usize <= from);
    let mut row = from;
    while !out.is_empty() {
        let length = (ends[run] as usize - row).min(out.len());
        let (head, rest) = out.split_at_mut(length);
        head.fill(values[run]);
        (row, run, out) = (row + length, run + 1, rest);
    }
}

fn no_entry() -> Error {
    Error::corrupt("damaged column chunk: a place that its dictionary does not have")
}

#[cfg(test)]
mod tests {
    use arrow_buffer::ToByteSlice;

    use super::super::super::chunk::Sink;
    use super::super::super::compress::Codec;
    use super::super::encode::put;
    use super::*;
    use crate::buren::noise;

    fn check<W: Word>(values: &[W], expected: Option<u8>) -> usize {
        let mut sink = Sink::new(Codec::None);
        put(values, &mut sink).unwrap();
        let chunk = Buffer::from(sink.finish());
        if let Some(expected) = expected {
            assert_eq!(chunk[4], expected);
        }
        let mut source = Source::new(&chunk).unwrap();
        let found = Integers::<W>::open(&mut source, values.len()).unwrap();
        source.finish().unwrap();
        assert!(found.all(values.len()).unwrap() == values);
        for (from, rows) in [(0, 1), (1, 1023), (1000, 100), (1024, 2048), (values.len() - 1, 1)] {
            if from + rows <= values.len() {
                assert!(found.range(from, rows).unwrap() == values[from..from + rows]);
                assert!(
                    found.bytes(from, rows).unwrap().as_slice() == values[from..from + rows].to_byte_slice()
                );
            }
        }
        let chosen: Vec<u32> = (0..values.len().saturating_sub(3) as u32).filter(|i| i % 37 < 2).collect();
        let picked = found.pick(3.min(values.len()), &chosen).unwrap();
        assert!(chosen.iter().map(|&i| values[i as usize + 3]).eq(picked));
        chunk.len()
    }

    #[test]
    fn every_encoding_comes_back_where_it_fits() {
        for n in [1, 2, 500, 1024, 1025, 5000] {
            check(&vec![7u8; n], Some(tag::CONSTANT));
            check(
                &(0..n).map(|i| noise(i as u64) as u16).collect::<Vec<_>>(),
                (n >= 500).then_some(tag::PLAIN),
            );
            check(&(0..n).map(|i| 1000 + noise(i as u64) as u32 % 1000).collect::<Vec<_>>(), None);
        }
        check(&(0..5000).map(|i| noise(i as u64) % 3000).collect::<Vec<_>>(), Some(tag::PACKED));
        check(&(0..5000).map(|i| noise(i / 30)).collect::<Vec<_>>(), Some(tag::RUNS));
        check(&(0..5000).map(|i| noise(noise(i) % 9)).collect::<Vec<_>>(), Some(tag::DICTIONARY));
        let extremes: Vec<u64> = (0..3000).map(|i| [u64::MAX, 0, 1 << 63][i % 3]).collect();
        check(&extremes, None);
    }

    #[test]
    fn signs_and_ascending_values_take_few_bits() {
        let signed: Vec<u64> =
            (0..4096).map(|i| (noise(i as u64) % 16) as i64 - 8).map(|v| v as u64).collect();
        assert!(check(&signed, Some(tag::PACKED)) < 4096 / 2 + 200);
        let ascending: Vec<u64> = (0..4096).map(|i| (1 << 60) + i * 1000 + noise(i) % 4).collect();
        assert!(check(&ascending, Some(tag::PACKED)) < 4096 / 2 + 300);
        let falling: Vec<u32> = (0..4096).map(|i| 0u32.wrapping_sub(i * 17)).collect();
        assert!(check(&falling, Some(tag::PACKED)) < 200);
    }

    #[test]
    fn what_does_not_add_up_is_an_error() {
        let mut sink = Sink::new(Codec::None);
        sink.put(&[tag::RUNS]);
        sink.count(2).unwrap();
        put(&[3u32, 4], &mut sink).unwrap();
        put(&[1u64, 2], &mut sink).unwrap();
        let chunk = Buffer::from(sink.finish());
        let open = |rows| Integers::<u64>::open(&mut Source::new(&chunk).unwrap(), rows);
        assert_eq!(open(7).unwrap().all(7).unwrap(), [1, 1, 1, 2, 2, 2, 2]);
        assert!(open(8).is_err() && open(6).is_err() && open(1).is_err());
    }
}
