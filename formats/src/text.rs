//! Text: a line is a row, with one column `line`.
//!
//! A line ends at a newline, before which a carriage return is dropped; the last line may lack its newline. On the way
//! out a value that would not come back as one line, and NULL, are errors.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::rows::batch::{Batch, Records};
use crate::rows::cells::Written;
use crate::rows::encoder::RowWriter;
use crate::rows::format::{Kind, RowFormat};
use crate::rows::print::check_printable;
use crate::rows::split::Border;
use crate::rows::syntax::{Syntax, Token};
use crate::rows::{BatchDecoder, Input, RecordParser};

/// Lines of text.
pub static TEXT: RowFormat = RowFormat {
    name: "text",
    title: "Lines of text",
    extensions: &["txt", "text", "log"],
    kind: Kind::Text,
    border: Border::Newline,
    splits: |_, _| true,
    decoder: |scan, _| Ok(Box::new(BatchDecoder::new(TextParser::new(scan)?, scan)?)),
    infer: |_, _, _| Ok(Arc::new(Schema::new(vec![Field::new("line", DataType::Utf8View, true)]))),
    probe: |_, _, _| None,
    writer: |schema, _| Ok(Box::new(TextWriter::new(schema)?)),
};

/// The bytes of lines that are looked at together.
const WINDOW_BYTES: usize = 64 << 10;

/// A line is a value as it stands.
#[derive(Clone, Copy)]
struct Line;

impl Syntax for Line {
    #[inline(always)]
    fn token(&self, _: &[u8], start: usize, end: usize) -> Token {
        if start == end { Token::Empty } else { Token::Plain(start, end) }
    }

    fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        out.extend_from_slice(raw);
        Some(0)
    }
}

struct TextParser {
    max_record: usize,
    lines: Vec<(usize, usize)>,
}

impl TextParser {
    fn new(scan: &ScanOptions) -> Result<TextParser> {
        if scan.schema.fields().len() != 1 {
            return Err(Error::Unsupported("text has one column; its schema must have one too".into()));
        }
        Ok(TextParser { max_record: scan.format.max_record, lines: Vec::new() })
    }
}

impl RecordParser for TextParser {
    fn is_line(&self) -> bool {
        true
    }

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let mut at = input.at;
        let limit = input.limit.min(bytes.len());
        while at < limit && batch.room() > 0 {
            let start = at;
            self.lines.clear();
            while at < limit && at - start < WINDOW_BYTES && self.lines.len() < batch.room() {
                let Some((end, next)) = input.line(at).filter(|(_, next)| next - at <= self.max_record)
                else {
                    break;
                };
                let end = if bytes[at..end].last() == Some(&b'\r') { end - 1 } else { end };
                self.lines.push((at, end));
                at = next;
            }
            let count = self.lines.len();
            if count == 0 {
                break;
            }
            let borders = |record: usize| self.lines[record];
            let records = Records::of(&input, start..at, count, count as u64).with_borders(&borders);
            batch.append(records, Line, |_| self.lines.iter().copied())?;
        }
        Ok(at - input.at)
    }
}

struct TextWriter;

impl TextWriter {
    fn new(schema: &SchemaRef) -> Result<TextWriter> {
        check_printable(schema)?;
        match schema.fields().len() {
            1 => Ok(TextWriter),
            n => Err(Error::Schema {
                path: "".into(),
                message: format!("text holds one column and not {n}; select one, or write csv or jsonl"),
            }),
        }
    }
}

impl RowWriter for TextWriter {
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = Written::columns(batch)?;
        let Some(column) = columns.first() else { return Ok(()) };
        for row in 0..batch.num_rows() {
            if column.is_null(row) {
                return Err(unwritable("NULL", "COALESCE gives another value for it"));
            }
            let start = out.len();
            column.cells.print(row, out);
            if memchr::memchr(b'\n', &out[start..]).is_some() || out[start..].ends_with(b"\r") {
                return Err(unwritable("a value with a line break", "REPLACE takes it out"));
            }
            out.push(b'\n');
        }
        Ok(())
    }
}

fn unwritable(what: &str, help: &str) -> Error {
    Error::Data(Box::new(DataError {
        message: format!("{what} has no form as a line of text"),
        help: Some(format!("{help}; csv and jsonl hold it")),
        ..DataError::default()
    }))
}
