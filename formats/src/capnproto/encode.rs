//! Writes rows as messages, by the `capnp` crate. Each message is one segment, whatever its size.

use std::io;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use capnp::message::{Builder, ScratchSpaceHeapAllocator};
use capnp::private::layout::{PointerBuilder, StructBuilder, StructSize};
use capnp::traits::FromPointerBuilder;
use capnp::{serialize, serialize_packed, text};

use super::layout::{ColumnPlacement, Layout, layout};
use crate::error::{Error, Result};
use crate::rows::cells::{Cells, Written};
use crate::rows::encoder::RowWriter;

/// A list has at most 2^29 - 1 elements, and the NUL behind a text is one of them.
const MOST_BYTES: usize = (1 << 29) - 2;

/// The digits, the sign and the point of a decimal, in bytes; more than it can have.
const DECIMAL_BYTES: usize = 256;

/// Writes batches as messages.
pub struct MessageWriter {
    layout: Layout,
    packed: bool,
}

impl MessageWriter {
    /// A writer for this schema, of packed messages or plain ones.
    pub fn new(schema: &SchemaRef, packed: bool) -> Result<MessageWriter> {
        Ok(MessageWriter { layout: layout(schema)?, packed })
    }

    /// The words of the message of a row, or more.
    fn words(&self, columns: &[Written], row: usize) -> Result<usize> {
        let root = 1;
        let mut words = root + usize::from(self.layout.data_words) + usize::from(self.layout.pointers);
        for column in columns.iter().filter(|column| !column.is_null(row)) {
            // The lower 32 bits of a view are the value's length.
            let bytes = match &column.cells {
                Cells::Text(v) => v.views()[row] as u32 as usize,
                Cells::Binary(v) => v.views()[row] as u32 as usize,
                Cells::Decimal(..) | Cells::Decimal256(..) => DECIMAL_BYTES,
                _ => continue,
            };
            if bytes > MOST_BYTES {
                return Err(Error::Unsupported(format!(
                    "a value has {bytes} bytes, of which Cap'n Proto has room for {MOST_BYTES}; write another format"
                )));
            }
            words += bytes / 8 + 1;
        }
        Ok(words)
    }
}

impl RowWriter for MessageWriter {
    fn is_text(&self) -> bool {
        false
    }

    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = Written::columns(batch)?;
        let mut words = 0;
        for row in 0..batch.num_rows() {
            words = words.max(self.words(&columns, row)?);
        }
        let mut scratch = capnp::Word::allocate_zeroed_vec(words);
        let mut allocator = ScratchSpaceHeapAllocator::new(capnp::Word::words_to_bytes_mut(&mut scratch));
        let mut digits = Vec::new();
        let size = u32::from(self.layout.data_words) << 16 | u32::from(self.layout.pointers);
        for row in 0..batch.num_rows() {
            let mut message = Builder::new(&mut allocator);
            let mut fields = message.initn_root::<Row>(size).0;
            for (column, place) in columns.iter().zip(&self.layout.places) {
                if !column.is_null(row) {
                    put(&column.cells, row, *place, &mut digits, &mut fields);
                }
            }
            let written = match self.packed {
                true => serialize_packed::write_message(&mut *out, &message),
                false => serialize::write_message(&mut *out, &message),
            };
            written.map_err(|e| Error::io("", "write", io::Error::other(e)))?;
        }
        Ok(())
    }
}

/// A struct that is being built.
struct Row<'a>(StructBuilder<'a>);

impl<'a> FromPointerBuilder<'a> for Row<'a> {
    /// `size` is the words of the data section, times 2^16, and the pointers.
    fn init_pointer(builder: PointerBuilder<'a>, size: u32) -> Row<'a> {
        Row(builder.init_struct(StructSize { data: (size >> 16) as u16, pointers: size as u16 }))
    }

    fn get_from_pointer(
        builder: PointerBuilder<'a>,
        default: Option<&'a [capnp::Word]>,
    ) -> capnp::Result<Row<'a>> {
        builder.get_struct(StructSize { data: 0, pointers: 0 }, default).map(Row)
    }
}

fn put(cells: &Cells, row: usize, place: ColumnPlacement, digits: &mut Vec<u8>, fields: &mut StructBuilder) {
    let (bits, at) = match place {
        ColumnPlacement::Pointer { number, text } => {
            let mut pointer = fields.reborrow().get_pointer_field(number as usize);
            let value = match cells {
                Cells::Text(v) => v.value(row).as_bytes(),
                Cells::Binary(v) => v.value(row),
                _ => {
                    digits.clear();
                    cells.print(row, digits);
                    digits
                }
            };
            match text {
                true => pointer.set_text(text::Reader(value)),
                false => pointer.set_data(value),
            }
            return;
        }
        ColumnPlacement::Data { bits, offset, tag } => {
            if let Some(tag) = tag {
                fields.set_data_field(tag as usize, 1u16);
            }
            (bits, offset as usize)
        }
    };
    match cells {
        Cells::Bool(v) => fields.set_bool_field(at, v.value(row)),
        Cells::Int8(v) => fields.set_data_field(at, v[row]),
        Cells::Int16(v) => fields.set_data_field(at, v[row]),
        Cells::Int32(v) => fields.set_data_field(at, v[row]),
        Cells::Int64(v) => fields.set_data_field(at, v[row]),
        Cells::UInt8(v) => fields.set_data_field(at, v[row]),
        Cells::UInt16(v) => fields.set_data_field(at, v[row]),
        Cells::UInt32(v) => fields.set_data_field(at, v[row]),
        Cells::UInt64(v) => fields.set_data_field(at, v[row]),
        Cells::Float16(v) => fields.set_data_field(at, v[row].to_f32()),
        Cells::Float32(v) => fields.set_data_field(at, v[row]),
        Cells::Float64(v) => fields.set_data_field(at, v[row]),
        Cells::Date(v) => fields.set_data_field(at, v[row]),
        Cells::Time(v, _) if bits == 32 => fields.set_data_field(at, v[row] as i32),
        Cells::Timestamp(v, ..) | Cells::Time(v, _) => fields.set_data_field(at, v[row]),
        Cells::Decimal(..) | Cells::Decimal256(..) | Cells::Text(_) | Cells::Binary(_) => {
            unreachable!("these are pointers")
        }
    }
}
