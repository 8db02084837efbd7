//! Page number to URL: 10 to 100 letters, every length equally likely, no URL twice.
//!
//! The first ten letters are the page number after a keyed permutation of `0..26^10`, written in base 26. So no two
//! pages share them. The rest is random. The permutation is a Feistel network over two halves of base-26 digits with
//! addition in place of exclusive or. (Black and Rogaway: Ciphers with Arbitrary Finite Domains, CT-RSA 2002, section
//! 5.) It need not be secure, only look random.

use super::random::{Key, take};

/// The values of a half of the permuted number: five letters.
const HALF: u64 = 26u64.pow(5);

/// The number of distinct URLs.
pub const MAX_PAGES: u64 = HALF * HALF;

/// The shortest URL in bytes.
pub const MIN_LENGTH: usize = 10;

/// The longest URL in bytes.
pub const MAX_LENGTH: usize = 100;

/// All pairs of letters; an entry is written as it lies in memory.
static PAIRS: [[u8; 2]; 676] = {
    let mut pairs = [[0; 2]; 676];
    let mut i = 0;
    while i < 676 {
        pairs[i] = [b'a' + (i / 26) as u8, b'a' + (i % 26) as u8];
        i += 1;
    }
    pairs
};

/// The URLs of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Urls {
    rounds: [Key; 4],
    tail: Key,
}

impl Urls {
    /// The URLs of a seed.
    pub fn new(seed: u64) -> Urls {
        let tags = [b"url-rnd0", b"url-rnd1", b"url-rnd2", b"url-rnd3"];
        Urls { rounds: tags.map(|tag| Key::new(seed, tag)), tail: Key::new(seed, b"url-tail") }
    }

    /// Appends the URL of a page in `0..MAX_PAGES`.
    #[inline]
    pub fn write(&self, page: u64, out: &mut Vec<u8>) {
        debug_assert!(page < MAX_PAGES, "page {page} has no URL of its own");
        let mut stream = self.tail.stream(page);
        let length = MIN_LENGTH + stream.below((MAX_LENGTH - MIN_LENGTH + 1) as u64) as usize;
        let mut url = [0u8; MAX_LENGTH + 10];
        let (left, right) = self.permute(page);
        for (half, at) in [(left, 0), (right, 5)] {
            let (first, rest) = ((half / 26) as usize, half % 26);
            url[at..at + 2].copy_from_slice(&PAIRS[first / 676]);
            url[at + 2..at + 4].copy_from_slice(&PAIRS[first % 676]);
            url[at + 4] = b'a' + rest as u8;
        }
        let mut at = MIN_LENGTH;
        while at < length {
            // Ten letters a number: 26^10 is far below 2^64, so that the letters are uniform.
            let mut bits = stream.next();
            for pair in url[at..at + 10].chunks_exact_mut(2) {
                pair.copy_from_slice(&PAIRS[take(&mut bits, 676) as usize]);
            }
            at += 10;
        }
        out.extend_from_slice(&url[..length]);
    }

    /// The permuted page number as two halves.
    #[inline]
    fn permute(&self, page: u64) -> (u64, u64) {
        let (mut left, mut right) = (page / HALF, page % HALF);
        for key in self.rounds {
            let sum = left + take(&mut key.at(right), HALF);
            (left, right) = (right, if sum >= HALF { sum - HALF } else { sum });
        }
        (left, right)
    }
}
