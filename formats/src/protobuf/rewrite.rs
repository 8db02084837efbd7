//! Rewrites the fields of messages, which come in any order and in pieces, as values in the order of the columns.
//!
//! In a message a list is any number of fields with one number, among which others may stand, and a message that is
//! there twice is the first one with the fields of the second one behind it. Columns want each value in one place. So
//! values are written again, as MessagePack: a struct as an array of its fields, a map with its entries.
//!
//! # Contract
//! A message that can't be rewritten leaves behind what was written of it; the caller takes that off. A message makes no
//! more values than the limit has bytes, however many its schema has for each of its bytes.

use std::collections::HashMap;
use std::ops::Range;

use arrow_schema::TimeUnit;
use schema::messages::{FieldKind, FieldLayout, Label, MessageLayout};

use super::Wire;
use super::decode::whole;
use crate::error::Error;
use crate::memory;
use crate::msgpack::encode as put;
use crate::rows::described::Record;
use crate::rows::walk::Span;

/// Memory for so many fields is not asked for, and is kept from message to message.
const MANY: usize = 1 << 16;

/// A field of the message at hand. Its places fit 32 bits, because a message of two bytes a field has very many.
#[derive(Clone, Copy)]
struct Occurrence {
    /// Its place in the layout.
    place: u32,
    from: u32,
    to: u32,
    wire: Wire,
}

impl Occurrence {
    /// Where its value lies.
    fn span(&self) -> Span {
        (self.from as usize, self.to as usize)
    }
}

/// The member of a `oneof` that came last.
#[derive(Clone, Copy)]
struct Chosen {
    place: u32,
    /// The occurrence with which it began to be the last one.
    from: usize,
}

/// How the values of a kind lie in a message.
fn wire(kind: &FieldKind) -> Wire {
    use FieldKind as K;
    match kind {
        K::Bool | K::Int32 | K::Int64 | K::UInt32 | K::UInt64 | K::SInt32 | K::SInt64 | K::Enum(..) => {
            Wire::Varint
        }
        K::Fixed32 | K::SFixed32 | K::Float => Wire::Four,
        K::Fixed64 | K::SFixed64 | K::Double => Wire::Eight,
        K::Text | K::Bytes | K::Message(_) | K::Wrapper(_) | K::Moment(_) => Wire::Counted,
    }
}

/// Room for rewriting, which is used again for each message.
#[derive(Default)]
pub struct Room {
    /// The fields of the message at hand, behind those of the messages around it.
    found: Vec<Occurrence>,
    /// For each `oneof` of the message at hand the member that came last.
    chosen: Vec<Option<Chosen>>,
    /// That there was no memory for the fields of a message, which is not its fault.
    lack: Option<Error>,
}

impl Room {
    /// The lack of memory that ended the rewriting of the last message, if it did.
    pub fn take_lack(&mut self) -> Option<Error> {
        self.lack.take()
    }

    /// Makes room for one more field.
    fn grow(&mut self) -> Result<(), String> {
        let len = self.found.len();
        if len < self.found.capacity() || len < MANY {
            return Ok(());
        }
        self.ask(2 * len * size_of::<Occurrence>(), len)
    }

    /// Asks for memory for the fields of a message.
    fn ask(&mut self, bytes: usize, fields: usize) -> Result<(), String> {
        memory::ask(bytes as u64, || format!("a message of more than {fields} fields")).map_err(|lack| {
            self.lack = Some(lack);
            "there is no memory for its fields".to_string()
        })
    }
}

/// Rewrites one message.
pub struct Rewriter<'a, 'r> {
    bytes: &'a [u8],
    room: &'a mut Room,
    record: &'a mut Record<'r>,
}

impl<'a, 'r> Rewriter<'a, 'r> {
    /// A rewriter of the message that these bytes are.
    pub fn new(bytes: &'a [u8], room: &'a mut Room, record: &'a mut Record<'r>) -> Rewriter<'a, 'r> {
        room.found.clear();
        room.found.shrink_to(MANY);
        Rewriter { bytes, room, record }
    }

    /// Writes the wanted fields of the message.
    ///
    /// # Errors
    /// What is wrong with the message.
    pub fn columns(&mut self, layout: &MessageLayout) -> Result<(), String> {
        if u32::try_from(self.bytes.len()).is_err() {
            return Err("a message of more than 4,294,967,295 bytes is not read".into());
        }
        self.begin(layout);
        self.scan(layout, (0, self.bytes.len()))?;
        self.settle(layout, 0);
        let mut at = 0;
        for (place, field) in layout.fields.iter().enumerate() {
            let from = at;
            at = self.behind(place as u32, at, self.room.found.len());
            if self.record.wants(place) {
                let start = self.record.out.len();
                self.field(field, from..at)?;
                self.record.note(place, start);
            }
        }
        Ok(())
    }

