//! Decodes csv (RFC 4180): windows of regular records column by column, others one by one.

use arrow_schema::DataType;
use memchr::memmem;
use schema::{FormatOptions, OnError};

use super::count::count;
use super::first::FirstRecord;
use super::index::Index;
use super::style::{Style, Styled};
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::rejects::RejectKind;
use crate::rows::batch::{Batch, Misfit, Records};
use crate::rows::quotes::{Marks, State};
use crate::rows::syntax::{Syntax, Token};
use crate::rows::walk::missing;
use crate::rows::{Input, RecordParser};

/// What is indexed at once: small enough for the text and its index to stay in a core's cache.
const WINDOW_BYTES: usize = 32 << 10;
/// The same behind a record that is not as it should be.
const SMALL_WINDOW_BYTES: usize = 512;

/// A record that is longer is taken byte by byte: an index has room for eight times its window.
const LONGEST_INDEXED: usize = 2 << 20;

/// What is counted at once, where no column is wanted.
const COUNTED_BYTES: usize = 256 << 10;

/// Fields of csv: a bare empty field is NULL, `""` is the empty string, two quotes inside quotes are one.
#[derive(Debug, Clone, Copy)]
pub struct CsvSyntax {
    quote: u8,
    /// A number is what a number is printed as.
    printed: bool,
}

impl Syntax for CsvSyntax {
    const UTF8: bool = true;

    #[inline(always)]
    fn token(&self, bytes: &[u8], start: usize, end: usize) -> Token {
        if start >= end {
            Token::Null
        } else if bytes[start] != self.quote {
            Token::Plain(start, end)
        } else {
            self.quoted(bytes, start, end)
        }
    }

    fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        let mut rest = raw;
        while let Some(at) = memchr::memchr(self.quote, rest) {
            if rest.get(at + 1) != Some(&self.quote) {
                return None;
            }
            out.extend_from_slice(&rest[..=at]);
            rest = &rest[at + 2..];
        }
        out.extend_from_slice(rest);
        Some(0)
    }

    #[cold]
    fn refusal(&self, value: &[u8]) -> Option<&'static str> {
        std::str::from_utf8(value).is_err().then_some("these bytes are not UTF-8")
    }

    #[cold]
    fn cure(&self, value: &[u8], data_type: &DataType) -> Option<&'static str> {
        cure(value, self.quote, data_type)
    }

    #[inline(always)]
    fn takes_printed(&self) -> bool {
        self.printed
    }
}

impl CsvSyntax {
    /// The syntax with this quote.
    pub fn new(marks: Marks) -> CsvSyntax {
        CsvSyntax { quote: marks.quote, printed: false }
    }

    /// The same where types were inferred from examples: a number then is what a number is printed as.
    fn of_inferred(self, inferred: bool) -> CsvSyntax {
        CsvSyntax { printed: inferred, ..self }
    }

    /// The text of a field, with U+FFFD for what is no text; empty if its quotes are not as they should be.
    pub fn text(&self, bytes: &[u8], (start, end): (usize, usize)) -> String {
        let mut text = Vec::new();
        match self.token(bytes, start, end) {
            Token::Plain(start, end) => text.extend_from_slice(&bytes[start..end]),
            Token::Escaped(start, end) if self.unescape(&bytes[start..end], &mut text).is_none() => {
                text.clear();
            }
            _ => {}
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    #[inline]
    fn quoted(&self, bytes: &[u8], start: usize, end: usize) -> Token {
        if end - start < 2 || bytes[end - 1] != self.quote {
            Token::Broken
        } else if end - start == 2 {
            Token::Empty
        } else if memchr::memchr(self.quote, &bytes[start + 1..end - 1]).is_some() {
            Token::Escaped(start + 1, end - 1)
        } else {
            Token::Plain(start + 1, end - 1)
        }
    }
}

/// What would read a field that is no value of the type of its column.
fn cure(value: &[u8], quote: u8, data_type: &DataType) -> Option<&'static str> {
    if quote == b'"' && memmem::find(value, b"\\\"").is_some() {
        return Some("--escape '\\' reads \\\" in a value as a quote");
    }
    let value = value.trim_ascii();
    let unquoted = value.strip_prefix(&[quote]).and_then(|value| value.strip_suffix(&[quote]));
    let value = unquoted.unwrap_or(value).trim_ascii();
    if std::str::from_utf8(value).is_err() {
        return Some("--encoding latin-1 reads it, or windows-1252, utf-16 or what the file has");
    }
    let is_of = |marks: &[u8]| value.iter().all(|byte| byte.is_ascii_digit() || marks.contains(byte));
    let words: [&[u8]; 9] = [b"na", b"n/a", b"#n/a", b"null", b"none", b"nil", b"-", b"--", b"?"];
    if value == br"\N" || words.iter().any(|word| value.eq_ignore_ascii_case(word)) {
        Some("--nullstr names the texts that are NULL")
    } else if data_type.is_numeric() && value.contains(&b',') && is_of(b"+-.,eE") {
        Some("--decimal-separator , and --thousands say how numbers are written")
    } else if data_type.is_temporal()
        && value.first().is_some_and(u8::is_ascii_digit)
        && is_of(b"./-: APMapm")
    {
        Some("--dateformat and --timestampformat say how dates are written")
    } else {
        None
    }
}

/// A record that was found byte by byte.
pub struct Single {
    /// Its fields, as many of them as were asked for.
    pub fields: Vec<(usize, usize)>,
    /// How many it has.
    pub count: usize,
    /// Where it ends, its newline included.
    pub end: usize,
}

impl Single {
    /// Whether it is a blank line.
    pub fn is_blank(&self) -> bool {
        self.count == 1 && matches!(self.fields[..], [(start, end)] if start == end)
    }

