//! Words, packed.
//!
//! Each word is packed into a tag, of which bit `i` tells whether byte `i` of the word is another than 0, and those
//! bytes. Behind the tag `00` the number of further words of zeros follows in a byte. Behind the tag `ff` and its word
//! stands the number of words that lie there as they are. (Cap'n Proto's encoding, section Packing.) A tag and what
//! belongs to it are called a *piece* here.

use std::hint::select_unpredictable;

/// The most bytes that a piece is unpacked to: 256 words.
const UNPACKED: usize = 256 * 8;

/// Bytes that are copied at once, so that most runs of words that lie there as they are need no loop. The longest text
/// of many a column fits.
const AT_ONCE: usize = 64;

/// The bytes from a tag on that are looked at together.
const LOOK: usize = 10 + AT_ONCE;

/// The room behind the last unpacked word with which the next piece is unpacked.
pub const ROOM: usize = UNPACKED + AT_ONCE;

/// Unpacks the pieces from `at` of the input on to `to` of the room, up to `end` of it or a little further. It goes on
/// as long as there are [`LOOK`] bytes and [`ROOM`], and gives where it stopped in both.
#[inline(always)]
pub fn pieces(
    input: &[u8],
    mut at: usize,
    room: &mut [u8],
    mut to: usize,
    end: usize,
    spread: impl Spread,
) -> (usize, usize) {
    while to < end {
        let Some(words) = room.get_mut(to..end) else { break };
        for place in words.as_chunks_mut::<8>().0 {
            let Some([tag, word @ ..]) = input.get(at..).and_then(<[u8]>::first_chunk::<9>) else { break };
            if tag.wrapping_sub(1) >= 0xfe {
                break;
            }
            *place = spread.word(*tag, u64::from_le_bytes(*word)).to_le_bytes();
            at += 1 + tag.count_ones() as usize;
            to += 8;
        }
        if to >= end {
            break;
        }
        let Some(look) = input.get(at..).and_then(<[u8]>::first_chunk::<LOOK>) else { break };
        let Some(places) = room.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<ROOM>) else { break };
        if look[0] == 0 {
            let bytes = (usize::from(look[1]) + 1) * 8;
            places[..bytes].fill(0);
            (at, to) = (at + 2, to + bytes);
        } else {
            let bytes = usize::from(look[9]) * 8;
            places[..8].copy_from_slice(&look[1..9]);
            places[8..8 + AT_ONCE].copy_from_slice(&look[10..]);
            if bytes > AT_ONCE {
                let Some(rest) = input.get(at + LOOK..at + 10 + bytes) else { break };
                places[8 + AT_ONCE..8 + bytes].copy_from_slice(rest);
            }
            (at, to) = (at + 10 + bytes, to + 8 + bytes);
        }
    }
    (at, to)
}

/// Passes over so many words that are packed from `at` of the input on; gives where they end in it. `None` if a piece
/// goes on behind them, or is too near to the end of the input.
#[inline(always)]
pub fn passed(input: &[u8], mut at: usize, words: usize) -> Option<usize> {
    let mut left = words as isize;
    while left > 0 {
        let look = input.get(at..).and_then(<[u8]>::first_chunk::<10>)?;
        let tag = look[0];
        // Choices and no branches, which would be mispredicted as often as texts differ in their lengths.
        let run = select_unpredictable(tag == 0xff, look[9], 0);
        let zeros = select_unpredictable(tag == 0, look[1], 0);
        at += 1 + tag.count_ones() as usize + usize::from(tag.wrapping_add(1) < 2) + 8 * usize::from(run);
        left -= 1 + run as isize + zeros as isize;
    }
    (left == 0 && at <= input.len()).then_some(at)
}

