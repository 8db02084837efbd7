//! Values of few different bytes, in about as many bits as these need.
//!
//! ```text
//! letters = symbols: u8  a byte for each symbol, ascending  integers of 32 bits(n): lengths  integers of 32 bits: fours
//! ```
//!
//! The bytes of all values, one after the other, are cut into fours, the last one filled up with the first symbol. With
//! S symbols, four are one number: ((a × S + b) × S + c) × S + d, where a is the place of the first among the symbols.
//! Four letters a to z so take 19 bits, 4.75 each. 4.70 is the least that random letters can take. 5 is what bits of
//! their own would cost, and FSST needs about 6. Reading is a division by a constant and two lookups for each four.

use arrow_buffer::Buffer;

use crate::columns::bits::bits;

/// The most symbols: the table of their pairs has 18 KiB.
pub const MOST_SYMBOLS: usize = 96;

const MOST_PAIRS: usize = MOST_SYMBOLS * MOST_SYMBOLS;

/// The most letters of a sequence. Equal ones take hardly any bytes, and a forged count must not ask for more memory.
pub const MOST_LETTERS: usize = 1 << 26;

/// The symbols of an alphabet.
pub struct Alphabet {
    symbols: Vec<u8>,
    /// Every two symbols, by their number; zeros behind the last.
    pairs: Box<[u16; MOST_PAIRS]>,
    /// 2^45 / symbols², rounded up: the quotient of a number below 2^28 is its product with this without 45 bits.
    reciprocal: u64,
}

/// How often each byte occurs.
pub fn histogram<'a>(values: impl Iterator<Item = &'a [u8]>) -> [u64; 256] {
    let mut counts = [[0u64; 256]; 2];
    for value in values {
        // Two tables, since adding to one number twice in a row waits for the first sum.
        let mut pairs = value.chunks_exact(2);
        for pair in &mut pairs {
            counts[0][usize::from(pair[0])] += 1;
            counts[1][usize::from(pair[1])] += 1;
        }
        pairs.remainder().iter().for_each(|byte| counts[0][usize::from(*byte)] += 1);
    }
    std::array::from_fn(|byte| counts[0][byte] + counts[1][byte])
}

/// The bits of four letters.
pub fn bits_of_four(symbols: usize) -> usize {
    bits((symbols as u64).pow(4).saturating_sub(1))
}

impl Alphabet {
    /// The alphabet of these symbols, which ascend; `None` if there are none or too many.
    pub fn new(symbols: &[u8]) -> Option<Alphabet> {
        let count = symbols.len();
        if !(1..=MOST_SYMBOLS).contains(&count) || !symbols.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut pairs = Box::new([0; MOST_PAIRS]);
        for (n, pair) in pairs[..count * count].iter_mut().enumerate() {
            *pair = u16::from(symbols[n / count]) | u16::from(symbols[n % count]) << 8;
        }
        Some(Alphabet {
            symbols: symbols.to_vec(),
            pairs,
            reciprocal: (1u64 << 45) / (count * count) as u64 + 1,
        })
    }

    /// The symbols.
    pub fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// The fours of the bytes of values, all of which are symbols.
    pub fn fours<'a>(&self, values: impl Iterator<Item = &'a [u8]>) -> Vec<u32> {
        let mut places = [0u32; 256];
        self.symbols.iter().zip(0..).for_each(|(symbol, place)| places[usize::from(*symbol)] = place);
        let count = self.symbols.len() as u32;
        let (mut fours, mut four, mut held) = (Vec::new(), 0, 0);
        for value in values {
            for byte in value {
                four = four * count + places[usize::from(*byte)];
                held += 1;
                if held == 4 {
                    fours.push(four);
                    (four, held) = (0, 0);
                }
            }
        }
        if held > 0 {
            fours.push((held..4).fold(four, |four, _| four * count));
        }
        fours
    }

    /// The letters of fours.
    pub fn letters(&self, mut fours: Vec<u32>) -> Buffer {
        let count = self.symbols.len() as u32;
        let square = count * count;
        let pairs = self.pairs.as_ref();
        for four in &mut fours {
            let first = (u64::from(*four).wrapping_mul(self.reciprocal) >> 45) as u32;
            let second = four.wrapping_sub(first.wrapping_mul(square));
            // Forged numbers give something too, just nothing that anybody wrote.
            let pair = |n: u32| u32::from(pairs[(n as usize).min(MOST_PAIRS - 1)]);
            *four = u32::to_le(pair(first) | pair(second) << 16);
        }
        Buffer::from_vec(fours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_every_alphabet_come_back() {
        for count in 1..=MOST_SYMBOLS {
            let symbols: Vec<u8> = (0..count as u8).map(|i| i * 2 + 40).collect();
            let alphabet = Alphabet::new(&symbols).unwrap();
            let text: Vec<u8> =
                (0..1000).map(|i| symbols[(i * i + i / 3) % count]).chain([symbols[count - 1]; 5]).collect();
            let fours = alphabet.fours(text.chunks(7));
            assert!(fours.iter().all(|four| bits(u64::from(*four)) <= bits_of_four(count)));
            assert_eq!(alphabet.letters(fours)[..text.len()], text);
            assert_eq!(alphabet.letters(vec![u32::MAX]).len(), 4);
        }
        assert!(
            Alphabet::new(&[]).is_none() && Alphabet::new(b"ba").is_none() && Alphabet::new(b"aa").is_none()
        );
        assert_eq!(bits_of_four(26), 19);
    }
}
