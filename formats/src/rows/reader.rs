//! Makes a [`Decoder`] a file reader: a morsel's bytes in, batches out.
//!
//! A record belongs to the morsel in which it begins. So a reader looks for the first record of its morsel, and asks
//! for bytes beyond its end until the last one is complete.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use schema::{FileEntry, FormatOptions, OnError};

use super::Decoder;
use super::blocks::{Blocks, Refill, Unpacking};
use super::quotes::{Marks, State};
use super::rewrite;
use super::schema_probe::SchemaProbe;
use super::source::Source;
use super::speculative::Speculative;
use super::split::{self, Border, SharedBorders, SharedWithin};
use crate::compress;
use crate::error::{Error, Result};
use crate::format::{Morsel, Part, ScanOptions};
use crate::reader::{FileReader, Next, Skipped};
use crate::rejects::Rejects;

/// No record is longer than this, whatever the options say, because positions in a block are 32 bits wide.
pub const MAX_RECORD: usize = 1 << 30;

/// What is read of a file at first of which only the beginning is looked at, in bytes.
const BEGINNING: u64 = 2 << 10;

/// UTF-8's byte order mark, which some programs put in front of text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Makes the decoder of an encoding; the flag says whether the data begins at the file's first byte.
pub type MakeDecoder = fn(&ScanOptions, bool) -> Result<Box<dyn Decoder>>;

/// A piece of a decompressed file.
pub struct Found {
    /// Its bytes and those behind it; the first record begins where they do.
    pub blocks: Blocks,
    /// The offset of the first record in the decompressed file.
    pub start: u64,
    /// Records that begin here or later are of other pieces.
    pub limit: u64,
    /// The size of the file as it lies there.
    pub size: Option<u64>,
    /// The decoder looks at the beginning of a file here. It does not where a [walker](super::stream::walker) did that and
    /// more records follow the piece: how the rows of a file lie depends on what follows.
    pub begins: bool,
}

/// Reads one morsel of a file of records.
pub struct RowReader {
    /// How another reader of the file is made, for counting.
    pub(super) again: Option<(MakeDecoder, ScanOptions, Border)>,
    pub(super) decoder: Box<dyn Decoder>,
    pub(super) phase: Phase,
    pub(super) blocks: Blocks,
    pub(super) size: Option<u64>,
    pub(super) start: u64,
    /// Records that begin here or later belong to other morsels.
    pub(super) limit: u64,
    pub(super) marks: Marks,
    pub(super) max_record: usize,
    /// What is assumed of the morsel's borders where no column is read.
    pub(super) guess: Option<Speculative>,
    /// The bytes of the file are rewritten, so that the offsets of values are not those of the file.
    rewritten: bool,
    /// It reads a whole file, and others may follow.
    whole: bool,
    /// What the morsels of the file know of long records.
    within: Option<Arc<SharedWithin>>,
    /// What each file is compared by before its records are read.
    pub(super) probe: Option<Box<dyn SchemaProbe>>,
    /// The file that follows, and how many have followed.
    pub(super) next: Option<(Source, Option<u64>)>,
    pub(super) followed: u64,
}

pub(super) enum Phase {
    /// All bytes of the morsel are asked for, to find what its quotes do.
    Gather { shared: Arc<SharedBorders>, morsel: usize, asked: bool },
    /// The state at the beginning is looked up, or assumed.
    Speculative,
    /// The morsels before have to be looked at first.
    Await { shared: Arc<SharedBorders>, morsel: usize },
    /// The first record is looked for.
    Seek(State),
    /// The first record is looked for in decompressed bytes.
    SeekText(State),
    /// The first bytes of the file are looked at for a byte order mark.
    Mark,
    /// The first records of the file are compared with those of others; `ended` says that no bytes follow.
    Compare { ended: bool },
    /// Records are decoded.
    Read,
    /// An error was found; the records before the morsel are counted to tell its row.
    Locate { error: Option<Error>, counter: Box<RowReader> },
    /// Nothing is left.
    Done,
}