    /// Where the occurrences of a field end that begin at `at`, of those before `end`.
    fn behind(&self, place: u32, at: usize, end: usize) -> usize {
        let others = self.room.found[at..end].iter().position(|found| found.place != place);
        others.map_or(end, |others| at + others)
    }

    /// Begins with a message, of which no piece was scanned yet.
    fn begin(&mut self, layout: &MessageLayout) {
        self.room.chosen.clear();
        self.room.chosen.resize(layout.oneofs as usize, None);
    }

    /// Notes the known fields of a piece of a message.
    fn scan(&mut self, layout: &MessageLayout, (from, to): Span) -> Result<(), String> {
        let beyond = || "a field goes on behind the end of its message".to_string();
        let bytes = self.bytes;
        let mut at = from;
        while at < to {
            let (tag, len) = whole(&bytes[at..to])?;
            at += len;
            let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
            let number = number.ok_or_else(|| format!("{} is no number of a field", tag >> 3))?;
            let (span, wire) = match tag & 7 {
                0 => {
                    let (_, len) = whole(&bytes[at..to])?;
                    ((at, at + len), Wire::Varint)
                }
                1 => ((at, at + 8), Wire::Eight),
                2 => {
                    let (size, len) = whole(&bytes[at..to])?;
                    let start = at + len;
                    let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size));
                    ((start, end.ok_or_else(beyond)?), Wire::Counted)
                }
                5 => ((at, at + 4), Wire::Four),
                3 | 4 => return Err(format!("field {number} is a group, which is not read")),
                other => {
                    return Err(format!("field {number} has the wire type {other}, which does not exist"));
                }
            };
            if span.1 > to {
                return Err(beyond());
            }
            at = span.1;
            let Some(place) = layout.place(number) else { continue };
            let Some(field) = layout.fields.get(place) else { continue };
            let expected = self::wire(&field.kind);
            let is_packed = field.label == Label::Repeated && wire == Wire::Counted;
            if wire != expected && !is_packed {
                return Err(format!(
                    "field {number} has the wire type {}, and '{}' has {}: the schema is that of another message",
                    wire as u8, field.name, expected as u8
                ));
            }
            let place = place as u32;
            let oneof = field.oneof.and_then(|oneof| self.room.chosen.get_mut(oneof as usize));
            if let Some(chosen) = oneof
                && chosen.is_none_or(|chosen| chosen.place != place)
            {
                *chosen = Some(Chosen { place, from: self.room.found.len() });
            }
            self.room.grow()?;
            self.room.found.push(Occurrence { place, from: span.0 as u32, to: span.1 as u32, wire });
        }
        Ok(())
    }

    /// Orders the occurrences from `base` on like the fields of the layout, and takes out the members of a `oneof` that
    /// another member came behind.
    fn settle(&mut self, layout: &MessageLayout, base: usize) {
        let Room { found, chosen, .. } = &mut *self.room;
        if !chosen.is_empty() {
            let mut kept = base;
            for at in base..found.len() {
                let occurrence = found[at];
                let oneof = layout.fields.get(occurrence.place as usize).and_then(|field| field.oneof);
                let last = oneof.and_then(|oneof| chosen.get(oneof as usize).copied().flatten());
                if last.is_none_or(|last| last.place == occurrence.place && at >= last.from) {
                    found[kept] = occurrence;
                    kept += 1;
                }
            }
            found.truncate(kept);
        }
        let found = &mut found[base..];
        if !found.is_sorted_by_key(|occurrence| occurrence.place) {
            found.sort_by_key(|occurrence| occurrence.place);
        }
    }

    /// Scans the pieces of a message within another, and gives the place from which its occurrences stand.
    fn gather(&mut self, layout: &MessageLayout, pieces: Range<usize>) -> Result<usize, String> {
        let base = self.room.found.len();
        self.begin(layout);
        for piece in pieces {
            let span = self.room.found[piece].span();
            self.scan(layout, span)?;
        }
        self.settle(layout, base);
        Ok(base)
    }

    /// Writes a field of which these are the occurrences.
    fn field(&mut self, field: &FieldLayout, at: Range<usize>) -> Result<(), String> {
        match field.label {
            Label::Repeated => self.list(&field.kind, at)?,
            Label::Map => self.map(field, at)?,
            Label::Explicit if at.is_empty() => self.record.null(field.leaves()),
            Label::Required if at.is_empty() => {
                return Err(format!(
                    "field {}, '{}', is required, and is not there",
                    field.number, field.name
                ));
            }
            Label::Implicit | Label::Explicit | Label::Required => self.value(&field.kind, at)?,
        }
        self.record.check()
    }

    /// Writes the value of a field that is there at most once: the last one, or all pieces of a message. What is not
    /// there at all is 0, false or empty.
    fn value(&mut self, kind: &FieldKind, at: Range<usize>) -> Result<(), String> {
        match (kind.message(), at.clone().next_back()) {
            (Some(layout), _) => self.message(kind, layout, at),
            (None, Some(last)) => {
                let (from, to) = self.room.found[last].span();
                self.scalar(kind, &self.bytes[from..to])
            }
            (None, None) => {
                self.zero(kind);
                Ok(())
            }
        }
    }

    /// Writes a message of these pieces.
    fn message(
        &mut self,
        kind: &FieldKind,
        layout: &MessageLayout,
        pieces: Range<usize>,
    ) -> Result<(), String> {
        let base = self.gather(layout, pieces)?;
        match kind {
            FieldKind::Moment(_) => self.moment(base)?,
            FieldKind::Wrapper(_) => self.fields(layout, base)?,
            _ => {
                put::array(layout.fields.len(), self.record.out);
                self.fields(layout, base)?;
            }
        }
        self.room.found.truncate(base);
        Ok(())
    }

    /// Writes all fields of a message whose occurrences stand from `base` on.
    fn fields(&mut self, layout: &MessageLayout, base: usize) -> Result<(), String> {
        let (mut at, end) = (base, self.room.found.len());
        for (place, field) in (0..).zip(&layout.fields) {
            let from = at;
            at = self.behind(place, at, end);
            self.field(field, from..at)?;
        }
        Ok(())
    }

    /// Writes a moment; the occurrences of its seconds and nanoseconds stand from `base` on.
    fn moment(&mut self, base: usize) -> Result<(), String> {
        let end = self.room.found.len();
        let nanos_at = self.behind(0, base, end);
        let number = |found: Option<&Occurrence>| -> Result<i64, String> {
            let span = found.map(Occurrence::span);
            span.map_or(Ok(0), |(from, to)| Ok(whole(&self.bytes[from..to])?.0 as i64))
        };
        let seconds = number(self.room.found[base..nanos_at].last())?;
        let nanos = number(self.room.found[nanos_at..end].last())? as i32;
        let in_nanos = seconds.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(nanos.into()));
        match in_nanos.filter(|_| (0..1_000_000_000).contains(&nanos)) {
            Some(moment) => {
                put::moment(moment, TimeUnit::Nanosecond, self.record.out);
                Ok(())
            }
            None => Err(format!(
                "a Timestamp of {seconds} seconds and {nanos} nanoseconds is none from 1677-09-21 to 2262-04-11; \
                 a message of int64 seconds = 1 and int32 nanos = 2 in its place in the .proto file reads the numbers"
            )),
        }
    }

    /// Writes a list: each occurrence is an item, or holds several of them.
    fn list(&mut self, kind: &FieldKind, at: Range<usize>) -> Result<(), String> {
        let place = put::begin_array(self.record.out);
        let mut count = 0u32;
        let many = || "a list has more than 4,294,967,295 items".to_string();
        for item in at {
            let occurrence = self.room.found[item];
            if occurrence.wire == self::wire(kind) {
                self.value(kind, item..item + 1)?;
                count = count.checked_add(1).ok_or_else(many)?;
                self.record.check()?;
                continue;
            }
            let (from, to) = occurrence.span();
            let mut packed = &self.bytes[from..to];
            while !packed.is_empty() {
                let len = match self::wire(kind) {
                    Wire::Varint => whole(packed)?.1,
                    Wire::Four => 4,
                    Wire::Eight | Wire::Counted => 8,
                };
                let (value, rest) =
                    packed.split_at_checked(len).ok_or("a packed list ends within a value")?;
                self.scalar(kind, value)?;
                count = count.checked_add(1).ok_or_else(many)?;
                self.record.check()?;
                packed = rest;
            }
        }
        put::end_array(place, count, self.record.out);
        Ok(())
    }

    /// Writes a map: each occurrence is an entry, and of several with one key the last one counts.
    fn map(&mut self, field: &FieldLayout, at: Range<usize>) -> Result<(), String> {
        let Some(layout) = field.kind.message().filter(|_| !at.is_empty()) else {
            put::map(0, self.record.out);
            return Ok(());
        };
        let begin = self.record.out.len();
        if at.len() > MANY {
            // The entries, and the table of their keys, which is at most half full.
            let each = size_of::<(Span, usize)>() + 2 * size_of::<(&[u8], usize)>();
            self.room.ask(at.len() * each, at.len())?;
        }
        // Where the key of each entry ends, and where the entry does.
        let mut entries: Vec<(Span, usize)> = Vec::with_capacity(at.len());
        for entry in at {
            let base = self.gather(layout, entry..entry + 1)?;
            let start = self.record.out.len();
            let value_at = self.behind(0, base, self.room.found.len());
            let end = self.room.found.len();
            if let [key, value] = layout.fields.as_slice() {
                self.field(key, base..value_at)?;
                entries.push(((start, self.record.out.len()), 0));
                self.field(value, value_at..end)?;
            }
            self.room.found.truncate(base);
            if let Some((_, end)) = entries.last_mut() {
                *end = self.record.out.len();
            }
        }
        let written = self.record.out.split_off(begin);
        let of = |from: usize, to: usize| &written[from - begin..to - begin];
        let last: HashMap<&[u8], usize> =
            (0..).zip(&entries).map(|(entry, &((from, to), _))| (of(from, to), entry)).collect();
        put::map(last.len(), self.record.out);
        for (entry, &((from, to), end)) in entries.iter().enumerate() {
            if last.get(of(from, to)) == Some(&entry) {
                self.record.out.extend_from_slice(of(from, end));
            }
        }
        Ok(())
    }

    /// Writes a value that is no message.
    fn scalar(&mut self, kind: &FieldKind, value: &[u8]) -> Result<(), String> {
        use FieldKind as K;
        let out = &mut *self.record.out;
        let four = || value.first_chunk::<4>().copied().unwrap_or_default();
        let eight = || value.first_chunk::<8>().copied().unwrap_or_default();
        match kind {
            K::Fixed32 => put::unsigned(u32::from_le_bytes(four()).into(), out),
            K::SFixed32 => put::signed(i32::from_le_bytes(four()).into(), out),
            K::Float => put::float32(f32::from_le_bytes(four()), out),
            K::Fixed64 => put::unsigned(u64::from_le_bytes(eight()), out),
            K::SFixed64 => put::signed(i64::from_le_bytes(eight()), out),
            K::Double => put::float64(f64::from_le_bytes(eight()), out),
            K::Text => put::text(value, out),
            K::Bytes => put::binary(value, out),
            // Of a number that is too long for its type the lower bits count, as in every reader of Protocol Buffers.
            K::Bool => put::boolean(whole(value)?.0 != 0, out),
            K::Int32 => put::signed((whole(value)?.0 as i32).into(), out),
            K::Int64 => put::signed(whole(value)?.0 as i64, out),
            K::UInt32 => put::unsigned((whole(value)?.0 as u32).into(), out),
            K::UInt64 => put::unsigned(whole(value)?.0, out),
            K::SInt32 => {
                let number = whole(value)?.0 as u32;
                put::signed(((number >> 1) as i32 ^ -((number & 1) as i32)).into(), out);
            }
            K::SInt64 => {
                let number = whole(value)?.0;
                put::signed((number >> 1) as i64 ^ -((number & 1) as i64), out);
            }
            K::Enum(names, _) => name(names, whole(value)?.0 as i32, out),
            K::Message(_) | K::Wrapper(_) | K::Moment(_) => {}
        }
        Ok(())
    }

    /// Writes what a field means that is not there, and is no message.
    fn zero(&mut self, kind: &FieldKind) {
        use FieldKind as K;
        let out = &mut *self.record.out;
        match kind {
            K::Bool => put::boolean(false, out),
            K::Float => put::float32(0.0, out),
            K::Double => put::float64(0.0, out),
            K::Text => put::text(b"", out),
            K::Bytes => put::binary(b"", out),
            K::Enum(names, first) => name(names, *first, out),
            _ => put::unsigned(0, out),
        }
    }
}

/// Writes the name of a value of an enum, or its number if it has none.
fn name(names: &[(i32, String)], number: i32, out: &mut Vec<u8>) {
    match names.binary_search_by_key(&number, |&(number, _)| number) {
        Ok(found) => put::text(names[found].1.as_bytes(), out),
        Err(_) => put::text(number.to_string().as_bytes(), out),
    }
}
