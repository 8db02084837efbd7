//! Encodes rows as JSON lines: an object a row, all columns in every object, NULL as `null`.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Result;
use crate::rows::cells::{Cells, Written};
use crate::rows::encoder::RowWriter;
use crate::rows::print::{Kind, check_printable};

/// Writes batches as JSON lines.
pub struct JsonWriter {
    /// What stands before the value of each column: the brace or comma, the name, the colon.
    keys: Vec<Vec<u8>>,
}

impl JsonWriter {
    /// A writer for this schema.
    pub fn new(schema: &SchemaRef) -> Result<JsonWriter> {
        check_printable(schema)?;
        let keys = schema.fields().iter().enumerate().map(|(i, field)| {
            let mut key = vec![if i == 0 { b'{' } else { b',' }];
            string(field.name().as_bytes(), &mut key);
            key.push(b':');
            key
        });
        Ok(JsonWriter { keys: keys.collect() })
    }
}

/// Appends a string in quotes.
fn string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            _ => {
                let digit = b"0123456789abcdef"[usize::from(byte & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit]);
            }
        }
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

impl RowWriter for JsonWriter {
    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = Written::columns(batch)?;
        let mut word = Vec::new();
        for row in 0..batch.num_rows() {
            for (column, key) in columns.iter().zip(&self.keys) {
                out.extend_from_slice(key);
                if column.is_null(row) {
                    out.extend_from_slice(b"null");
                    continue;
                }
                match &column.cells {
                    Cells::Text(texts) => string(texts.value(row).as_bytes(), out),
                    cells if matches!(cells.kind(row), Kind::Number | Kind::Bool) => cells.print(row, out),
                    cells => {
                        word.clear();
                        cells.print(row, &mut word);
                        string(&word, out);
                    }
                }
            }
            out.extend_from_slice(if columns.is_empty() { b"{}\n" } else { b"}\n" });
        }
        Ok(())
    }
}
