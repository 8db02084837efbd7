//! The columns of a csv file from its first records.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use schema::{DeferredValidation, FormatOptions, OnError};

use super::decode::{CsvParser, CsvSyntax, single_record};
use super::index::Index;
use super::style::Style;
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::reader::Skipped;
use crate::rows::infer::{Kinds, Seen, too_many_columns};
use crate::rows::quotes::Marks;
use crate::rows::shape::MOST_COLUMNS;
use crate::rows::{BatchDecoder, Decoder, Input};

/// From so many records on that are looked at, those of other places are too.
const MANY_ROWS: usize = 1000;

/// So many records are made into a batch: few, so that the memory of one serves the next.
const LOOKED_AT_ONCE: usize = 1024;

/// What was seen of a column whose values have a style.
#[derive(Debug, Clone, Default)]
struct StyledKinds {
    /// The kinds of values by the formats of dates and timestamps, and whether a value is there that they don't read.
    formatted: Kinds,
    others: bool,
    /// The kinds of all values without the formats.
    plain: Kinds,
}

impl StyledKinds {
    /// Adds a value, and gives the kinds of all so far. Formats count where they read all values: eight digits are a
    /// number else.
    fn add(&mut self, (formatted, plain): (Option<Kinds>, Kinds)) -> Kinds {
        self.plain.add(plain);
        match formatted {
            Some(kinds) => self.formatted.add(kinds),
            None => self.others = true,
        }
        if self.others { self.plain } else { self.formatted }
    }
}

/// The error of a first record that is not UTF-8, which begins at this offset.
fn not_utf8(offset: u64) -> Error {
    Error::Data(Box::new(DataError {
        offset: Some(offset),
        message: "the first record is not UTF-8".into(),
        help: Some("--encoding latin-1 reads it, or windows-1252, utf-16 or what the file has".into()),
        ..DataError::default()
    }))
}

/// A decoder that looks at the values of the first records. Records with another number of fields than the first
/// are passed over.
pub struct CsvInference {
    format: FormatOptions,
    marks: Marks,
    seen: Seen,
    /// Reads all columns as text, once it is known how many they are.
    inner: Option<BatchDecoder<CsvParser>>,
    left: usize,
    style: Option<Style>,
    /// What was seen of each column, where values have a style.
    styled: Vec<StyledKinds>,
    /// Lines from other places of the file.
    places: Vec<Bytes>,
    /// The newlines up to the first record behind the header.
    passed: u64,
}

impl CsvInference {
    /// A decoder that looks at `rows` records, and, if these are not few, at those of other places too.
    pub fn new(
        format: &FormatOptions,
        rows: usize,
        seen: Seen,
        places: impl FnOnce() -> Vec<Bytes>,
    ) -> Result<CsvInference> {
        let marks = super::marks(format)?;
        let style = Style::new(format)?;
        Ok(CsvInference {
            format: format.clone(),
            marks,
            seen,
            inner: None,
            left: rows,
            style,
            styled: Vec::new(),
            places: if rows >= MANY_ROWS { places() } else { Vec::new() },
            passed: 0,
        })
    }

    /// Takes the columns from the first record, and gives the bytes to pass: those of blank lines and of the header.
    fn begin(&mut self, input: &Input) -> Result<Option<usize>> {
        let bytes = input.block.as_slice();
        let mut at = input.at;
        let (fields, end) = loop {
            let Some(record) = single_record(bytes, at, input.last, self.marks, usize::MAX) else {
                return Ok(None);
            };
            if at < bytes.len() && (record.is_blank() || record.is_comment(bytes, self.format.comment())) {
                at = record.end;
                continue;
            }
            break (record.fields, record.end);
        };
        if at == bytes.len() {
            return Ok(None);
        }
        let width = if self.format.pads() { self.width(input, at) } else { fields.len() };
        if width > MOST_COLUMNS {
            return Err(too_many_columns());
        }
        // A field that the first record lacks has no name there.
        let field = |i: usize| fields.get(i).copied().unwrap_or((end, end));
        let names: Vec<_> = (0..width).map(|i| self.name(bytes, i, field(i))).collect();
        // Names that differ in their letters' case alone are told apart where a query uses them.
        let doubled = names.iter().collect::<HashSet<_>>().len() < names.len();
        let names = match schema::names::distinct(names.iter().map(String::as_str)) {
            Some(distinct) if doubled => distinct,
            _ => names,
        };
        let text = names.iter().map(|name| Field::new(name, DataType::Utf8View, true));
        let scan = ScanOptions {
            schema: Arc::new(Schema::new(text.collect::<Vec<_>>())),
            projection: (0..names.len()).collect(),
            bounds: Vec::new(),
            prefixes: vec![],
            unseen: DeferredValidation::Nothing,
            batch_rows: self.left.clamp(1, LOOKED_AT_ONCE),
            format: FormatOptions { on_error: OnError::Skip, ..self.format.clone() },
        };
        // They would be names that nobody can write.
        if std::str::from_utf8(&bytes[at..end]).is_err() {
            return Err(not_utf8(input.offset + at as u64));
        }
        self.inner = Some(BatchDecoder::new(CsvParser::new(&scan, false)?, &scan)?);
        let columns = names.len();
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        names.into_iter().for_each(|name| seen.push(name));
        drop(seen);
        self.look_elsewhere(columns);
        Ok(Some(if self.format.header { end } else { at } - input.at))
    }

