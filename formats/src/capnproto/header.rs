//! The words of a message before its lists, of which most are packed alike in message after message.
//!
//! Where a packed word lies is known when the one before it was read. Words whose tags were the same in some messages
//! of a file are taken together. Their tags are compared at once, and words that nobody wants are passed over.

use super::decode::MessageWalker;
use super::pieces::Spread;
use super::segments::{sections, word};

/// The most packed bytes of words that are taken together.
const TOGETHER: usize = 32;

/// The most packed bytes of all words.
const PACKED: usize = 256;

/// No more words than these are learned.
const WORDS: usize = 1 << 10;

/// The bytes that are looked at: of the last word some behind it.
const LOOK: usize = PACKED + TOGETHER + 8;

/// So many messages tell which words are packed alike.
const SAMPLE: usize = 32;

/// One of so many is looked at, since those that follow one another are often more alike than others; at first all are.
const APART: usize = 16;

/// For so many messages it holds, before others are looked at.
const LASTS: usize = 1 << 12;

/// How the words before the lists are packed, as far as some messages told.
#[derive(Default)]
pub struct Header {
    /// The bytes of the words, the table of segments among them; 0 before a message was seen.
    bytes: usize,
    /// The pointer to the struct.
    root: u64,
    /// The pieces of the messages that were looked at.
    samples: Vec<Vec<Piece>>,
    /// Messages between them.
    apart: usize,
    /// Messages until one is looked at.
    left: usize,
    /// Ways over the words; none before there was a sample, or if its messages had little in common.
    steps: Vec<Step>,
}

/// A tag and what belongs to it, see [`super::pieces`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Piece {
    tag: u8,
    /// The words behind the first one.
    run: u8,
}

/// A word that is wanted.
struct Word {
    /// Its number in the message.
    number: usize,
    /// Where its bytes lie, from the beginning of its step.
    from: u8,
    tag: u8,
}

/// A way over some words.
enum Step {
    /// Words whose tags are known.
    SchemaProbe {
        /// All bits of the tags and of the lengths of runs, and none of other bytes.
        mask: [u8; TOGETHER],
        /// Those bits.
        tags: [u8; TOGETHER],
        /// The packed bytes of the words.
        bytes: usize,
        /// Those that are unpacked.
        wanted: Vec<Word>,
    },
    /// A word with any tag but `00` and `ff`, and its number in the message if it is wanted.
    One(Option<usize>),
}

impl Piece {
    fn of(packed: &[u8]) -> Option<Piece> {
        let tag = *packed.first()?;
        let piece = Piece { tag, run: 0 };
        let run = piece.run_place().map_or(Some(0), |place| packed.get(place).copied())?;
        Some(Piece { tag, run })
    }

    /// Where the number of further words lies, from the tag on.
    fn run_place(self) -> Option<usize> {
        match self.tag {
            0 => Some(1),
            0xff => Some(9),
            _ => None,
        }
    }

    /// Its words, unpacked.
    fn words(self) -> usize {
        1 + usize::from(self.run)
    }

    /// Its bytes, packed.
    fn bytes(self) -> usize {
        match self.tag {
            0 => 2,
            0xff => 2 + 8 * self.words(),
            tag => 1 + tag.count_ones() as usize,
        }
    }

    /// Where the bytes of one of its words lie, from the tag on.
    fn place(self, word: usize) -> usize {
        if word > 0 && self.tag == 0xff { 2 + 8 * word } else { 1 }
    }
}

impl Header {
    /// The bytes of the words, unpacked; 0 before a message was seen.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a message that begins with these words has so many of them.
    #[inline(always)]
    pub fn is_of(&self, unpacked: &[u8]) -> bool {
        word(unpacked, 8).is_some_and(|root| root >> 32 == self.root >> 32)
    }

    /// Unpacks what is wanted of the words of the message that begins at `at` of the input. The other bytes of `room`,
    /// which is as long as they are, may be any. Gives where they end in the input; `None` if they are packed in
    /// another way, or too near to the end of the input.
    #[inline(always)]
    pub fn unpack(&self, input: &[u8], at: usize, room: &mut [u8], spread: impl Spread) -> Option<usize> {
        let look = input.get(at..)?.first_chunk::<LOOK>()?;
        let (room, mut passed) = (room.as_chunks_mut::<8>().0, 0);
        for step in &self.steps {
            // No steps have more bytes; so much is told to the compiler.
            let look = look[passed % PACKED..].first_chunk::<{ TOGETHER + 8 }>()?;
            match step {
                Step::SchemaProbe { mask, tags, bytes, wanted } => {
                    let differences = (0..TOGETHER).fold(0, |other, i| other | (look[i] ^ tags[i]) & mask[i]);
                    if differences != 0 {
                        return None;
                    }
                    for word in wanted {
                        let packed = look[usize::from(word.from) % TOGETHER..].first_chunk()?;
                        let unpacked = spread.word(word.tag, u64::from_le_bytes(*packed));
                        *room.get_mut(word.number)? = unpacked.to_le_bytes();
                    }
                    passed += bytes;
                }
                Step::One(number) => {
                    let [tag, packed @ ..] = look.first_chunk::<9>()?;
                    if tag.wrapping_sub(1) >= 0xfe {
                        return None;
                    }
                    if let Some(number) = *number {
                        let unpacked = spread.word(*tag, u64::from_le_bytes(*packed));
                        *room.get_mut(number)? = unpacked.to_le_bytes();
                    }
                    passed += 1 + tag.count_ones() as usize;
                }
            }
        }
        (!self.steps.is_empty()).then_some(at + passed)
    }

