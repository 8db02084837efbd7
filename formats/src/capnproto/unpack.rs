//! Undoes the packing of a message.
//!
//! Each word of a message is packed into a tag, of which bit `i` tells whether byte `i` of the word is another than 0,
//! and those bytes. Behind the tag `00` the number of further words of zeros follows in a byte, behind the tag `ff` and
//! its word the number of words that lie there as they are. (Cap'n Proto's encoding, section Packing.) A tag and what
//! belongs to it are called a *piece* here.

use super::segments::length;
use crate::rows::walk::Wrong;

/// The most bytes that a piece is unpacked to: 256 words.
const UNPACKED: usize = 256 * 8;

/// Bytes that are copied at once, so that most runs of words that lie there as they are need no loop: the longest text
/// of many a column fits.
const AT_ONCE: usize = 64;

/// The bytes from a tag on that are looked at together.
const LOOK: usize = 10 + AT_ONCE;

/// The room behind the last unpacked word with which the next piece is unpacked.
pub const ROOM: usize = UNPACKED + AT_ONCE;

/// By how much the room for a long message grows at a time.
const GROWTH: usize = 1 << 20;

/// Where messages are unpacked to.
pub struct Window<'a> {
    /// Unpacked messages, one behind the other; grows if it has to.
    pub room: &'a mut Vec<u8>,
    /// Where each of them ends, unpacked in the room and packed in the input.
    pub ends: &'a mut Vec<(usize, usize)>,
    /// So many bytes are enough.
    pub bytes: usize,
    /// No more messages than these.
    pub messages: usize,
    /// The most bytes of a message, packed and unpacked.
    pub max_record: usize,
}

/// Unpacks the messages that begin from `at` of the input on, before `limit` of it, until the window is full or one
/// goes on beyond the input. An error is a message that is too long or has too many segments, or a run of words that
/// goes on behind it; those before it are unpacked.
pub fn unpack(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("ssse3") && std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both features, and the function has no other conditions.
        return unsafe { wide::unpack(input, at, limit, window) };
    }
    unpack_by(input, at, limit, window, spread)
}

/// As [`unpack`]; `spread` puts the bytes behind a tag in their places.
#[inline(always)]
fn unpack_by(
    input: &[u8],
    mut at: usize,
    limit: usize,
    window: Window,
    spread: impl Fn(u8, u64) -> u64,
) -> Result<(), Wrong> {
    let Window { room, ends, bytes, messages, max_record } = window;
    let mut to = 0;
    while at < limit && to < bytes && ends.len() < messages {
        let begin = to;
        // As a walker, it looks no further than a record may be long.
        let input = &input[..input.len().min(at.saturating_add(max_record))];
        // The first word tells the length of the table of segments, and that the length of the message.
        let mut end = begin + 8;
        loop {
            while to < end {
                if room.len() < to + ROOM {
                    room.resize(to + ROOM + (end - to).min(GROWTH), 0);
                }
                let before = at;
                pieces(input, &mut at, room, &mut to, end, &spread);
                if at == before {
                    let Some((read, written)) = piece(&input[at..], &mut room[to..]) else { return Ok(()) };
                    (at, to) = (at + read, to + written);
                }
            }
            let known = begin + length(&room[begin..to], max_record)?;
            if known <= end {
                end = known;
                break;
            }
            end = known;
        }
        if end < to {
            return Err(Wrong::fatal(
                "a run of words goes on behind the end of the message, where the next one begins; messages are to be \
                 packed one by one",
            ));
        }
        ends.push((to, at));
    }
    Ok(())
}

/// Unpacks the pieces from `at` of the input on to `to` of the room, up to `end` of it or a little further, as long as
/// there are [`LOOK`] bytes and [`ROOM`].
#[inline(always)]
fn pieces(
    input: &[u8],
    at: &mut usize,
    room: &mut [u8],
    to: &mut usize,
    end: usize,
    spread: &impl Fn(u8, u64) -> u64,
) {
    while *to < end
        && let Some(look) = input.get(*at..).and_then(<[u8]>::first_chunk::<LOOK>)
        && let Some(places) = room.get_mut(*to..).and_then(<[u8]>::first_chunk_mut::<ROOM>)
    {
        let tag = look[0];
        match tag {
            0 => {
                let bytes = (usize::from(look[1]) + 1) * 8;
                places[..AT_ONCE].fill(0);
                if bytes > AT_ONCE {
                    places[AT_ONCE..bytes].fill(0);
                }
                (*at, *to) = (*at + 2, *to + bytes);
            }
            0xff => {
                let bytes = usize::from(look[9]) * 8;
                places[..8].copy_from_slice(&look[1..9]);
                places[8..8 + AT_ONCE].copy_from_slice(&look[10..]);
                if bytes > AT_ONCE {
                    let Some(rest) = input.get(*at + LOOK..*at + 10 + bytes) else { return };
                    places[8 + AT_ONCE..8 + bytes].copy_from_slice(rest);
                }
                (*at, *to) = (*at + 10 + bytes, *to + 8 + bytes);
            }
            tag => {
                let [_, word @ ..] = look.first_chunk::<9>().expect("a look has more");
                places[..8].copy_from_slice(&spread(tag, u64::from_le_bytes(*word)).to_le_bytes());
                (*at, *to) = (*at + 1 + tag.count_ones() as usize, *to + 8);
            }
        }
    }
}

/// Unpacks one piece; gives how much was read and written, `None` if it goes on beyond the input.
fn piece(input: &[u8], room: &mut [u8]) -> Option<(usize, usize)> {
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
            room[..8].copy_from_slice(&spread(tag, u64::from_le_bytes(word)).to_le_bytes());
            Some((1 + count, 8))
        }
    }
}

