//! Decodes JSON: each record is walked once to find the wanted fields, then columns are filled one by one.

use std::borrow::Cow;

use super::cursor::{Cursor, Fields};
use super::frame::{Frames, Wrong};
use super::ways::Ways;
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::rejects::RejectKind;
use crate::rows::batch::{Batch, Records};
use crate::rows::json_strings::unescape;
use crate::rows::keys::{ColumnSlots, Keys, UNKNOWN, Unknown};
use crate::rows::noted::Places;
use crate::rows::syntax::{Syntax, Token};
use crate::rows::walk::{Span, is_missing, missing, spans};
use crate::rows::{Input, RecordParser};

/// The bytes of lines that are walked before columns are filled.
const WINDOW_BYTES: usize = 64 << 10;

/// JSON values: strings lose their quotes and escapes, other values are text as they stand.
#[derive(Clone, Copy)]
struct JsonSyntax {
    /// Types were inferred from examples: a number is then what a number is printed as, and no `"007"` in quotes.
    printed: bool,
}

impl Syntax for JsonSyntax {
    const NESTED: bool = true;

    #[inline(always)]
    fn token(&self, bytes: &[u8], start: usize, end: usize) -> Token {
        if start >= end {
            return Token::Null;
        }
        match bytes[start] {
            b'"' if end - start == 2 => Token::Empty,
            b'"' if memchr::memchr(b'\\', &bytes[start + 1..end - 1]).is_some() => {
                Token::Escaped(start + 1, end - 1)
            }
            b'"' => Token::Plain(start + 1, end - 1),
            b'n' => Token::Null,
            _ => Token::Plain(start, end),
        }
    }

    fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        unescape(raw, out)
    }

    fn elements(&self, bytes: &[u8], (start, end): Span, each: &mut impl FnMut(Span)) -> Option<()> {
        Cursor::new(&bytes[..end], start).list(each)
    }

    fn members(
        &self,
        bytes: &[u8],
        (start, end): Span,
        each: &mut impl FnMut(Option<Span>, Span),
    ) -> Option<()> {
        // A key is a value as others are, its quotes included.
        let mut member = |(from, to): Span, value: Span| each(Some((from - 1, to + 1)), value);
        Cursor::new(&bytes[..end], start).record(&mut member).ok()
    }

    fn key<'a>(&self, bytes: &'a [u8], (from, to): Span) -> Option<Cow<'a, [u8]>> {
        bytes.get(from + 1..to - 1).map(Cow::Borrowed)
    }

    fn name(&self, key: &[u8]) -> Option<Vec<u8>> {
        name(key)
    }

    #[inline(always)]
    fn takes_printed(&self) -> bool {
        self.printed
    }
}

/// The parser of JSON, however its records lie.
pub struct JsonParser {
    frames: Frames,
    keys: Keys,
    slots: ColumnSlots,
    places: Places,
    ways: Ways,
    /// The fields found, `places.each` for each record.
    found: Vec<Span>,
    /// Where the records lie, if what is passed over is kept.
    records: Vec<Span>,
    /// Values under keys that name no column.
    unknown: Unknown,
    syntax: JsonSyntax,
    max_record: usize,
}

impl JsonParser {
    /// A parser that finds the columns by their names; `first` says whether the data begins at the file's first byte.
    pub fn new(scan: &ScanOptions, first: bool) -> JsonParser {
        let slots = ColumnSlots::new(scan);
        JsonParser {
            frames: Frames::new(&scan.format, first),
            keys: Keys::new(scan, &slots),
            places: Places::of(scan, &slots),
            ways: Ways::default(),
            slots,
            found: Vec::new(),
            records: Vec::new(),
            unknown: Unknown::default(),
            syntax: JsonSyntax { printed: scan.format.inferred },
            max_record: scan.format.max_record,
        }
    }

    /// Walks over the record `start..end`, and notes where its wanted fields lie.
    fn walk(&mut self, bytes: &[u8], start: usize, end: usize) -> Result<(), String> {
        let first = self.found.len();
        self.found.resize(first + self.places.each, missing(start));
        let found = &mut self.found[first..];
        self.places.begin(found, true);
        if self.ways.walk(bytes, (start, end), found) {
            return Ok(());
        }
        found[..self.slots.count].fill(missing(start));
        self.places.begin(found, false);
        let unknown = &mut self.unknown;
        let mut finder = Finder { bytes, keys: &mut self.keys, found, unknown, place: 0, twice: None };
        let walked = Cursor::new(&bytes[..end], start).record(&mut finder);
        let walked = walked.map_err(|wrong| format!("the record is not JSON: {wrong}"));
        let walked = walked.and(match finder.twice {
            None => Ok(()),
            Some((from, to)) => {
                Err(format!("the key {} is there twice", String::from_utf8_lossy(&bytes[from..to])))
            }
        });
        match walked {
            Ok(()) => self.ways.keep(bytes, (start, end), &self.keys, &self.places),
            Err(_) => self.found.truncate(first),
        }
        walked
    }
}

