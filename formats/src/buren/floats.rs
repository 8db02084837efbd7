//! Floats of 32 and 64 bits.
//!
//! ```text
//! floats(n) = an encoding of integers(n), of their bits
//!           | 8 decimal  exponent: u8  integers(n): digits  exceptions       digits / 10^exponent
//!           | 9 binary   exponent: u8  integers(n): digits  exceptions       digits / 2^exponent
//!           | 10 split   right: u8  integers of 16 bits(n): left  integers(n): right      left << right | right
//! exceptions = count: u32  integers of 32 bits(count): rows, ascending  integers(count): their bits
//! ```
//!
//! Decimal is ALP (Afroozeh, Kuffo, Boncz, ALP: adaptive lossless floating-point compression, SIGMOD 2024, section 3.1)
//! but for one thing. ALP multiplies by inexact inverses of powers of ten. It needs a second exponent to make up for
//! most of what that gets wrong. One division of 64-bit floats is exact to the last bit for every decimal of at most 15
//! digits, and costs less than packing does. Digits are signed; quotients are computed as 64-bit floats and then
//! rounded to the column's type. Binary is the same to the base of two: what random number generators give, which is a
//! whole number of 2^-24 or 2^-53. Split is the idea of ALP for real doubles (section 3.4). Signs, exponents and the
//! first bits of the fraction repeat themselves, and the rest is noise.

use super::chunk::{Sink, Source};
use super::integers::decode::Integers;
use super::integers::encode::put as put_integers;
use super::word::{BLOCK, Word};
use crate::error::Result;

pub(super) const DECIMAL: u8 = 8;
pub(super) const BINARY: u8 = 9;
pub(super) const SPLIT: u8 = 10;

/// Values of at most this many are looked at for exponents, and of ten times as many for sizes.
const SAMPLE: usize = 400;
/// Whole numbers up to this are exact in 64-bit floats.
const EXACT: f64 = (1u64 << 53) as f64;
/// More decimals than this are not those of 64-bit floats of a usual size.
const MOST_DECIMALS: u8 = 18;
/// The most that the exponent to the base of two can be.
const MOST_BINARY: u8 = 200;

/// The bits of floats.
pub trait Float: Word {
    /// The bits of the fraction.
    const FRACTION: usize;
    /// The value as a 64-bit float.
    fn float(self) -> f64;
    /// The bits of what a 64-bit float rounds to.
    fn round(float: f64) -> Self;
}

impl Float for u32 {
    const FRACTION: usize = 23;

    fn float(self) -> f64 {
        f32::from_bits(self).into()
    }

    fn round(float: f64) -> u32 {
        (float as f32).to_bits()
    }
}

impl Float for u64 {
    const FRACTION: usize = 52;

    fn float(self) -> f64 {
        f64::from_bits(self)
    }

    fn round(float: f64) -> u64 {
        float.to_bits()
    }
}

/// What digits are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    tag: u8,
    exponent: u8,
}

impl Scale {
    fn divisor(self) -> f64 {
        let base: f64 = if self.tag == DECIMAL { 10.0 } else { 2.0 };
        // Exact up to 10^22, and far beyond that to the base of two.
        (0..self.exponent).fold(1.0, |power, _| power * base)
    }

    /// The digits of a float, if they give it back.
    #[inline(always)]
    fn digits<F: Float>(self, divisor: f64, value: F) -> Option<F> {
        let digits = (value.float() * divisor).round_ties_even();
        let fits = digits.abs() <= EXACT && (F::BITS == 64 || digits.abs() < 2_147_483_648.0);
        // Whole numbers have no sign in front of zero, so that -0 fails here.
        let whole = digits as i64;
        (fits && F::round(whole as f64 / divisor) == value).then(|| F::narrow(whole as u64))
    }
}

/// Writes floats, given as their bits, in the encoding that takes the fewest bytes of a sample.
pub fn put<F: Float>(values: &[F], sink: &mut Sink) -> Result<()> {
    let stride = values.len().div_ceil(4).max(1);
    let sample: Vec<F> =
        values.chunks(stride).flat_map(|piece| &piece[..piece.len().min(BLOCK)]).copied().collect();
    let codec = sink.codec();
    let measure = |encode: &dyn Fn(&mut Sink) -> Result<()>| -> Result<usize> {
        let mut sink = Sink::new(codec);
        encode(&mut sink)?;
        Ok(sink.finish().len())
    };
    let bits = measure(&|sink| put_integers(&sample, sink))?;
    // Other encodings take longer to decode: they must save something.
    let mut least = bits * 19 / 20;
    let mut best: Option<Scale> = None;
    for scale in scales(&sample) {
        let size = measure(&|sink| put_scaled(&sample, scale, sink))?;
        if size < least {
            (least, best) = (size, Some(scale));
        }
    }
    let mut right = None;
    for bits in [F::BITS - 16, F::FRACTION] {
        let size = measure(&|sink| put_split(&sample, bits, sink))?;
        if size < least {
            (least, right) = (size, Some(bits));
        }
    }
    match (right, best) {
        (Some(right), _) => put_split(values, right, sink),
        (None, Some(scale)) => put_scaled(values, scale, sink),
        (None, None) => put_integers(values, sink),
    }
}