impl RowReader {
    /// The reader of a morsel that [`split`](super::split::split) made with the same border.
    pub fn new(make: MakeDecoder, border: Border, morsel: &Morsel, scan: &ScanOptions) -> Result<RowReader> {
        let file = &morsel.file;
        let size = (file.bytes > 0).then_some(file.bytes);
        let marks = border.marks(&scan.format);
        let range = match &morsel.part {
            Part::Whole => 0..u64::MAX,
            Part::Bytes(range) => range.clone(),
            Part::Blocks(_) => split::raw_before(file, &morsel.part)..u64::MAX,
            Part::Turn(_) | Part::Groups(_) => {
                return Err(Error::Unsupported("records are not split by row groups".into()));
            }
        };
        let decoder = make(scan, range.start == 0)?;
        let mut reader = RowReader::over(decoder, &scan.format, range.clone(), size, marks)?;
        if border == Border::Unmarked {
            // What is not text has no byte order mark.
            reader.phase = Phase::Read;
        }
        reader.again = Some((make, scan.clone(), border));
        reader.within = morsel.shared.clone().downcast::<SharedWithin>().ok();
        match (&morsel.part, morsel.shared.clone().downcast::<SharedBorders>()) {
            (Part::Bytes(_), Ok(shared)) if border == Border::Quotes => {
                let morsel = shared.begins.partition_point(|&begin| begin < range.start);
                if scan.projection.is_empty() {
                    reader.guess = Some(Speculative::new(shared, morsel));
                    reader.phase = Phase::Speculative;
                } else {
                    reader.phase = Phase::Gather { shared, morsel, asked: false };
                }
            }
            (Part::Bytes(_), _) if reader.within.as_ref().is_some_and(|within| within.covers(&range)) => {
                reader.phase = Phase::Done;
            }
            (Part::Bytes(_), _) if range.start > 0 => {
                // A record begins behind a newline, which may be the last byte of the morsel before.
                reader.phase = Phase::Seek(State::Unquoted);
                reader.blocks.source = Source::new(range.start - 1, range.end, size);
            }
            (Part::Blocks(_), _) => {
                let compression = compress::compression(&scan.format.compression)?;
                let unpacking = match compression.decompressor()? {
                    None => Unpacking::Plain,
                    Some(_) => Unpacking::Listed(compression),
                };
                let source = Source::listed(split::blocks_of(file, &morsel.part));
                reader.blocks = Blocks::new(source, range.start, unpacking, reader.max_record);
            }
            (Part::Whole, _) => {
                reader.whole = true;
                reader.blocks.source = whole_file(file);
            }
            _ => {}
        }
        Ok(reader)
    }

    /// A reader of a piece of a file that was decompressed already: the records that begin in it.
    pub fn piece(make: MakeDecoder, border: Border, piece: Found, scan: &ScanOptions) -> Result<RowReader> {
        let Found { blocks, start, limit, size, begins } = piece;
        let marks = border.marks(&scan.format);
        let mut reader = RowReader::over(make(scan, begins)?, &scan.format, start..limit, size, marks)?;
        reader.blocks = blocks;
        reader.again = Some((make, scan.clone(), border));
        if border == Border::Unmarked {
            reader.phase = Phase::Read;
        }
        Ok(reader)
    }

    /// A reader of a file from its beginning on as far as a decoder of one's own goes, which is not far. `text` says
    /// whether a byte order mark is none of its records.
    pub fn beginning(
        decoder: Box<dyn Decoder>,
        file: &FileEntry,
        format: &FormatOptions,
        text: bool,
    ) -> Result<RowReader> {
        let marks = Marks { delimiter: b'\n', quote: b'\n' };
        let size = (file.bytes > 0).then_some(file.bytes);
        let mut reader = RowReader::over(decoder, format, 0..u64::MAX, size, marks)?;
        reader.blocks.source = Source::growing(BEGINNING, size);
        if !text {
            reader.phase = Phase::Read;
        }
        Ok(reader)
    }

