//! Writes rows as bincode.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef, TimeUnit};

use crate::error::Result;
use crate::rows::binary::check_flat;
use crate::rows::cells::{Cells, Written};
use crate::rows::encoder::RowWriter;

/// Writes batches as bincode.
pub struct BincodeWriter {
    columns: Vec<Column>,
}

struct Column {
    nullable: bool,
    /// Whether all values have one length, which is not written.
    one_length: bool,
}

impl BincodeWriter {
    /// A writer for this schema.
    pub fn new(schema: &SchemaRef) -> Result<BincodeWriter> {
        check_flat(schema)?;
        let columns = schema.fields().iter().map(|field| Column {
            nullable: field.is_nullable(),
            one_length: matches!(field.data_type(), DataType::FixedSizeBinary(_)),
        });
        Ok(BincodeWriter { columns: columns.collect() })
    }
}

impl RowWriter for BincodeWriter {
    fn is_text(&self) -> bool {
        false
    }

    fn write(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let written = Written::columns(batch)?;
        for row in 0..batch.num_rows() {
            for (values, column) in written.iter().zip(&self.columns) {
                if column.nullable {
                    let null = values.is_null(row);
                    out.push(u8::from(!null));
                    if null {
                        continue;
                    }
                }
                put(&values.cells, row, column.one_length, out);
            }
        }
        Ok(())
    }
}

fn put(cells: &Cells, row: usize, one_length: bool, out: &mut Vec<u8>) {
    let mut counted = |bytes: &[u8]| {
        if !one_length {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        }
        out.extend_from_slice(bytes);
    };
    match cells {
        Cells::Text(v) => counted(v.value(row).as_bytes()),
        Cells::Binary(v) => counted(v.value(row)),
        Cells::Bool(v) => out.push(u8::from(v.value(row))),
        Cells::Int8(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Int16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Int32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Int64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::UInt8(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::UInt16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::UInt32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::UInt64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Float16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Float32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Float64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Decimal(v, _) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Decimal256(v, _) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Date(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Timestamp(v, ..) => out.extend_from_slice(&v[row].to_le_bytes()),
        Cells::Time(v, TimeUnit::Second | TimeUnit::Millisecond) => {
            out.extend_from_slice(&(v[row] as i32).to_le_bytes());
        }
        Cells::Time(v, _) => out.extend_from_slice(&v[row].to_le_bytes()),
    }
}
