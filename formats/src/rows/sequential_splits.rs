//! Sequential splits: pieces of files that are found as the file is read. They are for compressed files, and for
//! records that only the records before delimit.
//!
//! The workers take turns. The worker whose turn it is finds the next piece, and hands on where the piece behind it
//! begins. Then it parses its piece, while the next worker is at its turn. How a piece is found depends on the file:
//! - The headers of some compressions tell the sizes of *units*, which can be decompressed on their own. Then a turn
//!   reads only the headers, and the worker decompresses the piece after its turn. Units of foreign tools begin
//!   anywhere in a record. So each worker tells the effect of its piece on the quote state, as for the morsels of
//!   uncompressed files.
//! - Otherwise a turn decompresses, or walks over records, and the piece ends with its last whole record.
//!
//! A worker may find a record that is too long, bytes that are no unit, or damage. Then it reads the rest of the file
//! alone, in order, so that the outcome is that of a file that is not cut.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use arrow_buffer::Buffer;
use bytes::Bytes;
use schema::Splitting;

use super::blocks::{self, Blocks, Unpacking};
use super::quotes::{Transition, first_record};
use super::reader::{BYTE_ORDER_MARK, Found, MAX_RECORD, MakeDecoder, RowReader};
use super::rewrite;
use super::source::Source;
use super::split::{Border, SharedQuotes};
use super::stream::{Find, Stream, walker};
use crate::compress::{self, Compression, Unit};
use crate::error::Result;
use crate::format::{Morsel, ScanOptions};
use crate::reader::{FileReader, Next, Skipped};
use crate::rejects::Rejects;

/// The bytes of a piece before compression, about, if the caller does not ask for fewer.
const PIECE_BYTES: usize = 2 << 20;

/// The bytes of the file in which units are first looked for.
const WINDOW_BYTES: u64 = 512 << 10;

/// The most bytes of the file in which units are looked for.
pub const MAX_WINDOW: u64 = 8 << 20;

/// The most bytes that a unit may hold before compression.
pub const MAX_UNIT: usize = 16 << 20;

/// How long a worker waits for its turn before it looks for other work.
const PATIENCE: Duration = Duration::from_micros(500);

/// The state that the morsels of one file share.
pub struct SequentialSplits {
    state: Mutex<State>,
    changed: Condvar,
    quotes: SharedQuotes,
    /// The bytes of a piece before compression, about.
    piece_bytes: usize,
}

struct State {
    /// The number of the piece that is found next.
    turn: usize,
    /// The place where that piece begins. The worker whose turn it is takes it out.
    cursor: Option<Cursor>,
    /// The later turns that no worker takes.
    skipped: BTreeSet<usize>,
    ended: bool,
}

impl State {
    fn next_turn(&mut self) {
        self.turn += 1;
        while self.skipped.remove(&self.turn) {
            self.turn += 1;
        }
    }
}

/// The place where the next piece begins.
enum Cursor {
    /// The offset of a unit in the file, and in the decompressed file.
    Units(u64, u64),
    /// The begin of a stream.
    Fresh,
    /// A place in a stream, with the state that finds the ends of records.
    Stream(Box<Stream>),
}

impl SequentialSplits {
    /// The turns of a file that is cut by `cut`. Pieces have at most about `most` bytes before compression.
    pub fn new(cut: Splitting, most: u64) -> SequentialSplits {
        let cursor = Some(if cut == Splitting::Units { Cursor::Units(0, 0) } else { Cursor::Fresh });
        let state = Mutex::new(State { turn: 0, cursor, skipped: BTreeSet::new(), ended: false });
        let piece_bytes = usize::try_from(most).unwrap_or(PIECE_BYTES).clamp(1, PIECE_BYTES);
        SequentialSplits { state, changed: Condvar::new(), quotes: SharedQuotes::default(), piece_bytes }
    }