    /// Begins anew with a message that has other words before its lists and begins with these.
    pub fn restart(&mut self, unpacked: &[u8]) {
        let root = word(unpacked, 8).unwrap_or(0);
        let (data, pointers) = sections(root);
        *self = Header { bytes: 16 + data + pointers, root, ..Header::default() };
    }

    /// Learns from the message that is packed from `at` of the input on, if it is time.
    #[inline(always)]
    pub fn learn(&mut self, input: &[u8], at: usize, walker: &MessageWalker) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.sample(input.get(at..).unwrap_or_default(), walker),
        }
    }

    #[inline(never)]
    fn sample(&mut self, mut packed: &[u8], walker: &MessageWalker) {
        let (mut pieces, mut words) = (Vec::new(), self.bytes / 8);
        if words > WORDS {
            self.left = LASTS;
            return;
        }
        while words > 0 {
            let piece = Piece::of(packed).filter(|piece| piece.words() <= words);
            let rest = piece.and_then(|piece| packed.get(piece.bytes()..));
            // One that goes on behind the words is in no step.
            let (Some(piece), Some(rest)) = (piece, rest) else { break };
            pieces.push(piece);
            words -= piece.words();
            packed = rest;
        }
        self.samples.push(if words == 0 { pieces } else { Vec::new() });
        self.left = self.apart;
        if self.samples.len() == SAMPLE {
            let (data, _) = sections(self.root);
            self.steps = steps(&self.samples, |word| walker.wants(word, data / 8));
            self.samples.clear();
            self.left = if self.apart == 0 { APART } else { LASTS };
            self.apart = APART;
        }
    }
}

/// Ways over the words of messages that have such pieces. There are none if fewer than half have words of zeros, and
/// words without any, at the same places.
fn steps(samples: &[Vec<Piece>], wants: impl Fn(usize) -> bool) -> Vec<Step> {
    let like = |a: &[Piece], b: &[Piece]| {
        let like = |(a, b): (&Piece, &Piece)| a == b || a.run_place().or(b.run_place()).is_none();
        a.len() == b.len() && a.iter().zip(b).all(like)
    };
    let like = |sample: &Vec<Piece>| samples.iter().filter(|other| like(other, sample)).collect::<Vec<_>>();
    let samples = samples.iter().map(like).max_by_key(Vec::len).unwrap_or_default();
    let (mut steps, mut most, mut before) = (Vec::new(), 0, 0);
    let first = samples.first().filter(|_| samples.len() >= SAMPLE / 2);
    for (place, piece) in first.into_iter().copied().flatten().enumerate() {
        let alike = samples.iter().all(|other| other[place] == *piece) && piece.bytes() <= TOGETHER;
        most += if alike { piece.bytes() } else { 9 };
        if most > PACKED || !alike && piece.run_place().is_some() {
            return Vec::new();
        }
        let number = before;
        before += piece.words();
        if !alike {
            steps.push(Step::One(wants(number).then_some(number)));
            continue;
        }
        match steps.last() {
            Some(Step::SchemaProbe { bytes, .. }) if bytes + piece.bytes() <= TOGETHER => {}
            _ => {
                let (mask, tags) = ([0; TOGETHER], [0; TOGETHER]);
                steps.push(Step::SchemaProbe { mask, tags, bytes: 0, wanted: Vec::new() });
            }
        }
        if let Some(Step::SchemaProbe { mask, tags, bytes, wanted }) = steps.last_mut() {
            (mask[*bytes], tags[*bytes]) = (0xff, piece.tag);
            if let Some(run) = piece.run_place() {
                (mask[*bytes + run], tags[*bytes + run]) = (0xff, piece.run);
            }
            wanted.extend((number..before).filter(|number| wants(*number)).map(|word| Word {
                number: word,
                from: (*bytes + piece.place(word - number)) as u8,
                tag: piece.tag,
            }));
            *bytes += piece.bytes();
        }
    }
    steps
}