    fn over(
        decoder: Box<dyn Decoder>,
        format: &FormatOptions,
        range: Range<u64>,
        size: Option<u64>,
        marks: Marks,
    ) -> Result<RowReader> {
        let decompressor = rewrite::decompressor(format)?;
        let unpacking = decompressor.map_or(Unpacking::Plain, Unpacking::Stream);
        let source = Source::new(range.start, range.end, size);
        let max_record = format.max_record.min(MAX_RECORD);
        Ok(RowReader {
            again: None,
            decoder,
            phase: if range.start == 0 { Phase::Mark } else { Phase::Read },
            blocks: Blocks::new(source, range.start, unpacking, max_record),
            size,
            start: range.start,
            limit: range.end,
            marks,
            max_record,
            guess: None,
            rewritten: format.rewrites(),
            whole: false,
            within: None,
            probe: None,
            next: None,
            followed: 0,
        })
    }

    /// Compares the beginning of each file with others before its records are read; for whole files with text.
    pub fn with(mut self, probe: Option<Box<dyn SchemaProbe>>) -> RowReader {
        self.probe = probe;
        self
    }

    /// Decodes until there is a batch, or another phase.
    fn read(&mut self) -> Result<Option<Next>> {
        loop {
            if !self.decoder.is_full() {
                if let Some(input) = self.blocks.input(self.limit)
                    && !self.blocks.is_waiting()
                {
                    let decoded = self.decoder.decode(input)?;
                    self.blocks.pass(decoded);
                }
                if self.blocks.is_before(self.limit) && !self.decoder.is_full() {
                    self.blocks.expect_line(self.decoder.is_line());
                    match self.blocks.refill().map_err(|e| self.in_row(e))? {
                        Refill::Ready => continue,
                        Refill::Need(range) => return Ok(Some(Next::Need(vec![range]))),
                        Refill::TooLong => return self.pass_too_long(),
                        Refill::Ended => {}
                    }
                }
            }
            let ended = !self.decoder.is_full();
            if ended && self.begin_next()? {
                return Ok(None);
            }
            match self.decoder.flush()? {
                Some(batch) => return Ok(Some(Next::Batch(batch))),
                None if ended => {
                    if let Some(within) = &self.within {
                        within.publish(self.limit..self.blocks.place());
                    }
                    self.phase = Phase::Done;
                    return Ok(None);
                }
                None => {}
            }
        }
    }

    /// Fills in the row of an error that tells the beginning of the next record.
    fn in_row(&self, mut error: Error) -> Error {
        if let Error::Data(e) = &mut error
            && e.offset == Some(self.blocks.place())
        {
            e.row = Some(self.decoder.position().0 + 1);
        }
        error
    }

    /// Passes what there is of a record that is too long and looks for the one behind it, or gives the error.
    fn pass_too_long(&mut self) -> Result<Option<Next>> {
        let Some(input) = self.blocks.input(self.limit) else { return Err(self.too_long()) };
        let message = format!("the record is longer than {} bytes", self.max_record);
        if !self.decoder.pass_line(input, message)? {
            return Err(self.too_long());
        }
        self.phase = Phase::SeekText(State::Unquoted);
        Ok(None)
    }

    pub(super) fn too_long(&self) -> Error {
        let (records, lines) = self.decoder.position();
        let mut error = Error::data(
            self.blocks.place(),
            format!("the record that begins here is longer than {} bytes", self.max_record),
        );
        if let Error::Data(e) = &mut error {
            (e.row, e.line) = (Some(records + 1), lines.map(|lines| lines + 1));
            e.help = Some("a closing quote may be missing; --max-record allows longer records".into());
        }
        error
    }

    /// Turns to counting the records before the morsel, for an error that names a row of it.
    pub(super) fn locate(&mut self, error: Error) -> Result<()> {
        let located = matches!(&error, Error::Data(e) if e.row.is_some()) && self.start > 0;
        let Some((make, scan, border)) = self.again.as_ref().filter(|_| located) else {
            self.phase = Phase::Done;
            return Err(error);
        };
        let mut scan = scan.clone();
        scan.projection.clear();
        scan.format.on_error = OnError::Skip;
        let decoder = make(&scan, true)?;
        let mut counter = RowReader::over(decoder, &scan.format, 0..self.start, self.size, self.marks)?;
        if *border == Border::Unmarked {
            counter.phase = Phase::Read;
        }
        self.phase = Phase::Locate { error: Some(error), counter: Box::new(counter) };
        Ok(())
    }