/// Notes where the wanted fields of a record lie.
struct Finder<'a> {
    bytes: &'a [u8],
    keys: &'a mut Keys,
    found: &'a mut [Span],
    unknown: &'a mut Unknown,
    /// The keys passed.
    place: usize,
    /// A key of a wanted field that was there before: which of the values is meant, nobody knows.
    twice: Option<Span>,
}

impl Fields for Finder<'_> {
    #[inline(always)]
    fn expected(&self) -> Option<&[u8]> {
        self.keys.expected(self.place)
    }

    #[inline(always)]
    fn field(&mut self, known: bool, key: Span, value: Span) {
        let slot = match known {
            true => self.keys.expected_slot(self.place),
            false => self.keys.slot(self.place, &self.bytes[key.0..key.1], name),
        };
        match slot {
            // NULL is what a row without the column has.
            Some(UNKNOWN) if self.bytes[value.0] == b'n' => {}
            Some(UNKNOWN) => self.unknown.see(&self.bytes[key.0..key.1]),
            Some(slot) => {
                if !is_missing(self.found[slot]) {
                    self.twice = Some(key);
                }
                self.found[slot] = value;
            }
            None => {}
        }
        self.place += 1;
    }
}

/// The name that a key spells.
pub fn name(raw: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    unescape(raw, &mut name).map(|_| name)
}

/// The error of a file in which the next record can't be told apart, so that no option passes over it. The block that
/// was looked at begins at `offset` of the file.
pub fn broken(offset: u64, records: u64, frames: &Frames, wrong: Wrong) -> Error {
    let Wrong { place, message, help } = wrong;
    Error::Data(Box::new(DataError {
        row: Some(records + 1),
        offset: Some(offset + place as u64),
        message: format!("the file is not {}: {message}", frames.should_be()),
        help,
        ..DataError::default()
    }))
}

impl RecordParser for JsonParser {
    const NESTED: bool = JsonSyntax::NESTED;

    fn restart(&mut self) {
        self.frames.restart();
    }

    fn is_line(&self) -> bool {
        self.frames.are_lines()
    }

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let limit = input.limit.min(bytes.len());
        let mut at = input.at;
        while at < limit && batch.room() > 0 {
            let (start, room) = (at, batch.room());
            let (mut count, mut lines, mut wrong, mut lost) = (0, 0, None, None);
            self.found.clear();
            self.records.clear();
            let keeps = batch.keeps_rejects();
            while at < limit && at - start < WINDOW_BYTES && count < room {
                // Nothing is looked for further than a record may be long, however many bytes are at hand.
                let within = bytes.len().min(at.saturating_add(self.max_record));
                let last = input.last && within == bytes.len();
                let frame = match self.frames.next(&bytes[..within], at, last) {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    // The elements before it come first.
                    Err(wrong) => {
                        lost = Some(wrong);
                        break;
                    }
                };
                if let Some((start, end)) = frame.record {
                    if let Err(message) = self.walk(bytes, start, end) {
                        wrong = Some((start, frame, message));
                        break;
                    }
                    if keeps {
                        self.records.push((start, end));
                    }
                    count += 1;
                }
                lines += frame.lines;
                at = frame.next;
            }
            let (found, slots, each) = (&self.found, &self.slots.of_batch, self.places.each);
            let fields = |column: usize| spans(found, slots[column], each);
            let borders = |record: usize| self.records[record];
            let noted = |column: usize| self.places.noted(found, slots[column]);
            let records = Records::of(&input, start..at, count, lines);
            batch.append(records.with_borders(&borders).with_noted(&noted), self.syntax, fields)?;
            batch.count_unknown(std::mem::take(&mut self.unknown));
            if let Some(wrong) = lost {
                return Err(broken(input.offset, batch.records(), &self.frames, wrong));
            }
            if let Some((begin, frame, message)) = wrong {
                // What stands before an element of an array is not the record's.
                let before = memchr::memchr_iter(b'\n', &bytes[at..begin]).count() as u64;
                batch.pass_lines(before);
                let (end, lines) = (frame.next, frame.lines - before);
                let (record, width) = (Records::of(&input, begin..end, 1, lines), batch.width() as u64);
                batch.malformed(record, RejectKind::InvalidState, message, width)?;
                at = end;
            } else if at == start {
                break;
            }
        }
        Ok(at - input.at)
    }
}