    /// Whether it is a comment, of which its character is left.
    pub fn is_comment(&self, bytes: &[u8], comment: Option<u8>) -> bool {
        let is_it = |start: usize, end: usize| bytes[start..end].trim_ascii().iter().copied().eq(comment);
        comment.is_some() && self.count == 1 && matches!(self.fields[..], [(start, end)] if is_it(start, end))
    }
}

/// The record that begins at `at`, with its first `most` fields. `None` if it goes on beyond the bytes; with `last`, the
/// data ends with them, and that happens only within quotes.
pub fn single_record(bytes: &[u8], at: usize, last: bool, marks: Marks, most: usize) -> Option<Single> {
    let (mut fields, mut count) = (Vec::new(), 0);
    let (mut state, mut start, mut end) = (State::RecordStart, at, at);
    while end < bytes.len() {
        state = state.step(bytes[end], marks);
        end += 1;
        if matches!(state, State::FieldStart | State::RecordStart) {
            count += 1;
            if count <= most {
                fields.push((start, end - 1));
            }
            start = end;
        }
        if state == State::RecordStart {
            break;
        }
    }
    if state != State::RecordStart || end == at {
        if !last || state == State::Quoted {
            return None;
        }
        count += 1;
        if count <= most {
            fields.push((start, end));
        }
    }
    if let Some((start, end)) = fields.last_mut()
        && count <= most
        && end > start
        && bytes[*end - 1] == b'\r'
    {
        *end -= 1;
    }
    Some(Single { fields, count, end })
}

/// The lines that are skipped at the beginning of a file.
fn skipped(format: &FormatOptions) -> u64 {
    format.dialect.as_ref().map_or(0, |dialect| dialect.skip)
}

/// An error of one of the first records, which may be no record.
fn at_beginning(mut error: Error) -> Error {
    /// Lines before a header are hardly longer together.
    const BYTES: u64 = 4096;
    if let Error::Data(e) = &mut error
        && e.offset.is_some_and(|offset| offset < BYTES)
        && let Some(help) = &mut e.help
    {
        help.push_str(", --skip N passes over lines before the header");
    }
    error
}

/// An error of a record in which quotes may be written in another way: with a backslash before them, or as apostrophes.
fn quoted_otherwise(mut error: Error, record: &[u8], marks: Marks) -> Error {
    /// The bytes that are looked at.
    const BYTES: usize = 4096;
    let record = &record[..record.len().min(BYTES)];
    let apostrophes = [&[marks.delimiter, b'\''][..], &[b'\'', marks.delimiter]];
    if let Error::Data(e) = &mut error
        && let Some(help) = &mut e.help
        && marks.quote == b'"'
    {
        if memmem::find(record, b"\\\"").is_some() {
            help.push_str(", --escape '\\' reads \\\" in a value as a quote");
        } else if apostrophes.iter().any(|pair| memmem::find(record, pair).is_some()) {
            help.push_str(", --quote \"'\" reads values between apostrophes");
        }
    }
    error
}

/// The parser of csv.
pub struct CsvParser {
    /// Positions in the record of the columns wanted.
    wanted: Vec<usize>,
    /// The fields of a record.
    columns: usize,
    marks: Marks,
    syntax: CsvSyntax,
    /// How values are written, if that is not as palais writes them.
    style: Option<Style>,
    comment: Option<u8>,
    /// The fields that a record lacks are NULL.
    pads: bool,
    /// The lines that are skipped at the beginning of a file, and those of them that are not counted yet.
    skip: u64,
    skipped: u64,
    index: Index,
    /// The bytes that are indexed at once.
    window: usize,
    max_record: usize,
    /// The header is still to come.
    header: bool,
    /// Files have a header.
    headers: bool,
    first: FirstRecord,
    /// See [`RecordParser::state_at_limit`].
    at_limit: State,
}

impl CsvParser {
    /// A parser of records with the columns of the scan's schema, in that order. `first` says that the data begins
    /// at the file's beginning, where the header stands if there is one.
    pub fn new(scan: &ScanOptions, first: bool) -> Result<CsvParser> {
        let format = &scan.format;
        let marks = super::marks(format)?;
        if scan.schema.fields().is_empty() {
            return Err(Error::Unsupported("a csv file without columns cannot be read".into()));
        }
        Ok(CsvParser {
            wanted: scan.projection.clone(),
            columns: scan.schema.fields().len(),
            marks,
            syntax: CsvSyntax::new(marks).of_inferred(format.inferred),
            style: Style::new(format)?,
            comment: format.comment(),
            pads: format.pads(),
            skipped: if first { skipped(format) } else { 0 },
            skip: skipped(format),
            index: Index::default(),
            window: WINDOW_BYTES,
            max_record: format.max_record,
            header: first && format.header,
            headers: format.header,
            first: FirstRecord::new(scan, marks, first),
            at_limit: State::RecordStart,
        })
    }

