//! Undoes the packing of messages, and notes where the values lie that are wanted.
//!
//! A message is unpacked up to the end of the last list that is wanted; what lies behind it is passed over. That takes a
//! message that is built and packed as most are; others are unpacked whole.

use super::decode::MessageWalker;
use super::pieces::{ROOM, passed, piece, pieces, spread};
use super::segments::{length, sections, word};
use crate::rows::walk::{Span, Walked, Walker, Wrong, missing};

/// By how much the room for a long message grows at a time.
const GROWTH: usize = 1 << 20;

/// Where messages are unpacked to.
pub struct Window<'a> {
    /// Unpacked messages, one behind the other; grows if it has to. What nobody wants of them is any bytes.
    pub room: &'a mut Vec<u8>,
    /// Where each of them ends, unpacked in the room and packed in the input.
    pub ends: &'a mut Vec<(usize, usize)>,
    /// Where the values that are wanted lie in the room, `each` of every message.
    pub found: &'a mut Vec<Span>,
    /// See `found`.
    pub each: usize,
    /// Finds them.
    pub walker: &'a mut MessageWalker,
    /// So many bytes are enough.
    pub bytes: usize,
    /// No more messages than these.
    pub messages: usize,
    /// The most bytes of a message, packed and unpacked.
    pub max_record: usize,
}

/// Unpacks the messages that begin from `at` of the input on, before `limit` of it, until the window is full or one
/// goes on beyond the input. An error is a message that is too long or has too many segments, or a run of words that
/// goes on behind it; those before it are unpacked. So is one that is not built as it should be, if it says where the
/// next one begins; it is unpacked too, without places of values.
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
    let Window { room, ends, found, each, walker, bytes, messages, max_record } = window;
    let mut to = 0;
    // The bytes of a message before its lists, as of the last one.
    let mut before_lists = 0;
    while at < limit && to < bytes && ends.len() < messages {
        // As a walker, it looks no further than a record may be long.
        let input = &input[..input.len().min(at.saturating_add(max_record))];
        let first = found.len();
        found.resize(first + each, missing(to));
        let places = &mut found[first..];
        let noted = noted(input, at, room, to, before_lists, max_record, walker, places, &spread);
        if let Some(end) = noted {
            (to, at) = end;
            ends.push(end);
            continue;
        }
        found.truncate(first);
        let Some(end) = message(input, at, room, to, max_record, &spread)? else { return Ok(()) };
        let begin = std::mem::replace(&mut to, end.0);
        at = end.1;
        ends.push(end);
        found.resize(first + each, missing(begin));
        match walker.walk(&room[..to], begin, &mut found[first..]) {
            Ok(Walked::Whole(_)) => {}
            walked => {
                found.truncate(first);
                let wrong = walked.err().unwrap_or(Wrong::fatal("the message is shorter than its segments"));
                if wrong.next.is_none() {
                    ends.pop();
                }
                return Err(wrong);
            }
        }
        before_lists = word(&room[begin..to], 8).map_or(0, |root| {
            let (data, pointers) = sections(root);
            16 + data + pointers
        });
    }
    Ok(())
}

/// Unpacks a message of one segment that has so many bytes before its lists, as far as it is wanted, and notes its
/// values; gives where it ends in the room and the input. `None` if it is not built and packed as most are, or too near
/// to the end of the input or the room: what was unpacked counts for nothing.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "in registers and not behind pointers")]
fn noted(
    input: &[u8],
    at: usize,
    room: &mut [u8],
    begin: usize,
    before_lists: usize,
    max_record: usize,
    walker: &MessageWalker,
    found: &mut [Span],
    spread: &impl Fn(u8, u64) -> u64,
) -> Option<(usize, usize)> {
    let lists = begin + before_lists;
    let (at, to) = pieces(input, at, room, begin, lists, spread);
    if to != lists || before_lists == 0 {
        return None;
    }
    let head = word(room, begin)?;
    let size = (head >> 32) as usize * 8;
    if head as u32 != 0 || size > max_record {
        return None;
    }
    let (base, end) = (begin + 8, begin + 8 + size);
    let wanted = walker.note(&room[base..lists], base, size, found)?.next_multiple_of(8);
    let (at, to) = if wanted > to { pieces(input, at, room, to, wanted, spread) } else { (at, to) };
    if to < wanted || to > end || !walker.are_terminated(room, found) {
        return None;
    }
    Some((end, passed(input, at, (end - to) / 8)?))
}