/// Puts the first bytes of a word in the places that a tag tells; the others are 0.
fn spread(tag: u8, word: u64) -> u64 {
    let mut bytes = word.to_le_bytes().into_iter();
    let places =
        std::array::from_fn(|place| if tag >> place & 1 == 1 { bytes.next().unwrap_or(0) } else { 0 });
    u64::from_le_bytes(places)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{_mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_shuffle_epi8};

    use super::{Window, Wrong};

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

    /// As [`super::unpack`].
    #[target_feature(enable = "ssse3,popcnt")]
    pub fn unpack(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
        super::unpack_by(input, at, limit, window, |tag, word| {
            let shuffle = u64::from_le_bytes(SHUFFLES[usize::from(tag)]);
            let spread = _mm_shuffle_epi8(_mm_cvtsi64_si128(word as i64), _mm_cvtsi64_si128(shuffle as i64));
            _mm_cvtsi128_si64(spread) as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacked messages, and where each of them ends, unpacked and packed.
    type Messages = (Vec<u8>, Vec<(usize, usize)>);

    /// The messages at the beginning of the input.
    fn unpacked(input: &[u8], max_record: usize) -> Result<Messages, Wrong> {
        let all = [unpack_wide, unpack_plain].map(|unpack| {
            let (mut room, mut ends) = (Vec::new(), Vec::new());
            let (bytes, messages) = (usize::MAX, usize::MAX);
            let window = Window { room: &mut room, ends: &mut ends, bytes, messages, max_record };
            unpack(input, 0, input.len(), window)?;
            room.truncate(ends.last().map_or(0, |end| end.0));
            Ok((room, ends))
        });
        let [wide, plain] = all;
        match (&wide, &plain) {
            (Ok(wide), Ok(plain)) => assert_eq!(wide, plain),
            (wide, plain) => assert!(wide.is_err() && plain.is_err()),
        }
        wide
    }

    fn unpack_wide(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
        unpack(input, at, limit, window)
    }

    fn unpack_plain(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
        unpack_by(input, at, limit, window, spread)
    }

    #[test]
    fn a_word_of_every_tag_is_spread() {
        for tag in 1..=255_u8 {
            let some: Vec<u8> = (1..=tag.count_ones() as u8).collect();
            let mut left = some.iter();
            let word: [u8; 8] =
                std::array::from_fn(|place| if tag >> place & 1 == 1 { *left.next().unwrap() } else { 0 });
            // A message of one word, alone and with more behind it than is looked at.
            let mut packed = vec![0x10, 1, tag];
            packed.extend(&some);
            packed.extend((tag == 0xff).then_some(0));
            let (room, ends) = unpacked(&packed, 1000).ok().unwrap();
            assert_eq!((&room[8..], &ends[..]), (&word[..], &[(16, packed.len())][..]));
            let many = packed.repeat(100);
            let (room, ends) = unpacked(&many, 1000).ok().unwrap();
            assert!(ends.len() == 100 && room.chunks(16).all(|message| message[8..] == word));
        }
    }

    /// A message that holds these words, plain and packed by the library.
    fn messages(words: &[u64]) -> (Vec<u8>, Vec<u8>) {
        let mut message = capnp::message::Builder::new_default();
        let bytes = message.initn_root::<capnp::data::Builder>(words.len() as u32 * 8);
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        let (mut plain, mut packed) = (Vec::new(), Vec::new());
        capnp::serialize::write_message(&mut plain, &message).unwrap();
        capnp::serialize_packed::write_message(&mut packed, &message).unwrap();
        (plain, packed)
    }

    #[test]
    fn messages_are_unpacked_as_the_library_packs_them() {
        let mut random = 88_172_645_463_325_252_u64;
        let mut next = move |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        for round in 0..400 {
            let count = next(if round % 20 == 0 { 1500 } else { 40 });
            let (mut words, mut kind) = (Vec::new(), 0);
            for _ in 0..count {
                if next(6) == 0 {
                    kind = next(3);
                }
                words.push(match kind {
                    0 => 0,
                    1 => u64::from_le_bytes([(); 8].map(|()| next(255) as u8 + 1)),
                    _ => u64::from_le_bytes([(); 8].map(|()| (next(3) * next(250)) as u8)),
                });
            }
            let (plain, packed) = messages(&words);
            for behind in [0, 5, 200] {
                let mut input = packed.clone();
                input.resize(packed.len() + behind, 0x11);
                let (room, ends) = unpacked(&input, 1 << 20).ok().unwrap();
                assert_eq!(ends.first(), Some(&(plain.len(), packed.len())));
                assert_eq!(room[..plain.len()], plain);
            }
            for cut in (0..packed.len()).step_by(1 + packed.len() / 50) {
                assert!(unpacked(&packed[..cut], 1 << 20).is_ok_and(|(_, ends)| ends.is_empty()));
            }
            assert!(unpacked(&packed, plain.len() - 9).is_err(), "too long");
        }
    }

    #[test]
    fn a_run_ends_with_its_message() {
        // Two words are claimed, and three words of zeros come.
        let message = unpacked(&[0x10, 0x02, 0x00, 0x02], 1 << 20);
        assert!(message.is_err_and(|wrong| wrong.message.contains("packed one by one")));
        let message = unpacked(&[0x10, 0x02, 0x00, 0x01], 1 << 20);
        assert!(message.is_ok_and(|(_, ends)| ends == [(24, 4)]));
    }
}