    /// Whether a comment looks as a record does, which has one field.
    fn is_mixed(&self) -> bool {
        self.columns == 1 && self.comment.is_some()
    }

    /// Counts regular records from `at` on where no column is wanted; gives the bytes consumed. What it leaves is
    /// decoded.
    fn count(&self, input: &Input, at: usize, batch: &mut Batch) -> Result<usize> {
        if !self.wanted.is_empty() || self.is_mixed() {
            return Ok(0);
        }
        // No record of the window is longer than the window.
        let to = input.block.len().min(input.limit).min(at + COUNTED_BYTES.min(self.max_record));
        let window = &input.block[at..to];
        let counted = count(window, self.columns, batch.room(), self.marks);
        if counted.records == 0 {
            return Ok(0);
        }
        let lines = match counted.quoted {
            true => memchr::memchr_iter(b'\n', &window[..counted.end]).count(),
            false => counted.records,
        };
        let records = Records::of(input, at..at + counted.end, counted.records, lines as u64);
        batch.append(records, self.syntax, |_| std::iter::empty())?;
        Ok(counted.end)
    }

    /// Decodes records from `at` on; gives the bytes consumed, 0 if the next one is not whole or too long.
    fn window(&mut self, input: &Input, at: usize, batch: &mut Batch) -> Result<usize> {
        let counted = self.count(input, at, batch)?;
        if counted > 0 {
            return Ok(counted);
        }
        if self.is_mixed() {
            return self.single(input, at, batch);
        }
        let len = input.block.len();
        let mut size = self.window;
        loop {
            let to = len.min(at + size);
            self.index.scan(input.block, at, to, self.columns, input.last && to == len, self.marks);
            if self.index.records > 0 {
                self.window = (self.window * 4).min(WINDOW_BYTES);
                return self.regular(input, at, batch);
            }
            if self.index.irregular {
                // Others may follow, and what is indexed behind them is indexed again.
                self.window = SMALL_WINDOW_BYTES;
                return self.single(input, at, batch);
            }
            if to == len {
                return Ok(0);
            }
            if size >= LONGEST_INDEXED {
                return self.single(input, at, batch);
            }
            size *= 4;
        }
    }

