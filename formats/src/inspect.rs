//! What lies in a file, for people.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, DecimalType};
use arrow_array::{ArrayRef, BinaryArray, Int64Array};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, SchemaRef};

use crate::columns::bounds::Value;

/// What lies in a file that is made of parts, as far as the file says it without its values being read.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The columns.
    pub schema: SchemaRef,
    /// The number of rows, if the file has it.
    pub rows: Option<u64>,
    /// About the number of distinct values of each column; empty if the file does not have it.
    pub distinct: Vec<u64>,
    /// What a part is called: `row group`.
    pub part: &'static str,
    /// The names of the parts; empty if they have none.
    pub names: Vec<String>,
    /// The parts in order.
    pub parts: Vec<PartInspection>,
}

/// What lies in a row group or a record batch.
#[derive(Debug, Clone)]
pub struct PartInspection {
    /// The number of rows.
    pub rows: u64,
    /// A chunk for each column.
    pub chunks: Vec<ChunkInspection>,
}

/// What lies in a column of a part.
#[derive(Debug, Clone, Default)]
pub struct ChunkInspection {
    /// The column's name.
    pub column: String,
    /// The bytes before compression. Of buren they are those of the values, their width times the rows that have one,
    /// or of text and bytes their lengths. Of others they are those of what is encoded.
    pub raw_bytes: Option<u64>,
    /// The bytes in the file.
    pub stored_bytes: u64,
    /// The number of NULL rows.
    pub nulls: Option<u64>,
    /// About the number of distinct values.
    pub distinct: Option<u64>,
    /// The least value, or the beginning of it.
    pub min: Option<String>,
    /// The greatest value, or the beginning of it.
    pub max: Option<String>,
    /// The name of the compression, `none` if there is none.
    pub compression: String,
    /// How the values are encoded, in the words of the format.
    pub encoding: String,
}

/// A bound of a column of this type as text.
pub(crate) fn shown(value: &Value, data_type: &DataType) -> Option<String> {
    let array: ArrayRef = match value {
        Value::Int(n) => match data_type {
            DataType::Boolean => return Some((*n != 0).to_string()),
            DataType::Decimal128(precision, scale) => {
                return Some(Decimal128Type::format_decimal(*n, *precision, *scale));
            }
            _ => {
                let Ok(n) = i64::try_from(*n) else { return Some(n.to_string()) };
                let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values([n]));
                // Of what has 32 bits only numbers of 32 bits become dates.
                let narrow = match data_type {
                    DataType::Date32 => arrow_cast::cast(&numbers, &DataType::Int32).ok()?,
                    _ => numbers,
                };
                arrow_cast::cast(&narrow, data_type).ok()?
            }
        },
        Value::Float(x) => return Some(x.to_string()),
        Value::Bytes(bytes) if *data_type == DataType::Utf8View => {
            return Some(String::from_utf8_lossy(bytes).into_owned());
        }
        Value::Bytes(bytes) => Arc::new(BinaryArray::from_iter_values([bytes])),
    };
    array_value_to_string(&array, 0).ok()
}