    /// Whether all pieces of the file were found, and this one is not among them.
    pub fn is_over(&self, number: usize) -> bool {
        let state = self.lock();
        state.ended && number >= state.turn
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the cursor, if it is the turn of this piece. Waits a little for the turn. `Err` if there is no such piece.
    fn take(&self, number: usize) -> Result<Option<Cursor>, ()> {
        let mut state = self.lock();
        if !state.ended && state.turn != number {
            let waited = self.changed.wait_timeout(state, PATIENCE);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        match state.turn == number {
            _ if state.ended => Err(()),
            true => Ok(state.cursor.take()),
            false => Ok(None),
        }
    }

    /// Ends a turn. Without a cursor the file has no more pieces.
    fn hand_on(&self, cursor: Option<Cursor>) {
        let mut state = self.lock();
        state.ended = cursor.is_none();
        state.cursor = cursor;
        state.next_turn();
        self.changed.notify_all();
    }

    /// Skips a turn: no worker takes it.
    fn skip(&self, number: usize) {
        self.quotes.publish(number, Transition::identity());
        let mut state = self.lock();
        match state.turn == number {
            true => state.next_turn(),
            false => _ = state.skipped.insert(number),
        }
        self.changed.notify_all();
    }
}

/// The reader of the piece of one turn.
pub struct SequentialReader {
    turns: Arc<SequentialSplits>,
    number: usize,
    make: MakeDecoder,
    border: Border,
    scan: ScanOptions,
    compression: &'static dyn Compression,
    size: Option<u64>,
    crc32: Option<u32>,
    phase: Phase,
}

enum Phase {
    /// It is not the reader's turn yet.
    Wait,
    /// The reader looks for units from `at` on, in a window of `len` bytes.
    Window {
        at: u64,
        raw: u64,
        len: u64,
        given: Option<Bytes>,
    },
    /// The reader decompresses a stream.
    Stream(Box<Stream>),
    /// The quote state in which a piece of units begins is not known yet. `bytes` are the piece, `start` is their
    /// offset in the decompressed file, and `behind` is the offset of the next byte in the file.
    Await {
        bytes: Buffer,
        start: u64,
        behind: u64,
    },
    /// As `Await`, for the rest of the file from `at` on.
    AwaitRest {
        at: u64,
        raw: u64,
    },
    /// The reader decodes records.
    Read(Box<RowReader>),
    Done,
}

impl SequentialReader {
    /// The reader of a morsel that is a turn.
    pub fn new(
        make: MakeDecoder,
        border: Border,
        morsel: &Morsel,
        turns: Arc<SequentialSplits>,
        number: usize,
        scan: &ScanOptions,
    ) -> Result<SequentialReader> {
        let size = (morsel.file.bytes > 0).then_some(morsel.file.bytes);
        Ok(SequentialReader {
            turns,
            number,
            make,
            border,
            scan: scan.clone(),
            compression: compress::compression(&scan.format.compression)?,
            size,
            crc32: morsel.file.listed.as_ref().map(|listed| listed.crc32),
            phase: Phase::Wait,
        })
    }

    fn max_record(&self) -> usize {
        self.scan.format.max_record.min(MAX_RECORD)
    }

    fn wait(&mut self) -> Result<Option<Next>> {
        self.phase = match self.turns.take(self.number) {
            Err(()) => Phase::Done,
            Ok(None) => return Ok(Some(Next::Wait)),
            Ok(Some(Cursor::Units(at, raw))) => Phase::Window { at, raw, len: WINDOW_BYTES, given: None },
            Ok(Some(Cursor::Stream(stream))) => Phase::Stream(stream),
            Ok(Some(Cursor::Fresh)) => {
                let mut source = Source::new(0, u64::MAX, self.size);
                if let Some(crc32) = self.crc32 {
                    source.check(crc32);
                }
                let decompressor = rewrite::decompressor(&self.scan.format)?;
                let unpacking = decompressor.map_or(Unpacking::Plain, Unpacking::Stream);
                let walker = match self.border {
                    Border::Unmarked => Some(walker(self.make, &self.scan)?),
                    Border::Newline | Border::Quotes => None,
                };
                let blocks = Blocks::new(source, 0, unpacking, self.max_record());
                Phase::Stream(Box::new(Stream::new(blocks, walker)))
            }
        };
        Ok(None)
    }

    /// Finds units by their headers, ends the turn, and decompresses the units.
    fn find_units(&mut self) -> Result<Option<Next>> {
        let Phase::Window { at, raw, len, given } = &mut self.phase else { return Ok(None) };
        let (at, raw) = (*at, *raw);
        let Some(bytes) = given else {
            let end = self.size.map_or(at + *len, |size| size.min(at + *len));
            let window = at..end;
            return Ok(Some(Next::Need(vec![window])));
        };
        let ends = Some(at + bytes.len() as u64) == self.size;
        let (mut packed, mut found, mut stuck) = (0, 0, false);
        while found < self.turns.piece_bytes && packed < bytes.len() {
            match self.compression.unit(&bytes[packed..]) {
                Unit::Whole { packed: more, raw, aligned }
                    if raw <= MAX_UNIT && (aligned || self.border != Border::Unmarked) =>
                {
                    (packed, found) = (packed + more, found + raw);
                }
                Unit::Short if !ends && packed > 0 => break,
                Unit::Short if !ends && *len < MAX_WINDOW => {
                    (*len, *given) = (*len * 2, None);
                    return Ok(None);
                }
                Unit::Whole { .. } | Unit::Short | Unit::Unknown => {
                    stuck = true;
                    break;
                }
            }
        }
        if stuck && packed == 0 {
            self.turns.hand_on(None);
            self.phase = Phase::AwaitRest { at, raw };
            return Ok(None);
        }
        let behind = at + packed as u64;
        let over = Some(behind) == self.size;
        self.turns.hand_on((!over).then_some(Cursor::Units(behind, raw + found as u64)));
        let units = bytes.slice(..packed);
        let mut text = Vec::with_capacity(found);
        blocks::expand(self.compression, at, &units, found, &mut text)?;
        self.publish(raw, &text);
        self.phase = Phase::Await { bytes: Buffer::from_vec(text), start: raw, behind };
        Ok(None)
    }

    /// Publishes the effect of a piece on the quote state.
    fn publish(&self, start: u64, text: &[u8]) {
        let text = match start {
            0 => text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text),
            _ => text,
        };
        let transition = match self.border {
            Border::Quotes => {
                let mut transition = Transition::identity();
                transition.extend(text, self.border.marks(&self.scan.format));
                transition
            }
            Border::Newline => Transition::of_lines(text),
            // Units of such records begin with a whole record.
            Border::Unmarked => Transition::identity(),
        };
        self.turns.quotes.publish(self.number, transition);
    }

    /// Begins to read the records that begin in a piece of units. The last one may go on behind the piece.
    fn begin_units(&mut self) -> Result<Option<Next>> {
        let Phase::Await { bytes, start, behind } = &self.phase else { return Ok(None) };
        let Some(state) = self.turns.quotes.start(self.number) else { return Ok(Some(Next::Wait)) };
        let (start, limit) = (*start, *start + bytes.len() as u64);
        let Ok(first) = first_record(state, bytes, self.border.marks(&self.scan.format)) else {
            self.phase = Phase::Done;
            return Ok(None);
        };
        let unpacking = self.compression.resume()?.map_or(Unpacking::Plain, Unpacking::Stream);
        let mut blocks =
            Blocks::new(Source::new(*behind, *behind, self.size), start, unpacking, self.max_record());
        blocks.place_at(start, bytes.clone(), first);
        let start = start + first as u64;
        self.read(Found { blocks, start, limit, size: self.size, begins: start == 0 })
    }

    /// Begins to read the rest of the file.
    fn begin_rest(&mut self) -> Result<Option<Next>> {
        let Phase::AwaitRest { at, raw } = self.phase else { return Ok(None) };
        let Some(state) = self.turns.quotes.start(self.number) else { return Ok(Some(Next::Wait)) };
        // What is rewritten has no units.
        let decompressor = if at == 0 { self.compression.decompressor() } else { self.compression.resume() };
        let unpacking = decompressor?.map_or(Unpacking::Plain, Unpacking::Stream);
        let source = Source::new(at, u64::MAX, self.size);
        let blocks = Blocks::new(source, raw, unpacking, self.max_record());
        self.read(Found { blocks, start: raw, limit: u64::MAX, size: self.size, begins: raw == 0 })?;
        if let Phase::Read(reader) = &mut self.phase {
            reader.pass_to_record(state);
        }
        Ok(None)
    }

    fn read(&mut self, found: Found) -> Result<Option<Next>> {
        self.phase = Phase::Read(Box::new(RowReader::piece(self.make, self.border, found, &self.scan)?));
        Ok(None)
    }

    /// Decompresses until there is a piece of whole records, and ends the turn.
    fn find_records(&mut self) -> Result<Option<Next>> {
        let Phase::Stream(stream) = &mut self.phase else { return Ok(None) };
        let piece = stream.next(self.border, &self.scan.format, self.turns.piece_bytes)?;
        let Phase::Stream(stream) = std::mem::replace(&mut self.phase, Phase::Done) else { return Ok(None) };
        match piece {
            Find::Need(range) => {
                self.phase = Phase::Stream(stream);
                Ok(Some(Next::Need(vec![range])))
            }
            Find::Records(pieces, last) => {
                self.turns.hand_on((!last).then_some(Cursor::Stream(stream)));
                let start = pieces.front().map_or(0, |(offset, _)| *offset);
                let whole = last && pieces.len() == 1;
                let begins = start == 0 && (whole || self.border != Border::Unmarked);
                let blocks = Blocks::of(pieces, self.max_record());
                self.read(Found { blocks, start, limit: u64::MAX, size: self.size, begins })
            }
            Find::Rest => {
                self.turns.hand_on(None);
                let start = stream.place();
                let blocks = stream.into_blocks();
                self.read(Found { blocks, start, limit: u64::MAX, size: self.size, begins: start == 0 })
            }
        }
    }
}

impl FileReader for SequentialReader {
    fn next(&mut self) -> Result<Next> {
        loop {
            let next = match &mut self.phase {
                Phase::Wait => self.wait()?,
                Phase::Window { .. } => self.find_units()?,
                Phase::Stream(_) => self.find_records()?,
                Phase::Await { .. } => self.begin_units()?,
                Phase::AwaitRest { .. } => self.begin_rest()?,
                Phase::Read(reader) => return reader.next(),
                Phase::Done => return Ok(Next::Done),
            };
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        match &mut self.phase {
            Phase::Window { given, .. } => {
                let mut source = Source::new(range.start, range.end, self.size);
                source.give(range, bytes.clone())?;
                *given = Some(bytes);
                Ok(())
            }
            Phase::Stream(stream) => stream.give(range, bytes),
            Phase::Read(reader) => reader.give(range, bytes),
            _ => Ok(()),
        }
    }

    fn skipped(&self) -> Skipped {
        match &self.phase {
            Phase::Read(reader) => reader.skipped(),
            _ => Skipped::default(),
        }
    }

    fn take_rejects(&mut self) -> Rejects {
        match &mut self.phase {
            Phase::Read(reader) => reader.take_rejects(),
            _ => Rejects::default(),
        }
    }
}

impl Drop for SequentialReader {
    /// Ends the turn of a reader that is dropped before its turn (its worker needs no more rows) or fails in it. Other
    /// readers would wait for it.
    fn drop(&mut self) {
        match self.phase {
            Phase::Wait => self.turns.skip(self.number),
            Phase::Window { .. } | Phase::Stream(_) => self.turns.hand_on(None),
            Phase::Await { .. } | Phase::AwaitRest { .. } | Phase::Read(_) | Phase::Done => {}
        }
    }
}