    /// Decodes the records that are indexed.
    fn regular(&mut self, input: &Input, at: usize, batch: &mut Batch) -> Result<usize> {
        let mut count = self.index.records.min(batch.room());
        while count > 1 && self.index.end(count - 2) >= input.limit {
            count -= 1;
        }
        // The last record of the data may lack its newline, and ends as if it had one.
        let end_of = |record| self.index.end(record).min(input.block.len());
        if end_of(count - 1) - at > self.max_record {
            let mut start = at;
            for record in 0..count {
                let end = end_of(record);
                if end - start > self.max_record {
                    if record > 0 {
                        count = record;
                        break;
                    }
                    return Ok(0);
                }
                start = end;
            }
        }
        let end = end_of(count - 1);
        let lines =
            if self.index.quoted { memchr::memchr_iter(b'\n', &input.block[at..end]).count() } else { count };
        let borders = |record: usize| (record.checked_sub(1).map_or(at, end_of), end_of(record));
        let records = Records::of(input, at..end, count, lines as u64).with_borders(&borders);
        let (index, columns, wanted) = (&self.index, self.columns, &self.wanted);
        let bytes = input.block.as_slice();
        let fields = |i: usize| {
            let last = wanted[i] == columns - 1;
            index.fields(wanted[i], columns, count).map(move |(start, end)| {
                // The carriage return of a CRLF is no part of the last field.
                let cut = last && end > start && bytes[end - 1] == b'\r';
                (start, end - usize::from(cut))
            })
        };
        match &self.style {
            None => batch.append(records, self.syntax, fields)?,
            Some(style) => batch.append(records, Styled { plain: self.syntax, style }, fields)?,
        }
        Ok(end - at)
    }

    /// Takes one record byte by byte: the header, a blank line, or one that is not as it should be. Gives the bytes
    /// consumed, as above.
    fn single(&mut self, input: &Input, at: usize, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let Some(record) = single_record(bytes, at, input.last, self.marks, self.columns) else {
            if !input.last || bytes.len() - at > self.max_record {
                return Ok(0);
            }
            let records = Records::of(input, at..bytes.len(), 1, 0);
            return Err(quoted_otherwise(batch.unclosed_quote(&records), &bytes[at..], self.marks));
        };
        let (blank, comment) = (record.is_blank(), record.is_comment(bytes, self.comment));
        let Single { mut fields, count, end } = record;
        if end - at > self.max_record {
            return Ok(0);
        }
        let lines = memchr::memchr_iter(b'\n', &bytes[at..end]).count() as u64;
        let records = Records::of(input, at..end, 1, lines);
        if self.header || comment || (blank && self.columns > 1) {
            // Blank lines and comments may stand before the header.
            self.header &= blank || comment;
            batch.pass_lines(lines);
        } else if count == self.columns {
            self.one(records, &fields, batch)?;
        } else if (self.pads && count < self.columns) || batch.on_error() == OnError::Null {
            if !self.pads || count > self.columns {
                let values = self.columns.abs_diff(count) as u64;
                batch.count_values(values, &records, || self.misfit(at, &fields, count));
            }
            fields.resize(self.columns, missing(at));
            self.one(records, &fields, batch)?;
        } else {
            let misfit = self.misfit(at, &fields, count);
            let told = |error| quoted_otherwise(at_beginning(error), &bytes[at..end], self.marks);
            batch.misfit(records, misfit, 0).map_err(told)?;
        }
        Ok(end - at)
    }

    /// What is wrong with the record at `at`, which has `count` fields.
    fn misfit(&self, at: usize, fields: &[(usize, usize)], count: usize) -> Misfit {
        let is_short = count < self.columns;
        Misfit {
            kind: if is_short { RejectKind::MissingColumns } else { RejectKind::TooManyColumns },
            message: format!("expected {} fields, this record has {count}", self.columns),
            column: Some(if is_short { count } else { self.columns }),
            // It shows behind the last field that there should be.
            at: fields.last().map_or(at, |(_, end)| *end),
        }
    }

    fn one(&self, records: Records, fields: &[(usize, usize)], batch: &mut Batch) -> Result<()> {
        let fields = |i: usize| std::iter::once(fields[self.wanted[i]]);
        match &self.style {
            None => batch.append(records, self.syntax, fields),
            Some(style) => batch.append(records, Styled { plain: self.syntax, style }, fields),
        }
    }
}

impl RecordParser for CsvParser {
    fn restart(&mut self) {
        (self.header, self.skipped) = (self.headers, self.skip);
        self.first.restart();
    }

    fn state_at_limit(&self) -> State {
        self.at_limit
    }

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let mut at = input.at;
        let end = input.limit.min(input.block.len());
        batch.pass_lines(std::mem::take(&mut self.skipped));
        self.first.check(&input, at)?;
        while at < end && batch.room() > 0 {
            let consumed =
                if self.header { self.single(&input, at, batch)? } else { self.window(&input, at, batch)? };
            if consumed == 0 {
                break;
            }
            if at + consumed > input.limit {
                self.at_limit = State::RecordStart.advance(&input.block[at..input.limit], self.marks);
            }
            at += consumed;
        }
        Ok(at - input.at)
    }
}
