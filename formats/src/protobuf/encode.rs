//! Writes rows as messages.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::wire;
use crate::error::Result;
use crate::rows::binary::check_flat;
use crate::rows::cells::{Cells, Written};
use crate::rows::encoder::RowWriter;

/// Writes batches as messages, each behind its length.
pub struct MessageWriter {
    /// The tag of each column.
    tags: Vec<Vec<u8>>,
}

impl MessageWriter {
    /// A writer for this schema.
    pub fn new(schema: &SchemaRef) -> Result<MessageWriter> {
        check_flat(schema)?;
        let tags = schema.fields().iter().zip(1u64..).map(|(field, number)| {
            let mut tag = Vec::new();
            varint(number << 3 | wire(field.data_type()) as u64, &mut tag);
            tag
        });
        Ok(MessageWriter { tags: tags.collect() })
    }
}

impl RowWriter for MessageWriter {
    fn is_text(&self) -> bool {
        false
    }

    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = Written::columns(batch)?;
        let (mut message, mut word) = (Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            message.clear();
            for (column, tag) in columns.iter().zip(&self.tags) {
                if !column.is_null(row) {
                    message.extend_from_slice(tag);
                    put(&column.cells, row, &mut word, &mut message);
                }
            }
            counted(&message, out);
        }
        Ok(())
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A whole number of two's complement, in 64 bits.
fn signed(value: i64, out: &mut Vec<u8>) {
    varint(value as u64, out);
}

fn counted(bytes: &[u8], out: &mut Vec<u8>) {
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put(cells: &Cells, row: usize, word: &mut Vec<u8>, out: &mut Vec<u8>) {
    match cells {
        Cells::Bool(v) => out.push(u8::from(v.value(row))),
        Cells::Int8(v) => signed(v[row].into(), out),
        Cells::Int16(v) => signed(v[row].into(), out),
        Cells::Int32(v) => signed(v[row].into(), out),
        Cells::Int64(v) => signed(v[row], out),
        Cells::UInt8(v) => varint(v[row].into(), out),
        Cells::UInt16(v) => varint(v[row].into(), out),
        Cells::UInt32(v) => varint(v[row].into(), out),
        Cells::UInt64(v) => varint(v[row], out),
        Cells::Float16(v) => out.extend_from_slice(&v[row].to_f32().to_le_bytes()),
        Cells::Float32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Float64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Date(v) => signed(v[row].into(), out),
        Cells::Timestamp(v, ..) | Cells::Time(v, _) => signed(v[row], out),
        Cells::Text(v) => counted(v.value(row).as_bytes(), out),
        Cells::Binary(v) => counted(v.value(row), out),
        Cells::Decimal(..) | Cells::Decimal256(..) => {
            word.clear();
            cells.print(row, word);
            counted(word, out);
        }
    }
}