    /// The most fields of a record from `at` on, of those that are at hand and looked at.
    fn width(&self, input: &Input, mut at: usize) -> usize {
        let bytes = input.block.as_slice();
        let mut width = 0;
        for _ in 0..self.left.saturating_add(1) {
            let record = (at < bytes.len())
                .then(|| single_record(bytes, at, input.last, self.marks, usize::MAX))
                .flatten();
            let Some(record) = record else { break };
            (width, at) = (width.max(record.count), record.end);
        }
        width
    }

    /// The name of a column: what the header says, or its number.
    fn name(&self, bytes: &[u8], place: usize, field: (usize, usize)) -> String {
        match CsvSyntax::new(self.marks).text(bytes, field).trim() {
            name if self.format.header && !name.is_empty() => name.to_string(),
            _ => format!("column{}", place + 1),
        }
    }

    /// Looks at the records of other places than the head. Lines that are not all regular say nothing: they may begin
    /// within quotes.
    fn look_elsewhere(&mut self, columns: usize) {
        let mut index = Index::default();
        for lines in std::mem::take(&mut self.places) {
            index.scan(&lines, 0, lines.len(), columns, true, self.marks);
            if index.irregular {
                continue;
            }
            let syntax = CsvSyntax::new(self.marks);
            let field = |column: usize, (start, end): (usize, usize)| {
                // The carriage return of a CRLF is no part of the last field.
                let cut = column == columns - 1 && end > start && lines[end - 1] == b'\r';
                syntax.text(&lines, (start, end - usize::from(cut)))
            };
            let texts = (0..columns).map(|column| {
                let fields = index.fields(column, columns, index.records);
                StringViewArray::from_iter_values(fields.map(|ends| field(column, ends)))
            });
            let texts: Vec<_> = texts.collect();
            self.see(texts.iter());
        }
    }

    fn look(&mut self, batch: &RecordBatch) {
        let batch = batch.slice(0, self.left.min(batch.num_rows()));
        self.left -= batch.num_rows();
        self.see(batch.columns().iter().map(|column| column.as_string_view()));
    }

    /// Looks at the values of columns.
    fn see<'a>(&mut self, columns: impl ExactSizeIterator<Item = &'a StringViewArray>) {
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.styled.resize(columns.len(), StyledKinds::default());
        for ((column, shape), styled) in columns.zip(seen.shapes_mut()).zip(&mut self.styled) {
            let texts = column.iter().flatten().filter(|text| !text.is_empty());
            for text in texts {
                // Text it stays, whatever else is seen.
                if shape.is_text() {
                    break;
                }
                match &self.style {
                    None => shape.add(Kinds::of_field(text.as_bytes())),
                    Some(style) => shape.set(styled.add(style.kinds(text.as_bytes()))),
                }
            }
        }
    }
}

impl Decoder for CsvInference {
    fn decode(&mut self, mut input: Input) -> Result<usize> {
        let mut consumed = 0;
        if self.inner.is_none() {
            match self.begin(&input)? {
                Some(passed) => {
                    let header = &input.block[input.at..input.at + passed];
                    let skipped = self.format.dialect.as_ref().map_or(0, |dialect| dialect.skip);
                    self.passed = skipped + memchr::memchr_iter(b'\n', header).count() as u64;
                    consumed = passed;
                }
                None if input.last => return Ok(input.block.len() - input.at),
                None => return Ok(0),
            }
        }
        input.at += consumed;
        while self.left > 0 {
            let Some(inner) = &mut self.inner else { break };
            let passed = self.passed;
            let decoded = inner.decode(input).map_err(|mut error| {
                if let Error::Data(e) = &mut error {
                    e.line = e.line.map(|line| line + passed);
                }
                error
            })?;
            consumed += decoded;
            input.at += decoded;
            // What follows a batch that is not full is not whole.
            let full = inner.is_full();
            if let Some(batch) = inner.flush()? {
                self.look(&batch);
            }
            if !full {
                break;
            }
        }
        Ok(consumed)
    }

    fn is_full(&self) -> bool {
        self.inner.is_some() && self.left == 0
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.is_full().then(|| RecordBatch::new_empty(Arc::new(Schema::empty()))))
    }

    fn position(&self) -> (u64, Option<u64>) {
        let (records, lines) = self.inner.as_ref().map_or((0, Some(0)), |inner| inner.position());
        (records, lines.map(|lines| self.passed + lines))
    }

    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}
