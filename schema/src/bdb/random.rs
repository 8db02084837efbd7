//! Random numbers addressed by key and counter, so that a value needs no values before it.
//!
//! [`at`] is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, section 4)
//! read at an arbitrary position. [`Stream`] is Wang Yi's wyrand, for values that take an unknown number of draws. All
//! arithmetic is on integers, or on floats by operations that IEEE 754 defines to the last bit. So every machine makes
//! the same tables.

/// What a column is drawn from: derived from the seed and the column's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of a column. Different tags give unrelated keys.
    pub fn new(seed: u64, tag: &[u8; 8]) -> Key {
        Key(mix(mix(seed) ^ u64::from_le_bytes(*tag)))
    }

    /// The random number at a position.
    #[inline]
    pub fn at(self, position: u64) -> u64 {
        mix(self.0.wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A stream of random numbers that belongs to a position.
    #[inline]
    pub fn stream(self, position: u64) -> Stream {
        Stream(self.at(position))
    }
}

/// The finaliser of SplitMix64, a bijection.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The integer part of `n` times the fraction that the 64 bits are; uniform in `0..n` up to `n / 2^64`.
#[inline]
pub fn below(bits: u64, n: u64) -> u64 {
    ((bits as u128 * n as u128) >> 64) as u64
}

/// As [`below`], and replaces `bits` by what is left of the fraction: good for a few small draws from one number.
#[inline]
pub fn take(bits: &mut u64, n: u64) -> u64 {
    let product = *bits as u128 * n as u128;
    *bits = product as u64;
    (product >> 64) as u64
}

/// The upper 53 bits as a float in `[0, 1)`.
#[inline]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(u64);

impl Stream {
    /// The next 64 bits.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xa076_1d64_78bd_642f);
        let product = self.0 as u128 * (self.0 ^ 0xe703_7ed1_a0b4_28db) as u128;
        (product >> 64) as u64 ^ product as u64
    }

    /// The next number in `0..n`.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        below(self.next(), n)
    }
}
