//! Bytes made of other bytes: flips, cuts, repeats, splices, and numbers that are likely to be wrong lengths.

use crate::targets::memory::LONGEST;

/// Numbers at the borders of what lengths and values can be.
const NUMBERS: [u64; 16] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 46,
    u64::MAX >> 1,
    u64::MAX,
];

/// Bytes that mean something to some decoder.
const BYTES: &[u8] =
    b"\0\x01\x7f\x80\xff\"\\\n\r,[]{}:0-e.\xa0\xc0\xc1\xd9\xdb\xdd\xdf\x9f\x5f\xf6\xef\xbb\xbf";

/// A stream of bytes made of some files.
pub struct Changes<'a> {
    state: u64,
    files: &'a [Vec<u8>],
}

impl Changes<'_> {
    /// Those that follow from a target's name and a number.
    pub fn new<'a>(target: &str, seed: u64, files: &'a [Vec<u8>]) -> Changes<'a> {
        let state = target.bytes().fold(seed, |state, byte| state.wrapping_mul(31).wrapping_add(byte.into()));
        Changes { state, files }
    }

    /// The next number below `bound` (SplitMix64).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 1) as usize % bound.max(1)
    }

    fn file(&mut self) -> Vec<u8> {
        let files = self.files;
        files.get(self.below(files.len())).cloned().unwrap_or_default()
    }

    /// The next bytes.
    pub fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.file();
        for _ in 0..1 + self.below(6) {
            self.change(&mut bytes);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let length = match self.below(3) {
            0 => self.below(8),
            1 => self.below(64),
            _ => self.below(bytes.len()),
        };
        let end = (at + length).min(bytes.len());
        match self.below(10) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            2 if at < bytes.len() => bytes[at] = BYTES[self.below(BYTES.len())],
            3 => bytes.insert(at, BYTES[self.below(BYTES.len())]),
            4 => {
                // A number in the place of another, in either byte order or as a varint.
                let number = NUMBERS[self.below(NUMBERS.len())].wrapping_sub(self.below(3) as u64);
                let width = 1 << self.below(4);
                let written = match self.below(3) {
                    0 => number.to_le_bytes()[..width].to_vec(),
                    1 => number.to_be_bytes()[8 - width..].to_vec(),
                    _ => varint(number),
                };
                let end = (at + written.len()).min(bytes.len());
                bytes.splice(at..end, written);
            }
            5 => drop(bytes.drain(at..end)),
            6 => bytes.truncate(at),
            7 => {
                let piece = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            8 => {
                let times = 1 + self.below(40);
                let piece = bytes[at..end].repeat(times);
                bytes.splice(at..end, piece.into_iter().take(LONGEST));
            }
            _ => {
                let other = self.file();
                let from = self.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
}

/// Seven bits a byte, the lowest first.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