    /// Counts on; in the end gives the error.
    fn count(&mut self) -> Result<Next> {
        let Phase::Locate { error, counter } = &mut self.phase else { return Ok(Next::Done) };
        let counted = loop {
            match counter.next() {
                Ok(Next::Batch(_)) => {}
                Ok(next @ (Next::Need(_) | Next::Wait)) => return Ok(next),
                Ok(Next::Done) => break true,
                Err(_) => break false,
            }
        };
        let (records, lines) = counter.decoder.position();
        let mut error = error.take();
        if let Some(Error::Data(e)) = &mut error {
            // Where the records before can't be counted, the offset alone tells the place.
            e.row = e.row.filter(|_| counted).map(|row| row + records);
            e.line = e.line.filter(|_| counted).zip(lines).map(|(line, lines)| line + lines);
        }
        self.phase = Phase::Done;
        error.map_or(Ok(Next::Done), Err)
    }

    /// As [`FileReader::next`].
    fn go_on(&mut self) -> Result<Next> {
        loop {
            let next = match &self.phase {
                Phase::Gather { .. } => self.gather(),
                Phase::Speculative => {
                    self.begin_guess();
                    None
                }
                Phase::Await { .. } => self.wait(),
                Phase::Seek(state) => self.seek(*state)?,
                Phase::SeekText(state) => self.seek_text(*state)?,
                Phase::Mark => self.mark()?,
                Phase::Compare { ended } => self.compare(*ended)?,
                Phase::Read => match (self.read(), self.guess.as_mut().filter(|guess| guess.is_open())) {
                    (Ok(Some(Next::Batch(batch))), Some(guess)) => {
                        guess.hold(batch);
                        None
                    }
                    (Ok(next), _) => next,
                    (Err(error), Some(guess)) => {
                        guess.fail(error);
                        self.phase = Phase::Done;
                        None
                    }
                    (Err(error), None) => {
                        self.locate(error)?;
                        None
                    }
                },
                Phase::Locate { .. } => Some(self.count()?),
                Phase::Done => self.settle()?,
            };
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }
}

impl FileReader for RowReader {
    fn next(&mut self) -> Result<Next> {
        let rewritten = self.rewritten;
        self.go_on().map_err(|mut error| {
            if let Error::Data(e) = &mut error
                && e.row.is_some()
                && rewritten
            {
                e.offset = None;
            }
            error
        })
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        match &mut self.phase {
            Phase::Locate { counter, .. } => counter.give(range, bytes),
            _ => self.blocks.source.give(range, bytes),
        }
    }

    fn follow(&mut self, next: &Morsel) -> bool {
        if !self.whole || self.next.is_some() || next.part != Part::Whole {
            return false;
        }
        let size = (next.file.bytes > 0).then_some(next.file.bytes);
        self.next = Some((whole_file(&next.file), size));
        true
    }

    fn followed(&self) -> u64 {
        self.followed
    }

    fn skipped(&self) -> Skipped {
        self.decoder.skipped()
    }

    fn take_rejects(&mut self) -> Rejects {
        let mut rejects = self.decoder.take_rejects();
        if self.rewritten {
            rejects.rewritten();
        }
        if self.start > 0 {
            rejects.began_inside();
        }
        rejects
    }
}

/// All bytes of a file, compared with the checksum that its manifest has.
fn whole_file(file: &FileEntry) -> Source {
    let size = (file.bytes > 0).then_some(file.bytes);
    let mut source = Source::new(0, u64::MAX, size);
    if let (Some(listed), Some(_)) = (&file.listed, size) {
        source.check(listed.crc32);
    }
    source
}
