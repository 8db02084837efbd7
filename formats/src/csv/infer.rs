//! The columns of a csv file from its first records.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use schema::{DeferredValidation, FormatOptions, OnError};

use super::decode::{CsvParser, CsvSyntax, single_record};
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::reader::Skipped;
use crate::rows::infer::{Kinds, Seen, too_many_columns};
use crate::rows::quotes::Marks;
use crate::rows::shape::MOST_COLUMNS;
use crate::rows::{BatchDecoder, Decoder, Input};

/// So many records are made into a batch: few, so that the memory of one serves the next.
const LOOKED_AT_ONCE: usize = 1024;

/// A decoder that looks at the values of the first records. Records with another number of fields than the first
/// are passed over.
pub struct CsvInference {
    format: FormatOptions,
    marks: Marks,
    seen: Seen,
    /// Reads all columns as text, once it is known how many they are.
    inner: Option<BatchDecoder<CsvParser>>,
    left: usize,
    /// The newlines up to the first record behind the header.
    passed: u64,
}

impl CsvInference {
    /// A decoder that looks at `rows` records.
    pub fn new(format: &FormatOptions, rows: usize, seen: Seen) -> Result<CsvInference> {
        let marks = super::marks(format)?;
        Ok(CsvInference { format: format.clone(), marks, seen, inner: None, left: rows, passed: 0 })
    }

    /// Takes the columns from the first record, and gives the bytes to pass: those of blank lines and of the header.
    fn begin(&mut self, input: &Input) -> Result<Option<usize>> {
        let bytes = input.block.as_slice();
        let mut at = input.at;
        let (fields, end) = loop {
            let Some(record) = single_record(bytes, at, input.last, self.marks, usize::MAX) else {
                return Ok(None);
            };
            if at < bytes.len() && record.is_blank() {
                at = record.end;
                continue;
            }
            break (record.fields, record.end);
        };
        if at == bytes.len() {
            return Ok(None);
        }
        if fields.len() > MOST_COLUMNS {
            return Err(too_many_columns());
        }
        let names: Vec<_> = fields.iter().enumerate().map(|(i, &field)| self.name(bytes, i, field)).collect();
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
        self.inner = Some(BatchDecoder::new(CsvParser::new(&scan, false)?, &scan)?);
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        names.into_iter().for_each(|name| seen.push(name));
        Ok(Some(if self.format.header { end } else { at } - input.at))
    }

    /// The name of a column: what the header says, or its number.
    fn name(&self, bytes: &[u8], place: usize, field: (usize, usize)) -> String {
        match CsvSyntax::new(self.marks).text(bytes, field).trim() {
            name if self.format.header && !name.is_empty() => name.to_string(),
            _ => format!("column{}", place + 1),
        }
    }

    fn look(&mut self, batch: &RecordBatch) {
        let batch = batch.slice(0, self.left.min(batch.num_rows()));
        self.left -= batch.num_rows();
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for (column, shape) in batch.columns().iter().zip(seen.shapes_mut()) {
            let texts = column.as_string_view().iter().flatten().filter(|text| !text.is_empty());
            for text in texts {
                // Text it stays, whatever else is seen.
                if shape.is_text() {
                    break;
                }
                shape.add(Kinds::of_field(text.as_bytes()));
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
                    self.passed = memchr::memchr_iter(b'\n', header).count() as u64;
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
