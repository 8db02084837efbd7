//! Undoes the packing of messages.
//!
//! Each word of a message is packed into a tag, of which bit `i` tells whether byte `i` of the word is another than 0,
//! and those bytes. Behind the tag `00` the number of further words of zeros follows in a byte, behind the tag `ff` and
//! its word the number of words that lie there as they are. (Cap'n Proto's encoding, section Packing.)

use crate::compress::Decompressor;
use crate::error::{DataError, Error, Result};

/// The longest piece of packed bytes that belongs together: the tag `ff`, a word, a number.
const PIECE: usize = 10;

/// The most bytes that a piece is unpacked to: 256 words of zeros.
const UNPACKED: usize = 256 * 8;

/// The room for unpacked bytes that is made at a time.
const ROOM: usize = 16 << 10;

/// How the bytes behind a tag are put in their places.
struct Spread {
    /// Which bytes move by 4 places, then by 2, then by 1: 0xff at each place that one comes to.
    moves: [u64; 3],
    /// The places of the bytes that are not 0.
    kept: u64,
    /// How many bytes these are.
    len: usize,
}

/// For each tag.
static SPREADS: [Spread; 256] = {
    const NONE: Spread = Spread { moves: [0; 3], kept: 0, len: 0 };
    let mut spreads = [NONE; 256];
    let mut tag = 0;
    while tag < 256 {
        let mut place = 0;
        while place < 8 {
            if tag >> place & 1 == 1 {
                // The byte comes from place `len` and passes through three places on its way.
                let spread = &mut spreads[tag];
                let distance = place - spread.len;
                let mut at = spread.len;
                let mut step = 0;
                while step < 3 {
                    let by = 4 >> step;
                    if distance & by != 0 {
                        at += by;
                        spread.moves[step] |= 0xff << (8 * at);
                    }
                    step += 1;
                }
                spread.kept |= 0xff << (8 * place);
                spread.len += 1;
            }
            place += 1;
        }
        tag += 1;
    }
    spreads
};

/// Puts the first bytes of a word in the places that a tag tells; the others are 0.
#[inline(always)]
fn spread(mut word: u64, how: &Spread) -> u64 {
    for (step, places) in how.moves.iter().enumerate() {
        word ^= (word ^ (word << (32 >> step))) & places;
    }
    word & how.kept
}

/// Undoes the packing of a stream, piece by piece.
#[derive(Default)]
struct Unpacker {
    /// The beginning of a piece whose end was not given yet.
    begun: Vec<u8>,
    /// The bytes to come that lie there as they are.
    plain: usize,
}

/// What undoes the packing.
pub fn unpacker() -> Box<dyn Decompressor> {
    Box::new(Unpacker::default())
}

/// The length of the piece that begins here.
fn length(tag: u8) -> usize {
    match tag {
        0 => 2,
        0xff => PIECE,
        tag => 1 + SPREADS[usize::from(tag)].len,
    }
}

impl Unpacker {
    /// Unpacks pieces as long as the longest one would lie in the input, and what comes of it in `out`; gives how much
    /// was read and written.
    #[inline]
    fn unpack(&mut self, input: &[u8], out: &mut [u8]) -> (usize, usize) {
        let (mut at, mut to) = (0, 0);
        while let Some(piece) = input.get(at..at + PIECE)
            && let Some(place) = out.get_mut(to..to + 8)
        {
            let tag = piece[0];
            let word = u64::from_le_bytes(piece[1..9].try_into().expect("9 - 1 is 8"));
            match tag {
                0 => {
                    let bytes = (usize::from(piece[1]) + 1) * 8;
                    let Some(places) = out.get_mut(to..to + bytes) else { break };
                    places.fill(0);
                    (at, to) = (at + 2, to + bytes);
                }
                0xff => {
                    place.copy_from_slice(&word.to_le_bytes());
                    (at, to) = (at + PIECE, to + 8);
                    let bytes = usize::from(piece[9]) * 8;
                    let (Some(plain), Some(places)) =
                        (input.get(at..at + bytes), out.get_mut(to..to + bytes))
                    else {
                        self.plain = bytes;
                        break;
                    };
                    places.copy_from_slice(plain);
                    (at, to) = (at + bytes, to + bytes);
                }
                tag => {
                    let how = &SPREADS[usize::from(tag)];
                    place.copy_from_slice(&spread(word, how).to_le_bytes());
                    (at, to) = (at + 1 + how.len, to + 8);
                }
            }
        }
        (at, to)
    }

    /// Unpacks many pieces; gives how much was read.
    fn run(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> usize {
        let begin = out.len();
        // Room has to be filled before it is written to, which costs little as long as it stays in the cache.
        out.resize(most.min(begin + ROOM), 0);
        let (read, written) = self.unpack(input, &mut out[begin..]);
        out.truncate(begin + written);
        read
    }

    /// Unpacks one piece, or keeps its beginning; gives how much was read.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> usize {
        let tag = self.begun.first().or(input.first()).copied().unwrap_or(0);
        let bytes = (length(tag) - self.begun.len()).min(input.len());
        self.begun.extend_from_slice(&input[..bytes]);
        if self.begun.len() < length(tag) {
            return bytes;
        }
        // Behind the piece there is no room for another one.
        let mut piece = [0; PIECE];
        piece[..self.begun.len()].copy_from_slice(&self.begun);
        self.begun.clear();
        let begin = out.len();
        out.resize(begin + if tag == 0 { UNPACKED } else { 8 }, 0);
        let (_, written) = self.unpack(&piece, &mut out[begin..]);
        out.truncate(begin + written);
        bytes
    }

    /// Takes what is there of the bytes that lie there as they are; gives how many that were.
    fn copy(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> usize {
        let bytes = self.plain.min(input.len()).min(most - out.len());
        out.extend_from_slice(&input[..bytes]);
        self.plain -= bytes;
        bytes
    }
}

impl Decompressor for Unpacker {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut at = 0;
        while at < input.len() && out.len() < most {
            let rest = &input[at..];
            at += match self.plain {
                0 if self.begun.is_empty() => match self.run(rest, out, most) {
                    0 => self.step(rest, out),
                    read => read,
                },
                0 => self.step(rest, out),
                _ => self.copy(rest, out, most),
            };
        }
        Ok(at)
    }

    fn finish(&mut self) -> Result<()> {
        if self.begun.is_empty() && self.plain == 0 {
            return Ok(());
        }
        Err(Error::Data(Box::new(DataError {
            message: "the packed data ends in the middle of a word or of a run of words".into(),
            help: Some("the file is cut short; copy or make it again".into()),
            ..DataError::default()
        })))
    }
}
