//! Undoes the packing of messages, and notes where the values lie that are wanted.
//!
//! A message is unpacked up to the end of the last list that is wanted; what lies behind it is passed over. That takes a
//! message that is built and packed as most are; others are unpacked whole.

use super::decode::MessageWalker;
use super::header::Header;
use super::pieces::{Portable, ROOM, Spread, passed, piece, pieces};
use super::segments::{length, word};
use crate::rows::walk::{Span, Walked, Walker, Wrong, missing};

/// By how much the room for a long message grows at a time.
const GROWTH: usize = 1 << 20;

/// So much room is kept from one long message to the next.
pub const KEPT: usize = 128 << 10;

/// For so many messages at a time room is made for the places of values.
const FOUND: usize = 64;

/// Where messages are unpacked to.
pub struct Window<'a> {
    /// Unpacked messages, one behind the other; grows if it has to. What nobody wants of them is any bytes.
    pub room: &'a mut Vec<u8>,
    /// Where each of them ends, unpacked in the room and packed in the input.
    pub ends: &'a mut Vec<(usize, usize)>,
    /// Where the values that are wanted lie in the room, `each` of every message, and more behind them.
    pub found: &'a mut Vec<Span>,
    /// See `found`.
    pub each: usize,
    /// Finds them.
    pub walker: &'a mut MessageWalker,
    /// How messages begin.
    pub header: &'a mut Header,
    /// So many bytes are enough.
    pub bytes: usize,
    /// No more messages than these.
    pub messages: usize,
    /// The most bytes of a message, packed and unpacked.
    pub max_record: usize,
}

/// Unpacks the messages that begin from `at` of the input on, before `limit` of it. It stops when the window is full or
/// a message goes on beyond the input. An error is a message that is too long or has too many segments. So is a run of
/// words that goes on behind it. Those before it are unpacked. A message that is not built as it should be is an error too, if it says
/// where the next one begins. It is unpacked too, without places of values.
pub fn unpack(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("ssse3") && std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both features, and the function has no other conditions.
        return unsafe { wide::unpack(input, at, limit, window) };
    }
    unpack_by(input, at, limit, window, Portable)
}

/// As [`unpack`].
#[inline(always)]
fn unpack_by(
    input: &[u8],
    mut at: usize,
    limit: usize,
    window: Window,
    spread: impl Spread,
) -> Result<(), Wrong> {
    let Window { room, ends, found, each, walker, header, bytes, messages, max_record } = window;
    let mut to = 0;
    while at < limit && to < bytes && ends.len() < messages {
        // As a walker, it looks no further than a record may be long.
        let input = &input[..input.len().min(at.saturating_add(max_record))];
        let first = ends.len() * each;
        if found.len() < first + each {
            found.resize(first + FOUND * each, missing(0));
        }
        let usual = Usual { room, header, walker, max_record };
        if let Some(end) = noted(input, at, to, usual, &mut found[first..], spread) {
            (to, at) = end;
            ends.push(end);
            continue;
        }
        let Some(end) = message(input, at, room, to, max_record, spread)? else { return Ok(()) };
        let begin = std::mem::replace(&mut to, end.0);
        at = end.1;
        ends.push(end);
        let places = &mut found[first..first + each];
        places.fill(missing(begin));
        match walker.walk(&room[..to], begin, places) {
            Ok(Walked::Whole(_)) => {}
            walked => {
                let wrong = walked.err().unwrap_or(Wrong::fatal("the message is shorter than its segments"));
                if wrong.next.is_none() {
                    ends.pop();
                }
                return Err(wrong);
            }
        }
        if !header.is_of(&room[begin..to]) {
            header.restart(&room[begin..to]);
        }
    }
    Ok(())
}

/// How messages are built and packed as most are, and where they are unpacked to.
struct Usual<'a> {
    room: &'a mut [u8],
    header: &'a mut Header,
    walker: &'a MessageWalker,
    max_record: usize,
}

/// Unpacks a message of one segment that begins as the last ones, as far as it is wanted, and notes its values. Gives
/// where it ends in the room and the input. `None` if it is not built and packed as most are, or too near to the end of
/// the input or the room. What was unpacked counts for nothing.
#[inline(always)]
fn noted(
    input: &[u8],
    at: usize,
    begin: usize,
    usual: Usual,
    found: &mut [Span],
    spread: impl Spread,
) -> Option<(usize, usize)> {
    let Usual { room, header, walker, max_record } = usual;
    let lists = begin + header.bytes();
    let (behind, to) = match header.unpack(input, at, room.get_mut(begin..lists)?, spread) {
        Some(behind) => (behind, lists),
        None => pieces(input, at, room, begin, lists, spread),
    };
    if to != lists || !header.is_of(room.get(begin..lists)?) {
        return None;
    }
    header.learn(input, at, walker);
    let head = word(room, begin)?;
    let size = (head >> 32) as usize * 8;
    if head as u32 != 0 || size > max_record {
        return None;
    }
    let (base, end) = (begin + 8, begin + 8 + size);
    let wanted = walker.note(&room[base..lists], base, size, found)?.next_multiple_of(8);
    let (at, to) = if wanted > to { pieces(input, behind, room, to, wanted, spread) } else { (behind, to) };
    if to < wanted || to > end || !walker.are_terminated(room, found) {
        return None;
    }
    Some((end, passed(input, at, (end - to) / 8)?))
}

/// Unpacks the message that begins at `at` of the input to the beginning of the room, which grows if it has to. Gives
/// where it ends in the room and the input; `None` if it goes on beyond the input. It has at most `max_record` bytes.
pub fn one(
    input: &[u8],
    at: usize,
    room: &mut Vec<u8>,
    max_record: usize,
) -> Result<Option<(usize, usize)>, Wrong> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("ssse3") && std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both features, and the function has no other conditions.
        return unsafe { wide::one(input, at, room, max_record) };
    }
    message(input, at, room, 0, max_record, Portable)
}

/// Unpacks a message; gives where it ends in the room and the input, `None` if it goes on beyond the input.
#[inline(never)]
fn message(
    input: &[u8],
    mut at: usize,
    room: &mut Vec<u8>,
    begin: usize,
    max_record: usize,
    spread: impl Spread,
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
    use super::super::pieces::wide::Shuffle;
    use super::{Window, Wrong};

    /// As [`super::one`].
    #[target_feature(enable = "ssse3,popcnt")]
    pub fn one(
        input: &[u8],
        at: usize,
        room: &mut Vec<u8>,
        max_record: usize,
    ) -> Result<Option<(usize, usize)>, Wrong> {
        super::message(input, at, room, 0, max_record, Shuffle::here())
    }

    /// As [`super::unpack`].
    #[target_feature(enable = "ssse3,popcnt")]
    pub fn unpack(input: &[u8], at: usize, limit: usize, window: Window) -> Result<(), Wrong> {
        super::unpack_by(input, at, limit, window, Shuffle::here())
    }
}

#[cfg(test)]
mod tests;