/// Unpacks a message; gives where it ends in the room and the input, `None` if it goes on beyond the input.
#[inline(never)]
fn message(
    input: &[u8],
    mut at: usize,
    room: &mut Vec<u8>,
    begin: usize,
    max_record: usize,
    spread: &impl Fn(u8, u64) -> u64,
) -> Result<Option<(usize, usize)>, Wrong> {
    // The first word tells the length of the table of segments, and that the length of the message.
    let (mut to, mut end) = (begin, begin + 8);
    loop {
        while to < end {
            if room.len() < to + ROOM {
                room.resize(to + ROOM + (end - to).min(GROWTH), 0);
            }
            let before = at;
            (at, to) = pieces(input, at, room, to, end, spread);
            if at == before {
                let Some((read, written)) = piece(&input[at..], &mut room[to..]) else { return Ok(None) };
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
    Ok(Some((to, at)))
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::super::pieces::wide::spread;
    use super::{Window, Wrong};

    /// As [`super::unpack`].
    #[target_feature(enable = "ssse3,popcnt")]
    pub fn unpack(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
        super::unpack_by(input, at, limit, window, |tag, word| spread(tag, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ScanOptions;
    use crate::rows::keys::Slots;
    use crate::rows::walk::is_missing;

    /// Unpacked messages, and where each of them ends, unpacked and packed.
    type Messages = (Vec<u8>, Vec<(usize, usize)>);

    /// The messages at the beginning of the input, whole.
    fn unpacked(input: &[u8], max_record: usize) -> Result<Messages, Wrong> {
        let (mut room, mut ends, mut end) = (Vec::new(), Vec::new(), (0, 0));
        while end.1 < input.len() {
            let input = &input[..input.len().min(end.1 + max_record)];
            let Some(next) = message(input, end.1, &mut room, end.0, max_record, &spread)? else { break };
            ends.push(next);
            end = next;
        }
        room.truncate(end.0);
        Ok((room, ends))
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

    /// Numbers below the one that is asked for.
    fn random() -> impl FnMut(u64) -> u64 {
        let mut random = 88_172_645_463_325_252_u64;
        move |below| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
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
        let mut next = random();
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

    /// Words, packed: with runs as long as the library makes them, or each word alone.
    fn packed(words: &[u64], runs: bool) -> Vec<u8> {
        let zeros = |word: &u64| word.to_le_bytes().iter().filter(|byte| **byte == 0).count();
        let (mut out, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let bytes = words[at].to_le_bytes();
            let tag = (0..8).fold(0, |tag, i| tag | u8::from(bytes[i] != 0) << i);
            out.push(tag);
            out.extend(bytes.iter().filter(|byte| **byte != 0));
            at += 1;
            if tag != 0 && tag != 0xff {
                continue;
            }
            let more = words[at..].iter().take(if runs { 255 } else { 0 });
            let more = more.take_while(|word| if tag == 0 { **word == 0 } else { zeros(word) < 2 }).count();
            out.push(more as u8);
            let run = words[at..at + more].iter().flat_map(|word| word.to_le_bytes());
            out.extend(run.take(if tag == 0 { 0 } else { 8 * more }));
            at += more;
        }
        out
    }

    /// A struct of two words of data and these texts, `None` a null pointer, in a message.
    fn row(data: [u64; 2], texts: &[Option<Vec<u8>>]) -> Vec<u64> {
        let mut words = vec![0, 2 << 32 | (texts.len() as u64) << 48, data[0], data[1]];
        let first = words.len();
        words.resize(first + texts.len(), 0);
        for (number, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            let offset = (words.len() - first - number - 1) as u64;
            words[first + number] = 1 | offset << 2 | 2 << 32 | (text.len() as u64 + 1) << 35;
            let mut text = text.clone();
            text.resize((text.len() + 1).next_multiple_of(8), 0);
            words.extend(text.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        }
        words[0] = (words.len() as u64 - 1) << 32;
        words
    }

    /// A walker for these columns of such rows, of which all but the first two may be NULL.
    fn walker(columns: usize, projection: Vec<usize>) -> (MessageWalker, Slots) {
        use arrow_schema::{DataType, Field, Schema};
        let types = (0..columns).map(|i| if i < 2 { DataType::Int64 } else { DataType::Utf8View });
        let fields: Vec<_> =
            types.enumerate().map(|(i, data_type)| Field::new(format!("c{i}"), data_type, i > 1)).collect();
        let scan = ScanOptions {
            schema: Schema::new(fields).into(),
            projection,
            bounds: vec![],
            prefixes: vec![],
            batch_rows: 1,
            format: schema::FormatOptions::default(),
        };
        let slots = Slots::new(&scan);
        (MessageWalker::new(&scan, &slots).unwrap(), slots)
    }

    #[test]
    fn wanted_values_are_those_of_whole_messages() {
        let mut next = random();
        for round in 0..600 {
            let texts = next(6) as usize;
            let (mut whole, mut input) = (Vec::new(), Vec::new());
            for _ in 0..1 + next(20) {
                let texts: Vec<_> = (0..texts)
                    .map(|_| {
                        let length = next([3, 9, 30, 900][round % 4]) as usize;
                        // Some have a zero, and are not packed as those without.
                        let zeros = if next(8) == 0 { 5 } else { 256 };
                        (next(9) > 0)
                            .then(|| (0..length).map(|_| (1 + next(zeros - 1)) as u8 % 5 * 60).collect())
                    })
                    .collect();
                let mut words = row([next(3), next(u64::MAX)], &texts);
                if next(20) == 0 {
                    // A pointer more or less than there are texts.
                    words[1] ^= 1 << 48;
                }
                whole.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                input.extend(packed(&words, next(3) > 0));
            }
            let projection = (0..2 + texts).filter(|_| next(3) == 0).collect();
            let (mut walker, slots) = walker(2 + texts, projection);
            let (mut room, mut ends, mut found) = (vec![0x55; 1 << 15], Vec::new(), Vec::new());
            let (bytes, messages, max_record) = (usize::MAX, usize::MAX, 1 << 20);
            let window = Window {
                room: &mut room,
                ends: &mut ends,
                found: &mut found,
                each: slots.count,
                walker: &mut walker,
                bytes,
                messages,
                max_record,
            };
            let wrong = unpack(&input, 0, input.len(), window).err();
            let (mut at, mut expected) = (0, Vec::new());
            for end in &ends {
                expected.clear();
                expected.resize(slots.count, missing(at));
                let walked = walker.walk(&whole[..end.0], at, &mut expected);
                if walked.is_err() {
                    assert!(wrong.is_some() && end.0 == ends.last().unwrap().0);
                    break;
                }
                for (slot, place) in expected.iter().enumerate() {
                    let noted = found[slot];
                    assert_eq!(is_missing(noted), is_missing(*place));
                    assert!(is_missing(noted) || room[noted.0..noted.1] == whole[place.0..place.1]);
                }
                found.drain(..slots.count);
                at = end.0;
            }
            assert!(wrong.is_some() || ends.last() == Some(&(whole.len(), input.len())));
        }
    }
}
