//! Column types as bytes.
//!
//! ```text
//! type = tag: u8, then
//!        decimal    precision: u8  scale: i8
//!        timestamp  unit: u8 (seconds, milli-, micro-, nanoseconds)  zoned: u8 (0 or 1)  zone: text, if zoned
//! text = length: u16  bytes
//! ```

use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType, Field, TimeUnit};

use super::bytes::{Input, put_text};
use crate::error::{Error, Result};

/// Types of one tag and nothing else, by tag.
const SIMPLE: [DataType; 14] = [
    DataType::Boolean,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Float32,
    DataType::Float64,
    DataType::Date32,
    DataType::Utf8View,
    DataType::BinaryView,
];
const DECIMAL: u8 = 14;
const TIMESTAMP: u8 = 15;
const UNITS: [TimeUnit; 4] =
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

/// Writes name, nullability and type of a column; an error if version 0 has no such type.
pub fn put_field(out: &mut Vec<u8>, field: &Field) -> Result<()> {
    put_text(out, field.name())?;
    out.push(field.is_nullable().into());
    match field.data_type() {
        DataType::Decimal128(precision, scale) => out.extend([DECIMAL, *precision, *scale as u8]),
        DataType::Timestamp(unit, zone) => {
            let unit = UNITS.iter().position(|u| u == unit).expect("all units are listed");
            out.extend([TIMESTAMP, unit as u8, zone.is_some().into()]);
            if let Some(zone) = zone {
                put_text(out, zone)?;
            }
        }
        other => match SIMPLE.iter().position(|t| t == other) {
            Some(tag) => out.push(tag as u8),
            None => {
                return Err(Error::Unsupported(format!(
                    "column '{}' is {other}, which buren version 0 can't hold; it holds booleans, integers, floats, \
                     Decimal128, Date32, timestamps, text and bytes: cast the column or write parquet or arrow",
                    field.name()
                )));
            }
        },
    }
    Ok(())
}

/// Reads what [`put_field`] wrote.
pub fn get_field(input: &mut Input) -> Result<Field> {
    let name = input.text()?;
    let nullable = flag(input)?;
    let data_type = match input.u8()? {
        DECIMAL => {
            let (precision, scale) = (input.u8()?, input.u8()? as i8);
            if !(1..=DECIMAL128_MAX_PRECISION).contains(&precision) || scale.unsigned_abs() > precision {
                return Err(damaged(name));
            }
            DataType::Decimal128(precision, scale)
        }
        TIMESTAMP => {
            let unit = UNITS.get(usize::from(input.u8()?)).ok_or_else(|| damaged(name))?;
            let zone = if flag(input)? { Some(Arc::from(input.text()?)) } else { None };
            DataType::Timestamp(*unit, zone)
        }
        tag => SIMPLE.get(usize::from(tag)).ok_or_else(|| damaged(name))?.clone(),
    };
    Ok(Field::new(name, data_type, nullable))
}

fn flag(input: &mut Input) -> Result<bool> {
    match input.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(format!("damaged buren footer: {other} is neither yes nor no"))),
    }
}

fn damaged(column: &str) -> Error {
    Error::corrupt(format!("damaged buren footer: column '{column}' has a type that does not exist"))
}

/// The bytes of a value of a fixed-width type; `None` for booleans (one bit), text and bytes.
pub fn width(data_type: &DataType) -> Option<usize> {
    data_type.primitive_width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_and_nested_types_are_refused() {
        let mut types = SIMPLE.to_vec();
        types.push(DataType::Decimal128(38, -3));
        types.extend(UNITS.map(|unit| DataType::Timestamp(unit, None)));
        types.push(DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Zürich".into())));
        for data_type in types {
            for nullable in [false, true] {
                let field = Field::new("größe", data_type.clone(), nullable);
                let mut bytes = Vec::new();
                put_field(&mut bytes, &field).unwrap();
                let mut input = Input::new(&bytes);
                assert_eq!(get_field(&mut input).unwrap(), field);
                assert!(input.is_empty());
            }
        }
        let list = DataType::List(Arc::new(Field::new("item", DataType::Int8, true)));
        let error = put_field(&mut Vec::new(), &Field::new("l", list, true)).unwrap_err().to_string();
        assert!(error.contains("column 'l'") && error.contains("parquet"), "{error}");
    }
}
