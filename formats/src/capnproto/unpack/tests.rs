use super::*;
use crate::format::ScanOptions;
use crate::rows::keys::ColumnSlots;
use crate::rows::walk::is_missing;

/// Unpacked messages, and where each of them ends, unpacked and packed.
type Messages = (Vec<u8>, Vec<(usize, usize)>);

/// The messages at the beginning of the input, whole.
fn unpacked(input: &[u8], max_record: usize) -> Result<Messages, Wrong> {
    let (mut room, mut ends, mut end) = (Vec::new(), Vec::new(), (0, 0));
    while end.1 < input.len() {
        let input = &input[..input.len().min(end.1 + max_record)];
        let Some(next) = message(input, end.1, &mut room, end.0, max_record, Portable)? else { break };
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
fn walker(columns: usize, projection: Vec<usize>) -> (MessageWalker, ColumnSlots) {
    use arrow_schema::{DataType, Field, Schema};
    let types = (0..columns).map(|i| if i < 2 { DataType::Int64 } else { DataType::Utf8View });
    let fields: Vec<_> =
        types.enumerate().map(|(i, data_type)| Field::new(format!("c{i}"), data_type, i > 1)).collect();
    let scan = ScanOptions {
        schema: Schema::new(fields).into(),
        projection,
        bounds: vec![],
        prefixes: vec![],
        unseen: schema::DeferredValidation::Nothing,
        batch_rows: 1,
        format: schema::FormatOptions::default(),
    };
    let slots = ColumnSlots::new(&scan);
    (MessageWalker::new(&scan, &slots).unwrap(), slots)
}

#[test]
fn wanted_values_are_those_of_whole_messages() {
    let (mut next, mut learned) = (random(), 0);
    for round in 0..600 {
        let texts = next(6) as usize;
        let (mut whole, mut input) = (Vec::new(), Vec::new());
        let (kind, odd) = (next(4), next(2) == 0);
        for _ in 0..1 + next([20, 1500][round % 10 / 9]) {
            let texts: Vec<_> = (0..texts)
                .map(|_| {
                    let length = next([3, 9, 30, 900][round % 4]) as usize;
                    // Some have a zero, and are not packed as those without.
                    let zeros = if next(8) == 0 { 5 } else { 256 };
                    (next(9) > 0).then(|| (0..length).map(|_| (1 + next(zeros - 1)) as u8 % 5 * 60).collect())
                })
                .collect();
            let data = match kind {
                0 => [next(3), next(u64::MAX)],
                1 => [0, u64::MAX],
                2 => [u64::MAX - next(9), u64::MAX],
                _ => [1 + next(if odd { 255 } else { 300 }), 1 << 40 | next(1 << 20)],
            };
            let mut words = row(data, &texts);
            if odd && next(20) == 0 {
                // A pointer more or less than there are texts.
                words[1] ^= 1 << 48;
            }
            whole.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            input.extend(packed(&words, next(3) > 0));
        }
        let projection = (0..2 + texts).filter(|_| next(3) == 0).collect();
        let (mut walker, slots) = walker(2 + texts, projection);
        let (mut room, mut ends, mut found) = (vec![0x55; 1 << 20], Vec::new(), Vec::new());
        let mut header = Header::default();
        let (bytes, messages, max_record) = (usize::MAX, usize::MAX, 1 << 20);
        let window = Window {
            room: &mut room,
            ends: &mut ends,
            found: &mut found,
            each: slots.count,
            walker: &mut walker,
            header: &mut header,
            bytes,
            messages,
            max_record,
        };
        let wrong = unpack(&input, 0, input.len(), window).err();
        let known = header.unpack(&input, 0, &mut vec![0; header.bytes()], Portable);
        learned += usize::from(known.is_some());
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
    assert!(learned > 20, "{learned} tables with known beginnings");
}