/// Unpacks one piece; gives how much was read and written, `None` if it goes on beyond the input.
pub fn piece(input: &[u8], room: &mut [u8]) -> Option<(usize, usize)> {
    let (&tag, rest) = input.split_first()?;
    match tag {
        0 => {
            let bytes = (usize::from(*rest.first()?) + 1) * 8;
            room[..bytes].fill(0);
            Some((2, bytes))
        }
        0xff => {
            let bytes = 8 * usize::from(*rest.get(8)?);
            room[8..8 + bytes].copy_from_slice(rest.get(9..9 + bytes)?);
            room[..8].copy_from_slice(&rest[..8]);
            Some((10 + bytes, 8 + bytes))
        }
        tag => {
            let mut word = [0; 8];
            let count = tag.count_ones() as usize;
            word[..count].copy_from_slice(rest.get(..count)?);
            room[..8].copy_from_slice(&Portable.word(tag, u64::from_le_bytes(word)).to_le_bytes());
            Some((1 + count, 8))
        }
    }
}

/// A way to spread bytes over a word.
pub trait Spread: Copy {
    /// Puts the first bytes of a word in the places that a tag tells; the others are 0.
    fn word(self, tag: u8, bytes: u64) -> u64;
}

/// A way of every processor.
#[derive(Clone, Copy)]
pub struct Portable;

impl Spread for Portable {
    fn word(self, tag: u8, bytes: u64) -> u64 {
        let mut bytes = bytes.to_le_bytes().into_iter();
        let place = |place| if tag >> place & 1 == 1 { bytes.next().unwrap_or(0) } else { 0 };
        u64::from_le_bytes(std::array::from_fn(place))
    }
}

#[cfg(target_arch = "x86_64")]
pub mod wide {
    use std::arch::x86_64::{_mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_shuffle_epi8};

    use super::Spread;

    /// A way of processors with SSSE3; one that has a value of this type has it.
    #[derive(Clone, Copy)]
    pub struct Shuffle(());

    impl Shuffle {
        /// Where the processor is known to have it.
        #[inline]
        #[target_feature(enable = "ssse3")]
        pub fn here() -> Shuffle {
            Shuffle(())
        }
    }

    impl Spread for Shuffle {
        #[inline(always)]
        fn word(self, tag: u8, bytes: u64) -> u64 {
            // SAFETY: the processor has SSSE3, or there would be no such value.
            unsafe { spread(tag, bytes) }
        }
    }

    /// For each tag and each place in a word the byte that comes there; with the uppermost bit, none.
    static SHUFFLES: [[u8; 8]; 256] = {
        let mut shuffles = [[0x80; 8]; 256];
        let mut tag = 0;
        while tag < 256 {
            let (mut place, mut from) = (0, 0);
            while place < 8 {
                if tag >> place & 1 == 1 {
                    shuffles[tag][place] = from;
                    from += 1;
                }
                place += 1;
            }
            tag += 1;
        }
        shuffles
    };

    #[inline]
    #[target_feature(enable = "ssse3")]
    fn spread(tag: u8, bytes: u64) -> u64 {
        let shuffle = u64::from_le_bytes(SHUFFLES[usize::from(tag)]);
        let spread = _mm_shuffle_epi8(_mm_cvtsi64_si128(bytes as i64), _mm_cvtsi64_si128(shuffle as i64));
        _mm_cvtsi128_si64(spread) as u64
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_ways_spread_words_alike() {
        use super::{Portable, Spread, wide::Shuffle};

        if !std::arch::is_x86_feature_detected!("ssse3") {
            return;
        }
        // SAFETY: the processor has the feature, and the function has no other conditions.
        let shuffle = unsafe { Shuffle::here() };
        for tag in 0..=255 {
            for word in [u64::MAX, 0x0102_0304_0506_0708, 0xf1e2_d3c4_b5a6_9788] {
                let (wide, portable) = (shuffle.word(tag, word), Portable.word(tag, word));
                assert_eq!(wide, portable, "tag {tag:02x} of {word:016x}");
            }
        }
    }
}
