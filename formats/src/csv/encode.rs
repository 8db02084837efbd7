//! Encodes rows as csv (RFC 4180), with quotes only where they are needed.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use schema::FormatOptions;
use schema::zones::Clocks;

use crate::error::Result;
use crate::rows::cells::{Cells, Written};
use crate::rows::encoder::RowWriter;
use crate::rows::print::check_printable;
use crate::rows::quotes::Marks;

/// From this length on, a vectorised search beats a table.
const LONG_TEXT: usize = 16;

/// Writes batches as csv.
pub struct CsvWriter {
    marks: Marks,
    /// Bytes that make quotes necessary.
    special: [bool; 256],
    /// The delimiter or the quote may occur in numbers, dates and the like.
    check_words: bool,
    /// The clocks that instants are printed by; those of UTC if none.
    clocks: Option<Clocks>,
    head: Vec<u8>,
}

impl CsvWriter {
    /// A writer for this schema.
    pub fn new(schema: &SchemaRef, options: &FormatOptions) -> Result<CsvWriter> {
        check_printable(schema)?;
        let marks = super::marks(options)?;
        let mut special = [false; 256];
        for byte in [marks.delimiter, marks.quote, b'\n', b'\r'] {
            special[usize::from(byte)] = true;
        }
        let in_words = |byte: u8| byte.is_ascii_alphanumeric() || b"+-:.\\".contains(&byte);
        let check_words = in_words(marks.delimiter) || in_words(marks.quote);
        let mut writer =
            CsvWriter { marks, special, check_words, clocks: options.clocks(), head: Vec::new() };
        if options.header {
            let mut head = Vec::new();
            for (i, field) in schema.fields().iter().enumerate() {
                if i > 0 {
                    head.push(marks.delimiter);
                }
                writer.text(field.name().as_bytes(), &mut head);
            }
            head.push(b'\n');
            writer.head = head;
        }
        Ok(writer)
    }

    /// Appends a text, in quotes if it needs them.
    #[inline]
    fn text(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.is_bare(text) { out.extend_from_slice(text) } else { self.quoted(text, out) }
    }

    #[inline]
    fn is_bare(&self, text: &[u8]) -> bool {
        if text.len() < LONG_TEXT {
            // A text like a byte order mark would be lost at the beginning of a file.
            !text.is_empty() && text[0] != 0xef && !text.iter().any(|&b| self.special[usize::from(b)])
        } else {
            text[0] != 0xef
                && memchr::memchr3(self.marks.delimiter, self.marks.quote, b'\n', text).is_none()
                && memchr::memchr(b'\r', text).is_none()
        }
    }

    fn quoted(&self, text: &[u8], out: &mut Vec<u8>) {
        let quote = self.marks.quote;
        out.push(quote);
        let mut rest = text;
        while let Some(at) = memchr::memchr(quote, rest) {
            out.extend_from_slice(&rest[..=at]);
            out.push(quote);
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
        out.push(quote);
    }
}

impl RowWriter for CsvWriter {
    fn head(&self) -> &[u8] {
        &self.head
    }

    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = Written::columns_in(batch, self.clocks)?;
        let mut word = Vec::new();
        for row in 0..batch.num_rows() {
            for (i, column) in columns.iter().enumerate() {
                if i > 0 {
                    out.push(self.marks.delimiter);
                }
                if column.is_null(row) {
                    continue;
                }
                match &column.cells {
                    Cells::Text(texts) => self.text(texts.value(row).as_bytes(), out),
                    cells if self.check_words => {
                        word.clear();
                        cells.print(row, &mut word);
                        self.text(&word, out);
                    }
                    cells => cells.print(row, out),
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }
}