/// The exponents worth trying: those that most values of a sample need.
fn scales<F: Float>(sample: &[F]) -> Vec<Scale> {
    let few: Vec<F> = sample.iter().step_by(sample.len().div_ceil(SAMPLE).max(1)).copied().collect();
    let share = |scale: Scale| {
        let divisor = scale.divisor();
        few.iter().filter(|v| scale.digits(divisor, **v).is_some()).count()
    };
    let mut found = Vec::new();
    for (tag, exponents) in [(DECIMAL, MOST_DECIMALS), (BINARY, MOST_BINARY)] {
        let mut best = (few.len() / 2, None);
        for exponent in 0..=exponents {
            let scale = Scale { tag, exponent };
            let count = share(scale);
            if count > best.0 {
                best = (count, Some(scale));
            }
        }
        found.extend(best.1);
    }
    found
}

fn put_scaled<F: Float>(values: &[F], scale: Scale, sink: &mut Sink) -> Result<()> {
    let divisor = scale.divisor();
    let (mut rows, mut bits) = (Vec::new(), Vec::new());
    let mut last = None;
    let mut digits: Vec<F> = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let found = scale.digits(divisor, *value);
        if found.is_none() {
            rows.push(row as u32);
            bits.push(*value);
        }
        // Under an exception lies what is near it, so that it takes no width.
        last = found.or(last);
        digits.push(last.unwrap_or(F::narrow(0)));
    }
    let first = values.iter().find_map(|value| scale.digits(divisor, *value)).unwrap_or(F::narrow(0));
    let leading = rows.iter().enumerate().take_while(|(i, row)| *i == **row as usize).count();
    digits[..leading].fill(first);
    sink.put(&[scale.tag, scale.exponent]);
    put_integers(&digits, sink)?;
    sink.count(rows.len())?;
    put_integers(&rows, sink)?;
    put_integers(&bits, sink)
}

fn put_split<F: Float>(values: &[F], right: usize, sink: &mut Sink) -> Result<()> {
    let mask = u64::MAX >> (64 - right);
    let left: Vec<u16> = values.iter().map(|v| (v.wide() >> right) as u16).collect();
    let rest: Vec<F> = values.iter().map(|v| F::narrow(v.wide() & mask)).collect();
    sink.put(&[SPLIT, right as u8]);
    put_integers(&left, sink)?;
    put_integers(&rest, sink)
}

/// Floats of a chunk, of which any range can be read.
pub enum Floats<F: Word> {
    /// Their bits as integers.
    Bits(Integers<F>),
    /// Digits to be divided, and the rows where that is not the value.
    Scaled {
        /// The digits.
        digits: Integers<F>,
        /// What they are divided by.
        divisor: f64,
        /// The inverse of that, where it is exact: a product takes less time than a quotient.
        inverse: Option<f64>,
        /// The rows of exceptions, ascending.
        rows: Vec<u32>,
        /// The bits of their values.
        bits: Vec<F>,
    },
    /// The high bits and the low ones.
    Split {
        /// The bits of the low part.
        right: usize,
        /// The high parts.
        left: Integers<u16>,
        /// The low parts.
        rest: Integers<F>,
    },
}

impl<F: Float> Floats<F> {
    /// Reads the description of `rows` floats.
    pub fn open(source: &mut Source, rows: usize) -> Result<Floats<F>> {
        source.below(|source| match source.peek()? {
            tag @ (DECIMAL | BINARY) => {
                source.tag()?;
                let scale = Scale { tag, exponent: source.input().u8()? };
                if scale.exponent > if tag == DECIMAL { MOST_DECIMALS } else { MOST_BINARY } {
                    return Err(source.damaged(format_args!("an exponent of {}", scale.exponent)));
                }
                let digits = Integers::open(source, rows)?;
                let count = source.count(rows)?;
                let exceptions: Vec<u32> = Integers::open(source, count)?.all(count)?;
                let bits = Integers::open(source, count)?.all(count)?;
                let ascending = exceptions.windows(2).all(|pair| pair[0] < pair[1]);
                if !ascending || exceptions.last().is_some_and(|row| *row as usize >= rows) {
                    return Err(source.damaged("the rows of its exceptions are not in order"));
                }
                let divisor = scale.divisor();
                let inverse = (tag == BINARY).then_some(1.0 / divisor);
                Ok(Floats::Scaled { digits, divisor, inverse, rows: exceptions, bits })
            }
            SPLIT => {
                source.tag()?;
                let right = usize::from(source.input().u8()?);
                if !(F::BITS - 16..F::BITS).contains(&right) {
                    return Err(source.damaged(format_args!("a split into {right} bits")));
                }
                let left = Integers::open(source, rows)?;
                Ok(Floats::Split { right, left, rest: Integers::open(source, rows)? })
            }
            _ => Integers::open(source, rows).map(Floats::Bits),
        })
    }

    /// The bits of the values from row `from` on, which must exist.
    pub fn read(&self, from: usize, out: &mut [F]) -> Result<()> {
        match self {
            Floats::Bits(bits) => bits.read(from, out),
            Floats::Scaled { digits, divisor, inverse, rows, bits } => {
                digits.read(from, out)?;
                match inverse {
                    Some(inverse) => out.iter_mut().for_each(|v| *v = F::round(v.signed() as f64 * inverse)),
                    None => out.iter_mut().for_each(|v| *v = F::round(v.signed() as f64 / divisor)),
                }
                let first = rows.partition_point(|row| (*row as usize) < from);
                for (row, bits) in rows[first..].iter().zip(&bits[first..]) {
                    match out.get_mut(*row as usize - from) {
                        Some(value) => *value = *bits,
                        None => break,
                    }
                }
                Ok(())
            }
            Floats::Split { right, left, rest } => {
                rest.read(from, out)?;
                let mut scratch = [0; BLOCK];
                for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                    let left_here = &mut scratch[..out.len()];
                    left.read(from + block * BLOCK, left_here)?;
                    out.iter_mut().zip(left_here).for_each(|(value, left)| {
                        *value = F::narrow(u64::from(*left) << right | value.wide());
                    });
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::super::compress::Codec;
    use super::*;
    use crate::buren::noise;

    fn check<F: Float>(values: &[F], tag: Option<u8>) -> usize {
        let mut sink = Sink::new(Codec::None);
        put(values, &mut sink).unwrap();
        let chunk = Buffer::from(sink.finish());
        if let Some(tag) = tag {
            assert_eq!(chunk[4], tag);
        }
        let mut source = Source::new(&chunk).unwrap();
        let found = Floats::<F>::open(&mut source, values.len()).unwrap();
        source.finish().unwrap();
        for (from, rows) in [(0, values.len()), (1, 30), (1000, 3000)] {
            let mut out = vec![F::narrow(0); rows];
            found.read(from, &mut out).unwrap();
            assert!(out == values[from..from + rows]);
        }
        chunk.len()
    }

    #[test]
    fn decimals_are_digits_and_odd_values_exceptions() {
        let mut prices: Vec<u64> =
            (0..5000).map(|i| (((noise(i) % 1_000_000) as f64 - 500_000.0) / 100.0).to_bits()).collect();
        assert!(check(&prices, Some(DECIMAL)) < 5000 * 21 / 8);
        for (row, odd) in
            [(0, -0.0), (1, f64::NAN), (7, f64::INFINITY), (1023, std::f64::consts::PI), (4999, 1e300)]
        {
            prices[row] = odd.to_bits();
        }
        assert!(check(&prices, Some(DECIMAL)) < 5000 * 21 / 8 + 200);
        let short: Vec<u32> = (0..5000).map(|i| ((noise(i) % 1000) as f32 / 10.0).to_bits()).collect();
        assert!(check(&short, Some(DECIMAL)) < 5000 * 11 / 8);
    }

    #[test]
    fn what_random_number_generators_give_is_binary() {
        let values: Vec<u32> =
            (0..5000).map(|i| ((noise(i) >> 40) as f32 / (1 << 24) as f32).to_bits()).collect();
        assert!(check(&values, Some(BINARY)) < 5000 * 3 + 200);
        let values: Vec<u64> =
            (0..5000).map(|i| ((noise(i) >> 11) as f64 / (1u64 << 53) as f64).to_bits()).collect();
        assert!(check(&values, Some(BINARY)) < 5000 * 54 / 8);
    }

    #[test]
    fn other_floats_are_split_or_stay() {
        let values: Vec<u64> = (0..5000).map(|i| ((noise(i) as f64).sqrt().sin() * 1e-9).to_bits()).collect();
        check(&values, Some(SPLIT));
        let values: Vec<u64> = (0..5000).map(noise).collect();
        check(&values, None);
        check(&vec![f64::NAN.to_bits(); 5000], Some(0));
    }
}
